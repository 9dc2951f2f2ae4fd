/* global uPlot */
// Draws a dashboard of Grafana from its JSON and from what Prometheus answered, in a page of a browser. It knows what the dashboards of
// ops/grafana use, and nothing else of Grafana.

const STYLE = `
  body { margin: 16px; width: 1440px; background: #f4f5f5; font: 13px sans-serif; color: #24292e }
  h1 { font-size: 20px; font-weight: 500; margin: 0 0 12px }
  main { position: relative }
  section { position: absolute; box-sizing: border-box; background: #fff; border: 1px solid #dfe3e8; border-radius: 3px; padding: 6px; overflow: hidden }
  h2 { font-size: 13px; font-weight: 500; margin: 0 0 6px }
  p { font-size: 34px; text-align: center; margin: 22px 0; color: #6b7280 }
  table { border-spacing: 8px 0; width: 100%; font-size: 11px }
  td:first-child { width: 70% }
  td { white-space: nowrap }
`

const COLUMN = 60
const ROW = 36
const GAP = 8
const COLOURS = {
  green: '#56a64b',
  red: '#e02f44',
  orange: '#ff780a',
  blue: '#3274d9',
  text: '#24292e',
  transparent: 'transparent',
}
const PALETTE = [
  '#56a64b',
  '#f2cc0c',
  '#3274d9',
  '#ff780a',
  '#e02f44',
  '#8f3bb8',
  '#00a3a3',
  '#b877d9',
  '#705da0',
  '#967302',
]

const number = (value, digits) =>
  value.toLocaleString(
    'en',
    Math.abs(value) < 1 ? { maximumSignificantDigits: 2 } : { maximumFractionDigits: digits },
  )
const duration = seconds => {
  if (seconds === 0) return '0 s'
  if (seconds < 1) return `${number(seconds * 1000, 1)} ms`
  if (seconds < 120) return `${number(seconds, 1)} s`
  return seconds < 7200 ? `${number(seconds / 60, 1)} min` : `${number(seconds / 3600, 1)} h`
}
const clock = seconds => new Date(seconds * 1000).toTimeString().slice(0, 5)
const FORMATS = {
  short: (value, decimals = 1) => number(value, decimals),
  percentunit: (value, decimals = 1) => `${number(value * 100, decimals)} %`,
  s: duration,
  bytes: value => `${number(value / 2 ** 20, 0)} MiB`,
  reqps: (value, decimals = 1) => `${number(value, decimals)} /s`,
  ops: (value, decimals = 1) => `${number(value, decimals)} /s`,
}

/** @param answers by panel id: for each target its series, `{ name, values }`, and `times` in seconds */
// biome-ignore lint/correctness/noUnusedVariables: called by pictures.ts in the page
function drawDashboard({ dashboard, answers }) {
  const heading = element('h1', dashboard.title)
  const grid = element('main')
  const bottom = Math.max(...dashboard.panels.map(({ gridPos }) => gridPos.y + gridPos.h))
  Object.assign(grid.style, { width: `${24 * COLUMN}px`, height: `${bottom * ROW}px` })
  const style = element('style', STYLE)
  document.body.append(style, heading, grid)
  for (const panel of dashboard.panels) {
    const { x, y, w, h } = panel.gridPos
    const box = element('section')
    Object.assign(box.style, {
      left: `${x * COLUMN}px`,
      top: `${y * ROW}px`,
      width: `${w * COLUMN - GAP}px`,
      height: `${h * ROW - GAP}px`,
    })
    box.append(element('h2', panel.title))
    grid.append(box)
    const draw = panel.type === 'stat' ? drawStat : drawCurves
    draw(box, panel, answers[panel.id])
  }
}

function drawStat(box, { fieldConfig }, { series }) {
  const { unit, decimals, thresholds, mappings } = fieldConfig.defaults
  const value = series[0]?.values.findLast(each => each !== null) ?? null
  const words = mappings[0]?.options ?? {}
  const text = value === null ? 'No data' : (words[value]?.text ?? FORMATS[unit](value, decimals))
  const step = thresholds.steps.findLast(({ value: from }) => from === null || (value ?? 0) >= from)
  const figure = element('p', text)
  figure.style.color = COLOURS[step.color]
  box.append(figure)
}

