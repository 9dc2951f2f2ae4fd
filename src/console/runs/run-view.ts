import { html, type SafeHtml } from '@remix-run/html-template'
import { capitalised } from '../../lib/text.ts'
import { CASE_STATES } from '../../sync/cases/cases.ts'
import { isUnderWay } from '../../sync/runs/run.ts'
import { runMessage } from '../../texts/failures.ts'
import { byCount } from '../../texts/figures.ts'
import { type MessageKey, messagesIn, says } from '../../texts/message.ts'
import { textOr } from '../../texts/texts.ts'
import type { Ask } from '../ask.ts'
import { caseKey, itemOf, nameOfKey } from '../cases/parts.ts'
import { heldBackShown } from '../plan/held-back.ts'
import { inParts } from '../plan/view.ts'
import { type Block, joined, type Shown, tableOf, term, type Words } from '../shown.ts'
import { actionForm, duration, type Field, figure, percent, reasonField } from '../ui/parts.ts'
import { casesPath, mappingPath } from '../ui/paths.ts'
import { caseStatus } from '../ui/states.ts'
import { sumOf } from './list.ts'
import { isPlan, progressOf } from './list-view.ts'
import { casesOf, type RunDetails } from './query.ts'
import { missingProcesses } from './start-view.ts'
import { MOST_CASES_COUNTED } from './story.ts'
import {
  isCancelling,
  kindName,
  outcomesOf,
  partsText,
  runStateWords,
  tookMs,
  wasHeld,
  whoText,
} from './words.ts'

function runTitle(ask: Ask, { id, kind, hr_source }: Pick<RunDetails, 'id' | 'kind' | 'hr_source'>): string {
  const named = kindName(ask, kind)
  return ask.t('runs.heading', {
    run: id,
    kind: hr_source ? `${named}${ask.t('common.comma')}${hr_source}` : named,
  })
}

/** One run: its state, its outcome, and a comparison with earlier runs. */
export function runShown(ask: Ask, run: RunDetails): Shown {
  const { t } = ask
  return {
    ...runEndShown(ask, run),
    actions: actionsOf(ask, run),
    topics: ['runs', 'work', 'cases', 'processes', 'halts'],
    blocks: [
      ...alertsOf(ask, run),
      ...heldBackShown(ask, { ...run, run: run.id }),
      ...(run.state === 'running' ? [{ text: progressOf(ask, run) }] : []),
      ...(isBegun(run) ? [figuresOf(ask, run)] : []),
      ...(run.gate
        ? [
            {
              section: t('runs.gate'),
              aside: gateAside(ask, run.gate),
              blocks: [gateTable(ask, run.gate, run.message)],
            },
          ]
        : []),
      ...(isBegun(run) && run.state !== 'source_suspect'
        ? [{ columns: [[planAndOutcome(ask, run)], ...(run.part_of ? [] : [[comparison(ask, run)]])] }]
        : []),
      ...(run.calls.length > 0
        ? [{ section: t('runs.calls_by_operation'), blocks: [callsTable(ask, run)] }]
        : []),
      ...casesOfRun(ask, run),
      {
        columns: [
          [{ section: t('runs.about'), blocks: [about(ask, run)] }],
          [{ section: t('runs.commands'), blocks: [commandsTable(ask, run)], ...commandsAside(ask, run) }],
        ],
      },
      ...decisionOf(ask, run),
    ],
  }
}

/** How a run ended, for those who waited for it. */
export function runEndShown(ask: Ask, run: RunDetails): Shown {
  return {
    title: runTitle(ask, run),
    copy: String(run.id),
    aside: runStateWords(ask, { ...run, cases: casesOf(run) }),
    blocks: [
      ...alertsOf(ask, run),
      ...(run.state === 'source_suspect' ? [toSeeWhatIsMissing(ask, run)] : []),
      figuresOf(ask, run),
      ...(run.state === 'source_suspect' ? [] : [planAndOutcome(ask, run)]),
      ...casesOfRun(ask, run),
      ...decisionOf(ask, run),
    ],
  }
}

