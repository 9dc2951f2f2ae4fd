import { html, type SafeHtml } from '@remix-run/html-template'
import { EMPLOYEE_FIELDS } from '../../directory/employee.ts'
import { JOB_OPERATIONS } from '../../queue/job.ts'
import { FIELDS, filterQuery, MINE, UNASSIGNED } from '../../sync/cases/case-filter.ts'
import { CASE_STATES, FOR_A_PERSON } from '../../sync/cases/cases.ts'
import { MIRRORS, mirrorOperation } from '../../sync/runs/mirror-kind.ts'
import { isTextKey, textOr } from '../../texts/texts.ts'
import type { Ask } from '../ask.ts'
import { mayAs } from '../auth/viewer.ts'
import { byName, keysField } from '../employees/by-name.ts'
import { rangeFields } from '../range.ts'
import { noRows, type Shown, type ShownColumn, tableOf } from '../shown.ts'
import {
  actionForm,
  empty,
  type Field,
  field,
  figure,
  filterForm,
  head,
  live,
  type Sort,
  section,
  table,
  time,
} from '../ui/parts.ts'
import { casesForAPerson, casesPath, employeePath } from '../ui/paths.ts'
import { drawBlocks, wordsOf } from '../ui/shown.ts'
import { caseStatus } from '../ui/states.ts'
import { SNOOZE, untilFields } from '../until.ts'
import type { Arrival } from './arrival.ts'
import { BULK_ACTIONS } from './input.ts'
import { caseTabs, categoryName, cause, fieldName, itemOf, keyWords, operationName, short } from './parts.ts'
import { type CaseGroups, type CaseList, COLUMNS, filterOf, type ListInput, orderOf } from './query.ts'
import { CASE_ORDERS, type CaseOrder, orderFor } from './read.ts'
import { type CaseView, type Display, SHARES, viewQuery } from './views.ts'

type Group = CaseGroups['items'][number]
type Listed = CaseList & {
  input: ListInput
  departments: { value: string; text: string }[]
  categories: string[]
  users: string[]
  groups: Group[]
  views: CaseView[]
  display: Display | null
}
type ColumnName = (typeof COLUMNS)[number]

/** More causes than this are shown on a page of their own. */
const CAUSES_ABOVE = 5
const FORM = 'act'

/** The filters, the causes of what is open, and the cases one by one. The list follows what happens; ticks stay. */
export function listBody(ask: Ask, listed: Listed): SafeHtml {
  const { t } = ask
  const { items, count, input, groups, display } = listed
  const isFiltered = Object.keys(filterOf(input)).length > 0
  const list = html`${ask.may('reviewer') && items.length > 0 ? actForm(ask, listed) : ''}
    ${live(ask, 'list', topicsOf(items), drawBlocks(ask, casesShown(ask, listed, input, display).blocks))}`
  const counted = html`<span class="soft">${countText(ask, listed, input)}${
    isFiltered || count === 0
      ? ''
      : html` · <a href="${casesForAPerson()}">${t('cases.only_for_a_person')}</a>`
  }</span>`
  return html`${head(t('cases.title'), {
    aside: live(ask, 'count', ['cases'], counted),
    actions: [displayForm(ask, listed), viewForm(ask, listed)],
  })}
  ${caseTabs(ask, 'list')}
  ${viewChips(ask, listed)}
  ${caseFilters(ask, listed)}
  ${byName(ask, input.keys)}
  ${
    groups.length === 0
      ? ''
      : live(
          ask,
          'causes',
          ['cases'],
          section(t('cases.causes'), groupTable(ask, groups.slice(0, CAUSES_ABOVE), null), {
            aside:
              groups.length > CAUSES_ABOVE
                ? html`<a href="/cases/groups">${t('cases.all_causes', { count: groups.length })}</a>`
                : '',
          }),
        )
  }
  ${groups.length === 0 ? list : section(t('cases.tab_list'), list)}`
}

// Views

