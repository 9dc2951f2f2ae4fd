import { html, type SafeHtml } from '@remix-run/html-template'
import { shortened } from '../../lib/text.ts'
import { PAYMENT_ORDER_STATUS, type States } from '../../platform/states.ts'
import { MIRRORS, type Mirror } from '../../sync/runs/mirror-kind.ts'
import { runMessage } from '../../texts/failures.ts'
import { says } from '../../texts/message.ts'
import { type TextKey, textOr } from '../../texts/texts.ts'
import type { Ask } from '../ask.ts'
import {
  actionForm,
  alert,
  amount,
  type Column,
  code,
  csvLink,
  empty,
  emptyPage,
  type Field,
  figure,
  filters,
  head,
  live,
  type Part,
  pager,
  state,
  type Tone,
  table,
  tabs,
  time,
} from '../ui/parts.ts'
import { employeePath } from '../ui/paths.ts'
import { wordsOf } from '../ui/shown.ts'
import { runStatus } from '../ui/states.ts'
import type { AccountsInput, MirrorStatus, OrdersInput, TaxpayersInput } from './query.ts'
import type { LimitAccountRow, PaymentOrderRow, TaxpayerRow } from './read.ts'

export function mirrorsBody(ask: Ask, statuses: MirrorStatus[]): SafeHtml {
  const { t } = ask
  return html`${head(t('mirrors.title'))}
  ${mirrorTabs(ask, null)}
  <p class="soft">${t('mirrors.about')}</p>
  ${live(
    ask,
    'statuses',
    ['runs', 'schedules'],
    html`${statuses.some(({ on }) => on) ? '' : alert('info', t('mirrors.all_off'), t('mirrors.off.remedy'))}
    ${table(
      statuses,
      [
        { title: t('mirrors.mirror'), kind: 'main', cell: ({ mirror }) => t(`mirrors.${mirror}`) },
        {
          title: t('mirrors.by_schedule'),
          cell: ({ on }) => state(on ? 'ok' : 'off', t(on ? 'mirrors.on' : 'mirrors.off')),
        },
        {
          title: t('mirrors.last_read'),
          cell: ({ last }) =>
            last &&
            html`${lastRead(ask, last)}${isPartial(last) ? html` ${state('warn', t('mirrors.last_partial'))}` : ''}`,
        },
        {
          title: t('mirrors.read'),
          kind: 'number',
          cell: ({ last }) => last && figure(ask, last.rows_read),
        },
        {
          title: t('mirrors.changed'),
          kind: 'number',
          cell: ({ last }) => last && figure(ask, last.rows_changed),
        },
        { title: t('mirrors.next'), cell: status => nextRead(ask, status) },
        { title: t('mirrors.now'), cell: ({ present }) => present && presentRun(ask, present) },
        ...(ask.may('operator')
          ? [
              {
                title: t('mirrors.action'),
                cell: ({ mirror }: MirrorStatus) => readAgain(ask, mirror, t('mirrors.read_now')),
              },
            ]
          : []),
      ],
      { caption: t('mirrors.title'), empty: empty(''), href: ({ mirror }) => `/mirrors/${mirror}` },
    )}`,
  )}`
}

function mirrorTabs(ask: Ask, current: Mirror | null): SafeHtml {
  const { t } = ask
  return tabs(t('mirrors.title'), [
    { href: '/mirrors', text: t('mirrors.overview'), current: current === null },
    ...MIRRORS.map(mirror => ({
      href: `/mirrors/${mirror}`,
      text: t(`mirrors.${mirror}`),
      current: mirror === current,
    })),
  ])
}

function readAgain(ask: Ask, mirror: Mirror, label: string): SafeHtml {
  return actionForm(ask, { to: `/mirrors/${mirror}/read`, label, role: 'operator' })
}

type Run = NonNullable<MirrorStatus['last']>

function lastRead(ask: Ask, { id, state: name, finished_at }: Run): SafeHtml {
  return html`<a href="/runs/${id}">${time(ask, finished_at)}</a>${name === 'done' ? '' : html` ${wordsOf(ask, runStatus(name))}`}`
}

/** Whether it left something out, or all; one that had nothing to ask for has a message, too. */
function isPartial({ state, message, parts }: Run): boolean {
  if (state !== 'done' || message === null || parts === null) return false
  return parts > 0 || says(message, 'said.refused_before')
}

