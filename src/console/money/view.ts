import { html, type SafeHtml } from '@remix-run/html-template'
import { ENTRY_STATES } from '../../money/journal.ts'
import { actorText } from '../../texts/actor.ts'
import { inLanguage } from '../../texts/failures.ts'
import { textOr } from '../../texts/texts.ts'
import type { Ask } from '../ask.ts'
import {
  actionForm,
  alert,
  amount,
  code,
  copyable,
  empty,
  facts,
  figure,
  filters,
  head,
  live,
  type Part,
  pager,
  reasonField,
  section,
  since,
  state,
  type Tone,
  table,
  tabs,
  tiles,
  time,
  timeText,
} from '../ui/parts.ts'
import {
  KINDS,
  type Kind,
  type Line,
  type MoneyInput,
  type MoneyList,
  type RefundDetails,
  type TopUpDetails,
} from './query.ts'
import { MOST_ENTRIES_COUNTED } from './read.ts'

const TONES: Record<Line['state'], Tone> = {
  requested: 'busy',
  unknown: 'bad',
  accepted: 'ok',
  rejected: 'off',
  notified: 'ok',
}

function moneyState(ask: Ask, name: Line['state']): SafeHtml {
  return state(TONES[name], textOr(ask.language, `money_state.${name}`, name))
}

/** First whether the outcome of any money operation is unknown, then everything else. */
export function moneyBody(ask: Ask, { counts, kind, entries, next }: MoneyList, input: MoneyInput): SafeHtml {
  const { t } = ask
  const isFiltered = Boolean(input.state || input.number || input.since)
  const states = ENTRY_STATES.filter(name => kind === 'refunds' || name !== 'notified')
  return html`${head(t('money.title'))}
  ${live(
    ask,
    'open',
    ['money'],
    html`${
      counts.refunds.unknown === 0 && counts.topups.unknown === 0
        ? html`<p>${state('ok', t('money.all_known'))}</p>`
        : html`<div class="stack">${KINDS.filter(each => counts[each].unknown > 0).map(each =>
            alert(
              'bad',
              t(`money.unknown.${each}`, { count: counts[each].unknown }),
              html`${t(`money.unknown_todo.${each}`)} <a href="/money?kind=${each}&amp;state=unknown">${t('money.show_them')}</a>`,
            ),
          )}</div>`
    }
    ${tabs(
      t('money.title'),
      KINDS.map(each => ({ href: `/money?kind=${each}`, text: t(`money.${each}`), current: each === kind })),
    )}
    ${tiles(
      states.map(name => ({
        value: counted(ask, counts[kind][name]),
        name: textOr(ask.language, `money_state.${name}`, name),
        href: `/money?kind=${kind}&state=${name}`,
        ...(name === 'unknown' && counts[kind].unknown > 0 ? { tone: 'bad' as const } : {}),
      })),
    )}`,
  )}
  ${filterForm(ask, input, states)}
  ${live(ask, 'entries', ['money'], lines(ask, kind, entries, isFiltered))}
  ${pager(ask, next)}`
}

function counted(ask: Ask, count: number): string {
  return count > MOST_ENTRIES_COUNTED ? `${figure(ask, MOST_ENTRIES_COUNTED)}+` : figure(ask, count)
}

function filterForm(ask: Ask, input: MoneyInput, states: readonly Line['state'][]): SafeHtml {
  const { t } = ask
  return filters(ask, '/money', [
    { name: 'kind', type: 'hidden', value: input.kind },
    {
      name: 'state',
      label: t('money.state'),
      value: input.state,
      choices: [
        { value: '', text: t('common.all') },
        ...states.map(name => ({ value: name, text: textOr(ask.language, `money_state.${name}`, name) })),
      ],
    },
    { name: 'number', label: t('money.number'), type: 'search', value: input.number, maxlength: 200 },
    { name: 'since', label: t('money.since'), type: 'datetime-local', value: input.since },
  ])
}

function lines(ask: Ask, kind: Kind, entries: readonly Line[], isFiltered: boolean): SafeHtml {
  const { t } = ask
  return table(
    entries,
    [
      { title: t('money.number'), kind: 'main', cell: ({ number }) => code(number) },
      {
        title: t(kind === 'refunds' ? 'money.order' : 'money.account'),
        kind: 'spare',
        cell: ({ order, account }) => code(order ?? account),
      },
      { title: t('money.amount'), kind: 'number', cell: line => amount(ask, line.amount) },
      {
        title: t('money.state'),
        cell: line =>
          html`${moneyState(ask, line.state)}${line.for_person ? html` <small class="soft">${t('money.for_person')}</small>` : ''}`,
      },
      { title: t('money.sent'), cell: ({ sent_at }) => time(ask, sent_at) },
      { title: t('money.known_since'), kind: 'spare', cell: ({ settled_at }) => time(ask, settled_at) },
      {
        title: t('money.by'),
        kind: 'spare',
        cell: ({ requested_by }) => html`<bdi>${actorText(ask, requested_by)}</bdi>`,
      },
    ],
    {
      caption: t(`money.${kind}`),
      href: ({ number }) => `/money/${kind}/${encodeURIComponent(number)}`,
      empty: isFiltered
        ? empty(t('money.no_match'), t('money.no_match.remedy'))
        : empty(t(`money.none.${kind}`), html`${t(`money.none_todo.${kind}`)}`),
    },
  )
}

