import { html, type SafeHtml } from '@remix-run/html-template'
import type { Place } from '../../hr/errors.ts'
import { DIFFERENCES } from '../../sync/dry-run-tables.ts'
import { actorText } from '../../texts/actor.ts'
import { inLanguage } from '../../texts/failures.ts'
import type { Said } from '../../texts/message.ts'
import { textOr } from '../../texts/texts.ts'
import type { Ask } from '../ask.ts'
import {
  actionForm,
  alert,
  duration,
  empty,
  facts,
  figure,
  foreign,
  head,
  live,
  masked,
  pager,
  section,
  since,
  state,
  type Tone,
  table,
  tabs,
  tiles,
} from '../ui/parts.ts'
import { employeePath } from '../ui/paths.ts'
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
  { dry_runs, next }: DryRunsResult,
  given: Given,
  mistake: Mistake | null,
): SafeHtml {
  const { t, language } = ask
  return html`${head(t('mapping.dry_runs'))}
  <p><a href="/mapping">${t('mapping.back')}</a></p>
  ${mistake ? mistakeAlert(ask, given.text, mistake) : ''}
  ${selectForm(ask, given)}
  ${live(
    ask.url === '/mapping/dry-runs' ? ask : { ...ask, url: '/mapping/dry-runs' },
    'dry-runs',
    ['dry_runs'],
    section(
      t('mapping.latest_dry_runs'),
      table(
        dry_runs,
        [
          { title: t('mapping.number'), kind: 'main', cell: ({ id }) => `#${id}` },
          { title: t('employees.state'), cell: row => state(TONES[row.state], stateWord(ask, row.state)) },
          ...(given.sources.length > 0
            ? [
                {
                  title: t('runs.source'),
                  cell: (row: DryRunsResult['dry_runs'][number]) => row.source || null,
                },
              ]
            : []),
          { title: t('mapping.asked_for'), cell: row => since(ask, row.requested_at) },
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
          empty: empty(t('mapping.no_dry_runs'), t('mapping.no_dry_runs.remedy')),
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
  if (!ask.may('operator')) return html`<p class="soft">${t('mapping.operator_only')}</p>`
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

export function dryRunBody(ask: Ask, dryRun: DryRunResult, what: string | undefined): SafeHtml {
  const { t } = ask
  const actions = isUnderWay(dryRun)
    ? [
        actionForm(ask, {
          to: `/mapping/dry-runs/${dryRun.id}/cancel`,
          label: t('mapping.cancel'),
          role: 'operator',
          tone: 'danger',
        }),
      ]
    : []
  return html`${head(t('mapping.dry_run', { id: dryRun.id }))}
  <p><a href="/mapping/dry-runs">${t('mapping.all_dry_runs')}</a></p>
  ${live(ask, 'dry-run', ['dry_runs'], html`${progress(ask, dryRun)}${actions}${outcome(ask, dryRun, what)}`)}
  ${section(t('mapping.select_tried'), selectForm(ask, tried(dryRun)))}`
}

function isUnderWay({ state: name }: DryRunResult): boolean {
  return name === 'requested' || name === 'running'
}

/** The form for another dry run starts with the mapping and source of this one. */
function tried({ mapping: text, source }: DryRunResult): Given {
  return { text, source, sources: source === '' ? [] : [source] }
}

function progress(ask: Ask, dryRun: DryRunResult): SafeHtml {
  const { t } = ask
  const { state: name, started_at, finished_at } = dryRun
  return html`<p class="row">${state(TONES[name], stateWord(ask, name))}${
    name === 'running' && dryRun.phase
      ? html` <span>${t(`mapping.phase.${dryRun.phase}`)}</span> <span class="soft">${t('mapping.rows_read', { rows: dryRun.rows_read })}</span>`
      : ''
  }${name === 'requested' ? html` <span>${t('mapping.waits')}</span>` : ''}
    <span class="soft">${foreign(actorText(ask, dryRun.requested_by))} · ${since(ask, dryRun.requested_at)}${
      started_at && finished_at ? html` · ${duration(ask, finished_at.getTime() - started_at.getTime())}` : ''
    }</span></p>
  ${
    dryRun.message === null
      ? ''
      : mistakeAlert(ask, dryRun.mapping, {
          message: dryRun.message,
          place: dryRun.error_line === null ? null : { line: dryRun.error_line, column: dryRun.error_column },
        })
  }`
}

const VERDICTS = { running: 'info', held: 'warn', source_suspect: 'bad' } as const

function outcome(ask: Ask, dryRun: DryRunResult, what: string | undefined): SafeHtml {
  const { t, language } = ask
  const { summary } = dryRun
  if (summary === null) return html``
  const { compared } = summary
  const differences = DIFFERENCES.reduce((sum, name) => sum + (compared[name] ?? 0), 0)
  const names = (fields: string[]) =>
    fields.map(field => textOr(language, `field.${field}`, field)).join(t('employees.list_separator'))
  return html`${alert(
    VERDICTS[summary.verdict],
    differences === 0 ? t('mapping.no_difference') : t('mapping.differences', { count: differences }),
    html`${t(`mapping.verdict.${summary.verdict}`)} ${
      summary.verdict_message === null ? '' : foreign(inLanguage(language, summary.verdict_message))
    }`,
  )}
  ${tiles(
    DIFFERENCES.map(name => ({
      value: figure(ask, compared[name] ?? 0),
      name: t(`mapping.what.${name}`),
      ...(name === 'breaks' && (compared.breaks ?? 0) > 0 ? { tone: 'warn' as const } : {}),
    })),
  )}
  ${facts([
    [
      t('mapping.rows'),
      t('mapping.rows_against', { rows: summary.rows, today: summary.rows_today, scope: summary.in_scope }),
    ],
    [t('mapping.added'), names(summary.added_columns)],
    [t('mapping.removed'), names(summary.removed_columns)],
    [t('mapping.planned'), planned(ask, summary.planned)],
  ])}
  <div class="columns">
    ${figures(ask, t('mapping.by_field'), t('employees.field'), summary.columns, field => textOr(language, `field.${field}`, field))}
    ${figures(
      ask,
      t('mapping.by_department'),
      t('employees.department'),
      summary.departments.map(({ department, n }) => ({ field: department, n })),
      department => (department === '' ? t('common.empty') : department),
    )}
    ${ruleBreaks(ask, summary)}
  </div>
  ${section(t('mapping.who'), employees(ask, dryRun, what), {
    aside:
      differences > summary.stored ? t('mapping.stored', { count: summary.stored }) : t('employees.masked'),
  })}`
}

function planned(ask: Ask, reasons: Record<string, number>): string | null {
  return (
    Object.entries(reasons)
      .filter(([, n]) => n > 0)
      .map(
        ([reason, n]) =>
          `${ask.t('mapping.named', { name: textOr(ask.language, `reason.${reason}`, reason) })} ${figure(ask, n)}`,
      )
      .join(ask.t('employees.list_separator')) || null
  )
}

function figures(
  ask: Ask,
  title: string,
  column: string,
  rows: readonly { field: string; n: number }[],
  nameOf: (field: string) => string,
): SafeHtml {
  if (rows.length === 0) return html``
  return section(
    title,
    table(
      rows,
      [
        { title: column, cell: ({ field }) => foreign(nameOf(field)) },
        { title: ask.t('mapping.employees'), kind: 'number', cell: ({ n }) => figure(ask, n) },
      ],
      { caption: title, empty: empty('') },
    ),
  )
}

function ruleBreaks(ask: Ask, summary: NonNullable<DryRunResult['summary']>): SafeHtml {
  const { t, language } = ask
  const fields = [...new Set([...summary.broken, ...summary.broken_today].map(({ field }) => field))]
  if (fields.length === 0) return html``
  const count = (rows: readonly { field: string; n: number }[], field: string) =>
    figure(ask, rows.find(row => row.field === field)?.n ?? 0)
  return section(
    t('mapping.rule_breaks'),
    table(
      fields,
      [
        { title: t('mapping.column'), cell: field => textOr(language, `field.${field}`, field) },
        { title: t('mapping.today'), kind: 'number', cell: field => count(summary.broken_today, field) },
        { title: t('mapping.with_it'), kind: 'number', cell: field => count(summary.broken, field) },
      ],
      { caption: t('mapping.rule_breaks'), empty: empty('') },
    ),
  )
}

function employees(ask: Ask, dryRun: DryRunResult, what: string | undefined): SafeHtml {
  const { t, language } = ask
  const path = `/mapping/dry-runs/${dryRun.id}`
  const kinds = DIFFERENCES.filter(name => (dryRun.summary?.compared[name] ?? 0) > 0)
  return html`${
    kinds.length < 2
      ? ''
      : tabs(t('mapping.who'), [
          { href: path, text: t('common.all'), current: what === undefined },
          ...kinds.map(name => ({
            href: `${path}?what=${name}`,
            text: t(`mapping.what.${name}`),
            current: what === name,
          })),
        ])
  }${table(
    dryRun.employees,
    [
      { title: t('employees.userid'), kind: 'main', cell: ({ userid }) => foreign(userid) },
      { title: t('mapping.difference'), cell: row => t(`mapping.one.${row.what}`) },
      { title: t('employees.department'), kind: 'spare', cell: row => foreign(row.department) },
      {
        title: t('mapping.changes'),
        cell: ({ changed }) =>
          changed.length === 0
            ? null
            : html`${changed.map(
                ({ field, from, to }) =>
                  html`<div>${t('mapping.named', { name: textOr(language, `field.${field}`, field) })} ${masked(ask, from)} → ${masked(ask, to)}</div>`,
              )}`,
      },
    ],
    {
      caption: t('mapping.who'),
      empty: empty(t('mapping.nobody')),
      href: row => employeePath({ enterpriseCode: row.enterprise_code, userid: row.userid }),
    },
  )}${pager(ask, dryRun.next)}`
}