function nextRead(ask: Ask, { on, next_read_at, paused_at }: MirrorStatus): Part | null {
  if (!on) return null
  return paused_at === null
    ? time(ask, next_read_at)
    : html`<a href="/schedules">${ask.t('mirrors.paused')}</a>`
}

/** The run that is waiting or under way, its progress, and a link to its page. */
function presentRun(ask: Ask, { id, state: name, parts, left }: Run): SafeHtml {
  return html`<a href="/runs/${id}">${ask.t('mirrors.run_n', { id: String(id) })}</a> ${wordsOf(ask, runStatus(name))}${
    parts === null || parts === 0
      ? ''
      : html` <span class="soft">${ask.t('mirrors.progress', { done: Math.max(0, parts - left), parts })}</span>`
  }`
}

/** Shown above a mirror's rows: how old they are, and what is going on. */
function mirrorHead(
  ask: Ask,
  mirror: Mirror,
  status: MirrorStatus | null,
  input: Record<string, unknown>,
): SafeHtml {
  const { t } = ask
  const { last = null, present = null, on = false } = status ?? {}
  return html`${head(t('mirrors.title'), {
    actions: [
      csvLink(ask, `/mirrors/${mirror}`, input),
      actionForm(ask, { to: `/mirrors/${mirror}/read`, label: t('mirrors.read_again'), role: 'operator' }),
    ],
  })}
  ${mirrorTabs(ask, mirror)}
  ${live(
    ask,
    'status',
    ['runs', 'schedules'],
    html`${on ? '' : alert('info', t('mirrors.is_off', { mirror: t(`mirrors.${mirror}`) }), t('mirrors.off.remedy'))}
    ${last && whatLastSaid(ask, last)}
    <p class="row">${
      last === null
        ? html`<span class="soft">${t('mirrors.never_read')}</span>`
        : html`<span><span class="soft">${t('mirrors.last_read')}</span> ${lastRead(ask, last)}</span>`
    }${
      status && on && (status.next_read_at || status.paused_at)
        ? html`<span><span class="soft">${t('mirrors.next')}</span> ${nextRead(ask, status)}</span>`
        : ''
    }${present === null ? '' : html`<span><span class="soft">${t('mirrors.now')}</span> ${presentRun(ask, present)}</span>`}</p>`,
  )}`
}

/** Why it failed, what it left out, or why it asked for nothing. */
function whatLastSaid(ask: Ask, last: Run): SafeHtml | null {
  const said = runMessage(ask.language, last)
  if (said === null) return null
  const body = html`<div class="words">${said}</div>`
  if (last.state !== 'done') return alert('warn', ask.t('mirrors.last_failed'), body)
  return isPartial(last) ? alert('info', ask.t('mirrors.last_partial'), body) : alert('info', said)
}

// Lists

/** The page of a mirror's rows: how the mirror stands, a form that filters them, and a table that follows runs. */
function listBody<Row, Input extends Record<string, unknown>>(
  mirror: Mirror,
  list: { filters(ask: Ask, input: Input): Field[]; columns(ask: Ask): Column<Row>[] },
) {
  return (
    ask: Ask,
    status: MirrorStatus | null,
    { items, next }: { items: readonly Row[]; next: string | null },
    input: Input,
  ): SafeHtml => {
    const caption = ask.t(`mirrors.${mirror}`)
    const nothing = emptyPage(ask, noMirrored(ask, status, isFiltered(input)))
    return html`${mirrorHead(ask, mirror, status, input)}
    ${filters(ask, `/mirrors/${mirror}`, list.filters(ask, input))}
    ${live(ask, 'rows', ['runs'], table(items, list.columns(ask), { caption, empty: nothing }))}
    ${pager(ask, next)}`
  }
}

function search(ask: Ask, name: string, label: TextKey, value: string | undefined, maxlength = 100): Field {
  return { name, label: ask.t(label), type: 'search', value, maxlength }
}

/** The identifiers of a row below each other; those that it lacks are left out. */
function codes(first: string, ...others: (string | null)[]): SafeHtml {
  const below = others.filter(other => other)
  return html`${code(first)}${below.map(other => html`<br><small class="soft">${code(other)}</small>`)}`
}

