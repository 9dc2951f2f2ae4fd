import { html, type SafeHtml } from '@remix-run/html-template'
import { caseFilterSchema, describeFilter, filterQuery, UNASSIGNED } from '../../sync/cases/case-filter.ts'
import { actorText } from '../../texts/actor.ts'
import { inLanguage } from '../../texts/failures.ts'
import { byCount } from '../../texts/figures.ts'
import { textOr } from '../../texts/texts.ts'
import type { Ask } from '../ask.ts'
import { caseTabs, categoryName, fieldName, keyWords, operationName, short } from '../cases/parts.ts'
import { toldText } from '../cases/told.ts'
import { rangeFields } from '../range.ts'
import {
  actionForm,
  alert,
  bar,
  empty,
  emptyPage,
  facts,
  figure,
  filters,
  head,
  live,
  type Part,
  pager,
  section,
  state,
  type Tone,
  table,
  tabs,
  time,
  timeText,
} from '../ui/parts.ts'
import { wordsOf } from '../ui/shown.ts'
import { caseStatus } from '../ui/states.ts'
import { type BulkPage, OUTCOMES } from './query.ts'
import type { BulkRow } from './read.ts'

// The list

export function bulkListBody(
  ask: Ask,
  actions: readonly BulkRow[],
  range: Parameters<typeof rangeFields>[2],
): SafeHtml {
  const { t } = ask
  return html`${head(t('cases.title'))}
  ${caseTabs(ask, 'bulk')}
  ${ask.may('reviewer') ? html`<p><a href="/cases">${t('bulk.how')}</a></p>` : ''}
  ${filters(ask, '/bulk', rangeFields(ask, t('bulk.when'), range))}
  ${live(
    ask,
    'actions',
    ['bulk'],
    table(
      actions,
      [
        { title: t('bulk.what'), kind: 'main', cell: row => titleOf(ask, row) },
        { title: t('bulk.state'), cell: row => bulkState(ask, row) },
        {
          title: t('bulk.result'),
          cell: ({ done, skipped, failed }) => t('bulk.result_line', { done, skipped, failed }),
        },
        { title: t('bulk.which'), kind: 'spare', cell: row => filterText(ask, row) },
        { title: t('bulk.by'), cell: ({ requested_by }) => short(actorText(ask, requested_by)) },
        { title: t('bulk.when'), cell: row => time(ask, row.confirmed_at ?? row.created_at) },
        { title: t('bulk.reason'), kind: 'spare', cell: ({ reason }) => reason && short(reason) },
      ],
      {
        caption: t('bulk.title'),
        empty: empty(t('bulk.none')),
        href: ({ id }) => `/bulk/${id}`,
      },
    ),
  )}`
}

export function titleOf({ t }: Ask, { action, total }: Pick<BulkRow, 'action' | 'total'>): string {
  return t(`bulk.name_${action}`, { total })
}

const STATES: Record<BulkRow['state'], Tone> = {
  preview: 'wait',
  requested: 'wait',
  running: 'busy',
  done: 'ok',
  stopped: 'off',
}

function bulkState({ language }: Ask, { state: name, failed }: BulkRow): SafeHtml {
  // A finished action in which some cases failed is a warning, not a success.
  const tone = name === 'done' && failed > 0 ? 'warn' : STATES[name]
  return state(tone, textOr(language, `bulk_state.${name}`, name))
}

/** Which cases the action covers, in words. */
function filterText(ask: Ask, { filter, undoes }: BulkRow): string {
  const { t, language } = ask
  if (undoes !== null) return t('bulk.changed_by', { id: String(undoes) })
  if (filter === null) return t('bulk.chosen')
  const parts = describeFilter(caseFilterSchema.parse(filter)).map(({ name, values }) => {
    const said = values.map(value => {
      if (name === 'states') return textOr(language, `state.${value}`, value)
      if (name === 'categories') return categoryName(ask, value)
      if (name === 'operation') return operationName(ask, value)
      if (name === 'field') return fieldName(ask, value)
      if (name === 'entity') return textOr(language, `entity.${value}`, value)
      if (name === 'assignee' && value === UNASSIGNED) return t('cases.nobody')
      return name === 'code' && value === '0' ? t('cases.no_code') : short(value)
    })
    const filter = name === 'code' ? t('cases.code') : t(`cases.f.${name}`)
    return `${filter}: ${said.join(t('common.list_comma'))}`
  })
  return parts.length === 0 ? t('bulk.everything') : parts.join(' · ')
}

