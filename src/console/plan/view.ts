import type { SafeHtml } from '@remix-run/html-template'
import { qualified } from '../../directory/employee.ts'
import {
  DEPARTMENTS_KEPT,
  PlanFilter,
  READ_AFTER_DECISION_MS,
  READ_STATES,
} from '../../sync/plan/stored-plan.ts'
import { inLanguage, runMessage } from '../../texts/failures.ts'
import { byCount } from '../../texts/figures.ts'
import type { Ask } from '../ask.ts'
import { sumOf } from '../runs/list.ts'
import { endedOutcomes, isCancelling, outcomesText, runStateWords, wasHeld, whoText } from '../runs/words.ts'
import { type Block, joined, type Shown, tableOf, term, type Words } from '../shown.ts'
import { actionForm, percent, reasonField } from '../ui/parts.ts'
import { entities } from './entities-view.ts'
import { heldBackShown } from './held-back.ts'
import { DEPARTMENTS_SHOWN, type PlanResult } from './query.ts'
import type { PlanDecision } from './stored.ts'

/**
 * What would be sent, to whom and why it needs a decision: everything that an operator should see before deciding.
 */
export function planShown(
  ask: Ask,
  plan: PlanResult,
  input: PlanFilter & { cursor?: string | undefined; limit?: number },
): Shown {
  const filter = PlanFilter.parse(input)
  const { t } = ask
  const { run, hr_source, state, stored } = plan
  const title = t('plan.title', { run })
  const rows = t('plan.entities', { fate: fateOf(plan) })
  const countedAside = isCounting(ask, plan) ? counting(ask, plan) : ''
  return {
    title: hr_source === '' ? title : `${title} (${hr_source})`,
    aside: runStateWords(ask, plan),
    actions: state === 'held' ? decisions(ask, plan) : [],
    topics: ['runs'],
    blocks: [
      ...alertsOf(ask, plan),
      ...heldBackShown(ask, plan),
      ...decisionsShown(ask, plan),
      {
        columns: [
          ...(wasHeld(plan) && plan.part_of === null
            ? [[{ section: t('plan.why', { fate: fateOf(plan) }), blocks: [why(ask, plan)] }]]
            : []),
          [{ section: t('plan.by_reason'), blocks: [byReason(ask, plan), ...gone(ask, plan)] }],
        ],
      },
      ...(stored && plan.kind !== 'departments'
        ? [
            {
              columns: [
                [{ section: t('plan.by_field'), aside: countedAside, blocks: [byField(ask, plan)] }],
                [{ section: t('plan.by_department'), aside: countedAside, blocks: byDepartment(ask, plan) }],
              ],
            },
            ...byMove(ask, plan),
          ]
        : []),
      ...(stored
        ? [
            {
              section: rows,
              id: 'entities',
              blocks: entities(ask, plan, filter, input, rows),
            },
          ]
        : []),
      ...(state === 'held'
        ? [
            {
              commands: t('runs.decide'),
              lines: [
                `approve ${run}`,
                `approve ${run} --department D --field mobile`,
                `reject ${run} --reason "…"`,
                `reject ${run} --employee ID --reason "…"`,
              ],
            },
          ]
        : []),
      ...(stored ? [{ commands: t('common.download_csv'), lines: [`plan ${run} --csv > plan.csv`] }] : []),
    ],
  }
}

/** What became of the plan: it asks for a decision only while it is held. */
function fateOf({ state, approved, undecided }: PlanResult): 'held' | 'approved' | 'parts' | 'dropped' {
  if (state === 'held') return 'held'
  if (undecided !== null) return 'parts'
  return approved ? 'approved' : 'dropped'
}

/** How many entities approval changes. Those that are only read from the platform are not among them. */
function changing({ reasons }: PlanResult): number {
  return sumOf(reasons) - (reasons.asked ?? 0)
}

/** How many rows of a held plan a decision about all of it is about. */
function undecidedOf({ undecided, planned }: PlanResult): number {
  return undecided ?? planned ?? 0
}

