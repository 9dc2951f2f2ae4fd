import { html, type SafeHtml } from '@remix-run/html-template'
import type { Config } from '../../config.ts'
import { capitalised } from '../../lib/text.ts'
import { MOST_CASES_COUNTED } from '../../report/run-story.ts'
import { runMessage } from '../../texts/failures.ts'
import { textOr } from '../../texts/texts.ts'
import type { Ask } from '../ask.ts'
import {
  actionForm,
  alert,
  duration,
  empty,
  facts,
  figure,
  head,
  live,
  type Part,
  percent,
  reasonField,
  section,
  since,
  state,
  table,
  tiles,
  time,
} from '../ui/parts.ts'
import { mappingPath } from '../ui/paths.ts'
import { caseState } from '../ui/states.ts'
import { isPlan, progressOf } from './list-view.ts'
import { casesOf, type RunDetails } from './query.ts'
import { missingProcessAlerts, stack } from './start-view.ts'
import { kindName, runStanding, tookMs, whoText } from './words.ts'

type GateSettings = Pick<Config, 'GATE_MAX_EMPTIED' | 'GATE_MAX_FEWER_ROWS'>

export function runTitle(
  ask: Ask,
  { id, kind, hr_source }: Pick<RunDetails, 'id' | 'kind' | 'hr_source'>,
): string {
  const named = kindName(ask, kind)
  return ask.t('runs.heading', { run: id, kind: hr_source ? `${named}, ${hr_source}` : named })
}

/** One run: its state, its outcome, and a comparison with earlier runs. */
export function runBody(ask: Ask, run: RunDetails, gate: GateSettings): SafeHtml {
  const { t } = ask
  const cases = casesOf(run)
  return live(
    ask,
    'run',
    ['runs', 'work', 'cases', 'processes', 'halts'],
    html`${head(runTitle(ask, run), {
      aside: runStanding(ask, { ...run, cases }),
      actions: actionsOf(ask, run),
    })}
    ${stack(alertsOf(ask, run))}
    ${run.state === 'running' ? progressOf(ask, run) : ''}
    ${isBegun(run) ? figuresOf(ask, run) : ''}
    ${run.gate ? section(t('runs.gate'), gateTable(ask, run.gate, gate), { aside: gateAside(ask, run.gate) }) : ''}
    ${
      isBegun(run) && run.state !== 'source_suspect'
        ? html`<div class="columns">
      ${section(t('runs.plan_and_outcome'), planAndOutcome(ask, run))}
      ${section(t('runs.compared'), comparison(ask, run))}
    </div>`
        : ''
    }
    ${run.calls.length > 0 ? section(t('runs.calls_by_operation'), callsTable(ask, run)) : ''}
    ${run.dead_letters.length > 0 ? section(t('runs.cases'), casesTable(ask, run), { aside: allCases(ask, run) }) : ''}
    <div class="columns">
      ${section(t('runs.about'), about(ask, run))}
      ${section(t('runs.commands'), commandsTable(ask, run))}
    </div>`,
  )
}

/** There are no figures before the run has been planned. */
function isBegun({ planned_at, finished_at }: RunDetails): boolean {
  return planned_at !== null || finished_at !== null
}

/** The figures at the top of the page. */
function figuresOf(ask: Ask, run: RunDetails): SafeHtml {
  const { t } = ask
  const cases = casesOf(run)
  return tiles([
    {
      value: isPlan(run) ? figure(ask, run.planned ?? 0) : '–',
      name: t('runs.planned_entities'),
      note: run.total === null ? '' : t('runs.of', { count: run.total }),
      ...(hasPlan(run) ? { href: `/runs/${run.id}/plan` } : {}),
    },
    {
      value: run.counted
        ? figure(
            ask,
            run.calls.reduce((sum, { calls }) => sum + calls, 0),
          )
        : '–',
      name: t('runs.calls'),
      note: run.counted ? '' : t('runs.counted_at_end'),
    },
    { value: took(ask, run), name: run.finished_at ? t('runs.took') : t('runs.took_so_far') },
    {
      value: run.counted ? figure(ask, cases) : '–',
      name: run.finished_at ? t('runs.cases_at_end') : t('runs.cases_so_far'),
      ...(run.dead_letters_total > 0
        ? { href: `/cases?run=${run.id}`, note: t('runs.cases_in_all', { count: inAll(ask, run) }) }
        : {}),
      ...(cases > 0 ? { tone: 'warn' as const } : {}),
    },
  ])
}

const UNDER_WAY = new Set(['requested', 'planning', 'running'])

/** Whether the run was held at some time: then its plan is stored. */
function hasPlan({ state, decided_at, approved }: RunDetails): boolean {
  return (
    state === 'held' || approved || (state === 'rejected' && decided_at !== null) || state === 'superseded'
  )
}