// One action

/** Before the start: what would happen. Afterwards: the progress, and the outcome of each case. */
export function bulkBody(ask: Ask, page: BulkPage, outcome: (typeof OUTCOMES)[number] | undefined): SafeHtml {
  const { t } = ask
  const { bulk } = page
  const isPreview = bulk.state === 'preview'
  return live(
    ask,
    'action',
    ['bulk', 'cases'],
    html`${head(titleOf(ask, bulk), { aside: bulkState(ask, bulk), actions: actionsOf(ask, page) })}
    ${isPreview ? previewOf(ask, page) : progressOf(ask, bulk)}
    ${factsOf(ask, bulk)}
    ${section(
      t('bulk.cases'),
      html`${isPreview ? '' : outcomeTabs(ask, bulk, outcome)}${resultTable(ask, page)}${pager(ask, page.next)}`,
    )}`,
  )
}

function actionsOf(ask: Ask, { bulk, will_act }: BulkPage): SafeHtml[] {
  const { t } = ask
  const role = 'reviewer'
  const to = (name: string) => `/bulk/${bulk.id}/${name}`
  if (bulk.state === 'preview')
    return [
      ...(will_act === 0
        ? []
        : [
            actionForm(ask, {
              to: to('start'),
              label: t('bulk.start'),
              role,
              tone: bulk.action === 'ignore' ? 'danger' : 'main',
            }),
          ]),
      actionForm(ask, { to: to('stop'), label: t('bulk.discard'), role }),
    ]
  if (bulk.state === 'requested' || bulk.state === 'running')
    return [actionForm(ask, { to: to('stop'), label: t('bulk.stop'), role, tone: 'danger' })]
  return bulk.undoable_until ? [actionForm(ask, { to: to('undo'), label: t('common.undo'), role })] : []
}

function previewOf(ask: Ask, { bulk, told, will_act }: BulkPage): SafeHtml {
  const { t, language } = ask
  const skipped = bulk.total - will_act
  return html`<div class="stack">${alert(
    will_act === 0 ? 'warn' : 'info',
    t('bulk.nothing_yet'),
    html`${will_act === 0 ? '' : html`<p>${willDo(ask, bulk, will_act)}</p>`}
      ${told === 'no_need' ? '' : html`<p>${toldText(ask, bulk.arguments.assignee ?? '', told)}</p>`}
      ${skipped > 0 ? html`<p>${t('bulk.will_skip', { count: skipped })}</p>` : ''}
      <p class="soft">${t('bulk.changed_is_skipped')}</p>
      ${bulk.more ? html`<p>${t('bulk.more', { total: bulk.total })}</p>` : ''}`,
  )}</div>
  <div class="columns">
    ${section(
      t('bulk.by_category'),
      counts(ask, bulk.categories, category => categoryName(ask, category)),
    )}
    ${section(
      t('bulk.by_state'),
      counts(ask, bulk.states, name => textOr(language, `state.${name}`, name)),
    )}
  </div>`
}

/** What starting it would do, in one sentence. */
function willDo(ask: Ask, { action, arguments: given }: BulkRow, count: number): string {
  const { t } = ask
  switch (action) {
    case 'snooze':
      return t('bulk.will_snooze', { count, until: given.until ? timeText(ask, new Date(given.until)) : '–' })
    case 'assign':
      return given.assignee
        ? t('bulk.will_assign', { count, assignee: given.assignee })
        : t('bulk.will_unassign', { count })
    case 'undo': // It is not previewed.
      return ''
    default:
      return t(`bulk.will_${action}`, { count })
  }
}

function counts(ask: Ask, of: Record<string, number>, name: (key: string) => string): SafeHtml {
  return facts(byCount(of).map(([key, count]) => [short(name(key)), figure(ask, count)]))
}

function progressOf(ask: Ask, { total, done, skipped, failed }: BulkRow): SafeHtml {
  const { t } = ask
  const passed = done + skipped + failed
  return html`<div class="stack"><p>${t('bulk.of_total', { count: passed, total })}${bar(
    total === 0 ? 1 : passed / total,
    failed > 0 ? 'warn' : 'ok',
  )}</p></div>`
}