function decisions(ask: Ask, plan: PlanResult): SafeHtml[] {
  const { t } = ask
  const seen = { name: 'expected', type: 'hidden', value: undecidedOf(plan) } as const
  return [
    actionForm(ask, {
      to: `/runs/${plan.run}/approve`,
      label: t(plan.undecided === null ? 'plan.approve' : 'plan.approve_rest'),
      role: 'operator',
      tone: 'main',
      fields: [reasonField(t, false, 'plan.approve_hint'), seen],
    }),
    actionForm(ask, {
      to: `/runs/${plan.run}/reject`,
      label: t(plan.undecided === null ? 'plan.reject' : 'plan.reject_rest'),
      role: 'operator',
      tone: 'danger',
      fields: [reasonField(t, true, 'plan.reject_hint'), seen],
    }),
  ]
}

function alertsOf(ask: Ask, plan: PlanResult): Block[] {
  const { t } = ask
  const next: Words = { to: `/runs/${plan.run}`, text: t('plan.to_run', { run: plan.run }) }
  if (!plan.stored) return [{ notice: 'info', title: t('said.plan_not_stored', { run: plan.run }), next }]
  if (plan.state !== 'held') {
    const { undecided, planned } = plan
    const total = planned ?? 0
    const title: Words =
      undecided !== null
        ? t('plan.in_parts', { decided: total - undecided, total })
        : plan.decided_at
          ? [
              t('plan.decided', {
                who: whoText(ask, plan.decided_by ?? ''),
                cancelled: String(isCancelling(plan)),
              }),
              ' ',
              { since: plan.decided_at },
            ]
          : t('plan.over')
    const whole: Words = plan.part_of && {
      to: `/runs/${plan.part_of}/plan`,
      text: t('plan.is_part', { run: plan.part_of }),
    }
    return [
      { notice: 'info', title, what: undecided === null ? plan.decision_reason : null, todo: whole, next },
    ]
  }
  const changed = plan.changed_since ?? 0
  const held: Block = {
    notice: 'warn',
    title: plan.undecided === null ? (runMessage(ask.language, plan) ?? t('plan.held')) : inParts(ask, plan),
    what: t('plan.exactly'),
  }
  if (changed === 0) return [held]
  const title = t('plan.changed_since', { count: changed })
  return [held, { notice: 'warn', title, what: t('plan.changed_since.what') }]
}

/** How much of a plan that is held and decided in parts is decided, and what becomes of the rest. */
export function inParts(
  { t }: Ask,
  { planned, undecided }: { planned: number | null; undecided: number | null },
): Words {
  const [total, open] = [planned ?? 0, undecided ?? 0]
  return [t('plan.in_parts', { decided: total - open, total }), ' ', t('plan.in_parts.what', { open })]
}

/** Who decided about what. */
function decisionsShown(ask: Ask, { decisions, kind, state }: PlanResult): Block[] {
  const { t } = ask
  if (decisions.length === 0) return []
  const words = ({ approved, planned, returned }: PlanDecision): Words => {
    if (!approved) return { tone: 'bad', text: t('plan.decision.rejected') }
    if (returned === planned) return { tone: 'off', text: t('plan.decision.returned') }
    const again = returned > 0 ? [t('common.comma'), t('plan.returned', { count: returned })] : null
    return [{ tone: 'ok', text: t('plan.decision.approved') }, again]
  }
  return [
    {
      section: t('plan.decisions'),
      id: 'decisions',
      blocks: [
        tableOf(
          decisions,
          [
            { title: t('plan.decision'), of: words },
            { title: t('plan.what'), gives: true, of: decision => partWords(ask, kind, decision) },
            { title: t('plan.count'), kind: 'number', of: ({ planned }) => planned },
            {
              title: t('plan.decided_by'),
              of: ({ decided_by, decided_at }) => [whoText(ask, decided_by), ' ', { since: decided_at }],
            },
            { title: t('common.reason'), spare: true, of: ({ why }) => why && { foreign: why } },
            {
              title: t('plan.outcome'),
              of: ({ outcomes, planned, returned, run_state }) => {
                const isOver = (run_state ?? state) === 'cancelled'
                return outcomesText(ask, endedOutcomes(outcomes, { most: planned - returned, isOver }))
              },
            },
            {
              title: t('plan.sent_by'),
              of: ({ run, run_state }) =>
                run && {
                  to: `/runs/${run}`,
                  text: [`#${run} `, run_state === null ? null : term('run_state', run_state)],
                },
            },
          ],
          { caption: t('plan.decisions') },
        ),
      ],
    },
  ]
}