// One entry

export function refundBody(ask: Ask, { entry, events, outlook }: RefundDetails): SafeHtml {
  const { t } = ask
  const { outer_refund_no: number } = entry
  const isOpen = entry.state === 'unknown' || entry.state === 'requested'
  const to = `/money/refunds/${encodeURIComponent(number)}`
  return html`${head(t('money.refund', { number }), {
    aside: live(ask, 'state', ['money'], moneyState(ask, entry.state)),
    actions: [
      ...(isOpen
        ? [actionForm(ask, { to: `${to}/settle`, label: t('money.settle'), role: 'admin', tone: 'main' })]
        : []),
      ...(entry.state === 'unknown' ? [resolveForm(ask, to)] : []),
    ],
  })}
  ${live(
    ask,
    'entry',
    ['money'],
    html`${meaning(ask, 'refund', entry.state, outlook)}
    <div class="columns">
      ${section(
        t('money.what'),
        facts([
          [t('money.amount'), amount(ask, entry.refund_amount)],
          [t('money.order'), code(entry.outer_trade_no)],
          [
            t('money.refunded_before'),
            entry.refunded_before === null ? t('money.not_said') : amount(ask, entry.refunded_before),
          ],
          [t('money.trade_no'), entry.trade_no && tradeLink(entry.trade_no)],
          [t('money.enterprise'), entry.enterprise_code && code(entry.enterprise_code)],
          [t('money.sent'), sentBy(ask, entry)],
          [
            t('money.asked'),
            entry.settle_attempts > 0 ? t('money.asked_times', { count: entry.settle_attempts }) : null,
          ],
          [t('money.asked_next'), entry.next_settle_at && since(ask, entry.next_settle_at)],
          [
            t('money.notification'),
            entry.notified_at
              ? time(ask, entry.notified_at)
              : entry.state === 'rejected'
                ? null
                : t('money.not_notified'),
          ],
        ]),
      )}
      ${section(t('money.said'), said(ask, entry))}
    </div>
    ${section(t('money.story'), story(ask, events))}
    ${
      entry.state === 'unknown'
        ? section(t('money.for_vendor'), copyable(t, vendorText(ask, 'refund', entry)))
        : ''
    }`,
  )}`
}

export function topUpBody(ask: Ask, { entry, events, outlook }: TopUpDetails): SafeHtml {
  const { t } = ask
  const { external_code: number } = entry
  const to = `/money/topups/${encodeURIComponent(number)}`
  return html`${head(t('money.topup', { number }), {
    aside: live(ask, 'state', ['money'], moneyState(ask, entry.state)),
    actions: entry.state === 'unknown' ? [resolveForm(ask, to)] : [],
  })}
  ${live(
    ask,
    'entry',
    ['money'],
    html`${meaning(ask, 'topup', entry.state, outlook)}
    <div class="columns">
      ${section(
        t('money.what'),
        facts([
          [t('money.amount'), amount(ask, entry.amount)],
          [t('money.account'), code(entry.account_openid)],
          [t('money.receipt'), entry.apply_charge_openid && code(entry.apply_charge_openid)],
          [t('money.enterprise'), entry.enterprise_code && code(entry.enterprise_code)],
          [t('money.sent'), sentBy(ask, entry)],
          [t('money.although_open'), others(entry.although_open)],
        ]),
      )}
      ${section(t('money.said'), said(ask, entry))}
    </div>
    ${section(t('money.story'), story(ask, events))}
    ${
      entry.state === 'unknown'
        ? section(t('money.for_vendor'), copyable(t, vendorText(ask, 'topup', entry)))
        : ''
    }`,
  )}`
}

type Details = RefundDetails | TopUpDetails

/** What an open outcome means, and what to do about it; stands above everything else. */
function meaning(
  ask: Ask,
  kind: 'refund' | 'topup',
  name: Line['state'],
  outlook: Details['outlook'],
): SafeHtml | '' {
  const { t } = ask
  if (name === 'requested') return alert('info', t('money.requested'), t('money.requested.remedy'))
  if (name !== 'unknown') return ''
  const may = ask.may('admin') ? '' : html` ${t('money.admin_only')}`
  return outlook?.next === 'asks'
    ? alert(
        'bad',
        t('money.is_unknown'),
        html`${t('money.asks_again')} ${since(ask, outlook.at)}. ${t('money.asks_again.remedy')}${may}`,
      )
    : alert('bad', t('money.is_unknown'), html`${t(`money.person.${kind}`)}${may}`)
}

