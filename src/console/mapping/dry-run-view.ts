import { html, type SafeHtml } from '@remix-run/html-template'
import { qualified } from '../../directory/employee.ts'
import type { Place } from '../../hr/errors.ts'
import { hrSettingOf } from '../../hr/sources.ts'
import { DIFFERENCES } from '../../sync/plan/dry-run-tables.ts'
import { actorText } from '../../texts/actor.ts'
import { inLanguage } from '../../texts/failures.ts'
import type { Said } from '../../texts/message.ts'
import { textOr } from '../../texts/texts.ts'
import { type Ask, lacksRole } from '../ask.ts'
import { mayAs } from '../auth/viewer.ts'
import { rangeFields } from '../range.ts'
import { sourceChoice } from '../runs/list-view.ts'
import { type Block, joined, noRows, type Shown, tableOf, term, type Words } from '../shown.ts'
import {
  actionForm,
  alert,
  duration,
  empty,
  emptyPage,
  filters,
  foreign,
  head,
  live,
  pager,
  section,
  state,
  type Tone,
  table,
  tabs,
  time,
} from '../ui/parts.ts'
import { employeePath } from '../ui/paths.ts'
import { valueWords } from '../ui/shown.ts'
import type { DryRunLine } from './dry-runs.ts'
import type { DryRunResult, DryRunsResult } from './query.ts'

/** An error in a SELECT, and where it is. */
interface Mistake {
  message: Said
  place: Place | null
}

const TONES: Record<DryRunResult['state'], Tone> = {
  requested: 'wait',
  running: 'busy',
  done: 'ok',
  failed: 'bad',
  cancelled: 'off',
}

/** Initial values of the form for another dry run; kept when the form is refused. */
interface Given {
  text: string
  source: string
  /** Names of the HR sources; empty if there is only one. */
  sources: readonly string[]
}

