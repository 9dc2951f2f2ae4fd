import { html, type SafeHtml } from '@remix-run/html-template'
import { z } from 'zod'
import { qualified } from '../../directory/employee.ts'
import { beginning, lowerAscii } from '../../lib/text.ts'
import type { Ask } from '../ask.ts'
import { mayAs } from '../auth/viewer.ts'
import { keyWords } from '../cases/parts.ts'
import { EMPLOYEE_STATUS_TONES, hrTrouble } from '../employees/list-view.ts'
import { maybeUserid } from '../employees/search.ts'
import { read } from '../endpoint.ts'
import { moneyPath, unmatchedOf } from '../money/view.ts'
import { runStateWords } from '../runs/words.ts'
import type { Services } from '../services.ts'
import { type Block, type Shown, type ShownColumn, tableOf, term, type Words } from '../shown.ts'
import { departmentPath, employeePath, ordersPath } from '../ui/paths.ts'
import { drawBlocks, pageOf, wordsOf } from '../ui/shown.ts'
import { caseStatus, departmentState } from '../ui/states.ts'
import { SearchResult, searchEverything } from './read.ts'

/** Hits shown per kind; type more to narrow them down. */
const HITS = 20

export function search(services: Pick<Services, 'pool' | 'people'>) {
  return read({
    path: '/search',
    tag: 'overview',
    role: 'viewer',
    summary:
      'Cases, codes of the platform, runs, refunds, top-ups and payment orders by number; employees and departments by the beginning of their keys, departments and, for reviewers, people also by their names in HR',
    query: z.object({
      q: z
        .string()
        .trim()
        .max(200)
        .default('')
        .describe(
          '`#17`, `case 17` or `17`, `run 12`, a trace id, a code of the platform, the number of a refund or top-up, of its order or account or of a payment order, a user id, an open id, the code or name of a department; for reviewers a name, a work number, a mobile number or an e-mail address',
        ),
      typing: z
        .stringbool()
        .default(false)
        .describe(
          'Of a page: a short list of links, also where there is but one, to be shown while one types',
        ),
    }),
    result: SearchResult,
    run: (ask, { input }) => searchEverything(services, ask, input.q, HITS),
    shown: (ask, found, { input }) => searchShown(ask, found, input.q),
    page(ask, found, { input }) {
      if (input.typing) return { title: ask.t('search.title'), body: typedList(ask, found, input.q) }
      const [only, ...others] = addresses(found)
      // Where HR was not searched, there may be more, unless it is a whole user id.
      const isWhole = found.employees.some(({ userid }) => lowerAscii(userid) === lowerAscii(input.q.trim()))
      if (only && others.length === 0 && (isWhole || noticesOf(ask, found).length === 0)) return { to: only }
      return { ...pageOf(ask, searchShown(ask, found, input.q)), isEverywhere: true }
    },
  })
}

type Found<Kind extends 'cases' | 'codes' | 'runs' | 'money' | 'orders' | 'employees' | 'departments'> =
  SearchResult[Kind][number]

const toCase = ({ id }: Found<'cases'>) => `/cases/${id}`
const toRun = ({ id }: Found<'runs'>) => `/runs/${id}`
const toCode = ({ platform_code, category }: Found<'codes'>) =>
  `/cases?${new URLSearchParams({ categories: category, code: String(platform_code) })}`
const toEmployee = ({ enterprise_code, userid }: Found<'employees'>) =>
  employeePath({ enterpriseCode: enterprise_code, userid })
const toMoney = ({ kind, number }: Found<'money'>) => moneyPath(kind, number)
const toOrder = ({ trade_no }: Found<'orders'>) => ordersPath(trade_no)
const toDepartment = (row: Found<'departments'>) => departmentPath(row.enterprise_code, row.dept_code)

function moneyTitle({ t }: Ask, { kind, number }: Found<'money'>): string {
  return t(kind === 'refunds' ? 'money.refund' : 'money.topup', { number })
}

