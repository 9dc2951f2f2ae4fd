import { capitalised, shellWord } from '../../lib/text.ts'
import { contradictionOf, hangs, isOpen } from '../../money/journal.ts'
import { isLookedFor, isOverdue, isUnshown, recordMayTell, waitsForPerson } from '../../money/refund.ts'
import { actorText } from '../../texts/actor.ts'
import { inLanguage } from '../../texts/failures.ts'
import { type Said, says } from '../../texts/message.ts'
import { textOr } from '../../texts/texts.ts'
import { type Ask, lacksRole } from '../ask.ts'
import { rangeFields } from '../range.ts'
import { type Block, joined, noRows, type Shown, tableOf, term, type Words } from '../shown.ts'
import {
  actionForm,
  amount,
  csvLink,
  figure,
  filters,
  reasonField,
  type Tone,
  tabs,
  timeText,
} from '../ui/parts.ts'
import { inPath, ordersPath } from '../ui/paths.ts'
import {
  entryNumber,
  KINDS,
  type Kind,
  type Line,
  MOST_ENTRIES_COUNTED,
  type MoneyInput,
  type MoneyList,
  type RefundDetails,
  STATES_OF,
  type TopUpDetails,
} from './query.ts'

const TONES: Record<Line['state'], Tone> = {
  requested: 'busy',
  unknown: 'bad',
  accepted: 'ok',
  rejected: 'off',
  notified: 'ok',
}

const CONTRADICTIONS = {
  carried_out: 'money.after_all',
  perhaps: 'money.perhaps',
  refused: 'money.was_accepted',
} as const

function stateOf({ t, now }: Ask, entry: Line): Words {
  // The platform cannot be asked about a top-up.
  const isForPerson = 'outer_refund_no' in entry ? waitsForPerson(entry) : entry.state === 'unknown'
  const isUnderWay = 'shown_at' in entry && isUnshown(entry)
  const contradiction = contradictionOf(entry)
  const text: Words = [
    term('money_state', entry.state),
    isForPerson ? { soft: [' · ', t('money.for_person')] } : null,
    hangs(entry, now) ? { soft: [' · ', t('money.hangs')] } : null,
    isUnderWay ? { soft: [' · ', t('money.unshown')] } : null,
    completionOf(entry) ? { soft: [' · ', t('money.is_completed')] } : null,
    contradiction ? { soft: [' · ', t(CONTRADICTIONS[contradiction])] } : null,
    'misfit_at' in entry && entry.misfit_at ? { soft: [' · ', t('money.misfit')] } : null,
  ]
  return { tone: hangs(entry, now) ? 'bad' : isUnderWay ? 'busy' : TONES[entry.state], text }
}

/** What shows that a refund is completed; null: nothing yet, or it is a top-up. */
function completionOf(entry: Line) {
  if (!('shown_at' in entry)) return null
  if (entry.state === 'notified') return 'money.completed_notified'
  const { state, shown_at, settled_at, resolved_by, message } = entry
  if (state !== 'accepted' || shown_at === null) return null
  // What 1.0.0 had accepted was never looked for, and has the time of that; a verdict of the record has a message.
  const isSeen = shown_at.getTime() !== settled_at?.getTime() || (resolved_by === null && message !== null)
  return isSeen ? 'money.completed_shown' : null
}

/** First whether the outcome of any money operation is unknown, then everything else. */
export function moneyShown(
  ask: Ask,
  { counts, contradicted, restored_at, misfits, unshown, unmatched, hanging, kind, items, next }: MoneyList,
  input: MoneyInput,
): Shown {
  const { t } = ask
  const states = STATES_OF[kind]
  const [first] = items
  return {
    title: t('money.title'),
    actions: [csvLink(ask, '/money', input)],
    topics: ['money'],
    blocks: [
      ...contradictedOf(ask, contradicted),
      ...restoredOf(ask, restored_at),
      ...misfitsOf(ask, misfits, {
        to: `/money/refunds/${inPath(misfits.latest ?? '')}`,
        text: t('money.show_it'),
      }),
      ...unmatchedOf(ask, unmatched),
      ...hangingOf(ask, hanging),
      ...overdueOf(ask, unshown),
      ...unknownOf(
        ask,
        counts,
        unshown,
        contradicted.length + misfits.count + unmatched.length + unshown.overdue === 0 &&
          restored_at === null,
      ),
      {
        drawn: tabs(
          t('money.title'),
          KINDS.map(each => ({
            href: `/money?kind=${each}`,
            text: t(`money.${each}`),
            current: each === kind,
          })),
        ),
      },
      {
        tiles: states.map(name => ({
          value: counted(ask, counts[kind][name]),
          name: textOr(ask.language, `money_state.${name}`, name),
          to: `/money?kind=${kind}&state=${name}`,
          ...(name === 'unknown' && counts[kind].unknown > 0 ? { tone: 'bad' as const } : {}),
        })),
      },
      { drawn: filterForm(ask, input, states) },
      lines(ask, { kind, items }, input),
      { next },
      ...(first
        ? [
            {
              commands: t('common.details'),
              lines: [`${commandOf(first)} show ${shellWord(entryNumber(first))}`],
            },
          ]
        : []),
    ],
  }
}