function actionsOf(ask: Ask, run: RunDetails): Part[] {
  const { t } = ask
  if (run.state === 'held')
    return [html`<a class="button main" href="/runs/${run.id}/plan">${t('runs.look_at_plan')}</a>`]
  if (!UNDER_WAY.has(run.state) || run.cancelled_at) return []
  return [
    actionForm(ask, {
      to: `/runs/${run.id}/cancel`,
      label: t('runs.cancel'),
      role: 'operator',
      tone: 'danger',
      fields: [reasonField(t, true, 'runs.cancel_hint')],
    }),
  ]
}

/** Warnings and questions, shown before anything else. */
function alertsOf(ask: Ask, run: RunDetails): SafeHtml[] {
  const { t } = ask
  const message = runMessage(ask.language, run)
  const alerts: SafeHtml[] = []
  if (UNDER_WAY.has(run.state)) alerts.push(...missingProcessAlerts(ask, run.roles_alive))
  if (run.state === 'held')
    alerts.push(
      alert(
        'warn',
        t('runs.is_held'),
        html`${message ?? ''} <a href="/runs/${run.id}/plan">${t('runs.look_at_plan')}</a>`,
      ),
    )
  else if (run.state === 'source_suspect')
    alerts.push(
      alert(
        'bad',
        t('runs.is_suspect'),
        html`<p>${message ?? ''}</p><ol><li>${t('runs.suspect.look')} <a href="${mappingPath(run.hr_source)}">${t('nav.mapping')}</a></li><li>${t(
          'runs.suspect.again',
        )} ${ask.may('operator') ? html`<a href="/runs/new">${t('runs.start')}</a>` : ''}</li><li>${t(
          'runs.suspect.true',
        )}</li></ol>`,
      ),
    )
  else if (run.state === 'failed') alerts.push(alert('bad', t('runs.is_failed'), message ?? ''))
  else if (message) alerts.push(alert('info', message))
  const cases = casesOf(run)
  if (run.state === 'done' && cases > 0)
    alerts.push(
      alert(
        'warn',
        t('runs.ended_with_cases', { count: cases }),
        html`<a href="/cases?run=${run.id}">${t('runs.review_cases')}</a>`,
      ),
    )
  return alerts
}

function took(ask: Ask, run: RunDetails): string {
  const ms = tookMs(run, ask.now)
  return ms === null ? '–' : duration(ask, ms)
}

function inAll(ask: Ask, { dead_letters_total: total }: RunDetails): string {
  return total >= MOST_CASES_COUNTED ? `≥ ${figure(ask, MOST_CASES_COUNTED)}` : figure(ask, total)
}

/** Reasons in the plan, and the outcome of each. */
function planAndOutcome(ask: Ask, run: RunDetails): SafeHtml {
  const { t, language } = ask
  const { outcomes, cases_by_category: categories } = run
  const list = (counts: Record<string, number>, terms: string, href?: (name: string) => string) =>
    Object.entries(counts)
      .filter(([, n]) => n > 0)
      .sort(([, a], [, b]) => b - a)
      .map(([name, n]) => {
        const text = capitalised(textOr(language, `${terms}.${name}`, name))
        return { name: href ? html`<a href="${href(name)}">${text}</a>` : text, n }
      })
  const rows = [
    ...list(run.reasons, 'reason').map(row => ({ ...row, group: t('runs.group.plan') })),
    ...(run.skipped ? [{ group: t('runs.group.plan'), name: t('runs.skipped'), n: run.skipped }] : []),
    ...list(outcomes, 'outcome').map(row => ({ ...row, group: t('runs.group.outcome') })),
    ...(run.rows
      ? [
          { group: t('runs.group.rows'), name: t('runs.rows_read'), n: run.rows.read },
          { group: t('runs.group.rows'), name: t('runs.rows_changed'), n: run.rows.changed },
        ]
      : []),
    ...list(
      categories,
      'category',
      category => `/cases?run=${run.id}&categories=${encodeURIComponent(category)}`,
    ).map(row => ({ ...row, group: t('runs.group.cases') })),
  ]
  return html`${table(
    rows.map((row, i) => ({ ...row, group: rows[i - 1]?.group === row.group ? '' : row.group })),
    [
      { title: t('runs.group'), cell: ({ group }) => html`<span class="soft">${group}</span>` },
      { title: t('runs.what'), cell: ({ name }) => name },
      { title: t('runs.count'), kind: 'number', cell: ({ n }) => figure(ask, n) },
    ],
    {
      caption: t('runs.plan_and_outcome'),
      empty: empty(t('runs.nothing_to_do')),
    },
  )}${run.counted || run.state !== 'running' ? '' : html`<p class="soft">${t('runs.counted_at_end')}</p>`}`
}

