import { html, type SafeHtml } from '@remix-run/html-template'
import { shortened } from '../../lib/text.ts'
import { PAYMENT_ORDER_STATUS, type States } from '../../platform/states.ts'
import { MIRRORS, type Mirror } from '../../sync/mirror-kind.ts'
import { runMessage } from '../../texts/failures.ts'
import { textOr } from '../../texts/texts.ts'
import type { Ask } from '../ask.ts'
import {
  actionForm,
  alert,
  amount,
  code,
  empty,
  type Field,
  figure,
  filters,
  head,
  live,
  type Part,
  pager,
  since,
  state,
  type Tone,
  table,
  tabs,
  time,
} from '../ui/parts.ts'
import { employeePath } from '../ui/paths.ts'
import { runState } from '../ui/states.ts'
import type {
  Accounts,
  AccountsInput,
  MirrorStanding,
  Orders,
  OrdersInput,
  Taxpayers,
  TaxpayersInput,
} from './query.ts'

/** The status of each mirror. */
export function mirrorsBody(ask: Ask, standings: MirrorStanding[]): SafeHtml {
  const { t } = ask
  return html`${head(t('mirrors.title'))}
  ${mirrorTabs(ask, null)}
  <p class="soft">${t('mirrors.about')}</p>
  ${live(
    ask,
    'standings',
    ['runs'],
    html`${standings.some(({ on }) => on) ? '' : alert('info', t('mirrors.all_off'), t('mirrors.off.remedy'))}
    ${table(
      standings,
      [
        { title: t('mirrors.mirror'), kind: 'main', cell: ({ mirror }) => t(`mirrors.${mirror}`) },
        {
          title: t('mirrors.by_schedule'),
          cell: ({ on }) => state(on ? 'ok' : 'off', t(on ? 'mirrors.on' : 'mirrors.off')),
        },
        { title: t('mirrors.last_read'), cell: ({ last }) => last && lastRead(ask, last) },
        {
          title: t('mirrors.read'),
          kind: 'number',
          cell: ({ last }) => (last?.rows_read == null ? null : figure(ask, last.rows_read)),
        },
        {
          title: t('mirrors.changed'),
          kind: 'number',
          cell: ({ last }) => (last?.rows_changed == null ? null : figure(ask, last.rows_changed)),
        },
        { title: t('mirrors.next'), cell: standing => nextRead(ask, standing) },
        { title: t('mirrors.now'), cell: ({ present }) => present && presentRun(ask, present) },
        ...(ask.may('operator')
          ? [
              {
                title: t('mirrors.action'),
                cell: ({ mirror }: MirrorStanding) => readAgain(ask, mirror, t('mirrors.read_now')),
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

type Run = NonNullable<MirrorStanding['last']>

function lastRead(ask: Ask, { id, state: name, finished_at }: Run): SafeHtml {
  return html`<a href="/runs/${id}">${since(ask, finished_at)}</a>${name === 'done' ? '' : html` ${runState(ask, name)}`}`
}

function nextRead(ask: Ask, { on, next_read_at, paused_at }: MirrorStanding): Part | null {
  if (!on) return null
  return paused_at === null
    ? since(ask, next_read_at)
    : html`<a href="/schedules">${ask.t('mirrors.paused')}</a>`
}

/** The run that is waiting or under way, its progress, and a link to its page. */
function presentRun(ask: Ask, { id, state: name, parts, left }: Run): SafeHtml {
  return html`<a href="/runs/${id}">${ask.t('mirrors.run_n', { id: String(id) })}</a> ${runState(ask, name)}${
    parts === null || parts === 0
      ? ''
      : html` <span class="soft">${ask.t('mirrors.progress', { done: Math.max(0, parts - left), parts })}</span>`
  }`
}

/** Shown above a mirror's rows: how old they are, and what is going on. */
function mirrorHead(ask: Ask, mirror: Mirror, standing: MirrorStanding | null): SafeHtml {
  const { t } = ask
  const { last = null, present = null, on = false } = standing ?? {}
  return html`${head(t('mirrors.title'), {
    actions: [
      actionForm(ask, { to: `/mirrors/${mirror}/read`, label: t('mirrors.read_again'), role: 'operator' }),
    ],
  })}
  ${mirrorTabs(ask, mirror)}
  ${live(
    ask,
    'standing',
    ['runs'],
    html`${on ? '' : alert('info', t('mirrors.is_off', { mirror: t(`mirrors.${mirror}`) }), t('mirrors.off.remedy'))}
    ${
      last && last.state !== 'done' && last.message !== null
        ? alert(
            'warn',
            t('mirrors.last_failed'),
            html`<div class="words">${runMessage(ask.language, last)}</div>`,
          )
        : ''
    }
    <p class="row">${
      last === null
        ? html`<span class="soft">${t('mirrors.never_read')}</span>`
        : html`<span><span class="soft">${t('mirrors.last_read')}</span> ${lastRead(ask, last)}</span>`
    }${
      standing && on && (standing.next_read_at || standing.paused_at)
        ? html`<span><span class="soft">${t('mirrors.next')}</span> ${nextRead(ask, standing)}</span>`
        : ''
    }${present === null ? '' : html`<span><span class="soft">${t('mirrors.now')}</span> ${presentRun(ask, present)}</span>`}</p>`,
  )}`
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
function noRows(ask: Ask, standing: MirrorStanding | null, isFiltered: boolean): SafeHtml {
  const { t, language } = ask
  if (isFiltered) return empty(t('mirrors.no_match'), t('mirrors.no_match.remedy'))
  // A run that had nothing to ask for says why; it says nothing about what the platform has.
  const said = standing?.last && runMessage(language, standing.last)
  if (said) return empty(said)
  if (standing?.last) return empty(t('mirrors.none'))
  return empty(t('mirrors.never_read'), t(standing?.on ? 'mirrors.never_read.remedy' : 'mirrors.off.remedy'))
}

/** Whether a filter other than the paging is set. */
function filtered({ cursor: _, limit: __, ...filter }: Record<string, unknown>): boolean {
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

export function ordersBody(
  ask: Ask,
  standing: MirrorStanding | null,
  { orders, next }: Orders,
  input: OrdersInput,
): SafeHtml {
  const { t } = ask
  return html`${mirrorHead(ask, 'orders', standing)}
  ${filters(ask, '/mirrors/orders', [
    { name: 'employee', label: t('mirrors.employee'), type: 'search', value: input.employee, maxlength: 200 },
    { name: 'number', label: t('mirrors.order_number'), type: 'search', value: input.number, maxlength: 100 },
    {
      name: 'status',
      label: t('mirrors.status'),
      value: input.status,
      choices: choicesOf(ask, 'payment_order_status', PAYMENT_ORDER_STATUS),
    },
    { name: 'from', label: t('mirrors.from_day'), type: 'date', value: input.from },
    { name: 'to', label: t('mirrors.to_day'), type: 'date', value: input.to },
    {
      name: 'enterprise',
      label: t('mirrors.enterprise'),
      type: 'search',
      value: input.enterprise,
      maxlength: 100,
    },
  ])}
  ${live(
    ask,
    'rows',
    ['runs'],
    table(
      orders,
      [
        {
          title: t('mirrors.order_number'),
          cell: ({ trade_no, out_trade_no, enterprise_code }) =>
            html`${code(trade_no)}${out_trade_no ? html`<br><small class="soft">${code(out_trade_no)}</small>` : ''}${
              enterprise_code === '' ? '' : html`<br><small class="soft">${code(enterprise_code)}</small>`
            }`,
        },
        {
          title: t('mirrors.made'),
          cell: ({ created_at, first_seen_at }) => time(ask, created_at ?? first_seen_at),
        },
        {
          title: t('mirrors.employee'),
          cell: ({ userid, enterprise_code }) => employeeLink(enterprise_code, userid),
        },
        { title: t('mirrors.subject'), kind: 'spare', cell: ({ subject }) => subject && words(subject) },
        { title: t('mirrors.total'), kind: 'number', cell: ({ total_amount }) => amount(ask, total_amount) },
        { title: t('mirrors.paid'), kind: 'number', cell: ({ pay_amount }) => amount(ask, pay_amount) },
        {
          title: t('mirrors.refunded'),
          kind: 'number',
          cell: ({ refund_amount }) => amount(ask, refund_amount),
        },
        {
          title: t('mirrors.asset'),
          kind: 'spare',
          cell: ({ asset_code }) => asset_code && words(named(ask, 'asset_code', asset_code) ?? ''),
        },
        {
          title: t('mirrors.status'),
          cell: ({ status }) =>
            status === null
              ? null
              : state(ORDER_TONES[status] ?? 'off', named(ask, 'payment_order_status', status) ?? ''),
        },
      ],
      { caption: t('mirrors.orders'), empty: noRows(ask, standing, filtered(input)) },
    ),
  )}
  ${pager(ask, next)}`
}

function employeeLink(enterpriseCode: string, userid: string | null): SafeHtml | null {
  if (userid === null) return null
  return html`<a href="${employeePath({ enterpriseCode, userid })}">${code(userid)}</a>`
}

/** Longer texts are cut; the API has them in full. */
const MOST_SHOWN = 200

/** Text that the platform delivers: it may hold anything, so it is confined to its cell. */
function words(text: string): SafeHtml {
  return html`<bdi class="words">${shortened(text, MOST_SHOWN)}</bdi>`
}

// Limit accounts

export function accountsBody(
  ask: Ask,
  standing: MirrorStanding | null,
  { accounts, next }: Accounts,
  input: AccountsInput,
): SafeHtml {
  const { t } = ask
  return html`${mirrorHead(ask, 'accounts', standing)}
  ${filters(ask, '/mirrors/accounts', [
    {
      name: 'enterprise',
      label: t('mirrors.enterprise'),
      type: 'search',
      value: input.enterprise,
      maxlength: 100,
    },
    goneField(ask, input.gone),
  ])}
  ${live(
    ask,
    'rows',
    ['runs'],
    table(
      accounts,
      [
        {
          title: t('mirrors.account'),
          cell: ({ account_openid, enterprise_code }) =>
            html`${code(account_openid)}${enterprise_code === '' ? '' : html`<br><small class="soft">${code(enterprise_code)}</small>`}`,
        },
        { title: t('mirrors.name'), cell: ({ name }) => name && words(name) },
        {
          title: t('mirrors.product'),
          kind: 'spare',
          cell: ({ product_category }) => named(ask, 'product_category', product_category),
        },
        { title: t('mirrors.balance'), kind: 'number', cell: ({ balance }) => amount(ask, balance) },
        { title: t('mirrors.status'), cell: account => validity(ask, 'account_status', account) },
        {
          title: t('mirrors.sub_accounts'),
          cell: ({ sub_accounts }) =>
            sub_accounts.length === 0
              ? null
              : html`<details><summary>${t('mirrors.sub_count', { count: sub_accounts.length })}</summary><ul class="values">${sub_accounts.map(
                  sub =>
                    html`<li>${code(sub.id)} ${sub.name && words(sub.name)} ${
                      sub.gone
                        ? html`<span class="soft">${t('mirrors.gone')}</span>`
                        : html`<span class="soft">${named(ask, 'account_status', sub.status) ?? ''}</span>`
                    }</li>`,
                )}</ul></details>`,
        },
        { title: t('mirrors.changed_at'), kind: 'spare', cell: ({ changed_at }) => time(ask, changed_at) },
      ],
      { caption: t('mirrors.accounts'), empty: noRows(ask, standing, filtered(input)) },
    ),
  )}
  ${pager(ask, next)}`
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

/** What the platform says about a row that it still lists. */
function validity(
  ask: Ask,
  list: string,
  row: { status: number | null; gone_at: Date | null },
): SafeHtml | null {
  if (row.gone_at !== null) return state('off', ask.t('mirrors.gone'))
  const name = named(ask, list, row.status)
  return name === null ? null : state(row.status === 1 ? 'ok' : 'warn', name)
}

// Taxpayers

export function taxpayersBody(
  ask: Ask,
  standing: MirrorStanding | null,
  { taxpayers, next }: Taxpayers,
  input: TaxpayersInput,
): SafeHtml {
  const { t } = ask
  return html`${mirrorHead(ask, 'taxpayers', standing)}
  ${filters(ask, '/mirrors/taxpayers', [
    {
      name: 'identifier',
      label: t('mirrors.identifier'),
      type: 'search',
      value: input.identifier,
      maxlength: 100,
    },
    {
      name: 'enterprise',
      label: t('mirrors.enterprise'),
      type: 'search',
      value: input.enterprise,
      maxlength: 100,
    },
    goneField(ask, input.gone),
  ])}
  ${live(
    ask,
    'rows',
    ['runs'],
    table(
      taxpayers,
      [
        { title: t('mirrors.name'), cell: ({ name }) => words(name) },
        {
          title: t('mirrors.identifier'),
          cell: ({ identifier, enterprise_code }) =>
            html`${code(identifier)}${enterprise_code === '' ? '' : html`<br><small class="soft">${code(enterprise_code)}</small>`}`,
        },
        { title: t('mirrors.nature'), cell: ({ nature }) => named(ask, 'taxpayer_nature', nature) },
        { title: t('mirrors.status'), cell: taxpayer => validity(ask, 'taxpayer_status', taxpayer) },
        { title: t('mirrors.changed_at'), kind: 'spare', cell: ({ changed_at }) => time(ask, changed_at) },
      ],
      { caption: t('mirrors.taxpayers'), empty: noRows(ask, standing, filtered(input)) },
    ),
  )}
  ${pager(ask, next)}`
}
