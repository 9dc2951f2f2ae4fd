import { html, type SafeHtml } from '@remix-run/html-template'
import { beginning } from '../../lib/text.ts'
import { textOr } from '../../texts/texts.ts'
import type { Ask } from '../ask.ts'
import {
  empty,
  figure,
  filters,
  foreign,
  head,
  pager,
  since,
  state,
  type Tone,
  table,
  tabs,
} from '../ui/parts.ts'
import { employeePath } from '../ui/paths.ts'
import { LISTED } from './list.ts'
import type { EmployeesResult } from './query.ts'

// The list

export const STANDING_TONES: Record<string, Tone> = {
  in_step: 'ok',
  waiting: 'busy',
  halted: 'bad',
  dead_lettered: 'warn',
  accepted: 'off',
  held: 'warn',
  rejected: 'off',
  awaiting_activation: 'wait',
  left: 'off',
  vanished: 'off',
  unknown: 'off',
}

export function standingState({ t, language }: Ask, name: string): SafeHtml {
  const word = name === 'unknown' ? t('employees.unknown') : textOr(language, `standing.${name}`, name)
  return state(STANDING_TONES[name] ?? 'off', word)
}

interface Listed {
  q?: string | undefined
  standing?: string | undefined
  department?: string | undefined
  enterprise: string
}

export function employeesBody(ask: Ask, result: EmployeesResult, asked: Listed): SafeHtml {
  const { t, language } = ask
  const standing = asked.standing === 'in_step' ? undefined : asked.standing
  const isAll = asked.q === undefined && standing === undefined && asked.department === undefined
  const total = Object.values(result.counts).reduce((sum, count) => sum + count, 0)
  return html`${head(t('employees.title'))}
  ${filters(ask, '/employees', [
    {
      name: 'q',
      type: 'search',
      label: t('employees.search'),
      value: asked.q,
      maxlength: 200,
      hint: t('employees.search_hint'),
    },
  ])}
  ${tabs(t('employees.by_standing'), [
    { href: '/employees', text: counted(ask, t('common.all'), total), current: isAll },
    ...LISTED.map(name => ({
      href: `/employees?standing=${name}`,
      text: counted(
        ask,
        name === 'waiting' ? t('employees.waiting_or_halted') : textOr(language, `standing.${name}`, name),
        result.counts[name] ?? 0,
      ),
      current: standing === name,
    })),
  ])}
  ${
    asked.department === undefined
      ? ''
      : html`<p>${t('employees.of_department', { department: beginning(asked.department, 80) })}</p>`
  }
  ${table(
    result.employees,
    [
      { title: t('employees.userid'), kind: 'main', cell: ({ userid }) => foreign(userid) },
      ...(result.employees.some(({ enterprise_code }) => enterprise_code !== '')
        ? [
            {
              title: t('employees.enterprise'),
              cell: (row: EmployeesResult['employees'][number]) => foreign(row.enterprise_code),
            },
          ]
        : []),
      { title: t('employees.standing'), cell: row => standingState(ask, row.standing) },
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
              cell: (row: EmployeesResult['employees'][number]) => foreign(row.department),
            },
            {
              title: t('employees.confirmed'),
              kind: 'spare' as const,
              cell: (row: EmployeesResult['employees'][number]) => since(ask, row.acknowledged_at),
            },
          ]
        : []),
    ],
    {
      caption: t('employees.title'),
      empty: noEmployees(ask, asked, standing),
      href: row => employeePath({ enterpriseCode: row.enterprise_code, userid: row.userid }),
    },
  )}
  ${pager(ask, result.next)}`
}

function counted(ask: Ask, name: string, count: number): SafeHtml {
  return html`${name} <span class="badge">${figure(ask, count)}</span>`
}

function noEmployees(
  { t, language }: Ask,
  { q, department }: Listed,
  standing: string | undefined,
): SafeHtml {
  if (q !== undefined)
    return empty(
      t('employees.not_found', { text: beginning(q, 80) }),
      html`<a href="${employeePath({ enterpriseCode: '', userid: q })}">${t('employees.not_found.remedy')}</a>`,
    )
  if (standing !== undefined)
    return empty(
      t('employees.nobody_stands', { standing: textOr(language, `standing.${standing}`, standing) }),
    )
  if (department !== undefined) return empty(t('employees.nobody_in_department'))
  return empty(t('overview.nobody'), t('overview.nobody.remedy'))
}