/** What the alert says, whoever was told of it. */
function contradictedOf({ t }: Ask, contradicted: MoneyList['contradicted']): Block[] {
  return contradicted.map(({ kind: subject, ...facts }) => ({
    notice: 'bad',
    title: t('alert.money_contradicted.title', { subject, ...facts }),
    what: t('alert.money_contradicted.what', { subject, ...facts }),
    todo: t('alert.money_contradicted.remedy', { subject, ...facts }),
  }))
}

function restoredOf(ask: Ask, restoredAt: MoneyList['restored_at']): Block[] {
  const { t } = ask
  if (restoredAt === null) return []
  const title = t('money.restored', { time: timeText(ask, restoredAt) })
  return [{ notice: 'warn', title, todo: t('money.restored_todo') }]
}

/** Refunds that the platform has notified of and dirsync does not know. */
export function unmatchedOf({ t }: Ask, numbers: string[]): Block[] {
  if (numbers.length === 0) return []
  const title = t('money.unmatched', { count: numbers.length, numbers: numbers.join(t('common.list_comma')) })
  return [{ notice: 'bad', title, todo: t('alert.notification_misfit.remedy') }]
}

function misfitsOf({ t }: Ask, { count, latest }: MoneyList['misfits'], next: Words = null): Block[] {
  if (latest === null) return []
  const title = t('money.misfits', { count, latest })
  return [{ notice: 'bad', title, todo: t('alert.notification_misfit.remedy'), next }]
}

function hangingOf({ t }: Ask, hanging: MoneyList['hanging']): Block[] {
  return KINDS.filter(kind => hanging[kind] > 0).map(kind => ({
    notice: 'bad',
    title: t(`money.hanging.${kind}`, { count: hanging[kind] }),
    todo: t(`money.sender_hangs.remedy.${kind === 'refunds' ? 'refund' : 'topup'}`),
    next: { to: `/money?kind=${kind}&state=requested`, text: t('money.show_them') },
  }))
}

/** Accepted refunds that should be shown as completed by now. */
function overdueOf({ t, now }: Ask, { overdue, latest, of, sent_at }: MoneyList['unshown']): Block[] {
  if (latest === null || of === null || sent_at === null) return []
  const title = t('money.overdue', { count: overdue, latest })
  const asks = t(isLookedFor({ sent_at }, now) ? 'money.overdue_asked' : 'money.overdue_unasked', {
    number: shellWord(latest),
  })
  const todo = joined([asks, t('money.overdue_todo', { number: shellWord(latest), of })], ' ')
  const next =
    overdue === 1
      ? { to: moneyPath('refunds', latest), text: t('money.show_it') }
      : { to: '/money?unshown=true', text: t('money.show_them') }
  return [{ notice: 'warn', title, todo, next }]
}

function unknownOf(
  { t }: Ask,
  counts: MoneyList['counts'],
  { count: unshown }: MoneyList['unshown'],
  isAllWell: boolean,
): Block[] {
  const unknown = KINDS.filter(kind => counts[kind].unknown > 0)
  if (unknown.length === 0) {
    const isSending = KINDS.some(kind => counts[kind].requested > 0)
    return isSending || !isAllWell
      ? []
      : [
          {
            text: {
              tone: 'ok',
              text: unshown > 0 ? t('money.all_accepted', { count: unshown }) : t('money.all_known'),
            },
          },
        ]
  }
  return unknown.map(kind => ({
    notice: 'bad',
    title: t(`money.unknown.${kind}`, { count: counts[kind].unknown }),
    todo: t(`money.unknown_todo.${kind}`),
    next: { to: `/money?kind=${kind}&state=unknown`, text: t('money.show_them') },
  }))
}