function resolveForm(ask: Ask, to: string): SafeHtml {
  const { t } = ask
  return actionForm(ask, {
    to: `${to}/resolve`,
    label: t('money.resolve'),
    role: 'admin',
    tone: 'danger',
    fields: [
      {
        name: 'as',
        label: t('money.resolve_as'),
        required: true,
        value: '',
        hint: t('money.resolve_hint'),
        choices: [
          { value: '', text: t('money.choose') },
          { value: 'accepted', text: t('money.as_accepted') },
          { value: 'rejected', text: t('money.as_rejected') },
        ],
      },
      reasonField(t, true, 'money.reason_hint'),
    ],
  })
}

/** What is known about the outcome: the platform's answer, its order record, or what a person said. */
function said(ask: Ask, entry: Details['entry']): SafeHtml {
  const { t, language } = ask
  const { platform_code, trace_id, message, resolved_by, resolution, settled_at, state: name } = entry
  if (resolved_by === null && platform_code === null && message === null)
    return html`<p class="soft">${t(name === 'requested' ? 'money.requested' : 'money.nothing_said')}</p>`
  // Once the platform or a person has settled it, the message describes a doubt that is over.
  const isOver = name === 'notified' || resolved_by !== null
  return facts([
    [t('money.resolved_by'), resolved_by && html`<bdi>${resolved_by}</bdi> ${time(ask, settled_at)}`],
    [t('common.reason'), resolution && html`<div class="words">${resolution}</div>`],
    [
      t('money.platform_code'),
      platform_code && html`${code(platform_code)} ${textOr(language, `code.${platform_code}.meaning`, '')}`,
    ],
    [
      t('money.message'),
      message && !isOver ? html`<div class="words">${inLanguage(language, message)}</div>` : null,
    ],
    [
      t('money.remedy'),
      platform_code && name !== 'accepted' && !isOver
        ? textOr(
            language,
            `code.${platform_code}.remedy_beside_hr`,
            textOr(language, `code.${platform_code}.remedy`, ''),
          )
        : null,
    ],
    [t('money.trace_id'), trace_id && code(trace_id)],
  ])
}

function story(ask: Ask, events: Details['events']): SafeHtml {
  const { t, language } = ask
  return html`<ol class="steps">${events.map(
    ({ at, event, by, text }) =>
      html`<li>${time(ask, at)}<span>${t(`money.event.${event}`)}${
        by === null ? '' : html` <span class="soft"><bdi>${actorText(ask, by)}</bdi></span>`
      }</span>${text === null ? '' : html`<div class="words soft">${inLanguage(language, text)}</div>`}</li>`,
  )}</ol>`
}

function sentBy(ask: Ask, { sent_at, requested_by }: Details['entry']): SafeHtml {
  return html`${time(ask, sent_at)} <span class="soft"><bdi>${actorText(ask, requested_by)}</bdi></span>`
}

/** Link to the payment order, if the mirror has it. */
function tradeLink(tradeNo: string): SafeHtml {
  return html`<a href="/mirrors/orders?number=${encodeURIComponent(tradeNo)}">${code(tradeNo)}</a>`
}

function others(numbers: readonly string[]): Part | null {
  if (numbers.length === 0) return null
  return html`${numbers.map(
    (number, i) =>
      html`${i > 0 ? ', ' : ''}<a href="/money/topups/${encodeURIComponent(number)}">${code(number)}</a>`,
  )}`
}

/** What the platform's support needs to find it, line by line. */
function vendorText(
  ask: Ask,
  kind: 'refund' | 'topup',
  entry: RefundDetails['entry'] | TopUpDetails['entry'],
): string {
  const { t } = ask
  const { sent_at, trace_id } = entry
  const own =
    'outer_refund_no' in entry
      ? [
          `outerRefundNo: ${entry.outer_refund_no}`,
          `outerTradeNo: ${entry.outer_trade_no}`,
          `refundAmount: ${entry.refund_amount}`,
        ]
      : [
          `external_code: ${entry.external_code}`,
          `account_openid: ${entry.account_openid}`,
          `amount: ${entry.amount}`,
        ]
  return [
    t(`money.vendor.${kind}`),
    ...own,
    `${t('money.sent')}: ${timeText(ask, sent_at)} (${sent_at.toISOString()})`,
    ...(trace_id === null ? [] : [`x-trace-id: ${trace_id}`]),
  ].join('\n')
}