/** Who waited for a run is not shown the table of what its rows lack. */
function toSeeWhatIsMissing({ t }: Ask, { id }: RunDetails): Block {
  return { commands: t('runs.suspect.see'), lines: [`runs ${id}`] }
}

/** How to decide about a held run, as it is typed. */
function decisionOf({ t }: Ask, { id, state }: RunDetails): Block[] {
  const lines = [`plan ${id}`, `approve ${id}`, `reject ${id} --reason "…"`]
  return state === 'held' ? [{ commands: t('runs.decide'), lines }] : []
}

/** There are no figures before the run has been planned. */
function isBegun({ planned_at, finished_at }: RunDetails): boolean {
  return planned_at !== null || finished_at !== null
}

/** The figures at the top of the page. */
function figuresOf(ask: Ask, run: RunDetails): Block {
  const { t } = ask
  const cases = casesOf(run)
  const calls = run.calls.reduce((sum, { calls }) => sum + calls, 0)
  // Cases that waited for what the run has changed are retried within it.
  const joined = isPlan(run) ? Math.max(0, sumOf(run.outcomes) - (run.planned ?? 0)) : 0
  return {
    tiles: [
      {
        value: isPlan(run) ? (run.planned ?? 0) : '–',
        name: t('runs.planned_entities'),
        note: [
          run.total === null ? '' : t('runs.of', { count: run.total }),
          joined === 0 ? '' : t('runs.joined', { count: joined }),
        ]
          .filter(text => text !== '')
          .join(t('common.comma')),
        ...(hasPlan(run) ? { to: `/runs/${run.id}/plan` } : {}),
      },
      {
        value: run.counted ? calls : '–',
        name: t('runs.calls'),
        note: run.counted ? '' : t('runs.counted_at_end'),
      },
      { value: took(ask, run), name: run.finished_at ? t('runs.took') : t('runs.took_so_far') },
      {
        value: run.counted ? cases : '–',
        name: run.finished_at ? t('runs.cases_at_end') : t('runs.cases_so_far'),
        ...(run.dead_letters_total > 0
          ? { to: everyCaseOf(run), note: t('runs.cases_in_all', { count: inAll(ask, run) }) }
          : {}),
        ...(cases > 0 ? { tone: 'warn' as const } : {}),
      },
    ],
  }
}

/** A run whose HR source was taken away while it was held has no plan any more. */
function hasPlan(run: RunDetails): boolean {
  return wasHeld(run) && (run.state !== 'rejected' || run.decided_at !== null)
}

function actionsOf(ask: Ask, run: RunDetails): SafeHtml[] {
  const { t } = ask
  if (run.state === 'held')
    return [html`<a class="button main" href="/runs/${run.id}/plan">${t('runs.look_at_plan')}</a>`]
  if (!isUnderWay(run.state) || run.cancelled_at) return []
  return [
    actionForm(ask, {
      to: `/runs/${run.id}/cancel`,
      label: t('runs.cancel'),
      role: 'operator',
      tone: 'danger',
      fields: [cancelReason(ask, run)],
    }),
  ]
}

function cancelReason({ t }: Ask, { id, part_of, undecided }: RunDetails): Field {
  const field = reasonField(t, true, 'runs.cancel_hint')
  const held = part_of ?? (undecided === null ? null : id)
  return held === null ? field : { ...field, hint: t('runs.cancel_part_hint', { run: held }) }
}

/** Warnings and questions, shown before anything else. */
function alertsOf(ask: Ask, run: RunDetails): Block[] {
  const { t } = ask
  const message = runMessage(ask.language, run)
  const cases = casesOf(run)
  return [
    ...(isUnderWay(run.state) ? missingProcesses(ask, run.roles_alive) : []),
    ...stateNotice(ask, run, message),
    ...(run.state === 'done' && cases > 0
      ? [
          {
            notice: 'warn' as const,
            title: t('runs.ended_with_cases', { count: cases }),
            todo: { to: `/cases?run=${run.id}`, text: t('runs.review_cases') },
          },
        ]
      : []),
  ]
}

