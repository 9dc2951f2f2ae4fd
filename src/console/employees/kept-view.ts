import { html } from '@remix-run/html-template'
import type { z } from 'zod'
import { beginning } from '../../lib/text.ts'
import { inLanguage } from '../../texts/failures.ts'
import { textOr } from '../../texts/texts.ts'
import type { Ask } from '../ask.ts'
import { itemOf } from '../cases/parts.ts'
import { type Block, joined, type ShownColumn, tableOf, term, type Words } from '../shown.ts'
import { amount, duration, section } from '../ui/parts.ts'
import { employeePath, ordersPath } from '../ui/paths.ts'
import { caseStatus } from '../ui/states.ts'
import type { EmployeeResult } from './query.ts'
import { fieldNames, steps } from './steps-view.ts'
import { ORDERS, type PendingWork } from './story.ts'

// What is kept

/** How the employee stands, step by step, and what dirsync has stored about the employee. */
export function keptBlocks(ask: Ask, employee: EmployeeResult): Block[] {
  const { t } = ask
  const { record, bindings, enterprise_code } = employee
  const since = (at: Date | null): Words => at && { since: at }
  return [
    { drawn: html`${section(t('employees.steps'), steps(ask, employee.steps))}` },
    {
      section: t('employees.kept'),
      blocks: [
        record
          ? {
              facts: [
                [t('employees.enterprise'), enterprise_code && { foreign: enterprise_code }],
                [t('employees.on_platform'), term('platform_state', record.platform_state)],
                [
                  t('employees.department'),
                  record.dept_code && [
                    { foreign: record.dept_code },
                    { nameOf: { enterpriseCode: enterprise_code, deptCode: record.dept_code } },
                  ],
                ],
                [t('employees.confirmed'), since(record.acknowledged_at)],
                [t('employees.queried'), since(record.queried_at)],
                [t('employees.gone_since'), since(record.vanished_at)],
                [
                  t('employees.withheld'),
                  record.withheld.length > 0 ? fieldNames(ask, record.withheld.join(', ')) : null,
                ],
                ...bindings.map(({ seller_appid, open_userid, doubted }): [string, Words] => [
                  t('employees.openid', { merchant: beginning(seller_appid, 60) }),
                  [{ code: open_userid }, doubted ? { soft: [' ', t('employees.openid_doubted')] } : null],
                ]),
              ],
            }
          : { text: t('employees.nothing_kept') },
      ],
    },
  ]
}

/** History and future of an employee: cases, pending work, attempts, payment orders. */
export function storyBlocks(ask: Ask, employee: EmployeeResult): Block[] {
  const { dead_letters, pending, attempts, payment_orders } = employee
  return [
    ...(dead_letters.length === 0 ? [] : [casesOf(ask, employee)]),
    ...(pending.length === 0 ? [] : [pendingOf(ask, pending)]),
    attemptsOf(ask, attempts),
    ...(payment_orders.length === 0 ? [] : [ordersOf(ask, employee)]),
  ]
}

function casesOf({ t }: Ask, { dead_letters, enterprise_code: enterpriseCode }: EmployeeResult): Block {
  const table = tableOf(
    dead_letters,
    [
      {
        title: t('employees.case'),
        kind: 'main',
        of: ({ id, entity }) => [
          `#${id}`,
          entity === 'employee' ? null : { soft: [' ', term('entity', entity)] },
        ],
      },
      { title: t('employees.state'), of: row => caseStatus(row.state) },
      {
        title: t('employees.what'),
        of: ({ category, field }) => [
          term('category', category),
          field === '' ? null : { soft: [' ', term('field', field)] },
        ],
      },
      { title: t('employees.field'), only: 'shell', of: itemOf },
      {
        title: t('employees.blocked_by'),
        spare: true,
        of: ({ blocked_by: userid }) =>
          userid && {
            to: employeePath({ enterpriseCode, userid }),
            text: [{ foreign: userid }, { nameOf: { enterpriseCode, userid } }],
          },
      },
      { title: t('employees.repeats'), kind: 'number', of: row => row.occurrences },
      { title: t('employees.last_failed'), spare: true, of: row => ({ since: row.last_failed_at }) },
      {
        title: t('employees.next_try'),
        spare: true,
        of: ({ next_retry_at }) => next_retry_at && { since: next_retry_at },
      },
    ],
    { caption: t('employees.cases'), to: ({ id }) => `/cases/${id}` },
  )
  return { section: t('employees.cases'), blocks: [table] }
}