function drawCurves(box, panel, { times, series }) {
  const { unit, max, custom, thresholds } = panel.fieldConfig.defaults
  const format = value => FORMATS[unit](value)
  const stacked = custom.stacking.mode === 'normal'
  const looks = series.map(({ name }, index) => lookOf(panel, name, index))
  // From the bottom up, each above those before it; drawn from the top, so that each covers the next one's ground.
  const shown = series.map(({ values }) => values)
  if (stacked)
    for (let i = 1; i < shown.length; i++)
      shown[i] = shown[i].map((value, t) => (value ?? 0) + (shown[i - 1][t] ?? 0) || value)
  const order = stacked ? shown.map((_, i) => shown.length - 1 - i) : shown.map((_, i) => i)
  const legend = legendOf(series, looks, format)
  const height = panel.gridPos.h * ROW - GAP - 36 - Math.min(series.length, 5) * 17
  const plot = element('div')
  box.append(plot, legend)
  if (series.length === 0) {
    plot.append(element('p', 'No data'))
    return
  }
  const axis = {
    stroke: '#6b7280',
    grid: { stroke: '#e5e7eb', width: 1 },
    ticks: { show: false },
    font: '11px sans-serif',
  }
  new uPlot(
    {
      width: box.clientWidth - 12,
      height,
      legend: { show: false },
      cursor: { show: false },
      scales: {
        y: {
          range: (_, low, high) => [
            Math.min(custom.axisSoftMin, low ?? custom.axisSoftMin),
            max ?? Math.max((high ?? 0) * 1.1, 0.001),
          ],
        },
      },
      hooks: { drawAxes: [plot => shade(plot, custom, thresholds)] },
      axes: [
        { ...axis, size: 24, values: (_, moments) => moments.map(clock) },
        { ...axis, size: 64, values: (_, ticks) => ticks.map(format) },
      ],
      series: [
        {},
        ...order.map(i => ({
          stroke: looks[i].colour,
          width: custom.lineWidth + 0.5,
          dash: looks[i].dashed ? [6, 4] : undefined,
          fill: looks[i].dashed ? undefined : stacked ? pale(looks[i].colour) : mix(looks[i].colour, 0.08),
          paths: custom.lineInterpolation === 'stepAfter' ? uPlot.paths.stepped({ align: 1 }) : undefined,
          points: { show: false },
        })),
      ],
    },
    [times, ...order.map(i => shown[i])],
    plot,
  )
}

function lookOf(panel, name, index) {
  const its = panel.fieldConfig.overrides.find(({ matcher }) => matcher.options === name)?.properties ?? []
  const colour = its.find(({ id }) => id === 'color')?.value.fixedColor
  return {
    colour: colour ? COLOURS[colour] : PALETTE[index % PALETTE.length],
    dashed: its.some(({ id }) => id === 'custom.lineStyle'),
  }
}

function legendOf(series, looks, format) {
  const table = element('table')
  for (const [index, { name, values }] of series.slice(0, 5).entries()) {
    const known = values.filter(value => value !== null)
    const row = element('tr')
    const mark = element(
      'td',
      `● ${name}${index === 4 && series.length > 5 ? ` … and ${series.length - 5} more` : ''}`,
    )
    mark.style.color = looks[index].colour
    row.append(
      mark,
      element('td', known.length ? `last ${format(known.at(-1))}` : ''),
      element('td', known.length ? `max ${format(Math.max(...known))}` : ''),
    )
    table.append(row)
  }
  return table
}

/** The ground on the wrong side of a threshold, and the threshold itself. */
function shade(plot, { thresholdsStyle }, { steps }) {
  if (thresholdsStyle.mode === 'off') return
  const [below, above] = steps
  const { left, top, width, height } = plot.bbox
  const line = Math.min(Math.max(plot.valToPos(above.value, 'y', true), top), top + height)
  plot.ctx.save()
  plot.ctx.fillStyle = mix(COLOURS.red, 0.12)
  if (above.color === 'red') plot.ctx.fillRect(left, top, width, line - top)
  if (below.color === 'red') plot.ctx.fillRect(left, line, width, top + height - line)
  plot.ctx.restore()
}

/** Nothing shines through it: what is stacked lies one above the other. */
function pale(colour) {
  const part = at => Number.parseInt(colour.slice(at, at + 2), 16)
  return `rgb(${[1, 3, 5].map(at => Math.round(part(at) * 0.5 + 255 * 0.5)).join(' ')})`
}

function mix(colour, opacity) {
  return `${colour}${Math.round(opacity * 255)
    .toString(16)
    .padStart(2, '0')}`
}

function element(name, text = '') {
  const made = document.createElement(name)
  made.textContent = text
  return made
}