function stateNotice(ask: Ask, run: RunDetails, message: string | null): Block[] {
  const { t, may } = ask
  switch (run.state) {
    case 'held': {
      const plan = { to: `/runs/${run.id}/plan`, text: t('runs.look_at_plan') }
      const isWhole = run.undecided === null
      const what = isWhole ? null : inParts(ask, run)
      return [{ notice: 'warn', title: t('runs.is_held'), what, next: isWhole ? message : null, todo: plan }]
    }
    case 'source_suspect': {
      const again = may('operator') ? { to: '/runs/new', text: t('runs.start') } : null
      return [
        {
          notice: 'bad',
          title: t('runs.is_suspect'),
          next: message,
          list: [
            [t('runs.suspect.look'), ' ', { to: mappingPath(run.hr_source), text: t('nav.mapping') }],
            [t('runs.suspect.again'), ' ', again],
            t('runs.suspect.true'),
          ],
        },
      ]
    }
    case 'failed':
      return [{ notice: 'bad', title: t('runs.is_failed'), next: message }]
    default: {
      // What it says of one that was decided in parts is why it was held.
      const isOfPlan = run.undecided !== null && run.state !== 'superseded'
      const title = isOfPlan ? partsText(ask, run) : message
      return title ? [{ notice: 'info', title }] : []
    }
  }
}

function took(ask: Ask, run: RunDetails): string {
  const ms = tookMs(run, ask.now)
  return ms === null ? '–' : duration(ask, ms)
}

/** Cases that failed in the run, whatever became of them since. */
function everyCaseOf({ id }: RunDetails, categories?: string[]): string {
  return casesPath({ states: [...CASE_STATES], categories, run: id })
}

function inAll(ask: Ask, { dead_letters_total: total }: RunDetails): string {
  return total >= MOST_CASES_COUNTED ? `≥ ${figure(ask, MOST_CASES_COUNTED)}` : figure(ask, total)
}

/** Reasons in the plan, and the outcome of each. */
function planAndOutcome(ask: Ask, run: RunDetails): Block {
  const { t, language } = ask
  const { reasons, cases_by_category: categories, rows } = run
  const list = (
    group: string,
    counts: Record<string, number>,
    terms: string,
    wordsOf: (name: string, text: string) => Words = (_, text) => text,
  ) =>
    byCount(counts)
      .filter(([, n]) => n > 0)
      .map(([name, n]) => {
        const text = capitalised(textOr(language, `${terms}.${name}`, name))
        return { group, name: wordsOf(name, text), n }
      })
  const all = [
    ...list(t('runs.group.plan'), reasons, 'reason'),
    ...(run.skipped ? [{ group: t('runs.group.plan'), name: t('runs.skipped'), n: run.skipped }] : []),
    ...list(t('runs.group.outcome'), outcomesOf(run), 'outcome'),
    ...(rows
      ? [
          { group: t('runs.group.rows'), name: t('runs.rows_read'), n: rows.read },
          { group: t('runs.group.rows'), name: t('runs.rows_changed'), n: rows.changed },
        ]
      : []),
    ...list(t('runs.group.cases'), categories, 'category', (category, text) => ({
      to: everyCaseOf(run, [category]),
      text,
    })),
  ]
  return {
    section: t('runs.plan_and_outcome'),
    blocks: [
      tableOf(
        all.map((row, i) => ({ ...row, group: all[i - 1]?.group === row.group ? ' ' : row.group })),
        [
          { title: t('runs.group'), of: ({ group }) => ({ soft: group }) },
          { title: t('runs.what'), of: ({ name }) => name },
          { title: t('runs.count'), kind: 'number', of: ({ n }) => n },
        ],
        { caption: t('runs.plan_and_outcome'), empty: t(`runs.${nothing(run)}`) },
      ),
      ...(run.counted || run.state !== 'running' ? [] : [{ text: { soft: t('runs.counted_at_end') } }]),
    ],
  }
}

