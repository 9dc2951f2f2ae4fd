import { html, type SafeHtml } from '@remix-run/html-template'
import { beginning, capitalised } from '../../lib/text.ts'
import { inLanguage } from '../../texts/failures.ts'
import { textOr } from '../../texts/texts.ts'
import type { Ask } from '../ask.ts'
import { mayAs } from '../auth/viewer.ts'
import type { Block } from '../shown.ts'
import {
  empty,
  emptyPage,
  figure,
  filters,
  foreign,
  head,
  pager,
  state,
  type Tone,
  table,
  tabs,
  time,
} from '../ui/parts.ts'
import { employeePath } from '../ui/paths.ts'
import { drawBlocks } from '../ui/shown.ts'
import { LISTED, type ListedEmployee } from './list.ts'
import type { EmployeesResult } from './query.ts'
import { columnsOf, maybeUserid } from './search.ts'
import { type UnknownPeople, unknownNotice } from './unknown.ts'

// The list

export const EMPLOYEE_STATUS_TONES: Record<string, Tone> = {
  in_sync: 'ok',
  waiting: 'busy',
  halted: 'bad',
  no_source: 'warn',
  dead_lettered: 'warn',
  accepted: 'off',
  held: 'warn',
  rejected: 'off',
  awaiting_activation: 'wait',
  left: 'off',
  vanished: 'off',
  unknown: 'off',
}

function statusState({ t, language }: Ask, name: string): SafeHtml {
  const word = name === 'unknown' ? t('employees.unknown') : textOr(language, `status.${name}`, name)
  return state(EMPLOYEE_STATUS_TONES[name] ?? 'off', word)
}

interface Listed {
  q?: string | undefined
  status?: string | undefined
  department?: string | undefined
  enterprise: string
}

export function employeesBody(
  ask: Ask,
  result: EmployeesResult,
  asked: Listed,
  unknown: readonly UnknownPeople[],
): SafeHtml {
  const { t, language } = ask
  const { status } = asked
  // The lists by status are not those of a department.
  const enterprise = asked.department === undefined ? asked.enterprise : ''
  const listOf = (filter: Record<string, string>) => {
    const query = new URLSearchParams({ ...filter, ...(enterprise !== '' && { enterprise }) })
    return query.size === 0 ? '/employees' : `/employees?${query}`
  }
  const isAll = asked.q === undefined && status === undefined && asked.department === undefined
  const total = Object.values(result.counts).reduce((sum, count) => sum + count, 0)
  const isAnyoneInSync = (result.counts.in_sync ?? 0) > 0
  return html`${head(t('employees.title'))}
  ${drawBlocks(
    ask,
    unknown.map(found => unknownNotice(ask, found, isAnyoneInSync)),
  )}
  ${filters(ask, '/employees', [
    {
      name: 'q',
      type: 'search',
      label: t('employees.search'),
      value: asked.q,
      maxlength: 200,
      hint: t('employees.search_hint'),
    },
    ...(enterprise !== '' || result.items.some(({ enterprise_code }) => enterprise_code !== '')
      ? [{ name: 'enterprise', label: t('employees.enterprise'), value: enterprise, maxlength: 200 }]
      : []),
  ])}
  ${tabs(t('employees.by_status'), [
    { href: listOf({}), text: counted(ask, t('common.all'), total), current: isAll },
    ...LISTED.map(name => ({
      href: listOf({ status: name }),
      text: counted(ask, textOr(language, `status.${name}`, name), result.counts[name] ?? 0),
      current: status === name,
    })),
  ])}
  ${
    asked.department === undefined
      ? ''
      : html`<p>${t('employees.of_department', { department: beginning(asked.department, 80) })}</p>`
  }
  ${drawBlocks(ask, hrTrouble(ask, result))}
  ${table(
    result.items,
    [
      { title: t('employees.userid'), kind: 'main', cell: row => namedEmployee(ask, row) },
      ...(result.items.some(({ enterprise_code }) => enterprise_code !== '')
        ? [
            {
              title: t('employees.enterprise'),
              cell: (row: ListedEmployee) => foreign(row.enterprise_code),
            },
          ]
        : []),
      { title: t('employees.status'), cell: row => statusState(ask, row.status) },
      {
        title: t('employees.open_cases'),
        kind: 'number',
        cell: ({ open_cases }) => (open_cases === 0 ? null : figure(ask, open_cases)),
      },
      ...(asked.q === undefined
        ? [
            {
              title: t('employees.department'),
              kind: 'spare' as const,
              cell: (row: ListedEmployee) => departmentOf(ask, row),
            },
            {
              title: t('employees.confirmed'),
              kind: 'spare' as const,
              cell: (row: ListedEmployee) => time(ask, row.acknowledged_at),
            },
          ]
        : []),
    ],
    {
      caption: t('employees.title'),
      empty: emptyPage(ask, noEmployees(ask, asked, status, result)),
      href: row => employeePath({ enterpriseCode: row.enterprise_code, userid: row.userid }),
    },
  )}
  ${result.more ? html`<p class="soft">${capitalised(t('search.more'))}</p>` : ''}
  ${pager(ask, result.next)}`
}