/** The saved views. Those that the address shows can be deleted by whoever saved them, shared ones by an administrator, too. */
function viewChips(ask: Ask, { views, input }: Listed): SafeHtml {
  const { t, viewer } = ask
  if (views.length === 0) return html``
  const present = viewQuery(input)
  const deletable = views.filter(
    ({ query, owner, shared }) =>
      query === present && (owner === viewer.name || (shared && ask.may('admin'))),
  )
  return html`<nav class="chips" aria-label="${t('cases.saved_views')}">${views.map(
    ({ name, query, owner }) =>
      html`<a href="/cases?${query}"${query === present ? html` aria-current="page"` : ''}>${name}${
        owner === viewer.name ? '' : html` <span class="soft">${short(owner)}</span>`
      }</a>`,
  )}${deletable.map(({ id, name }) =>
    actionForm(ask, {
      to: `/cases/views/${id}/delete`,
      label: t('cases.delete_view', { name }),
      role: 'viewer',
    }),
  )}</nav>`
}

function viewForm(ask: Ask, { input, display }: Listed): SafeHtml {
  const { t } = ask
  return actionForm(ask, {
    to: '/cases/views',
    label: t('cases.save_view'),
    role: 'viewer',
    fields: [
      {
        name: 'name',
        label: t('cases.view_name'),
        required: true,
        maxlength: 60,
        hint: t('cases.view_hint'),
      },
      ...(ask.may(SHARES)
        ? [{ name: 'shared', label: t('cases.view_shared'), type: 'checkbox' as const, value: 'true' }]
        : []),
      {
        name: 'query',
        type: 'hidden',
        value: viewQuery({ ...input, columns: [...columnsOf(input, display)] }),
      },
    ],
  })
}

function displayForm(ask: Ask, { input, display }: Listed): SafeHtml {
  const { t, viewer } = ask
  if (viewer.via === 'token' || viewer.via === 'shell') return html``
  return actionForm(ask, {
    to: '/cases/display',
    label: t('cases.display'),
    submit: t('common.apply'),
    role: 'viewer',
    fields: [
      ...COLUMNS.map(name => ({
        name: 'columns',
        label: t(`cases.${name}`),
        type: 'checkbox' as const,
        value: name,
        checked: columnsOf(input, display).includes(name),
      })),
      {
        name: 'compact',
        label: t('cases.compact'),
        type: 'checkbox',
        value: 'true',
        checked: display?.compact === true,
      },
      { name: 'back', type: 'hidden', value: viewQuery({ ...input, columns: undefined }) },
    ],
  })
}

/** All causes with what to do about each. */
export function groupsBody(ask: Ask, groups: Group[], arrival: Arrival | null): SafeHtml {
  return html`${head(ask.t('cases.title'))}
  ${caseTabs(ask, 'groups')}
  ${live(ask, 'causes', topicsOf(groups), groupTable(ask, groups, arrival))}`
}

/** An empty list says whether all has arrived. */
function topicsOf(rows: readonly unknown[]): string[] {
  return rows.length === 0 ? ['cases', 'work', 'runs', 'halts'] : ['cases']
}

function groupTable(ask: Ask, groups: Group[], arrival: Arrival | null): SafeHtml {
  const { t } = ask
  return table(
    groups,
    [
      { title: t('cases.cause'), kind: 'main', cell: group => wordsOf(ask, cause(group)) },
      { title: t('cases.count'), kind: 'number', cell: ({ count }) => figure(ask, count) },
      { title: t('cases.open'), kind: 'number', cell: ({ open }) => figure(ask, open) },
      {
        title: t('cases.failures'),
        kind: 'number',
        cell: ({ failures }) => html`<span class="soft">${figure(ask, failures)}</span>`,
      },
      { title: t('cases.oldest'), kind: 'spare', cell: ({ oldest }) => time(ask, oldest) },
      { title: t('cases.newest'), kind: 'spare', cell: ({ newest }) => time(ask, newest) },
      {
        title: t('cases.todo'),
        kind: 'spare',
        cell: group => html`<span class="soft">${todoOf(ask, group)}</span>`,
      },
    ],
    {
      caption: t('cases.causes'),
      empty: empty(t('cases.none'), arrival ? t(`cases.none_todo.${arrival}`) : ''),
      href: ({ category, platform_code: code }) => casesPath({ categories: [category], code: code ?? 0 }),
    },
  )
}