function counted(ask: Ask, count: number): string {
  return count > MOST_ENTRIES_COUNTED ? `${figure(ask, MOST_ENTRIES_COUNTED)}+` : figure(ask, count)
}

function filterForm(ask: Ask, input: MoneyInput, states: readonly Line['state'][]) {
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
    ...(input.kind === 'refunds'
      ? [
          {
            name: 'unshown',
            label: t('money.completed'),
            value: input.unshown,
            choices: [
              { value: '', text: t('common.all') },
              { value: 'true', text: t('money.only_overdue') },
            ],
          },
        ]
      : []),
    {
      name: 'number',
      label: t('money.number_or_target'),
      type: 'search',
      value: input.number,
      maxlength: 200,
    },
    ...rangeFields(ask, t('money.sent'), input),
  ])
}

function lines(
  ask: Ask,
  { kind, items }: Pick<MoneyList, 'kind' | 'items'>,
  { state, unshown, number, from, to, since }: MoneyInput,
): Block {
  const { t } = ask
  const isFiltered = Boolean(state || unshown || number || from || to || since)
  const unfound = number ? 'money.no_match.remedy' : 'money.no_match.numberless'
  return tableOf(
    items,
    [
      { title: t('money.number'), kind: 'main', whole: true, of: entry => ({ code: entryNumber(entry) }) },
      {
        title: t(kind === 'refunds' ? 'money.order' : 'money.account'),
        spare: true,
        gives: true,
        of: entry => ({ code: targetOf(entry) }),
      },
      { title: t('money.amount'), kind: 'number', of: entry => amountOf(ask, entry) },
      { title: t('money.state'), gives: true, of: entry => stateOf(ask, entry) },
      { title: t('money.sent'), gives: true, of: ({ sent_at }) => ({ at: sent_at }) },
      {
        title: t('money.known_since'),
        spare: true,
        of: entry => {
          const at = toldAfterAll(entry) ?? entry.settled_at
          return at && { at }
        },
      },
      { title: t('money.by'), spare: true, of: ({ requested_by }) => actorText(ask, requested_by) },
    ],
    {
      caption: t(`money.${kind}`),
      to: pathOf,
      ...noRows(
        ask,
        isFiltered ? t('money.no_match') : t(`money.none.${kind}`),
        isFiltered ? t(unfound) : t(`money.none_todo.${kind}`),
      ),
    },
  )
}

/** When the platform said that it was carried out, although it was called rejected. */
function toldAfterAll(entry: Line): Date | null {
  return contradictionOf(entry) === 'carried_out' ? entry.contradicted_at : null
}

function targetOf(entry: Line): string {
  return 'outer_refund_no' in entry ? entry.outer_trade_no : entry.account_openid
}

function amountOf(ask: Ask, entry: Line): string {
  return 'outer_refund_no' in entry
    ? amount(ask, entry.refund_amount, entry.asset_code)
    : amount(ask, entry.amount)
}

/** The page of an entry. */
export function pathOf(entry: Line): string {
  return moneyPath('outer_refund_no' in entry ? 'refunds' : 'topups', entryNumber(entry))
}

export function moneyPath(kind: Kind, number: string): string {
  return `/money/${kind}/${inPath(number)}`
}

function commandOf(entry: Line): 'refund' | 'topup' {
  return 'outer_refund_no' in entry ? 'refund' : 'topup'
}

// One entry

type Details = RefundDetails | TopUpDetails

export function entryShown(ask: Ask, entry: Details): Shown {
  const { t } = ask
  const isRefund = 'outer_refund_no' in entry
  const number = entryNumber(entry)
  const to = pathOf(entry)
  const isForPerson = entry.state === 'unknown' || ('shown_at' in entry && isOverdue(entry, ask.now))
  const canSettle = isRefund && (isOpen(entry) || recordMayTell(entry))
  return {
    title: t(isRefund ? 'money.refund' : 'money.topup', { number }),
    aside: stateOf(ask, entry),
    actions: [
      ...(canSettle
        ? [actionForm(ask, { to: `${to}/settle`, label: t('money.settle'), role: 'admin', tone: 'main' })]
        : []),
      ...(isForPerson ? [resolveForm(ask, to)] : []),
    ],
    topics: ['money'],
    blocks: [
      ...(isRefund && entry.misfit_at ? misfitsOf(ask, { count: 1, latest: number }) : []),
      ...meaning(ask, entry),
      {
        columns: [
          [
            {
              section: t('money.what'),
              blocks: [{ facts: isRefund ? refundFacts(ask, entry) : topUpFacts(ask, entry) }],
            },
          ],
          [{ section: t('money.said'), blocks: [said(ask, entry)] }],
        ],
      },
      { section: t('money.story'), blocks: [...earlierChecks(ask, entry), story(ask, entry)] },
      ...(isForPerson
        ? [{ section: t('money.for_vendor'), blocks: [{ copy: vendorText(ask, entry) }] }]
        : []),
      {
        commands: t('runs.decide'),
        lines: [
          ...(canSettle ? [`refund settle ${shellWord(number)}`] : []),
          ...(isForPerson
            ? [`${commandOf(entry)} resolve ${shellWord(number)} --as accepted --reason "…"`]
            : []),
        ],
      },
    ],
  }
}

