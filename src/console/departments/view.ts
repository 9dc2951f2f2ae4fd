import { html, type SafeHtml } from '@remix-run/html-template'
import { type HrSources, hrSettingOf } from '../../hr/sources.ts'
import { beginning } from '../../lib/text.ts'
import { inLanguage } from '../../texts/failures.ts'
import type { Ask } from '../ask.ts'
import { term, type Words } from '../shown.ts'
import {
  actionForm,
  alert,
  type Column,
  code,
  empty,
  emptyPage,
  facts,
  figure,
  filters,
  foreign,
  head,
  live,
  type Part,
  pager,
  reasonField,
  section,
  state,
  table,
  tabs,
  time,
} from '../ui/parts.ts'
import { departmentPath, employeePath } from '../ui/paths.ts'
import { wordsOf } from '../ui/shown.ts'
import { departmentState } from '../ui/states.ts'
import type { DeletionsResult, DepartmentsResult } from './query.ts'
import type { Department } from './read.ts'

/** Beyond this, a count is shown as "more than". */
const MOST = 1000

/** Departments that are about to be deleted, what prevents it, and the tree, level by level. */
export function departmentsBody(ask: Ask, result: DepartmentsResult, hr: MappedHr): SafeHtml {
  const { t } = ask
  const { way } = result
  const here = way.at(-1)
  return html`${head(
    here ? html`${code(beginning(here.dept_code, 100))}${nameAt(ask, result, here)}` : t('departments.title'),
    {
      actions:
        ask.may('operator') && result.has_mapping
          ? [html`<a class="button" href="/departments/run">${t('departments.run')}</a>`]
          : [],
    },
  )}
  ${result.has_mapping ? '' : notMapped(ask, hr)}
  ${enterprises(ask, result)}
  ${here ? breadcrumb(ask, result) : ''}
  ${here ? itself(ask, result, here) : candidates(ask, result)}
  ${section(
    here ? t('departments.below', { department: beginning(here.dept_code, 80) }) : t('departments.top'),
    level(ask, result, hr),
  )}
  ${pager(ask, result.next)}`
}

/** HR, as far as its departments are mapped. */
type MappedHr = Pick<HrSources, 'areNamed' | 'hasDepartments'>

const setting = ({ areNamed }: MappedHr) => ({ setting: hrSettingOf(areNamed, 'departments_sql') })

function notMapped({ t }: Ask, hr: MappedHr): SafeHtml {
  return alert('info', t('departments.no_mapping'), t('departments.no_mapping.remedy', setting(hr)))
}

/** More than this are chosen from a list. */
const MOST_TABS = 12

function enterprises(ask: Ask, { enterprises, enterprise }: DepartmentsResult): SafeHtml {
  const { t } = ask
  const textOf = (name: string) => (name === '' ? t('departments.own_enterprise') : beginning(name, 60))
  if (enterprises.length < 2) return html``
  if (enterprises.length > MOST_TABS)
    return filters(ask, '/departments', [
      {
        name: 'enterprise',
        label: t('employees.enterprise'),
        value: enterprise,
        choices: enterprises.map(name => ({ value: name, text: textOf(name) })),
      },
    ])
  return tabs(
    t('departments.enterprises'),
    enterprises.map(name => ({
      href: `/departments?enterprise=${encodeURIComponent(name)}`,
      text: textOf(name),
      current: name === enterprise,
    })),
  )
}

function breadcrumb(ask: Ask, result: DepartmentsResult): SafeHtml {
  const { t } = ask
  const { way, enterprise } = result
  const top = `/departments${enterprise === '' ? '' : `?enterprise=${encodeURIComponent(enterprise)}`}`
  return html`<nav class="row" aria-label="${t('departments.way')}"><a href="${top}">${t('departments.top')}</a>${way
    .slice(0, -1)
    .map(
      step =>
        html` <span aria-hidden="true">›</span> <a href="${departmentPath(enterprise, step.dept_code)}">${foreign(step.dept_code)}${nameAt(ask, result, step)}</a>`,
    )} <span aria-hidden="true">›</span> <span aria-current="page">${foreign(way.at(-1)?.dept_code ?? null)}</span></nav>`
}

function nameAt({ marks }: Ask, { enterprise }: DepartmentsResult, { dept_code }: { dept_code: string }) {
  return marks.nameOf({ enterpriseCode: enterprise, deptCode: dept_code })
}

function itself(
  ask: Ask,
  { enterprise }: DepartmentsResult,
  here: DepartmentsResult['way'][number],
): SafeHtml {
  const { t } = ask
  return facts([
    [t('departments.state'), wordsOf(ask, departmentState(ask, here))],
    [t('departments.closed_since'), here.closed_at && time(ask, here.closed_at)],
    [t('departments.missing_since'), here.missing_since && time(ask, here.missing_since)],
    [t('departments.deleted_at'), here.deleted_at && time(ask, here.deleted_at)],
    [t('departments.employees'), employeesOf(ask, enterprise, here.dept_code, here.employees)],
  ])
}