/** The catalogue's remedy for a cause. */
function todoOf({ t, language }: Ask, { category, platform_code }: Group): string {
  const known = `code.${platform_code}.remedy`
  if (isTextKey(known)) return t(known)
  return textOr(language, `cases.about.${category}`, '')
}

/** The cases of a page of the list: how many match, each, and how to see more. */
export function casesShown(
  ask: Ask,
  result: CaseList,
  input: ListInput,
  display: Display | null = null,
): Shown {
  const { t } = ask
  const { items, arrival } = result
  const chosen = columnsOf(input, display)
  const isFiltered = Object.keys(filterOf(input)).length > 0
  const [first] = items
  const sort = (...orders: [CaseOrder, CaseOrder]) => sortBy(ask, input, orders)
  return {
    title: t('cases.title'),
    aside: countText(ask, result, input),
    blocks: [
      tableOf(
        items,
        [
          { title: t('cases.number'), kind: 'number', only: 'shell', of: row => row.id },
          { title: t('cases.key'), kind: 'main', of: keyWords, sort: sort('key', 'key_backwards') },
          ...COLUMNS.filter(name => chosen.includes(name)).map(name => columnOf(ask, name, sort)),
        ],
        {
          caption: t('cases.tab_list'),
          compact: display?.compact === true,
          ...noRows(
            ask,
            isFiltered ? t('cases.none_match') : t('cases.none'),
            isFiltered ? t('cases.none_match_todo') : arrival ? t(`cases.none_todo.${arrival}`) : '',
          ),
          to: ({ id }) => `/cases/${id}`,
          ...(ask.may('reviewer')
            ? {
                tick: { name: 'ids', label: t('cases.tick'), all: t('cases.tick_all'), form: FORM },
                ticked: ({ id }) => String(id),
              }
            : {}),
        },
      ),
      { next: result.next },
      ...(first ? [{ commands: t('common.details'), lines: [`dead-letters show ${first.id}`] }] : []),
    ],
  }
}

/** The columns of the address, else those that the person has chosen, else the usual ones. */
function columnsOf({ columns }: Pick<ListInput, 'columns'>, display: Display | null): readonly ColumnName[] {
  return columns ?? (display?.columns.length ? display.columns : USUAL)
}

const USUAL: readonly ColumnName[] = [
  ...(['what', 'cause', 'state', 'blocked_by', 'age'] as const),
  ...(['failures', 'next_try', 'assignee'] as const),
]

function columnOf(
  { t }: Ask,
  name: ColumnName,
  sort: (...orders: [CaseOrder, CaseOrder]) => Sort | undefined,
): ShownColumn<CaseList['items'][number]> {
  const title = t(`cases.${name}`)
  switch (name) {
    case 'number':
      return { title, kind: 'number', only: 'page', of: row => ({ code: row.id }) }
    case 'what':
      return { title, gives: true, of: itemOf }
    case 'cause':
      return { title, of: cause, sort: sort('cause', 'cause_backwards') }
    case 'state':
      return {
        title,
        gives: true,
        of: row => caseStatus(row.state),
        sort: sort('state', 'state_backwards'),
      }
    case 'blocked_by':
      return {
        title,
        spare: true,
        of: ({ blocked_by: userid, enterprise_code: enterpriseCode }) =>
          userid && {
            to: employeePath({ enterpriseCode, userid }),
            text: [{ code: short(userid) }, { nameOf: { enterpriseCode, userid } }],
          },
      }
    case 'age':
      return { title, of: row => ({ since: row.first_failed_at }), sort: sort('oldest', 'newest') }
    case 'last_failed':
      return {
        title,
        spare: true,
        of: row => ({ since: row.last_failed_at }),
        sort: sort('latest', 'earliest'),
      }
    case 'failures':
      return { title, kind: 'number', spare: true, of: row => row.occurrences, sort: sort('most', 'fewest') }
    case 'next_try':
      return {
        title,
        spare: true,
        of: row => row.next_retry_at && { since: row.next_retry_at },
        sort: sort('next_try', 'next_try_backwards'),
      }
    case 'assignee':
      return {
        title,
        spare: true,
        of: ({ assignee }) => assignee && short(assignee),
        sort: sort('assignee', 'assignee_backwards'),
      }
    case 'run':
      return {
        title,
        spare: true,
        of: ({ last_run_id: run }) => run && { to: `/runs/${run}`, text: { code: run } },
      }
    case 'reason':
      return { title, spare: true, of: ({ note }) => note && { clip: note } }
  }
}