type Facts = [name: string, value: Words][]

function refundFacts(ask: Ask, entry: RefundDetails): Facts {
  const { t } = ask
  const { trade_no, refunded_before, settle_attempts, next_settle_at, notified_at, misfit_at } = entry
  return [
    [t('money.amount'), amountOf(ask, entry)],
    [
      t('money.order'),
      entry.is_order_mirrored
        ? { to: ordersPath(entry.outer_trade_no), text: { code: entry.outer_trade_no } }
        : { code: entry.outer_trade_no },
    ],
    [
      t('money.refunded_before'),
      refunded_before === null ? t('money.not_said') : amount(ask, refunded_before, entry.asset_code),
    ],
    [t('money.trade_no'), trade_no && orderOf(entry, trade_no)],
    ...sentFacts(ask, entry),
    [t('money.asked'), settle_attempts > 0 ? t('money.asked_times', { count: settle_attempts }) : null],
    [
      t('money.asked_next'),
      entry.outlook?.next === 'held'
        ? t('money.held')
        : isOpen(entry)
          ? next_settle_at && { since: next_settle_at }
          : null,
    ],
    [
      t('money.notification'),
      notified_at ? { at: notified_at } : misfit_at && [{ at: misfit_at }, ' ', { soft: t('money.misfit') }],
    ],
  ]
}

function topUpFacts(ask: Ask, entry: TopUpDetails): Facts {
  const { t } = ask
  const { apply_charge_openid, although_open } = entry
  const others = although_open.map(number => ({
    to: `/money/topups/${inPath(number)}`,
    text: { code: number },
  }))
  return [
    [t('money.amount'), amountOf(ask, entry)],
    [t('money.account'), { code: entry.account_openid }],
    [t('money.receipt'), apply_charge_openid && { code: apply_charge_openid }],
    ...sentFacts(ask, entry),
    [t('money.although_open'), joined(others, t('common.list_comma'))],
  ]
}

function sentFacts(ask: Ask, entry: Details): Facts {
  const { t } = ask
  const { enterprise_code, sent_at, requested_by } = entry
  const until = toldAfterAll(entry)
  return [
    [t('money.enterprise'), enterprise_code && { code: enterprise_code }],
    [t('money.sent'), [{ at: sent_at }, ' ', { soft: actorText(ask, requested_by) }]],
    [t('money.called_refused'), until && { at: until }],
  ]
}

/** The payment order: a link if the mirror has it, else with the command that asks the platform for it. */
function orderOf({ is_mirrored, enterprise_code: enterprise }: RefundDetails, tradeNo: string): Words {
  const of = enterprise === '' ? '' : ` --enterprise ${shellWord(enterprise)}`
  if (!is_mirrored)
    return [{ code: tradeNo }, ' ', { soft: `dirsync orders show ${shellWord(tradeNo)}${of}` }]
  return { to: ordersPath(tradeNo), text: { code: tradeNo } }
}

