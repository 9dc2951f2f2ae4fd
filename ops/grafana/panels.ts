import type { Dashboard, FieldConfig, GraphFieldConfig, Panel } from '@grafana/schema'
import type { Options as StatOptions } from '@grafana/schema/dist/esm/raw/composable/stat/panelcfg/x/StatPanelCfg_types.gen'
import type { Options as TimeSeriesOptions } from '@grafana/schema/dist/esm/raw/composable/timeseries/panelcfg/x/TimeSeriesPanelCfg_types.gen'

/*
 * Panels of the dashboards in dashboards.ts, and their layout. The types are Grafana's own, so that the compiler
 * checks the result.
 */

/** A type as JSON holds it, without enums. */
type Plain<Type> = Type extends string
  ? `${Type}`
  : Type extends number
    ? Type | (`${Type}` extends `${infer Value extends number}` ? Value : never)
    : Type extends object
      ? { [Key in keyof Type]: Plain<Type[Key]> }
      : Type

export type PlainDashboard = Plain<Dashboard>
type PlainPanel = Plain<Panel>
type PlainField = Plain<FieldConfig>

/** A query in PromQL, and the legend of its series, such as `{{category}}`. */
export interface Query {
  expr: string
  legend: string
  /** A colour, if the series has one of its own. */
  color?: string
  /** Drawn dashed: a limit rather than a measurement. */
  dashed?: true
}

/** The figure from which a colour applies; the first one has none. */
type Steps = [color: string, ...(readonly [from: number, color: string])[]]

interface Common {
  title: string
  /** The question that the panel answers, and when to act. */
  description: string
  /** Grafana's unit: `s`, `percentunit`, `reqps`, `short` … */
  unit: string
  width: number
  height: number
}

export interface Placed extends Omit<PlainPanel, 'gridPos' | 'id'> {
  width: number
  height: number
}

/** The dashboard's variable of that name: the reader chooses the Prometheus. */
// biome-ignore lint/suspicious/noTemplateCurlyInString: Grafana's own placeholder
export const DATASOURCE = { type: 'prometheus', uid: '${datasource}' }
const COLUMNS = 24

/** One current number, coloured by its meaning. */
export function stat(
  panel: Omit<Common, 'height' | 'width'> & {
    expr: string
    legend?: string
    steps: Steps
    /** Words to show instead of values. */
    words?: Record<string, string>
    width?: number
    decimals?: number
  },
): Placed {
  const options: Plain<StatOptions> = {
    colorMode: 'value',
    graphMode: 'none',
    justifyMode: 'auto',
    orientation: 'auto',
    percentChangeColorMode: 'standard',
    reduceOptions: { calcs: ['lastNotNull'], fields: '', values: false },
    showPercentChange: false,
    textMode: panel.legend === undefined ? 'value' : 'value_and_name',
    wideLayout: true,
  }
  const defaults: PlainField = {
    ...fieldOf(panel),
    color: { mode: 'thresholds' },
    thresholds: thresholdsOf(panel.steps),
    mappings: panel.words ? [{ type: 'value', options: wordsOf(panel.words) }] : [],
  }
  return {
    ...frameOf('stat', { ...panel, width: panel.width ?? 4, height: 4 }),
    options: { ...options },
    fieldConfig: { defaults, overrides: [] },
    targets: [targetOf({ expr: panel.expr, legend: panel.legend ?? '' }, 0, true)],
  }
}

/** Curves over time. The legend shows the latest and the highest value. */
export function curves(
  panel: Omit<Common, 'height' | 'width'> & {
    queries: Query[]
    stacked?: true
    /** For values that last until the next one, such as counts of processes. */
    steps?: true
    /** Beyond it, the area is red. */
    limit?: number
    /** Below it, the area is red. */
    least?: number
    /** The lower end of the axis, unless values are below; 0 by default. */
    softMin?: number
    max?: number
    width?: number
  },
): Placed {
  const options: Plain<TimeSeriesOptions> = {
    legend: { calcs: ['lastNotNull', 'max'], displayMode: 'table', placement: 'bottom', showLegend: true },
    tooltip: { mode: 'multi', sort: 'desc' },
  }
  const area = panel.limit !== undefined || panel.least !== undefined
  const custom: Plain<GraphFieldConfig> = {
    drawStyle: 'line',
    axisSoftMin: panel.softMin ?? 0,
    lineInterpolation: panel.steps ? 'stepAfter' : 'linear',
    lineWidth: 1,
    fillOpacity: panel.stacked ? 40 : 8,
    showPoints: 'never',
    // A missing process must not look like one that is idle.
    spanNulls: false,
    stacking: { group: 'A', mode: panel.stacked ? 'normal' : 'none' },
    thresholdsStyle: { mode: area ? 'line+area' : 'off' },
  }
  const defaults: PlainField = {
    ...fieldOf(panel),
    ...(panel.max === undefined ? {} : { max: panel.max }),
    color: { mode: 'palette-classic' },
    custom: { ...custom },
    thresholds: thresholdsOf(
      panel.limit !== undefined
        ? ['transparent', [panel.limit, 'red']]
        : panel.least !== undefined
          ? ['red', [panel.least, 'transparent']]
          : ['green'],
    ),
  }
  return {
    ...frameOf('timeseries', { ...panel, width: panel.width ?? 12, height: 9 }),
    options: { ...options },
    fieldConfig: { defaults, overrides: panel.queries.flatMap(overrideOf) },
    targets: panel.queries.map((query, index) => targetOf(query, index, false)),
  }
}

/** Panels from left to right, in lines as high as their first panel. */
export function layOut(panels: readonly Placed[]): PlainPanel[] {
  let [x, y, lineHeight] = [0, 0, 0]
  return panels.map(({ width, height, ...panel }, index) => {
    if (x + width > COLUMNS) [x, y] = [0, y + lineHeight]
    if (x === 0) lineHeight = height
    const gridPos = { h: height, w: width, x, y }
    x += width
    return { id: index + 1, ...panel, gridPos }
  })
}

function frameOf(type: string, { title, description, width, height }: Common) {
  return { type, title, description, datasource: DATASOURCE, width, height }
}

function fieldOf({ unit, decimals }: { unit: string; decimals?: number }): PlainField {
  return { unit, ...(decimals === undefined ? {} : { decimals }) }
}

function thresholdsOf([first, ...rest]: Steps): Plain<NonNullable<FieldConfig['thresholds']>> {
  return {
    mode: 'absolute',
    // Grafana writes the value of the first step as null, which its types do not allow.
    steps: [
      { value: null as unknown as number, color: first },
      ...rest.map(([value, color]) => ({ value, color })),
    ],
  }
}

function wordsOf(words: Record<string, string>) {
  return Object.fromEntries(Object.entries(words).map(([value, text], index) => [value, { index, text }]))
}

function targetOf({ expr, legend }: Query, index: number, instant: boolean) {
  return {
    refId: String.fromCharCode('A'.charCodeAt(0) + index),
    datasource: DATASOURCE,
    editorMode: 'code',
    expr,
    legendFormat: legend,
    instant,
    range: !instant,
  }
}

function overrideOf({ legend, color, dashed }: Query) {
  const properties = [
    ...(color ? [{ id: 'color', value: { mode: 'fixed', fixedColor: color } }] : []),
    ...(dashed
      ? [
          { id: 'custom.lineStyle', value: { fill: 'dash', dash: [8, 8] } },
          { id: 'custom.fillOpacity', value: 0 },
        ]
      : []),
  ]
  return properties.length === 0 ? [] : [{ matcher: { id: 'byName', options: legend }, properties }]
}