/** The list in the first of the orders of a column, or in the second where it is in the first. */
function sortBy(ask: Ask, input: ListInput, orders: readonly [CaseOrder, CaseOrder]): Sort | undefined {
  const [first, second] = orders
  if (orderFor(input, first) !== first) return undefined
  const { pathname, searchParams } = new URL(ask.url, 'http://console')
  const present = orderOf(input)
  searchParams.delete('cursor')
  searchParams.set('order', present === first ? second : first)
  return {
    to: `${pathname}?${searchParams}`,
    is: orders.includes(present)
      ? ({ asc: 'ascending', desc: 'descending' } as const)[CASE_ORDERS[present].direction]
      : null,
  }
}

/** How many match. */
function countText({ t }: Ask, { count, more }: CaseList, input: ListInput): string {
  const isFiltered = Object.keys(filterOf(input)).length > 0
  return t(more ? 'cases.matching_more' : isFiltered ? 'cases.matching' : 'cases.waiting', { count })
}

// Filters

const AGES = ['1h', '1d', '3d', '1w', '4w'] as const
const OPERATIONS = [...JOB_OPERATIONS, ...MIRRORS.map(mirrorOperation)]

/** Filter form. It sends a GET, so that the address can be bookmarked; rarely used filters are folded away. */
function caseFilters(ask: Ask, { input, departments, categories, users }: Listed): SafeHtml {
  const { t, language } = ask
  const any = { value: '', text: t('cases.any') }
  const withPresent = (choices: Field['choices'] = [], present: string) =>
    present === '' || choices.some(({ value }) => value === present)
      ? choices
      : [...choices, { value: present, text: short(present) }]
  const states = input.states?.join(',') ?? ''
  const age = (name: 'olderThan' | 'younger_than'): Field => ({
    name,
    label: t(`cases.f.${name}`),
    value: input[name],
    choices: withPresent(
      [any, ...AGES.map(value => ({ value, text: t(`cases.age_${value}`) }))],
      input[name] ?? '',
    ),
  })
  const often: Field[] = [
    {
      name: 'key',
      label: t('cases.f.key'),
      type: 'search',
      value: input.key,
      maxlength: 120,
      placeholder: t('cases.f.key_hint'),
    },
    ...keysField(input.keys),
    {
      name: 'states',
      label: t('cases.f.states'),
      value: states,
      choices: withPresent(
        [
          { value: '', text: t('cases.unresolved') },
          { value: FOR_A_PERSON.join(), text: t('cases.for_a_person') },
          ...CASE_STATES.map(value => ({ value, text: textOr(language, `state.${value}`, value) })),
        ],
        states,
      ),
    },
    {
      name: 'categories',
      label: t('cases.f.categories'),
      placeholder: t('cases.any'),
      several: input.categories ?? [],
      choices: [...new Set([...categories, ...(input.categories ?? [])])].map(value => ({
        value,
        text: short(categoryName(ask, value)),
      })),
    },
    {
      name: 'department',
      label: t('cases.f.department'),
      value: input.department,
      ...(departments.length === 0
        ? { maxlength: 100 }
        : { choices: withPresent([any, ...departments], input.department ?? '') }),
    },
    {
      name: 'assignee',
      label: t('cases.f.assignee'),
      value: input.assignee,
      choices: withPresent(
        [
          any,
          { value: MINE, text: t('cases.mine') },
          { value: UNASSIGNED, text: t('cases.nobody') },
          ...users.map(value => ({ value, text: value })),
        ],
        input.assignee ?? '',
      ),
    },
    age('olderThan'),
    age('younger_than'),
    ...rangeFields(ask, t('cases.last_failed'), input),
    { name: 'text', label: t('cases.f.text'), type: 'search', value: input.text, maxlength: 200 },
  ]
  const rarely: Field[] = [
    { name: 'code', label: t('cases.f.code'), type: 'number', value: input.code, min: 0 },
    {
      name: 'field',
      label: t('cases.f.field'),
      value: input.field,
      choices: withPresent(
        [any, ...EMPLOYEE_FIELDS.map(value => ({ value, text: fieldName(ask, value) }))],
        input.field ?? '',
      ),
    },
    {
      name: 'operation',
      label: t('cases.f.operation'),
      value: input.operation,
      choices: withPresent(
        [any, ...OPERATIONS.map(value => ({ value, text: operationName(ask, value) }))],
        input.operation ?? '',
      ),
    },
    {
      name: 'entity',
      label: t('cases.f.entity'),
      value: input.entity,
      choices: [
        any,
        ...FIELDS.entity.options.map(value => ({ value, text: textOr(language, `entity.${value}`, value) })),
      ],
    },
    { name: 'enterprise', label: t('cases.f.enterprise'), value: input.enterprise, maxlength: 100 },
    { name: 'run', label: t('cases.f.run'), type: 'number', value: input.run, min: 1 },
    { name: 'blockedBy', label: t('cases.f.blockedBy'), value: input.blockedBy, maxlength: 120 },
  ]
  const isUnfolded = rarely.some(({ value }) => value !== undefined)
  const query = new URLSearchParams([...filterQuery(filterOf(input)), ['order', orderOf(input)]])
  return filterForm(
    ask,
    '/cases',
    [...often, ...rarely],
    html`${input.order === undefined ? '' : field({ name: 'order', type: 'hidden', value: input.order })}
    ${input.columns ? field({ name: 'columns', type: 'hidden', value: input.columns.join(',') }) : ''}
    ${often.map(field)}
    <details class="more"${isUnfolded ? html` open` : ''}><summary>${t('cases.more_filters')}</summary>
      <div class="filters">${rarely.map(field)}</div></details>
    <p class="field"><button>${t('common.apply')}</button> <a href="/cases">${t('common.clear')}</a>${
      mayAs(ask.viewer.role, 'reviewer')
        ? html` <a href="/cases.csv?${String(query)}" download>${t('cases.export')}</a>`
        : ''
    }</p>`,
  )
}

