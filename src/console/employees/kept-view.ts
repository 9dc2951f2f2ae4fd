import { html, type SafeHtml } from '@remix-run/html-template'
import { beginning } from '../../lib/text.ts'
import { inLanguage } from '../../texts/failures.ts'
import { textOr } from '../../texts/texts.ts'
import type { Ask } from '../ask.ts'
import { fieldName } from '../cases/parts.ts'
import {
  code,
  duration,
  empty,
  facts,
  figure,
  foreign,
  type Part,
  section,
  since,
  state,
  table,
  time,
} from '../ui/parts.ts'
import { employeePath } from '../ui/paths.ts'
import { caseState } from '../ui/states.ts'
import type { EmployeeResult } from './query.ts'
import { fieldNames, steps } from './steps-view.ts'

// What is kept

/** The steps of the latest attempt, and what dirsync has stored about the employee. */
export function kept(ask: Ask, employee: EmployeeResult): SafeHtml {
  const { t, language } = ask
  const { record } = employee
  return html`${section(t('employees.last_attempt'), steps(ask, employee.steps))}
  ${section(
    t('employees.kept'),
    record
      ? facts([
          [t('employees.enterprise'), employee.enterprise_code && foreign(employee.enterprise_code)],
          [
            t('employees.on_platform'),
            textOr(language, `platform_state.${record.platform_state}`, record.platform_state),
          ],
          [t('employees.department'), record.dept_code && foreign(record.dept_code)],
          [t('employees.confirmed'), record.acknowledged_at && since(ask, record.acknowledged_at)],
          [t('employees.queried'), record.queried_at && since(ask, record.queried_at)],
          [t('employees.gone_since'), record.vanished_at && since(ask, record.vanished_at)],
          [
            t('employees.withheld'),
            record.withheld.length > 0 ? fieldNames(ask, record.withheld.join(', ')) : null,
          ],
          ...employee.bindings.map(
            ({ seller_appid, open_userid }) =>
              [t('employees.openid', { merchant: beginning(seller_appid, 60) }), code(open_userid)] as const,
          ),
        ])
      : empty(t('employees.nothing_kept')),
  )}`
}

/** History and future of an employee: cases, pending work, attempts, payment orders. */
export function story(ask: Ask, employee: EmployeeResult): SafeHtml {
  const { t } = ask
  return html`${employee.cases.length === 0 ? '' : section(t('employees.cases'), cases(ask, employee))}
  ${employee.pending.length === 0 ? '' : section(t('employees.pending'), pending(ask, employee))}
  ${section(t('employees.attempts'), attempts(ask, employee), { aside: t('employees.latest', { count: 10 }) })}
  ${employee.payment_orders.length === 0 ? '' : section(t('employees.orders'), orders(ask, employee))}`
}

function cases(ask: Ask, employee: EmployeeResult): SafeHtml {
  const { t, language } = ask
  return table(
    employee.cases,
    [
      { title: t('employees.case'), kind: 'main', cell: ({ id }) => `#${id}` },
      { title: t('employees.state'), cell: row => caseState(ask, row.state) },
      {
        title: t('employees.what'),
        cell: row =>
          html`${textOr(language, `category.${row.category}`, row.category)}${
            row.field === '' ? '' : html` <span class="soft">${fieldName(ask, row.field)}</span>`
          }`,
      },
      {
        title: t('employees.blocked_by'),
        kind: 'spare',
        cell: row =>
          row.blocked_by === null
            ? null
            : html`<a href="${employeePath({ enterpriseCode: employee.enterprise_code, userid: row.blocked_by })}">${foreign(row.blocked_by)}</a>`,
      },
      { title: t('employees.repeats'), kind: 'number', cell: row => figure(ask, row.occurrences) },
      { title: t('employees.last_failed'), kind: 'spare', cell: row => since(ask, row.last_failed_at) },
      { title: t('employees.next_try'), kind: 'spare', cell: row => since(ask, row.next_retry_at) },
    ],
    { caption: t('employees.cases'), empty: empty(''), href: ({ id }) => `/cases/${id}` },
  )
}

function pending(ask: Ask, employee: EmployeeResult): SafeHtml {
  const { t, language } = ask
  return table(
    employee.pending,
    [
      {
        title: t('employees.operation'),
        cell: ({ operation, detail }) =>
          html`${textOr(language, `operation.${operation}`, operation)}${detail ? html` ${foreign(detail)}` : ''}`,
      },
      {
        title: t('employees.state'),
        cell: row => {
          const name = row.replan_at
            ? 'awaits_plan'
            : row.enqueued_at
              ? 'queued'
              : row.not_before && row.not_before > ask.now
                ? 'delayed'
                : 'due'
          return state('wait', textOr(language, `outbox_state.${name}`, name))
        },
      },
      { title: t('employees.run'), cell: ({ run_id }) => runLink(run_id) },
      { title: t('employees.waits_since'), cell: row => since(ask, row.created_at) },
      { title: t('employees.next_try'), cell: row => since(ask, row.not_before) },
      { title: t('employees.tries'), kind: 'number', cell: row => figure(ask, row.attempts) },
    ],
    { caption: t('employees.pending'), empty: empty('') },
  )
}

function runLink(id: number | null): Part | null {
  return id === null ? null : html`<a href="/runs/${id}">#${id}</a>`
}

function attempts(ask: Ask, employee: EmployeeResult): SafeHtml {
  const { t, language } = ask
  return table(
    employee.attempts,
    [
      { title: t('employees.when'), cell: row => time(ask, row.started_at) },
      { title: t('employees.run'), cell: ({ run_id }) => runLink(run_id) },
      {
        title: t('employees.outcome'),
        cell: row => textOr(language, `outcome.${row.outcome}`, row.outcome),
      },
      {
        title: t('employees.fields'),
        cell: ({ fields }) => (fields.length === 0 ? null : fieldNames(ask, fields.join(', '))),
      },
      {
        title: t('employees.calls'),
        kind: 'spare',
        cell: ({ calls }) =>
          Object.entries(calls)
            .map(([name, n]) => `${textOr(language, `call.${name}`, name)} × ${n}`)
            .join(t('employees.list_separator')) || null,
      },
      { title: t('employees.took'), kind: 'number', cell: row => duration(ask, row.duration_ms) },
      {
        title: t('employees.said'),
        cell: ({ error, platform_code }) =>
          error === null
            ? null
            : html`${foreign(inLanguage(language, error))}${platform_code === null ? '' : html` ${code(platform_code)}`}`,
      },
      { title: t('employees.trace'), kind: 'spare', cell: ({ trace_id }) => code(trace_id) },
    ],
    {
      caption: t('employees.attempts'),
      empty: empty(t('employees.no_attempts'), t('employees.no_attempts.remedy')),
    },
  )
}

function orders(ask: Ask, employee: EmployeeResult): SafeHtml {
  const { t, language } = ask
  return table(
    employee.payment_orders,
    [
      { title: t('employees.order'), cell: ({ trade_no }) => code(trade_no) },
      { title: t('employees.when'), cell: row => time(ask, row.created_at) },
      { title: t('employees.subject'), kind: 'spare', cell: ({ subject }) => foreign(subject) },
      {
        title: t('employees.state'),
        cell: ({ status }) =>
          status === null ? null : textOr(language, `payment_order_status.${status}`, String(status)),
      },
      { title: t('employees.paid'), kind: 'number', cell: ({ pay_amount }) => pay_amount },
      { title: t('employees.refunded'), kind: 'number', cell: ({ refund_amount }) => refund_amount },
    ],
    { caption: t('employees.orders'), empty: empty('') },
  )
}