/** A value of the platform in words; the value itself if the specification does not name it. */
function named({ language }: Ask, list: string, value: string | number | null): string | null {
  return value === null ? null : textOr(language, `${list}.${value}`, String(value))
}

function choicesOf(ask: Ask, list: string, states: States): NonNullable<Field['choices']> {
  return [
    { value: '', text: ask.t('common.all') },
    ...Object.values(states).map(({ value }) => ({
      value: String(value),
      text: named(ask, list, value) ?? String(value),
    })),
  ]
}

/** Shown if there are no rows. */
function noMirrored(ask: Ask, status: MirrorStatus | null, hasFilter: boolean): SafeHtml {
  const { t } = ask
  if (hasFilter) return empty(t('mirrors.no_match'), t('mirrors.no_match.remedy'))
  if (status?.last) {
    const { state, message } = status.last
    return empty(t(state === 'done' && message === null ? 'mirrors.none' : 'mirrors.not_read_whole'))
  }
  return empty(t('mirrors.never_read'), t(status?.on ? 'mirrors.never_read.remedy' : 'mirrors.off.remedy'))
}

/** Whether a filter other than the paging is set. */
function isFiltered({ cursor: _, limit: __, ...filter }: Record<string, unknown>): boolean {
  return Object.values(filter).some(value => value !== undefined)
}

// Payment orders

const ORDER_TONES: Record<number, Tone> = {
  1: 'wait',
  2: 'busy',
  3: 'ok',
  4: 'wait',
  5: 'busy',
  6: 'off',
  7: 'off',
}

export const ordersBody = listBody<PaymentOrderRow, OrdersInput>('orders', {
  filters: (ask, input) => [
    search(ask, 'employee', 'mirrors.employee', input.employee, 200),
    search(ask, 'number', 'mirrors.order_number', input.number),
    {
      name: 'status',
      label: ask.t('mirrors.status'),
      value: input.status,
      choices: choicesOf(ask, 'payment_order_status', PAYMENT_ORDER_STATUS),
    },
    { name: 'from', label: ask.t('mirrors.from_day'), type: 'date', value: input.from },
    { name: 'to', label: ask.t('mirrors.to_day'), type: 'date', value: input.to },
    search(ask, 'enterprise', 'mirrors.enterprise', input.enterprise),
  ],
  columns: ask => [
    {
      title: ask.t('mirrors.order_number'),
      cell: ({ trade_no, out_trade_no, enterprise_code }) => codes(trade_no, out_trade_no, enterprise_code),
    },
    {
      title: ask.t('mirrors.made'),
      cell: ({ created_at, first_seen_at }) => time(ask, created_at ?? first_seen_at),
    },
    {
      title: ask.t('mirrors.employee'),
      cell: ({ userid, enterprise_code }) => employeeLink(ask, enterprise_code, userid),
    },
    { title: ask.t('mirrors.subject'), kind: 'spare', cell: ({ subject }) => subject && words(subject) },
    {
      title: ask.t('mirrors.total'),
      kind: 'number',
      cell: ({ total_amount, asset_code }) => amount(ask, total_amount, asset_code),
    },
    {
      title: ask.t('mirrors.paid'),
      kind: 'number',
      cell: ({ pay_amount, asset_code }) => amount(ask, pay_amount, asset_code),
    },
    {
      title: ask.t('mirrors.refunded'),
      kind: 'number',
      cell: ({ refund_amount, asset_code, out_trade_no }) => {
        const text = amount(ask, refund_amount, asset_code)
        return out_trade_no !== null && Number(refund_amount) > 0
          ? html`<a href="/money?number=${encodeURIComponent(out_trade_no)}">${text}</a>`
          : text
      },
    },
    {
      title: ask.t('mirrors.asset'),
      kind: 'spare',
      cell: ({ asset_code }) => asset_code && words(named(ask, 'asset_code', asset_code) ?? ''),
    },
    {
      title: ask.t('mirrors.status'),
      cell: ({ status, gone_at }) => {
        if (gone_at !== null) return state('off', ask.t('mirrors.gone'))
        if (status === null) return null
        return state(ORDER_TONES[status] ?? 'off', named(ask, 'payment_order_status', status) ?? '')
      },
    },
  ],
})