// Acting on many

/**
 * One form for ticked cases and for all that match; it leads to a preview. CSS shows the fields of the chosen action.
 */
function actForm(ask: Ask, { input, count, more, users }: Listed): SafeHtml {
  const { t, viewer } = ask
  return html`<form class="act" method="post" action="/bulk" id="${FORM}" aria-label="${t('cases.act')}">
    <input type="hidden" name="filter" value="${String(filterQuery(filterOf(input)))}">
    ${field({
      name: 'which',
      label: t('cases.which'),
      value: 'ids',
      choices: [
        { value: 'ids', text: t('cases.ticked') },
        { value: 'filter', text: t(more ? 'cases.all_matching_more' : 'cases.all_matching', { count }) },
      ],
    })}
    ${field({
      name: 'action',
      label: t('cases.action'),
      choices: BULK_ACTIONS.map(value => ({ value, text: t(`cases.${value}`) })),
    })}
    <div class="for-snooze">${untilFields(ask, SNOOZE).map(field)}</div>
    <div class="for-snooze for-ignore" data-required-for="ignore">${field({ name: 'reason', label: t('common.reason'), maxlength: 2000 })}</div>
    <div class="for-assign">${field({
      name: 'assignee',
      label: t('cases.assign_to'),
      value: viewer.name,
      maxlength: 200,
      offered: users,
    })}</div>
    <div class="for-comment">${field({ name: 'text', label: t('cases.comment_text'), maxlength: 2000 })}</div>
    <p class="field"><button class="main">${t('cases.preview')}</button> <small class="soft">${t('cases.preview_hint')}</small></p>
  </form>`
}