function factsOf(ask: Ask, bulk: BulkRow): SafeHtml {
  const { t } = ask
  const { until, text, assignee } = bulk.arguments
  const moment = (at: Date | null) => at && time(ask, at)
  const which = filterText(ask, bulk)
  return facts([
    [
      t('bulk.which'),
      bulk.undoes !== null
        ? html`<a href="/bulk/${bulk.undoes}">${which}</a>`
        : bulk.filter === null
          ? which
          : html`<a href="/cases?${String(filterQuery(caseFilterSchema.parse(bulk.filter)))}">${which}</a>`,
    ],
    [
      t(bulk.undone_in_part ? 'bulk.undone_in_part_by' : 'bulk.undone_by'),
      bulk.undone_by &&
        html`<a href="/bulk/${bulk.undone_by}">${t('audit.bulk_n', { id: String(bulk.undone_by) })}</a>`,
    ],
    [t('bulk.undoable_until'), moment(bulk.undoable_until)],
    [t('bulk.until'), until && time(ask, new Date(until))],
    [t('bulk.assignee'), bulk.action === 'assign' ? (assignee ?? t('cases.nobody')) : null],
    [t('bulk.comment'), text],
    [t('bulk.reason'), bulk.reason],
    [t('bulk.by'), html`<span title="${bulk.requested_by}">${actorText(ask, bulk.requested_by)}</span>`],
    [t('bulk.started_at'), moment(bulk.started_at)],
    [t('bulk.finished_at'), moment(bulk.finished_at)],
  ])
}

function outcomeTabs(ask: Ask, bulk: BulkRow, outcome: string | undefined): SafeHtml {
  const { t } = ask
  const { id, total, done, skipped, failed } = bulk
  const count = { done, skipped, failed, waiting: total - done - skipped - failed }
  const tab = (name: (typeof OUTCOMES)[number] | undefined, text: string, n: number) => ({
    href: name === undefined ? `/bulk/${id}` : `/bulk/${id}?outcome=${name}`,
    text: html`${text} <span class="soft">${figure(ask, n)}</span>`,
    current: name === outcome,
  })
  return tabs(t('bulk.outcome'), [
    tab(undefined, t('common.all'), total),
    ...OUTCOMES.map(name => tab(name, t(`bulk.${outcomeName(bulk, name)}`), count[name])),
  ])
}

const OUTCOME_TONES = { done: 'ok', skipped: 'off', failed: 'bad', waiting: 'wait', left: 'off' } as const

/** What an outcome is called: nothing waits for its turn once the action was stopped. */
function outcomeName({ state }: BulkRow, outcome: (typeof OUTCOMES)[number]): keyof typeof OUTCOME_TONES {
  return outcome === 'waiting' && state === 'stopped' ? 'left' : outcome
}

function resultTable(ask: Ask, { bulk, items }: BulkPage): SafeHtml {
  const { t, language } = ask
  type Row = BulkPage['items'][number]
  const key = ({ dead_letter_id, enterprise_code, entity_key, entity }: Row): Part =>
    entity_key === null
      ? `#${dead_letter_id}`
      : wordsOf(ask, keyWords({ enterprise_code: enterprise_code ?? '', entity_key, entity: entity ?? '' }))
  const result = ({ outcome, code, message }: Row): SafeHtml => {
    const name = outcomeName(bulk, outcome ?? 'waiting')
    return html`${state(OUTCOME_TONES[name], t(`bulk.${name}`))}${
      code === null
        ? ''
        : html` <span class="soft">${t(`bulk.code_${code}`, { message: message ? inLanguage(language, message, ask.zone) : '' })}</span>`
    }`
  }
  return table(
    items,
    [
      { title: t('cases.key'), kind: 'main', cell: key },
      {
        title: t('cases.field'),
        kind: 'spare',
        cell: ({ field }) => (field ? short(fieldName(ask, field)) : null),
      },
      {
        title: t('cases.cause'),
        cell: ({ category }) => (category === null ? null : short(categoryName(ask, category))),
      },
      {
        title: t('bulk.present_state'),
        cell: row => (row.state === null ? null : wordsOf(ask, caseStatus(row.state))),
      },
      ...(bulk.state === 'preview' ? [] : [{ title: t('bulk.outcome'), cell: result }]),
      ...(bulk.state === 'preview' || bulk.action !== 'retry'
        ? []
        : [
            {
              title: t('bulk.run'),
              kind: 'number' as const,
              cell: ({ run_id }: Row) =>
                run_id === null ? null : html`<a href="/runs/${run_id}">#${run_id}</a>`,
            },
          ]),
    ],
    {
      caption: t('bulk.cases'),
      empty: emptyPage(ask, empty(t('bulk.no_results'))),
      href: ({ dead_letter_id }) => `/cases/${dead_letter_id}`,
    },
  )
}