/** Why a run has neither plan nor outcome: only one that was planned found that there is nothing to do. */
function nothing({ state }: RunDetails): 'nothing_to_do' | 'no_plan_yet' | 'no_plan' {
  if (state === 'done' || state === 'running') return 'nothing_to_do'
  return isUnderWay(state) ? 'no_plan_yet' : 'no_plan'
}

type Figures = RunDetails['figures']

/** The run and the previous one, side by side. */
function comparison(ask: Ask, { figures: now, before }: RunDetails): Block {
  const { t } = ask
  if (before === null) return { section: t('runs.compared'), blocks: [{ text: t('runs.first_of_kind') }] }
  const plain = (value: number) => figure(ask, value)
  const spent = (value: number) => duration(ask, value)
  const rows: { name: string; of(figures: Figures): number | null; text(value: number): string }[] = [
    { name: t('runs.in_scope'), of: ({ in_scope }) => in_scope, text: plain },
    { name: t('runs.planned'), of: ({ planned }) => planned, text: plain },
    { name: t('runs.took'), of: ({ took_ms }) => took_ms, text: spent },
    { name: t('runs.calls'), of: ({ calls }) => calls, text: plain },
    {
      name: t('runs.waited'),
      of: ({ waited_ms, calls }) => (waited_ms !== null && calls ? waited_ms / calls : null),
      text: spent,
    },
    { name: t('runs.rate_limited'), of: ({ rate_limited }) => rate_limited, text: plain },
    { name: t('runs.new_cases'), of: ({ new_cases }) => new_cases, text: plain },
  ]
  return {
    section: t('runs.compared'),
    blocks: [
      tableOf(
        rows,
        [
          { title: t('runs.figure'), of: ({ name }) => name },
          { title: t('runs.this'), kind: 'number', of: row => textOfFigure(row.of(now), row.text) },
          { title: `#${before.id}`, kind: 'number', of: row => textOfFigure(row.of(before), row.text) },
          {
            title: t('runs.difference'),
            kind: 'number',
            of(row) {
              const [a, b] = [row.of(now), row.of(before)]
              if (a === null || b === null) return null
              return row.text(a) === row.text(b) ? '=' : `${a > b ? '+' : '−'}${row.text(Math.abs(a - b))}`
            },
          },
        ],
        { caption: t('runs.compared') },
      ),
      {
        text: {
          soft: [
            t('runs.before'),
            ' ',
            { to: `/runs/${before.id}`, text: `#${before.id}` },
            before.finished_at && [t('common.comma'), { since: before.finished_at }],
          ],
        },
      },
    ],
  }
}

function textOfFigure(value: number | null, text: (value: number) => string): string | null {
  return value === null ? null : text(value)
}

function callsTable(ask: Ask, run: RunDetails): Block {
  const { t, language } = ask
  return tableOf(
    run.calls,
    [
      {
        title: t('runs.operation'),
        of: ({ operation }) => [
          capitalised(textOr(language, `call.${operation}`, operation)),
          ' ',
          { soft: { code: operation } },
        ],
      },
      { title: t('runs.calls'), kind: 'number', of: ({ calls }) => calls },
      {
        title: t('runs.mean_wait'),
        kind: 'number',
        of: ({ waited_ms }) => textOfFigure(waited_ms, ms => duration(ask, ms)),
      },
      { title: t('runs.rate_limited'), kind: 'number', of: ({ rate_limited }) => rate_limited },
    ],
    { caption: t('runs.calls_by_operation') },
  )
}