function candidates(ask: Ask, result: DepartmentsResult): SafeHtml {
  const { t, language } = ask
  const { candidates: rows, candidates_total: total, doubts, grace_hours, enterprises: all } = result
  const columns: Column<Department>[] = [
    {
      title: t('departments.department'),
      kind: 'main',
      cell: row => namedDepartment(ask, row),
    },
    ...(all.length > 1
      ? [
          {
            title: t('employees.enterprise'),
            cell: (row: Department) => foreign(row.enterprise_code || null),
          },
        ]
      : []),
    { title: t('departments.state'), cell: row => wordsOf(ask, departmentState(ask, row)) },
    {
      title: t('departments.since'),
      kind: 'spare',
      cell: row => time(ask, row.closed_since),
    },
    { title: t('departments.time_left'), cell: row => timeLeft(ask, row, doubts) },
    {
      title: t('departments.employees'),
      kind: 'number',
      cell: row => employeesOf(ask, row.enterprise_code, row.dept_code, row.employees),
    },
    { title: t('departments.children'), kind: 'number', cell: row => counted(ask, row.children) },
  ]
  return live(
    ask,
    'candidates',
    ['runs', 'work', 'cases', 'employees', 'halts'],
    section(
      t('departments.candidates'),
      html`${doubts.map(({ message }) => alert('warn', inLanguage(language, message)))}
      ${table(rows, columns, {
        caption: t('departments.candidates'),
        // What HR has closed is known only of departments that were read.
        empty: empty(
          t(
            all.length > 0
              ? 'departments.no_candidates'
              : result.has_mapping
                ? 'departments.no_candidates.unread'
                : 'departments.no_candidates.unmapped',
          ),
        ),
        href: row => departmentPath(row.enterprise_code, row.dept_code),
      })}
      ${total > rows.length ? html`<p>${t('departments.and_more', { count: total - rows.length })}</p>` : ''}`,
      { aside: t('departments.grace', { hours: grace_hours }) },
    ),
  )
}

/** Until when a department stays, or what keeps it. HR's employees are known to the run alone. */
function timeLeft(ask: Ask, row: Department, doubts: DepartmentsResult['doubts']): Part {
  const { t } = ask
  const keptBy = (key: 'departments.kept_by_move' | 'departments.kept_by_unlocated', userid: string) => {
    const path = employeePath({ enterpriseCode: row.enterprise_code, userid })
    return html`${state('wait', t(key))} <a href="${path}">${foreign(userid)}</a>`
  }
  if (row.case_id !== null)
    return html`${state('warn', t('departments.refused'))} <a href="/cases/${row.case_id}">${t('employees.open_case', { id: row.case_id })}</a>`
  if (row.rejected_run !== null)
    return decided(ask, row.rejected_run, state('off', t('departments.rejected')))
  if (row.is_deleting) return waitingToBeDeleted(ask, row)
  if (row.held_run !== null) return decided(ask, row.held_run, state('warn', t('departments.held')))
  if (row.deletable_at === null) return state('off', t('departments.kept_unread'))
  if (doubts.some(({ enterprise_codes }) => enterprise_codes.includes(row.enterprise_code)))
    return state('wait', t('departments.kept_for_now'))
  if (row.deletable_at > ask.now)
    return html`<span class="state wait"><i aria-hidden="true"></i>${time(ask, row.deletable_at)}</span>`
  if (row.employees > 0) return state('wait', t('departments.kept_by_employees'))
  if (row.moving_employee !== null) return keptBy('departments.kept_by_move', row.moving_employee)
  if (row.child_stays) return state('wait', t('departments.kept_by_children'))
  if (row.unlocated_employee !== null) return keptBy('departments.kept_by_unlocated', row.unlocated_employee)
  const due = state('busy', t('departments.due'))
  return ask.may('operator') ? html`${due} · <a href="/departments/run">${t('departments.due.see')}</a>` : due
}

/** Its run, and what holds it back. */
function waitingToBeDeleted(ask: Ask, { deleting_run: run, halt }: Department): SafeHtml {
  const held: Words = halt && { to: '/halts', text: { tone: 'bad', text: term('outbox_state', halt) } }
  return html`${state('busy', ask.t('departments.deleting'))} ${run === null ? '' : runLink(ask, run)} ${wordsOf(ask, held)}`
}