function orderStatus({ t }: Ask, { status, gone_at }: Found<'orders'>): Words {
  if (gone_at !== null) return t('mirrors.gone')
  return status === null ? null : term('payment_order_status', String(status))
}

function addresses({ cases, codes, runs, employees, departments, money, orders }: SearchResult): string[] {
  return [
    ...cases.map(toCase),
    ...codes.map(toCode),
    ...runs.map(toRun),
    ...employees.map(toEmployee),
    ...departments.map(toDepartment),
    ...money.map(toMoney),
    ...orders.map(toOrder),
  ]
}

/** What is said above the hits: why HR has none, and that a refund is not one of dirsync's. */
function noticesOf(ask: Ask, found: SearchResult): Block[] {
  return [...hrTrouble(ask, found), ...unmatchedOf(ask, found.unmatched)]
}

const isNothing = (found: SearchResult) => addresses(found).length === 0 && found.unmatched.length === 0

function searchShown(ask: Ask, found: SearchResult, q: string): Shown {
  const { t } = ask
  const { cases, codes, runs, employees, departments, money, orders } = found
  const group = <Row>(
    caption: string,
    rows: readonly Row[],
    to: (row: Row) => string,
    columns: readonly ShownColumn<NoInfer<Row>>[],
  ): Block[] => {
    if (rows.length === 0) return []
    const blocks = [tableOf(rows, columns, { caption, to })]
    const isCut = found.more.some(kind => (found[kind] as readonly unknown[]) === rows)
    return [{ section: caption, aside: isCut ? t('search.more') : null, blocks }]
  }
  return {
    title: q === '' || isNothing(found) ? t('search.title') : t('search.found', { text: beginning(q, 80) }),
    blocks: [
      ...noticesOf(ask, found),
      ...(isNothing(found) ? nothing(ask, q) : []),
      ...group(t('nav.employees'), employees, toEmployee, [
        {
          title: t('employees.userid'),
          kind: 'main',
          of: ({ enterprise_code: enterpriseCode, userid }) => [
            { foreign: userid },
            { nameOf: { enterpriseCode, userid } },
          ],
        },
        ...enterpriseOf(ask, employees),
        { title: t('search.found_by'), of: ({ found_by }) => t(`search.by.${found_by}`) },
        {
          title: t('employees.status'),
          of: ({ status }) => ({
            tone: EMPLOYEE_STATUS_TONES[status] ?? 'off',
            text: status === 'unknown' ? t('employees.unknown') : term('status', status),
          }),
        },
      ]),
      ...group(t('nav.departments'), departments, toDepartment, [
        {
          title: t('employees.department'),
          kind: 'main',
          of: ({ enterprise_code: enterpriseCode, dept_code: deptCode }) => [
            { foreign: deptCode },
            { nameOf: { enterpriseCode, deptCode } },
          ],
        },
        ...enterpriseOf(ask, departments),
        { title: t('employees.state'), of: row => departmentState(ask, row) },
      ]),
      ...group(t('nav.cases'), cases, toCase, [
        { title: t('employees.case'), kind: 'main', of: ({ id }) => `#${id}` },
        { title: t('employees.state'), of: row => caseStatus(row.state) },
        { title: t('employees.what'), of: ({ category }) => term('category', category) },
        { title: t('search.key'), of: keyWords },
      ]),
      ...group(t('search.codes'), codes, toCode, [
        { title: t('search.code'), kind: 'main', of: row => ({ code: row.platform_code }) },
        { title: t('employees.what'), of: ({ category }) => term('category', category) },
        { title: t('search.cases'), kind: 'number', of: row => row.cases },
      ]),
      ...group(t('nav.runs'), runs, toRun, [
        { title: t('employees.run'), kind: 'main', of: ({ id }) => `#${id}` },
        { title: t('overview.kind'), of: ({ kind }) => term('run_kind', kind) },
        { title: t('employees.state'), of: row => runStateWords(ask, row) },
        { title: t('overview.requested'), of: row => ({ since: row.requested_at }) },
      ]),
      ...group(t('nav.money'), money, toMoney, [
        { title: t('money.number'), kind: 'main', of: row => moneyTitle(ask, row) },
        { title: t('money.state'), of: ({ state }) => term('money_state', state) },
        { title: t('search.key'), of: ({ target }) => ({ code: target }) },
      ]),
      ...group(t('mirrors.orders'), orders, toOrder, [
        { title: t('mirrors.order_number'), kind: 'main', of: row => ({ code: row.trade_no }) },
        ...enterpriseOf(ask, orders),
        { title: t('mirrors.status'), of: row => orderStatus(ask, row) },
        { title: t('search.key'), of: row => row.out_trade_no && { code: row.out_trade_no } },
      ]),
    ],
  }
}