/** A user id, and the name behind it. */
function namedEmployee({ marks }: Ask, row: { enterprise_code: string; userid: string }): SafeHtml {
  const { enterprise_code: enterpriseCode, userid } = row
  return html`${foreign(userid)}${marks.nameOf({ enterpriseCode, userid })}`
}

function departmentOf({ marks }: Ask, { enterprise_code: enterpriseCode, department }: ListedEmployee) {
  return department === null
    ? null
    : html`${foreign(department)}${marks.nameOf({ enterpriseCode, deptCode: department })}`
}

function counted(ask: Ask, name: string, count: number): SafeHtml {
  return html`${name} <span class="badge">${figure(ask, count)}</span>`
}

function noEmployees(
  { t, language, viewer }: Ask,
  { q, department, enterprise }: Listed,
  status: string | undefined,
  { more: isCut, hr }: EmployeesResult,
): SafeHtml {
  if (q !== undefined) {
    const text = beginning(q, 80)
    if (isCut) return empty(t('employees.found_elsewhere', { text }))
    // Of one enterprise it is not everyone in HR who was looked through.
    const columns = mayAs(viewer.role, 'reviewer') && hr === 'asked' && enterprise === '' ? columnsOf(q) : []
    const listed = new Intl.ListFormat(language, { type: 'disjunction' })
    return empty(
      columns.length === 0
        ? t('employees.not_found', { text })
        : t('employees.not_found_in_hr', {
            text,
            columns: listed.format(columns.map(column => t(`search.by.${column}`))),
          }),
      maybeUserid(q)
        ? html`<a href="${employeePath({ enterpriseCode: enterprise, userid: q })}">${t('employees.not_found.remedy')}</a>`
        : undefined,
    )
  }
  if (enterprise !== '' && department === undefined) return empty(t('employees.nobody_in_enterprise'))
  if (status !== undefined)
    return empty(t('employees.nobody_stands', { status: textOr(language, `status.${status}`, status) }))
  if (department !== undefined) return empty(t('employees.nobody_in_department'))
  return empty(t('overview.nobody'), t('overview.nobody.remedy'))
}

/** Why HR was not searched, if it should have been. */
export function hrTrouble(
  { t, language }: Ask,
  { hr, hr_failure: why, hr_left_out: out }: Pick<EmployeesResult, 'hr' | 'hr_failure' | 'hr_left_out'>,
): Block[] {
  if (hr === 'asked' || hr === 'not_asked') return []
  const title =
    out.length === 0
      ? t(`search.hr_${hr}`)
      : t(`search.sources_${hr}`, { sources: new Intl.ListFormat(language).format(out) })
  return [{ notice: 'warn', title, what: why && inLanguage(language, why) }]
}