/** Rows that are named in the words for a part. */
const KEYS_NAMED = 5

/** The part of a plan that a decision was about. */
function partWords({ t }: Ask, kind: string, { filter }: Pick<PlanDecision, 'filter'>): Words {
  const named: Words[] = Object.entries(filter).map(([name, value]): Words => {
    if (name === 'keys' && Array.isArray(value)) {
      const more = value.length - KEYS_NAMED
      const rest = more > 0 ? ` ${t('plan.and_more', { count: more })}` : ''
      return [value.slice(0, KEYS_NAMED).join(t('common.list_comma')), rest]
    }
    if (name === 'odd') return t('plan.odd')
    if (name === 'reason') return term('reason', String(value))
    if (name === 'field') return term('field', String(value))
    if (name === 'from' || name === 'department') {
      const key = { enterpriseCode: String(filter.enterprise ?? ''), deptCode: String(value) }
      const what = t(name === 'from' ? 'plan.from' : 'plan.department')
      return [what, ' ', { foreign: key.deptCode }, { nameOf: key }]
    }
    if (name === 'enterprise') return [t('plan.enterprise'), ' ', { foreign: String(value) }]
    return t(kind === 'departments' ? 'plan.code_begins' : 'plan.key_begins', { key: String(value) })
  })
  return named.length === 0 ? t('plan.all_open') : joined(named, t('common.comma'))
}

/** How much a decision is about. The run's message has the limit by which it was held. */
function why(ask: Ask, plan: PlanResult): Block {
  const { t } = ask
  const total = plan.total ?? 0
  const { leavers } = plan
  const share = (n: number, of: number, text: 'plan.of' | 'plan.of_employees'): Words => {
    const part = of === 0 ? 0 : n / of
    return { share: part, text: [n, ' ', t(text, { total: of, share: percent(ask, part) })] }
  }
  return {
    facts: [
      leavers
        ? [t('plan.have_left'), share(leavers.left, leavers.of, 'plan.of_employees')]
        : [
            t('plan.would_change', { fate: plan.undecided === null ? fateOf(plan) : 'parts' }),
            share(changing(plan), total, 'plan.of'),
          ],
      [t('plan.undecided'), plan.open && plan.undecided],
      [
        t('plan.since', { fate: fateOf(plan) }),
        plan.changed_since === null
          ? t('plan.since_unknown', { fate: fateOf(plan) })
          : t('plan.since_count', { count: plan.changed_since }),
      ],
      [t('plan.checked_at'), plan.checked_at && { at: plan.checked_at }],
    ],
  }
}

function byReason({ t }: Ask, { reasons, open, run }: PlanResult): Block {
  return tableOf(
    byCount(open?.reasons ?? reasons).filter(([, n]) => n > 0),
    [
      { title: t('plan.reason'), kind: 'main', of: ([reason]) => term('reason', reason) },
      { title: t('plan.count'), kind: 'number', of: ([, n]) => n },
    ],
    {
      caption: t('plan.by_reason'),
      empty: t('plan.nothing'),
      to: ([reason]) => `/runs/${run}/plan?reason=${encodeURIComponent(reason)}#entities`,
    },
  )
}

/** That nothing is sent about leavers: the interface cannot end an employment. */
function gone({ t }: Ask, { reasons, open }: PlanResult): Block[] {
  const { left = 0, vanished = 0 } = open?.reasons ?? reasons
  const count = left + vanished
  return count === 0 ? [] : [{ text: { soft: t('plan.gone', { count }) } }]
}

/** HR is read for a plan while it is held, and for some time after it was decided. */
function isRead({ now }: Ask, { state, decided_at }: PlanResult): boolean {
  return (
    (READ_STATES as readonly string[]).includes(state) &&
    (decided_at === null || now.getTime() - decided_at.getTime() < READ_AFTER_DECISION_MS)
  )
}

function isCounting(ask: Ask, plan: PlanResult): boolean {
  const { state, figures } = plan
  return isRead(ask, plan) && (figures === null ? state === 'held' : figures.state === 'running')
}