type Figures = RunDetails['figures']

/** The run and the previous one, side by side. */
function comparison(ask: Ask, { figures: now, before }: RunDetails): SafeHtml {
  const { t } = ask
  if (before === null) return empty(t('runs.first_of_kind'))
  const plain = (value: number) => figure(ask, value)
  const spent = (value: number) => duration(ask, value)
  const rows: { name: string; of(figures: Figures): number | null; text(value: number): string }[] = [
    { name: t('runs.in_scope'), of: ({ in_scope }) => in_scope, text: plain },
    { name: t('runs.planned'), of: ({ planned }) => planned, text: plain },
    { name: t('runs.took'), of: ({ took_ms }) => took_ms, text: spent },
    { name: t('runs.calls'), of: ({ calls }) => calls, text: plain },
    { name: t('runs.waited'), of: ({ waited_ms }) => waited_ms, text: spent },
    { name: t('runs.too_fast'), of: ({ too_fast }) => too_fast, text: plain },
    { name: t('runs.new_cases'), of: ({ new_cases }) => new_cases, text: plain },
  ]
  return html`${table(
    rows,
    [
      { title: t('runs.figure'), cell: ({ name }) => name },
      { title: t('runs.this'), kind: 'number', cell: row => cellOf(row.of(now), row.text) },
      { title: `#${before.id}`, kind: 'number', cell: row => cellOf(row.of(before), row.text) },
      {
        title: t('runs.difference'),
        kind: 'number',
        cell(row) {
          const [a, b] = [row.of(now), row.of(before)]
          if (a === null || b === null) return null
          return row.text(a) === row.text(b) ? '=' : `${a > b ? '+' : '−'}${row.text(Math.abs(a - b))}`
        },
      },
    ],
    { caption: t('runs.compared'), empty: html`` },
  )}<p class="soft">${t('runs.before')} <a href="/runs/${before.id}">#${before.id}</a>, ${since(ask, before.finished_at)}</p>`
}

function cellOf(value: number | null, text: (value: number) => string): string | null {
  return value === null ? null : text(value)
}

function callsTable(ask: Ask, run: RunDetails): SafeHtml {
  const { t, language } = ask
  return table(
    run.calls,
    [
      {
        title: t('runs.operation'),
        cell: ({ operation }) =>
          html`${capitalised(textOr(language, `call.${operation}`, operation))} <code class="soft">${operation}</code>`,
      },
      { title: t('runs.calls'), kind: 'number', cell: ({ calls }) => figure(ask, calls) },
      {
        title: t('runs.mean_wait'),
        kind: 'number',
        cell: ({ waited_ms }) => (waited_ms === null ? null : duration(ask, waited_ms)),
      },
      { title: t('runs.too_fast'), kind: 'number', cell: ({ too_fast }) => figure(ask, too_fast) },
    ],
    { caption: t('runs.calls_by_operation'), empty: html`` },
  )
}

function casesTable(ask: Ask, run: RunDetails): SafeHtml {
  const { t, language } = ask
  return table(
    run.dead_letters,
    [
      {
        title: t('runs.case'),
        kind: 'main',
        cell: ({ id, enterprise_code, entity, entity_key }) =>
          `#${id} ${enterprise_code && entity !== 'enterprise' ? `${enterprise_code}/` : ''}${entity_key}`,
      },
      {
        title: t('runs.category'),
        cell: ({ category }) => textOr(language, `category.${category}`, category),
      },
      {
        title: t('runs.field'),
        kind: 'spare',
        cell: ({ field }) => (field ? textOr(language, `field.${field}`, field) : null),
      },
      { title: t('runs.state'), cell: row => caseState(ask, row.state) },
    ],
    { caption: t('runs.cases'), empty: html``, href: ({ id }) => `/cases/${id}` },
  )
}

function allCases(ask: Ask, run: RunDetails): SafeHtml {
  return html`<a href="/cases?run=${run.id}">${ask.t('runs.all_cases', { count: inAll(ask, run) })}</a>`
}

const MOST_SHOWN = 50
const SAMPLES = 20

/** Link to the search, which knows whether a key is an employee or a department. */
function found(key: string): SafeHtml {
  return html`<a href="/search?q=${encodeURIComponent(key)}">${key}</a> `
}

