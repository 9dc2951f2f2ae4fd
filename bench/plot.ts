/** A curve, point by point, in the units of the axes. */
interface Series {
  name: string
  points: readonly (readonly [x: number, y: number])[]
  /** The same subject has the same look in all panels. */
  look: 'good' | 'bad' | 'bound'
}

/** One pair of axes under its own title. */
export interface Panel {
  title: string
  series: readonly Series[]
}

export interface Plot {
  title: string
  xLabel: string
  yLabel: string
  panels: readonly Panel[]
}

const WIDTH = 860
const PANEL_HEIGHT = 190
const LEFT = 62
const RIGHT = 18
const TOP = 64
const GAP = 46
const BOTTOM = 44
const TICKS = 5

const STYLE = `
    .page { fill: #ffffff } .ink { fill: #1f2328 } .faint { fill: #59636e } .grid { stroke: #d1d9e0 }
    .good { stroke: #0969da } .bad { stroke: #cf222e } .bound { stroke: #59636e; stroke-dasharray: 6 4 }
    @media (prefers-color-scheme: dark) {
      .page { fill: #0d1117 } .ink { fill: #f0f6fc } .faint { fill: #9198a1 } .grid { stroke: #3d444d }
      .good { stroke: #58a6ff } .bad { stroke: #ff7b72 } .bound { stroke: #9198a1 }
    }
    text { font: 12px system-ui, sans-serif } .title { font-size: 16px; font-weight: 600 } .panel { font-weight: 600 }
    polyline { fill: none; stroke-width: 1.8; stroke-linejoin: round }`

/** Draws panels below one another, with the same horizontal axis, as SVG for light and dark pages. */
export function drawPlot({ title, xLabel, yLabel, panels }: Plot): string {
  const height = TOP + panels.length * (PANEL_HEIGHT + GAP) - GAP + BOTTOM
  const xMax = highest(panels.flatMap(({ series }) => series).flatMap(({ points }) => points.map(([x]) => x)))
  const bodies = panels.map((panel, i) => drawPanel(panel, TOP + i * (PANEL_HEIGHT + GAP), xMax))
  const middle = TOP + (height - TOP - BOTTOM) / 2
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" role="img" aria-label="${escaped(title)}">`,
    `  <style>${STYLE}\n  </style>`,
    `  <rect class="page" width="${WIDTH}" height="${height}"/>`,
    `  ${text(LEFT, 24, title, 'ink title')}`,
    `  <text class="faint" text-anchor="middle" transform="translate(16 ${middle}) rotate(-90)">${escaped(yLabel)}</text>`,
    ...bodies,
    `  ${text((LEFT + WIDTH - RIGHT) / 2, height - 8, xLabel, 'faint', 'middle')}`,
    '</svg>',
    '',
  ].join('\n')
}

function drawPanel({ title, series }: Panel, top: number, xMax: number): string {
  const yMax = highest(series.flatMap(({ points }) => points.map(([, y]) => y)))
  const x = (value: number) => LEFT + (value / xMax) * (WIDTH - LEFT - RIGHT)
  const y = (value: number) => top + PANEL_HEIGHT - (value / yMax) * PANEL_HEIGHT
  const bottom = top + PANEL_HEIGHT
  const lines = [`  ${text(LEFT, top - 10, title, 'ink panel')}`]
  for (const tick of ticks(yMax)) {
    lines.push(
      `  <line class="grid" x1="${LEFT}" x2="${WIDTH - RIGHT}" y1="${short(y(tick))}" y2="${short(y(tick))}"/>`,
    )
    lines.push(`  ${text(LEFT - 6, y(tick) + 4, String(tick), 'faint', 'end')}`)
  }
  for (const tick of ticks(xMax))
    lines.push(`  ${text(x(tick), bottom + 16, String(tick), 'faint', 'middle')}`)
  let right = WIDTH - RIGHT
  for (const { name, points, look } of [...series].reverse()) {
    const path = points.map(([px, py]) => `${short(x(px))},${short(y(py))}`).join(' ')
    lines.push(`  <polyline class="${look}" points="${path}"/>`)
    lines.push(`  ${text(right, top - 10, name, 'faint', 'end')}`)
    right -= name.length * 6.5 + 6
    lines.push(
      `  <line class="${look}" stroke-width="2" x1="${short(right - 20)}" x2="${short(right)}" y1="${top - 14}" y2="${top - 14}"/>`,
    )
    right -= 36
  }
  return lines.join('\n')
}

/** Round numbers from 0 to `max`. */
function ticks(max: number): number[] {
  const power = 10 ** Math.floor(Math.log10(max / TICKS))
  const step = [1, 2, 5, 10].map(factor => factor * power).find(size => max / size <= TICKS) ?? max
  const count = Math.floor(max / step + 1e-9)
  return Array.from({ length: count + 1 }, (_, i) => Number((i * step).toPrecision(6)))
}

/** The highest value plus a margin; 1 if there is none. */
function highest(values: readonly number[]): number {
  return values.reduce((most, value) => Math.max(most, value), 0) * 1.02 || 1
}

function text(x: number, y: number, content: string, look: string, anchor = 'start'): string {
  return `<text class="${look}" x="${short(x)}" y="${short(y)}" text-anchor="${anchor}">${escaped(content)}</text>`
}

function short(value: number): string {
  return String(Math.round(value * 10) / 10)
}

function escaped(content: string): string {
  return content.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;')
}