function counting({ t }: Ask, { figures, planned }: PlanResult): string {
  return t('plan.counting', { done: figures?.looked_at ?? 0, total: planned ?? 0 })
}

function notCounted(ask: Ask, plan: PlanResult): Block {
  const { t } = ask
  const { figures } = plan
  if (isRead(ask, plan) && figures?.state === 'failed')
    return { text: [inLanguage(ask.language, figures.message ?? []), ' ', t('plan.hr_again')] }
  if (isCounting(ask, plan)) return { text: counting(ask, plan) }
  return { text: t(plan.decided_at ? 'plan.not_counted' : 'plan.not_counted_over') }
}

function byField(ask: Ask, plan: PlanResult): Block {
  const { t } = ask
  if (plan.figures?.state !== 'done') return notCounted(ask, plan)
  return tableOf(
    plan.open?.fields ?? plan.figures.fields,
    [
      {
        title: t('plan.field'),
        kind: 'main',
        of: ({ field }) => [term('field', field), { soft: [' ', { code: field }] }],
      },
      { title: t('plan.count'), kind: 'number', of: ({ n }) => n },
    ],
    {
      caption: t('plan.by_field'),
      empty: t('plan.no_fields'),
      to: ({ field }) => `/runs/${plan.run}/plan?field=${encodeURIComponent(field)}#entities`,
    },
  )
}

function byDepartment(ask: Ask, plan: PlanResult): Block[] {
  const { t } = ask
  if (plan.figures?.state !== 'done') return [notCounted(ask, plan)]
  const { departments } = plan.open ?? plan.figures
  const more = moreOf(departments, plan.figures.departments)
  const table = tableOf(
    departments.slice(0, DEPARTMENTS_SHOWN),
    [
      {
        title: t('plan.department'),
        kind: 'main',
        of: ({ enterprise_code: enterpriseCode, department }) =>
          department
            ? [
                { foreign: qualified(enterpriseCode, department) },
                { nameOf: { enterpriseCode, deptCode: department } },
              ]
            : t('common.none'),
      },
      { title: t('plan.count'), kind: 'number', of: ({ n }) => n },
    ],
    {
      caption: t('plan.by_department'),
      empty: t('plan.no_departments'),
      to: ({ enterprise_code: enterprise, department }) =>
        `/runs/${plan.run}/plan?${new URLSearchParams({ department, ...(enterprise && { enterprise }) })}#entities`,
    },
  )
  return more.count > 0 ? [table, { text: { soft: t('plan.more_departments', more) } }] : [table]
}

/** How many are not shown. @param kept of many, figures keep the largest alone, decided or not */
function moreOf(counted: readonly unknown[], kept: readonly unknown[]): { count: number; atLeast: string } {
  return { count: counted.length - DEPARTMENTS_SHOWN, atLeast: String(kept.length >= DEPARTMENTS_KEPT) }
}

/** Who goes from which department to which; nothing where no one moves. */
function byMove({ t }: Ask, { run, figures, open }: PlanResult): Block[] {
  const moves = (figures?.state === 'done' && (open ?? figures).moves) || []
  if (moves.length === 0) return []
  const named = (enterpriseCode: string, deptCode: string): Words => [
    { foreign: qualified(enterpriseCode, deptCode) },
    { nameOf: { enterpriseCode, deptCode } },
  ]
  const table = tableOf(
    moves.slice(0, DEPARTMENTS_SHOWN),
    [
      {
        title: t('plan.move'),
        kind: 'main',
        of: ({ enterprise_code: code, from, department }) => [
          named(code, from),
          ' → ',
          named(code, department),
        ],
      },
      { title: t('plan.count'), kind: 'number', of: ({ n }) => n },
    ],
    {
      caption: t('plan.by_move'),
      to: ({ enterprise_code: enterprise, from, department }) =>
        `/runs/${run}/plan?${new URLSearchParams({ from, department, ...(enterprise && { enterprise }) })}#entities`,
    },
  )
  const more = moreOf(moves, figures?.moves ?? [])
  const blocks: Block[] = more.count > 0 ? [table, { text: { soft: t('plan.more_moves', more) } }] : [table]
  return [{ section: t('plan.by_move'), blocks }]
}