/** The list of dry runs, and a form for another one. */
export function dryRunsBody(
  ask: Ask,
  { items, next }: DryRunsResult,
  given: Given,
  mistake: Mistake | null,
  filter: Parameters<typeof rangeFields>[2] & { source?: string | undefined },
): SafeHtml {
  const { t, language } = ask
  return html`${head(t('mapping.dry_runs'))}
  ${mistake ? mistakeAlert(ask, given.text, mistake) : ''}
  ${selectForm(ask, given)}
  ${filters(ask, '/mapping/dry-runs', [
    ...sourceChoice(ask, given.sources, filter.source),
    ...rangeFields(ask, t('mapping.asked_for'), filter),
  ])}
  ${live(
    /^\/mapping\/dry-runs(?:\?|$)/.test(ask.url) ? ask : { ...ask, url: '/mapping/dry-runs' },
    'dry-runs',
    ['dry_runs'],
    section(
      t('mapping.latest_dry_runs'),
      table(
        items,
        [
          { title: t('mapping.number'), kind: 'main', cell: ({ id }) => `#${id}` },
          { title: t('employees.state'), cell: row => state(TONES[row.state], stateWord(ask, row.state)) },
          ...(given.sources.length > 0
            ? [
                {
                  title: t('runs.source'),
                  cell: (row: DryRunLine) => row.source || null,
                },
              ]
            : []),
          { title: t('mapping.asked_for'), cell: row => time(ask, row.requested_at) },
          { title: t('mapping.by'), kind: 'spare', cell: row => foreign(actorText(ask, row.requested_by)) },
          {
            title: t('employees.took'),
            kind: 'number',
            cell: row =>
              row.started_at && row.finished_at
                ? duration(ask, row.finished_at.getTime() - row.started_at.getTime())
                : null,
          },
          {
            title: t('employees.said'),
            kind: 'spare',
            cell: ({ message }) => (message === null ? null : foreign(inLanguage(language, message))),
          },
        ],
        {
          caption: t('mapping.latest_dry_runs'),
          empty: emptyPage(
            ask,
            [filter.source, filter.from, filter.to].some(value => value !== undefined)
              ? empty(t('mapping.no_dry_runs_match'))
              : empty(t('mapping.no_dry_runs'), t('mapping.no_dry_runs.remedy')),
          ),
          href: ({ id }) => `/mapping/dry-runs/${id}`,
        },
      ),
      { aside: t('mapping.kept_for') },
    ),
  )}
  ${pager(ask, next)}`
}

function stateWord({ language }: Ask, name: string): string {
  return textOr(language, `dry_run_state.${name}`, name)
}

function selectForm(ask: Ask, { text, source, sources }: Given): SafeHtml {
  const { t } = ask
  if (lacksRole(ask, 'operator')) return html`<p class="soft">${t('mapping.operator_only')}</p>`
  if (!ask.may('operator')) return html``
  const choice =
    sources.length === 0
      ? ''
      : html`<p class="field"><label for="source">${t('runs.source')}</label>
    <select id="source" name="source">${sources.map(
      name => html`<option value="${name}"${name === source ? html` selected` : ''}>${name}</option>`,
    )}</select></p>`
  return html`<form method="post" action="/mapping/dry-runs" class="select">
    ${choice}
    <p class="field"><label for="mapping">${t('mapping.select')}</label>
    <textarea id="mapping" name="mapping" class="code" rows="${Math.min(24, Math.max(8, text.split('\n').length + 2))}" required maxlength="100000" spellcheck="false"
      aria-describedby="mapping-hint">${text}</textarea>
    <small id="mapping-hint">${t('mapping.paste_hint')}</small></p>
    <p class="field"><button class="main">${t('mapping.find_out')}</button></p>
  </form>`
}

/** Lines shown around an error. */
const AROUND = 2

/** The error, with its line and a mark below the column. */
function mistakeAlert(ask: Ask, text: string, { message, place }: Mistake): SafeHtml {
  const { language } = ask
  return html`<div class="mistake">${alert('bad', whereText(ask, place), foreign(inLanguage(language, message)))}${
    place ? excerpt(text, place) : ''
  }</div>`
}

function whereText({ t }: Ask, place: Place | null): string {
  if (place === null) return t('mapping.wrong')
  const { line, column } = place
  return column === null ? t('mapping.wrong_in', { line }) : t('mapping.wrong_at', { line, column })
}

/** How many characters of a line are shown on each side of an error. */
const WIDTH = 60

function excerpt(text: string, { line, column }: Place): SafeHtml {
  const lines = text.replaceAll('\r\n', '\n').split('\n')
  const first = Math.max(0, line - 1 - AROUND)
  const cut = Math.max(0, (column ?? 1) - 1 - WIDTH)
  const shown = lines.slice(first, line + AROUND).flatMap((content, i) => {
    const number = first + i + 1
    const margin = `${String(number).padStart(4)} │ `
    const visible = `${margin}${content.slice(cut, cut + 2 * WIDTH)}`
    if (number !== line) return [html`${`${visible}\n`}`]
    const mark = column === null ? '' : `${' '.repeat(margin.length + column - 1 - cut)}^\n`
    return [html`<mark>${visible}</mark>${'\n'}`, html`${mark}`]
  })
  return html`<pre class="sql" tabindex="0">${shown}</pre>`
}

// One dry run

export function dryRunShown(ask: Ask, dryRun: DryRunResult, what: string | undefined): Shown {
  const { t } = ask
  const { id } = dryRun
  const cancel = actionForm(ask, {
    to: `/mapping/dry-runs/${id}/cancel`,
    label: t('mapping.cancel'),
    role: 'operator',
    tone: 'danger',
  })
  return {
    title: t('mapping.dry_run', { id }),
    blocks: [
      { drawn: html`<p><a href="/mapping/dry-runs">${t('mapping.all_dry_runs')}</a></p>` },
      {
        part: 'dry-run',
        topics: ['dry_runs'],
        blocks: [
          { text: progressOf(ask, dryRun) },
          ...(dryRun.message === null ? [] : [{ drawn: mistakeOf(ask, dryRun, dryRun.message) }]),
          ...(isUnderWay(dryRun) ? [{ drawn: cancel }] : []),
          ...outcomeOf(ask, dryRun, what),
        ],
      },
      { drawn: section(t('mapping.select_tried'), selectForm(ask, tried(dryRun))) },
    ],
  }
}

function isUnderWay({ state: name }: DryRunResult): boolean {
  return name === 'requested' || name === 'running'
}

/** The form for another dry run starts with the mapping and source of this one. */
function tried({ mapping: text, source }: DryRunResult): Given {
  return { text, source, sources: source === '' ? [] : [source] }
}

function progressOf(ask: Ask, dryRun: DryRunResult): Words {
  const { t } = ask
  const { state: name, phase, started_at, finished_at } = dryRun
  const took = started_at && finished_at && duration(ask, finished_at.getTime() - started_at.getTime())
  const rows = { soft: t('mapping.rows_read', { rows: dryRun.rows_read }) }
  return joined(
    [
      { tone: TONES[name], text: term('dry_run_state', name) },
      ...(name === 'running' && phase ? [t(`mapping.phase.${phase}`), rows] : []),
      name === 'requested' ? t('mapping.waits') : null,
      { soft: joined([actorText(ask, dryRun.requested_by), { since: dryRun.requested_at }, took], ' · ') },
    ],
    ' ',
  )
}

function mistakeOf(ask: Ask, dryRun: DryRunResult, message: Said): SafeHtml {
  const place = dryRun.error_line === null ? null : { line: dryRun.error_line, column: dryRun.error_column }
  return mistakeAlert(ask, dryRun.mapping, { message, place })
}

const VERDICTS = { running: 'info', held: 'warn', source_suspect: 'bad' } as const

function outcomeOf(ask: Ask, dryRun: DryRunResult, what: string | undefined): Block[] {
  const { t, language } = ask
  const { summary, adopt } = dryRun
  if (summary === null) return []
  const { compared } = summary
  const differences = DIFFERENCES.reduce((sum, name) => sum + (compared[name] ?? 0), 0)
  // Of the mapping in use: only what a run with it would do is of interest.
  const compares = !adopt?.is_in_use || differences > 0
  const said = summary.verdict_message
  const separator = t('common.list_comma')
  const names = (fields: string[]) =>
    joined(
      fields.map(field => term('field', field)),
      separator,
    )
  const planned = Object.entries(summary.planned).filter(([, n]) => n > 0)
  const count = planned.reduce((sum, [, n]) => sum + n, 0)
  return [
    {
      notice: VERDICTS[summary.verdict],
      title: adopt?.is_in_use
        ? t('mapping.planned_then', { count })
        : differences === 0
          ? t('mapping.no_difference')
          : t('mapping.differences', { count: differences }),
      what: joined([t(`mapping.verdict.${summary.verdict}`), said && inLanguage(language, said)], ' '),
    },
    ...adoption(ask, dryRun),
    ...(compares ? [differencesOf(ask, compared)] : []),
    {
      facts: [
        [
          t('mapping.rows'),
          t('mapping.rows_against', {
            rows: summary.rows,
            today: summary.rows_today,
            scope: summary.in_scope,
          }),
        ],
        [t('mapping.added'), names(summary.added_columns)],
        [t('mapping.removed'), names(summary.removed_columns)],
        [
          t('mapping.planned'),
          planned.length > 0
            ? [
                joined(
                  planned.map(([reason, n]): Words => [term('reason', reason), ' ', n]),
                  separator,
                ),
                { soft: [separator, t('mapping.planned_too')] },
              ]
            : null,
        ],
      ],
    },
    {
      columns: [
        figuresOf(ask, t('mapping.by_field'), t('employees.field'), summary.columns, field =>
          term('field', field),
        ),
        figuresOf(
          ask,
          t('mapping.by_department'),
          t('employees.department'),
          summary.departments.map(({ department, n }) => ({ field: department, n })),
          department => (department === '' ? t('common.empty') : { foreign: department }),
        ),
        ruleBreaks(ask, summary),
      ].filter(column => column.length > 0),
    },
    ...(compares
      ? [
          {
            section: t('mapping.who'),
            aside:
              differences > summary.stored
                ? t('mapping.stored', { count: summary.stored })
                : t('employees.masked'),
            blocks: mayAs(ask.viewer.role, 'operator')
              ? employeesOf(ask, dryRun, what)
              : [{ text: { soft: t('mapping.who_operator_only') } }],
          },
        ]
      : []),
  ]
}

function differencesOf({ t }: Ask, compared: Record<string, number>): Block {
  return {
    tiles: DIFFERENCES.map(name => ({
      value: compared[name] ?? 0,
      name: t(`mapping.what.${name}`),
      ...(name === 'breaks' && (compared.breaks ?? 0) > 0 ? { tone: 'warn' as const } : {}),
    })),
  }
}

/** Whether there is something to adopt, and how. */
function adoption({ t, language }: Ask, { adopt, source }: DryRunResult): Block[] {
  if (adopt === null)
    return [{ text: t('mapping.adopt.unread', { setting: hrSettingOf(source !== '', 'employees_sql') }) }]
  if (adopt.is_in_use) return [{ text: t('mapping.adopt.in_use') }]
  return [
    { text: t('mapping.adopt.how', { file: adopt.file }) },
    ...(adopt.shared_with.length === 0
      ? []
      : [
          {
            text: t('mapping.adopt.shared', {
              sources: new Intl.ListFormat(language).format(adopt.shared_with),
              source,
            }),
          },
        ]),
    { commands: t('mapping.adopt.then'), lines: [source === '' ? 'resync' : `resync --source ${source}`] },
  ]
}

function figuresOf(
  { t }: Ask,
  title: string,
  column: string,
  rows: readonly { field: string; n: number }[],
  nameOf: (field: string) => Words,
): Block[] {
  if (rows.length === 0) return []
  const table = tableOf(
    rows,
    [
      { title: column, of: ({ field }) => nameOf(field) },
      { title: t('mapping.employees'), kind: 'number', of: ({ n }) => n },
    ],
    { caption: title },
  )
  return [{ section: title, blocks: [table] }]
}

function ruleBreaks({ t }: Ask, { broken, broken_today }: NonNullable<DryRunResult['summary']>): Block[] {
  const fields = [...new Set([...broken, ...broken_today].map(({ field }) => field))]
  if (fields.length === 0) return []
  const count = (rows: readonly { field: string; n: number }[], field: string) =>
    rows.find(row => row.field === field)?.n ?? 0
  const table = tableOf(
    fields,
    [
      { title: t('mapping.column'), of: field => term('field', field) },
      { title: t('mapping.today'), kind: 'number', of: field => count(broken_today, field) },
      { title: t('mapping.with_it'), kind: 'number', of: field => count(broken, field) },
    ],
    { caption: t('mapping.rule_breaks') },
  )
  return [{ section: t('mapping.rule_breaks'), blocks: [table] }]
}

function employeesOf(ask: Ask, dryRun: DryRunResult, what: string | undefined): Block[] {
  const { t } = ask
  const path = `/mapping/dry-runs/${dryRun.id}`
  const kinds = DIFFERENCES.filter(name => (dryRun.summary?.compared[name] ?? 0) > 0)
  const kindTabs = () =>
    tabs(t('mapping.who'), [
      { href: path, text: t('common.all'), current: what === undefined },
      ...kinds.map(name => ({
        href: `${path}?what=${name}`,
        text: t(`mapping.what.${name}`),
        current: what === name,
      })),
    ])
  return [
    ...(kinds.length < 2 ? [] : [{ drawn: kindTabs() }]),
    tableOf(
      dryRun.items,
      [
        {
          title: t('employees.userid'),
          kind: 'main',
          of: ({ enterprise_code: enterpriseCode, userid }) => [
            { foreign: qualified(enterpriseCode, userid) },
            { nameOf: { enterpriseCode, userid } },
          ],
        },
        { title: t('mapping.difference'), of: row => t(`mapping.one.${row.what}`) },
        {
          title: t('employees.department'),
          spare: true,
          of: ({ department }) => department && { foreign: department },
        },
        {
          title: t('mapping.changes'),
          gives: true,
          of: ({ changed }) =>
            joined(
              changed.map(({ field, from, to }): Words => {
                return [
                  term('field', field),
                  ' ',
                  valueWords(ask, field, from),
                  ' → ',
                  valueWords(ask, field, to),
                ]
              }),
              t('common.list_comma'),
            ),
        },
      ],
      {
        caption: t('mapping.who'),
        ...noRows(ask, t('mapping.nobody')),
        to: row => employeePath({ enterpriseCode: row.enterprise_code, userid: row.userid }),
      },
    ),
    { next: dryRun.next },
  ]
}