function casesOfRun(ask: Ask, run: RunDetails): Block[] {
  const { t } = ask
  const [first] = run.dead_letters
  if (!first) return []
  const all = { to: everyCaseOf(run), text: t('runs.all_cases', { count: inAll(ask, run) }) }
  const table = tableOf(
    run.dead_letters,
    [
      { title: t('runs.case'), kind: 'number', only: 'shell', of: row => String(row.id) },
      {
        title: t('runs.case'),
        kind: 'main',
        only: 'page',
        of: row => [`#${row.id} ${caseKey(row)}`, nameOfKey(row)],
      },
      { title: t('cases.key'), only: 'shell', of: caseKey },
      { title: t('cases.what'), gives: true, of: itemOf },
      { title: t('runs.category'), of: ({ category }) => term('category', category) },
      { title: t('runs.state'), of: row => caseStatus(row.state) },
    ],
    { caption: t('runs.cases'), to: ({ id }) => `/cases/${id}` },
  )
  return [
    { section: t('runs.cases'), aside: all, blocks: [table] },
    { commands: t('common.details'), lines: [`dead-letters show ${first.id}`] },
  ]
}

const MOST_SHOWN = 50
const SAMPLES = 20

/** Link to the search, which knows whether a key is an employee or a department. */
function found(key: string): Words {
  return { to: `/search?q=${encodeURIComponent(key)}`, text: key }
}

/** An entity of the plan, by its key, behind that of its enterprise where there are several. */
function example({ kind }: RunDetails, key: string): Words {
  const [enterpriseCode, code] = /^([^/]*)\/(.*)$/.exec(key)?.slice(1) ?? ['', key]
  const named = { enterpriseCode: enterpriseCode ?? '', code: code ?? key }
  return [
    found(key),
    kind === 'departments'
      ? { nameOf: { enterpriseCode: named.enterpriseCode, deptCode: named.code } }
      : { nameOf: { enterpriseCode: named.enterpriseCode, userid: named.code } },
  ]
}

function about(ask: Ask, run: RunDetails): Block {
  const { t } = ask
  const named = run.keys.slice(0, MOST_SHOWN)
  const links = named.map(key =>
    run.kind === 'retry' ? { to: `/cases/${encodeURIComponent(key)}`, text: key } : found(key),
  )
  const more =
    run.named > named.length ? [' ', t('runs.and_more', { count: run.named - named.length })] : null
  return {
    facts: [
      [run.kind === 'retry' ? t('runs.tried_cases') : t('runs.named'), [joined(links, ' '), more]],
      [t('runs.part_of'), run.part_of && { to: `/runs/${run.part_of}/plan`, text: `#${run.part_of}` }],
      [t('runs.source'), run.hr_source],
      [t('runs.max_age'), run.max_age_s && duration(ask, run.max_age_s * 1000)],
      // Who requested a part has approved it.
      [
        run.part_of ? capitalised(t('plan.decision.approved')) : t('runs.asked'),
        [{ at: run.requested_at }, t('common.comma'), whoText(ask, run.requested_by)],
      ],
      [t('runs.began'), run.started_at && { at: run.started_at }],
      [t('runs.planned_at'), run.planned_at && { at: run.planned_at }],
      [t('runs.checked_at'), run.checked_at && { at: run.checked_at }],
      [t('runs.ended'), run.finished_at && { at: run.finished_at }],
      [t('runs.read'), readText(ask, run)],
      [
        t('runs.sample'),
        isPlan(run)
          ? joined(
              run.sample.slice(0, SAMPLES).map(key => example(run, key)),
              t('common.list_comma'),
            )
          : null,
      ],
      [
        isCancelling(run) ? capitalised(t('run_state.cancelled')) : t('runs.decided'),
        run.decided_at && [
          { at: run.decided_at },
          t('common.comma'),
          whoText(ask, run.decided_by ?? ''),
          run.decision_reason && `: ${run.decision_reason}`,
        ],
      ],
    ],
  }
}