function employeeLink({ marks }: Ask, enterpriseCode: string, userid: string | null): SafeHtml | null {
  if (userid === null) return null
  const key = { enterpriseCode, userid }
  return html`<a href="${employeePath(key)}">${code(userid)}</a>${marks.nameOf(key)}`
}

/** Longer texts are cut; the API has them in full. */
const MOST_SHOWN = 200

/** Text that the platform delivers: it may hold anything, so it is confined to its cell. */
function words(text: string): SafeHtml {
  return html`<bdi class="words">${shortened(text, MOST_SHOWN)}</bdi>`
}

// Limit accounts

export const accountsBody = listBody<LimitAccountRow, AccountsInput>('accounts', {
  filters: (ask, input) => [
    search(ask, 'enterprise', 'mirrors.enterprise', input.enterprise),
    goneField(ask, input.gone),
  ],
  columns: ask => [
    {
      title: ask.t('mirrors.account'),
      cell: ({ account_openid, enterprise_code }) => codes(account_openid, enterprise_code),
    },
    { title: ask.t('mirrors.name'), cell: ({ name }) => name && words(name) },
    {
      title: ask.t('mirrors.product'),
      kind: 'spare',
      cell: ({ product_category }) => named(ask, 'product_category', product_category),
    },
    { title: ask.t('mirrors.balance'), kind: 'number', cell: ({ balance }) => amount(ask, balance) },
    { title: ask.t('mirrors.status'), cell: account => validity(ask, 'account_status', account) },
    { title: ask.t('mirrors.sub_accounts'), cell: account => subAccounts(ask, account) },
    { title: ask.t('mirrors.changed_at'), kind: 'spare', cell: ({ changed_at }) => time(ask, changed_at) },
  ],
})

function subAccounts(
  ask: Ask,
  { sub_accounts: subs, sub_account_count: count }: LimitAccountRow,
): SafeHtml | null {
  if (subs.length === 0) return null
  const items = subs.map(
    sub =>
      html`<li>${code(sub.id)} ${sub.name && words(sub.name)} <span class="soft">${
        sub.gone ? ask.t('mirrors.unseen') : (named(ask, 'account_status', sub.status) ?? '')
      }</span></li>`,
  )
  const shown = subs.length
  const title =
    shown < count ? ask.t('mirrors.subs_shown', { shown, count }) : ask.t('mirrors.sub_count', { count })
  return html`<details><summary>${title}</summary><ul class="values">${items}</ul></details>`
}

function goneField(ask: Ask, given: string | undefined): Field {
  return {
    name: 'gone',
    label: ask.t('mirrors.platform_rows'),
    value: given === undefined ? '' : '1',
    choices: [
      { value: '', text: ask.t('mirrors.present_only') },
      { value: '1', text: ask.t('mirrors.with_gone') },
    ],
  }
}

/** What the platform says about a row that it still shows. */
function validity(
  ask: Ask,
  list: string,
  row: { status: number | null; gone_at: Date | null },
): SafeHtml | null {
  if (row.gone_at !== null) return state('off', ask.t('mirrors.unseen'))
  const name = named(ask, list, row.status)
  return name === null ? null : state(row.status === 1 ? 'ok' : 'warn', name)
}

// Taxpayers

export const taxpayersBody = listBody<TaxpayerRow, TaxpayersInput>('taxpayers', {
  filters: (ask, input) => [
    search(ask, 'identifier', 'mirrors.identifier', input.identifier),
    search(ask, 'enterprise', 'mirrors.enterprise', input.enterprise),
    goneField(ask, input.gone),
  ],
  columns: ask => [
    { title: ask.t('mirrors.name'), cell: ({ name }) => words(name) },
    {
      title: ask.t('mirrors.identifier'),
      cell: ({ identifier, enterprise_code }) => codes(identifier, enterprise_code),
    },
    { title: ask.t('mirrors.nature'), cell: ({ nature }) => named(ask, 'taxpayer_nature', nature) },
    { title: ask.t('mirrors.status'), cell: taxpayer => validity(ask, 'taxpayer_status', taxpayer) },
    { title: ask.t('mirrors.changed_at'), kind: 'spare', cell: ({ changed_at }) => time(ask, changed_at) },
  ],
})