/** Hits shown per kind while one types; Enter shows the rest. */
const HITS_TYPED = 5

/** The same as links, for `console.js` to show below the field. */
function typedList(ask: Ask, found: SearchResult, q: string): SafeHtml {
  const { t } = ask
  const group = <Row>(
    title: string,
    rows: readonly Row[],
    to: (row: Row) => string,
    of: (row: Row) => Words,
  ) =>
    rows.length === 0
      ? ''
      : html`<h2>${title}</h2><ul>${rows
          .slice(0, HITS_TYPED)
          .map(row => html`<li><a href="${to(row)}">${wordsOf(ask, of(row))}</a></li>`)}</ul>`
  return html`<div id="found">
    ${drawBlocks(ask, noticesOf(ask, found))}
    ${isNothing(found) ? html`<p>${t('search.nothing', { text: beginning(q, 80) })}</p>` : ''}
    ${group(
      t('nav.employees'),
      found.employees,
      toEmployee,
      ({ enterprise_code: enterpriseCode, userid, found_by }) => [
        { code: qualified(enterpriseCode, userid) },
        { nameOf: { enterpriseCode, userid } },
        ' ',
        { soft: t(`search.by.${found_by}`) },
      ],
    )}
    ${group(
      t('nav.departments'),
      found.departments,
      toDepartment,
      ({ enterprise_code: enterpriseCode, dept_code: deptCode }) => [
        { code: qualified(enterpriseCode, deptCode) },
        { nameOf: { enterpriseCode, deptCode } },
      ],
    )}
    ${group(t('nav.cases'), found.cases, toCase, row => [`#${row.id} `, term('category', row.category), ' ', keyWords(row)])}
    ${group(t('search.codes'), found.codes, toCode, row => [{ code: row.platform_code }, ' ', term('category', row.category)])}
    ${group(t('nav.runs'), found.runs, toRun, ({ id, kind }) => [`#${id} `, term('run_kind', kind)])}
    ${group(t('nav.money'), found.money, toMoney, row => [moneyTitle(ask, row), ' ', { soft: term('money_state', row.state) }])}
    ${group(t('mirrors.orders'), found.orders, toOrder, row => [{ code: row.trade_no }, ' ', { soft: orderStatus(ask, row) }])}
  </div>`
}

/** That nothing was found, and what can be: HR may have an employee whom no run has seen. */
function nothing(ask: Ask, q: string): Block[] {
  const { t } = ask
  const title = q === '' ? t('search.nothing_asked') : t('search.nothing', { text: beginning(q, 80) })
  const hint = t(mayAs(ask.viewer.role, 'reviewer') ? 'search.hint' : 'search.hint_viewer')
  const link: Words =
    q === '' || !maybeUserid(q)
      ? null
      : { to: employeePath({ enterpriseCode: '', userid: q }), text: t('employees.not_found.remedy') }
  return [{ notice: 'info', title, todo: hint, next: link }]
}

/** The enterprise column, if there are several enterprises. */
function enterpriseOf<Row extends { enterprise_code: string }>(
  { t }: Ask,
  rows: readonly Row[],
): ShownColumn<Row>[] {
  if (rows.every(({ enterprise_code }) => enterprise_code === '')) return []
  return [{ title: t('employees.enterprise'), of: row => ({ foreign: row.enterprise_code || null }) }]
}