/** Which rows of HR the run read. */
function readText({ t }: Ask, { kind, planned_at, read_all, named }: RunDetails): string | null {
  if (kind !== 'changes' || planned_at === null) return null
  if (read_all) return t('runs.read.all')
  return named > 0 ? t('runs.read.named') : t('runs.read.newer')
}

function commandsAside({ t }: Ask, { commands, commands_total: count }: RunDetails): { aside?: string } {
  const shown = commands.length
  return shown < count ? { aside: t('runs.commands_latest', { shown, count }) } : {}
}

function commandsTable(ask: Ask, run: RunDetails): Block {
  const { t, language } = ask
  return tableOf(
    run.commands,
    [
      { title: t('runs.when'), of: row => ({ since: row.requested_at }) },
      {
        title: t('runs.command'),
        of: ({ name }) => capitalised(textOr(language, `command.${name}`, name)),
      },
      { title: t('runs.by'), of: row => whoText(ask, row.requested_by) },
      { title: t('common.reason'), gives: true, of: row => row.reason },
    ],
    { caption: t('runs.commands'), empty: t('runs.no_commands') },
  )
}

// What the sanity gate measured

function gateAside({ t }: Ask, { before }: NonNullable<RunDetails['gate']>): Words {
  return before
    ? { to: `/runs/${before.run}`, text: t('runs.against', { run: before.run }) }
    : t('runs.no_good_run')
}

const TOO_FEW_ROWS: readonly MessageKey[] = [
  'said.no_rows',
  'said.no_user_ids',
  'said.fewer_rows',
  'said.fewer_user_ids',
]

/** HR's rows and columns; columns with the largest share of newly empty values first. @param stopped why the run was stopped */
function gateTable(ask: Ask, gate: NonNullable<RunDetails['gate']>, stopped: RunDetails['message']): Block {
  const { t, language } = ask
  const { before, usable } = gate
  const emptied = [...messagesIn(stopped ?? [])].find(({ key }) => key === 'said.emptied')?.values?.columns
  const rows: { name: Words; now: Words; usual: Words; change: Words; isBad: boolean }[] = [
    {
      name: t('runs.gate.rows'),
      now: usable,
      usual: before?.usable,
      change: before && before.usable > 0 ? points(ask, usable / before.usable - 1) : null,
      isBad: TOO_FEW_ROWS.some(key => says(stopped, key)),
    },
    ...(['keyless', 'stray'] as const)
      .filter(kind => gate[kind] > 0)
      .map(kind => ({
        name: t(`runs.gate.${kind}`),
        now: gate[kind],
        usual: before?.[kind],
        change: null,
        isBad: says(stopped, kind === 'stray' ? 'said.straying' : 'said.no_user_ids'),
      })),
    ...gate.columns.map(({ column, empty, empty_before }) => ({
      name: [capitalised(textOr(language, `field.${column}`, column)), ' ', { soft: { code: column } }],
      now: percent(ask, empty),
      usual: empty_before === null ? null : percent(ask, empty_before),
      change: empty_before === null ? null : points(ask, empty - empty_before),
      isBad: Array.isArray(emptied) && emptied.includes(column),
    })),
  ]
  return tableOf(
    rows,
    [
      { title: t('runs.gate.what'), of: ({ name }) => name },
      { title: t('runs.gate.now'), kind: 'number', of: ({ now }) => now },
      { title: t('runs.gate.before'), kind: 'number', of: ({ usual }) => usual },
      { title: t('runs.difference'), kind: 'number', of: ({ change }) => change },
      {
        title: t('runs.gate.verdict'),
        of: ({ isBad }) => (isBad ? { tone: 'bad', text: t('runs.gate.suspicious') } : null),
      },
    ],
    { caption: t('runs.gate'), empty: t('runs.no_good_run') },
  )
}

/** A difference of shares in percentage points, with its sign. */
function points(ask: Ask, difference: number): string {
  if (difference === 0) return '='
  return `${difference > 0 ? '+' : '−'}${percent(ask, Math.abs(difference))}`
}