/** What a decision about a plan, or the lack of one, means for a department. */
function decided(ask: Ask, run: number, what: SafeHtml): SafeHtml {
  return html`${what} ${runLink(ask, run, '/plan')}`
}

function runLink({ t }: Ask, run: number, part: '' | '/plan' = ''): SafeHtml {
  return html`<a href="/runs/${run}${part}">${t('setup.to.run', { run: String(run) })}</a>`
}

function level(ask: Ask, { items, way, has_mapping, is_read }: DepartmentsResult, hr: MappedHr): SafeHtml {
  const { t } = ask
  const columns: Column<Department>[] = [
    {
      title: t('departments.department'),
      kind: 'main',
      cell: row => namedDepartment(ask, row),
    },
    { title: t('departments.state'), cell: row => wordsOf(ask, departmentState(ask, row)) },
    {
      title: t('departments.employees'),
      kind: 'number',
      cell: row => employeesOf(ask, row.enterprise_code, row.dept_code, row.employees),
    },
    { title: t('departments.children'), kind: 'number', cell: row => counted(ask, row.children) },
    // Deletions that the platform refused are rare, so their column is shown only if there are any.
    ...(items.some(({ case_id }) => case_id !== null)
      ? [
          {
            title: t('departments.case'),
            cell: ({ case_id }: Department) =>
              case_id === null
                ? null
                : html`<a href="/cases/${case_id}">${t('employees.open_case', { id: case_id })}</a>`,
          },
        ]
      : []),
  ]
  return table(items, columns, {
    caption: way.length > 0 ? t('departments.children') : t('departments.top'),
    empty: emptyPage(
      ask,
      way.length > 0
        ? empty(t('departments.none_below'))
        : empty(
            t('departments.none'),
            t(
              is_read
                ? 'departments.none.remedy'
                : has_mapping
                  ? 'departments.none.unread'
                  : 'departments.none.unmapped',
              setting(hr),
            ),
          ),
    ),
    href: row => departmentPath(row.enterprise_code, row.dept_code),
  })
}

/** A department's code, and the name behind it. */
function namedDepartment({ marks }: Ask, row: { enterprise_code: string; dept_code: string }): SafeHtml {
  const { enterprise_code: enterpriseCode, dept_code: deptCode } = row
  return html`${foreign(deptCode)}${marks.nameOf({ enterpriseCode, deptCode })}`
}

function counted(ask: Ask, n: number): string | null {
  if (n === 0) return null
  return n > MOST ? `> ${figure(ask, MOST)}` : figure(ask, n)
}

function employeesOf(ask: Ask, enterprise: string, department: string, n: number): Part | null {
  const count = counted(ask, n)
  if (count === null) return null
  const query = new URLSearchParams({ department, ...(enterprise === '' ? {} : { enterprise }) })
  return html`<a href="/employees?${query.toString()}">${count}</a>`
}

/** What a run would do, shown before it is started. */
export function deletionsBody(ask: Ask, result: DeletionsResult, hr: MappedHr): SafeHtml {
  const { t, language } = ask
  // Nothing was read, and a run would do nothing.
  if (!hr.hasDepartments) return html`${head(t('departments.run'))}${notMapped(ask, hr)}`
  const { total, count, waiting, held, held_runs, deletions, unread } = result
  return html`${head(t('departments.run'))}
  <div class="stack">
    <p>${t('departments.would_delete', { count, total })}</p>
    ${waiting > 0 ? html`<p>${t('departments.already_waiting', { count: waiting })}</p>` : ''}
    ${unread.map(message => alert('warn', t('departments.left_out'), inLanguage(language, message)))}
    ${held ? alert('warn', t('departments.would_be_held'), t('departments.would_be_held.remedy')) : ''}
    ${held_runs.map(run =>
      alert(
        'warn',
        t('departments.already_held', { run: String(run) }),
        html`<a href="/runs/${run}/plan">${t('departments.already_held.remedy')}</a>`,
      ),
    )}
  </div>
  ${table(
    deletions,
    [
      { title: t('departments.department'), kind: 'main', cell: row => namedDepartment(ask, row) },
      { title: t('employees.enterprise'), kind: 'spare', cell: row => foreign(row.enterprise_code || null) },
      { title: t('departments.order'), kind: 'number', cell: row => figure(ask, row.wave + 1) },
    ],
    {
      caption: t('departments.run'),
      empty: empty(t('departments.would_delete_nothing')),
      href: row => departmentPath(row.enterprise_code, row.dept_code),
    },
  )}
  ${count > deletions.length ? html`<p>${t('departments.and_more', { count: count - deletions.length })}</p>` : ''}
  ${actionForm(ask, {
    to: '/departments/run',
    label: t('departments.start'),
    role: 'operator',
    tone: 'danger',
    fields: [reasonField(t)],
  })}`
}