function about(ask: Ask, run: RunDetails): SafeHtml {
  const { t } = ask
  const named = run.keys.slice(0, MOST_SHOWN)
  const links = named.map(key =>
    run.kind === 'retry' ? html`<a href="/cases/${encodeURIComponent(key)}">${key}</a> ` : found(key),
  )
  return facts([
    [
      run.kind === 'retry' ? t('runs.tried_cases') : t('runs.named'),
      named.length > 0
        ? html`${links}${run.named > named.length ? t('runs.and_more', { count: run.named - named.length }) : ''}`
        : null,
    ],
    [t('runs.source'), run.hr_source || null],
    [t('runs.max_age'), run.max_age_s && duration(ask, run.max_age_s * 1000)],
    [t('runs.asked'), html`${time(ask, run.requested_at)}, ${whoText(ask, run.requested_by)}`],
    [t('runs.began'), run.started_at && time(ask, run.started_at)],
    [t('runs.planned_at'), run.planned_at && time(ask, run.planned_at)],
    [t('runs.judged_at'), run.judged_at && time(ask, run.judged_at)],
    [t('runs.ended'), run.finished_at && time(ask, run.finished_at)],
    [t('runs.read'), readText(ask, run)],
    [
      t('runs.sample'),
      isPlan(run) && run.sample.length > 0 ? html`${run.sample.slice(0, SAMPLES).map(found)}` : null,
    ],
    [
      t('runs.decided'),
      run.decided_at &&
        html`${time(ask, run.decided_at)}, ${whoText(ask, run.decided_by ?? '')}${run.decision_reason ? html`: ${run.decision_reason}` : ''}`,
    ],
  ])
}

/** Which rows of HR the run read. */
function readText({ t }: Ask, { kind, planned_at, sweep, named }: RunDetails): string | null {
  if (kind !== 'changes' || planned_at === null) return null
  if (sweep) return t('runs.read.all')
  return named > 0 ? t('runs.read.named') : t('runs.read.newer')
}

function commandsTable(ask: Ask, run: RunDetails): SafeHtml {
  const { t, language } = ask
  return table(
    run.commands,
    [
      { title: t('runs.when'), cell: row => since(ask, row.requested_at) },
      {
        title: t('runs.command'),
        cell: ({ name }) => capitalised(textOr(language, `command.${name}`, name)),
      },
      { title: t('runs.by'), cell: row => whoText(ask, row.requested_by) },
      { title: t('common.reason'), cell: row => row.reason },
    ],
    { caption: t('runs.commands'), empty: empty(t('runs.no_commands')) },
  )
}

// What the sanity gate measured

function gateAside({ t }: Ask, { before }: NonNullable<RunDetails['gate']>): Part {
  return before
    ? html`<a href="/runs/${before.run}">${t('runs.against', { run: before.run })}</a>`
    : t('runs.no_good_run')
}

/** HR's rows and columns; columns with the largest share of newly empty values first. */
function gateTable(ask: Ask, gate: NonNullable<RunDetails['gate']>, limits: GateSettings): SafeHtml {
  const { t, language } = ask
  const { before } = gate
  const usable = gate.rows - gate.keyless
  const usableBefore = before && before.rows - before.keyless
  const fewer = usableBefore ? (100 * (usableBefore - usable)) / usableBefore : 0
  const rows = [
    {
      name: t('runs.gate.rows'),
      now: figure(ask, usable),
      usual: usableBefore === null ? null : figure(ask, usableBefore),
      change: usableBefore === null ? null : points(ask, -fewer / 100),
      isBad: usable === 0 || fewer > limits.GATE_MAX_FEWER_ROWS,
    },
    ...(gate.keyless > 0
      ? [
          {
            name: t('runs.gate.keyless'),
            now: figure(ask, gate.keyless),
            usual: before && figure(ask, before.keyless),
            change: null,
            isBad: usable === 0,
          },
        ]
      : []),
    ...gate.columns.map(({ column, empty, empty_before }) => ({
      name: html`${capitalised(textOr(language, `field.${column}`, column))} <code class="soft">${column}</code>`,
      now: percent(ask, empty),
      usual: empty_before === null ? null : percent(ask, empty_before),
      change: empty_before === null ? null : points(ask, empty - empty_before),
      isBad: empty_before !== null && 100 * (empty - empty_before) > limits.GATE_MAX_EMPTIED,
    })),
  ]
  return table(
    rows,
    [
      { title: t('runs.gate.what'), cell: ({ name }) => name },
      { title: t('runs.gate.now'), kind: 'number', cell: ({ now }) => now },
      { title: t('runs.gate.before'), kind: 'number', cell: ({ usual }) => usual },
      { title: t('runs.difference'), kind: 'number', cell: ({ change }) => change },
      {
        title: t('runs.gate.verdict'),
        cell: ({ isBad }) =>
          isBad ? state('bad', t('runs.gate.suspicious')) : state('ok', t('runs.gate.plausible')),
      },
    ],
    { caption: t('runs.gate'), empty: empty(t('runs.no_good_run')) },
  )
}

/** A difference of shares in percentage points, with its sign. */
function points(ask: Ask, difference: number): string {
  if (difference === 0) return '='
  return `${difference > 0 ? '+' : '−'}${percent(ask, Math.abs(difference))}`
}