function pendingOf(ask: Ask, pending: EmployeeResult['pending']): Block {
  const { t } = ask
  const table = tableOf(pending, workColumns(ask), { caption: t('employees.pending') })
  return { section: t('employees.pending'), blocks: [table] }
}

/** What a list says of work in the outbox. */
export function workColumns<Work extends z.infer<typeof PendingWork>>({ t, now }: Ask): ShownColumn<Work>[] {
  return [
    { title: t('employees.operation'), of: operationOf },
    {
      title: t('employees.state'),
      of: ({ replan_at, halt, enqueued_at, not_before }) => {
        const isLater = not_before !== null && not_before > now
        if (!replan_at && halt)
          return { to: '/halts', text: { tone: 'bad', text: term('outbox_state', halt) } }
        const name = replan_at ? 'awaits_plan' : enqueued_at ? 'queued' : isLater ? 'delayed' : 'due'
        return { tone: 'wait', text: term('outbox_state', name) }
      },
    },
    { title: t('employees.run'), of: ({ run_id }) => runOf(run_id) },
    { title: t('employees.waits_since'), of: row => ({ since: row.created_at }) },
    { title: t('employees.next_try'), of: ({ not_before }) => not_before && { since: not_before } },
    { title: t('employees.tries'), kind: 'number', of: row => row.attempts },
  ]
}

function operationOf({ operation, detail }: { operation: string; detail: string }): Words {
  return joined([term('operation', operation), detail && { foreign: detail }], ' ')
}

function runOf(id: number | null): Words {
  return id && { to: `/runs/${id}`, text: `#${id}` }
}

function attemptsOf(ask: Ask, attempts: EmployeeResult['attempts']): Block {
  const { t, language } = ask
  const table = tableOf(
    attempts,
    [
      { title: t('employees.when'), of: row => ({ at: row.started_at }) },
      { title: t('employees.run'), of: ({ run_id }) => runOf(run_id) },
      { title: t('employees.operation'), only: 'shell', gives: true, of: operationOf },
      { title: t('employees.outcome'), of: row => term('outcome', row.outcome) },
      {
        title: t('employees.fields'),
        gives: true,
        of: ({ fields }) => (fields.length === 0 ? null : fieldNames(ask, fields.join(', '))),
      },
      {
        title: t('employees.calls'),
        spare: true,
        of: ({ calls }) =>
          Object.entries(calls)
            .map(([name, n]) => `${textOr(language, `call.${name}`, name)} × ${n}`)
            .join(t('common.list_comma')),
      },
      { title: t('employees.took'), kind: 'number', spare: true, of: row => duration(ask, row.duration_ms) },
      {
        title: t('employees.said'),
        gives: true,
        of: ({ error, platform_code }) =>
          error &&
          joined([{ foreign: inLanguage(language, error) }, platform_code && { code: platform_code }], ' '),
      },
      { title: t('employees.trace'), spare: true, of: ({ trace_id }) => trace_id && { code: trace_id } },
    ],
    {
      caption: t('employees.attempts'),
      empty: t('employees.no_attempts'),
      todo: t('employees.no_attempts.remedy'),
    },
  )
  return { section: t('employees.attempts'), aside: t('employees.latest', { count: 10 }), blocks: [table] }
}

function ordersOf(
  ask: Ask,
  { payment_orders: orders, enterprise_code: enterpriseCode, userid }: EmployeeResult,
): Block {
  const { t } = ask
  const table = tableOf(
    orders,
    [
      {
        title: t('employees.order'),
        kind: 'main',
        of: ({ trade_no }) => ({ code: trade_no }),
      },
      { title: t('employees.when'), of: ({ created_at }) => created_at && { at: created_at } },
      {
        title: t('employees.subject'),
        spare: true,
        gives: true,
        of: ({ subject }) => subject && { foreign: subject },
      },
      {
        title: t('employees.state'),
        of: ({ status, gone_at }) => {
          if (gone_at !== null) return t('mirrors.gone')
          return status === null ? null : term('payment_order_status', String(status))
        },
      },
      {
        title: t('employees.paid'),
        kind: 'number',
        of: ({ pay_amount, asset_code }) => amount(ask, pay_amount, asset_code),
      },
      {
        title: t('employees.refunded'),
        kind: 'number',
        of: ({ refund_amount, asset_code }) => amount(ask, refund_amount, asset_code),
      },
    ],
    { caption: t('employees.orders'), to: ({ trade_no }) => ordersPath(trade_no) },
  )
  const all = orders.length === ORDERS && {
    to: ordersPath({ enterpriseCode, userid }),
    text: t('employees.orders_all', { count: ORDERS }),
  }
  return { section: t('employees.orders'), aside: all || null, blocks: [table] }
}