/** What an open outcome means, and what to do about it; stands above everything else. */
function meaning(ask: Ask, entry: Details): Block[] {
  const { t } = ask
  const { state, outlook, platform_code: code } = entry
  if (hangs(entry, ask.now))
    return [
      {
        notice: 'bad',
        title: t('money.sender_hangs'),
        todo: t(`money.sender_hangs.remedy.${commandOf(entry)}`),
      },
    ]
  if (state === 'requested')
    return [
      { notice: 'info', title: t('money.requested'), todo: t(`money.requested.remedy.${commandOf(entry)}`) },
    ]
  if ('shown_at' in entry && isOverdue(entry, ask.now)) {
    const { outer_refund_no: latest, outer_trade_no: of, sent_at } = entry
    const unshown = { count: 1, overdue: 1, latest, of, sent_at }
    return overdueOf(ask, unshown).map(block => ({ ...block, next: null }))
  }
  if (state !== 'unknown') return []
  const why = code === null ? null : t('money.code_unlisted', { code: String(code) })
  const todo =
    outlook?.next === 'asks'
      ? t('money.unknown_todo.refunds')
      : outlook?.next === 'held'
        ? t('money.held_todo')
        : t(`money.person.${commandOf(entry)}`)
  const next = lacksRole(ask, 'admin') ? t('money.admin_only') : null
  return [{ notice: 'bad', title: t('money.is_unknown'), todo: joined([why, todo], ' '), next }]
}

function resolveForm(ask: Ask, to: string) {
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
function said(ask: Ask, entry: Details): Block {
  const { t, language } = ask
  const { platform_code, trace_id, message, resolved_by, resolution, settled_at, state: name } = entry
  const completion = completionOf(entry)
  if (resolved_by === null && platform_code === null && message === null)
    return {
      text: {
        soft: t(
          name === 'requested'
            ? 'money.requested'
            : 'shown_at' in entry && isUnshown(entry)
              ? 'money.accepted_unshown'
              : (completion ?? 'money.nothing_said'),
        ),
      },
    }
  // Once the platform or a person has settled it, the message describes a doubt that is over.
  const isOver = name === 'notified' || (resolved_by !== null && !says(message, 'said.accepted_before'))
  // The code says nothing of an unknown outcome: its meaning and remedy would contradict the notice above.
  const isTold = name !== 'unknown'
  const remedy = textOr(
    language,
    `code.${platform_code}.remedy_beside_hr`,
    textOr(language, `code.${platform_code}.remedy`, ''),
  )
  return {
    facts: [
      [
        t('money.resolved_by'),
        resolved_by && [actorText(ask, resolved_by), ' ', settled_at && { at: settled_at }],
      ],
      [t('common.reason'), resolution],
      [
        t('money.platform_code'),
        platform_code && [
          { code: platform_code },
          ' ',
          isTold ? textOr(language, `code.${platform_code}.meaning`, '') : null,
        ],
      ],
      [t('money.message'), message && !isOver ? sentences(ask, message) : completion && t(completion)],
      [t('money.remedy'), platform_code && isTold && name !== 'accepted' && !isOver ? remedy : null],
      [t('money.trace_id'), trace_id && { code: trace_id }],
    ],
  }
}

function sentences({ language }: Ask, message: Said): string {
  return [message]
    .flat()
    .map(one => capitalised(inLanguage(language, one)))
    .join(' ')
}

function earlierChecks({ t }: Ask, entry: Details): Block[] {
  const count = 'earlier_checks' in entry ? entry.earlier_checks : 0
  return count === 0 ? [] : [{ text: { soft: t('money.earlier_checks', { count }) } }]
}

function story(ask: Ask, entry: Details): Block {
  const { t, language } = ask
  return {
    steps: entry.events.map(({ at, event, by, text, times, last_at }) => ({
      at,
      what: joined(
        [
          // An answer without words is one that accepts it.
          t(
            event === 'settled' && text === null && entry.state !== 'rejected'
              ? 'money.event.accepted'
              : `money.event.${event}`,
            {
              count: times,
            },
          ),
          times > 1 ? [t('money.last_check'), ' ', { at: last_at }] : null,
          by && { soft: actorText(ask, by) },
        ],
        ' ',
      ),
      details: [],
      words: text && inLanguage(language, text),
    })),
    empty: '',
  }
}

/** What the platform's support needs to find it, line by line. */
function vendorText(ask: Ask, entry: Details): string {
  const { t } = ask
  const { sent_at, trace_id } = entry
  // The message of a refund is what its latest check found.
  const failure =
    'outer_refund_no' in entry
      ? entry.events.find(({ event }) => event === 'call_failed')?.text
      : entry.message
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
    t(`money.vendor.${commandOf(entry)}`),
    ...own,
    `${t('money.sent')}: ${timeText(ask, sent_at)} (${sent_at.toISOString()})`,
    ...(trace_id === null ? [] : [`x-trace-id: ${trace_id}`]),
    ...(failure ? [sentences(ask, failure)] : []),
  ].join('\n')
}
