import { html, type SafeHtml } from '@remix-run/html-template'
import type { Config } from '../../config.ts'
import { qualified } from '../../directory/employee.ts'
import { capitalised } from '../../lib/text.ts'
import { PLAN_REASONS, type PlanFilter } from '../../sync/stored-plan.ts'
import { inLanguage, runMessage } from '../../texts/failures.ts'
import { textOr } from '../../texts/texts.ts'
import type { Ask } from '../ask.ts'
import { sumOf } from '../runs/list.ts'
import { wasHeld, whoText } from '../runs/words.ts'
import { type Block, joined, type Shown, tableOf, term, type Words } from '../shown.ts'
import { actionForm, filters, percent, reasonField } from '../ui/parts.ts'
import { departmentPath, employeePath } from '../ui/paths.ts'
import { runStatus } from '../ui/states.ts'
import type { PlanResult } from './query.ts'
import type { PlanItem } from './stored.ts'

type Breakers = Pick<
  Config,
  | 'BREAKER_EMPLOYEES'
  | 'BREAKER_EMPLOYEES_PERCENT'
  | 'BREAKER_LEAVERS_PERCENT'
  | 'BREAKER_DEPARTMENTS'
  | 'BREAKER_DEPARTMENTS_PERCENT'
>

/**
 * What would be sent, to whom and why it needs a decision: everything that an operator should see before deciding.
 */
export function planShown(ask: Ask, plan: PlanResult, filter: PlanFilter, breakers: Breakers): Shown {
  const { t } = ask
  const { run, hr_source, state, stored } = plan
  const title = t('plan.title', { run })
  const countedAside = isCounting(plan) ? counting(ask, plan) : ''
  return {
    title: hr_source === '' ? title : `${title} (${hr_source})`,
    aside: runStatus(state),
    actions: state === 'held' ? decisions(ask, plan) : [],
    topics: ['runs'],
    blocks: [
      ...alertsOf(ask, plan),
      {
        columns: [
          ...(wasHeld(plan)
            ? [[{ section: t('plan.why', { fate: fateOf(plan) }), blocks: [why(ask, plan, breakers)] }]]
            : []),
          [{ section: t('plan.by_reason'), blocks: [byReason(ask, plan)] }],
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
          ]
        : []),
      ...(stored
        ? [
            {
              section: t('plan.entities', { fate: fateOf(plan) }),
              id: 'entities',
              blocks: entities(ask, plan, filter),
            },
          ]
        : []),
      ...(state === 'held'
        ? [{ commands: t('runs.decide'), lines: [`approve ${run}`, `reject ${run} --reason "…"`] }]
        : []),
      ...(stored ? [{ commands: t('common.download_csv'), lines: [`plan ${run} --csv > plan.csv`] }] : []),
    ],
  }
}

/** What became of the plan: it asks for a decision only while it is held. */
function fateOf({ state, approved }: PlanResult): 'held' | 'approved' | 'dropped' {
  if (state === 'held') return 'held'
  return approved ? 'approved' : 'dropped'
}

/** How many entities approval changes. Those that are only read from the platform are not among them. */
function changing({ reasons }: PlanResult): number {
  return sumOf(reasons) - (reasons.asked ?? 0)
}

function decisions(ask: Ask, plan: PlanResult): SafeHtml[] {
  const { t } = ask
  return [
    actionForm(ask, {
      to: `/runs/${plan.run}/approve`,
      label: t('plan.approve'),
      role: 'operator',
      tone: 'main',
      fields: [reasonField(t, false, 'plan.approve_hint')],
    }),
    actionForm(ask, {
      to: `/runs/${plan.run}/reject`,
      label: t('plan.reject'),
      role: 'operator',
      tone: 'danger',
      fields: [reasonField(t, true, 'plan.reject_hint')],
    }),
  ]
}

function alertsOf(ask: Ask, plan: PlanResult): Block[] {
  const { t } = ask
  const next: Words = { to: `/runs/${plan.run}`, text: t('plan.to_run', { run: plan.run }) }
  if (!plan.stored) return [{ notice: 'info', title: t('said.plan_not_stored', { run: plan.run }), next }]
  if (plan.state !== 'held') {
    const title: Words = plan.decided_at
      ? [t('plan.decided', { who: whoText(ask, plan.decided_by ?? '') }), ' ', { since: plan.decided_at }]
      : t('plan.over')
    return [{ notice: 'info', title, what: plan.decision_reason, next }]
  }
  const changed = plan.changed_since ?? 0
  const held: Block = {
    notice: 'warn',
    title: runMessage(ask.language, plan) ?? t('plan.held'),
    what: t('plan.exactly'),
  }
  if (changed === 0) return [held]
  const title = t('plan.changed_since', { count: changed })
  return [held, { notice: 'warn', title, what: t('plan.changed_since.what') }]
}

/** Which breaker tripped, and by how much. */
function why(ask: Ask, plan: PlanResult, breakers: Breakers): Block {
  const { t } = ask
  const isDepartments = plan.kind === 'departments'
  const count = changing(plan)
  const total = plan.total ?? 0
  const least = isDepartments ? breakers.BREAKER_DEPARTMENTS : breakers.BREAKER_EMPLOYEES
  const most = isDepartments ? breakers.BREAKER_DEPARTMENTS_PERCENT : breakers.BREAKER_EMPLOYEES_PERCENT
  const limit = Math.max(least, Math.floor((total * most) / 100))
  const { leavers } = plan
  const share = (n: number, of: number) => (of === 0 ? 0 : n / of)
  const shareText = (part: number) => percent(ask, part)
  const breaker: [string, Words][] = leavers
    ? [
        [
          t('plan.have_left'),
          {
            share: share(leavers.left, leavers.of),
            text: [
              leavers.left,
              ' ',
              t('plan.of_employees', {
                total: leavers.of,
                share: shareText(share(leavers.left, leavers.of)),
              }),
            ],
          },
        ],
        [
          t('plan.limit'),
          [
            t('plan.share_of_all', { share: shareText(breakers.BREAKER_LEAVERS_PERCENT / 100) }),
            ' ',
            { code: 'BREAKER_LEAVERS_PERCENT' },
          ],
        ],
      ]
    : [
        [
          t('plan.would_change', { fate: fateOf(plan) }),
          {
            share: share(count, total),
            text: [count, ' ', t('plan.of', { total, share: shareText(share(count, total)) })],
          },
        ],
        [
          t('plan.limit'),
          [
            t('plan.limit_is', { limit, least, share: shareText(most / 100) }),
            ' ',
            { code: isDepartments ? 'BREAKER_DEPARTMENTS' : 'BREAKER_EMPLOYEES' },
          ],
        ],
      ]
  return {
    facts: [
      ...breaker,
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

function byReason({ t }: Ask, { reasons, run }: PlanResult): Block {
  return tableOf(
    Object.entries(reasons)
      .filter(([, n]) => n > 0)
      .sort(([, a], [, b]) => b - a),
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

function isCounting({ figures }: PlanResult): boolean {
  return figures?.state === 'running'
}

function counting({ t }: Ask, { figures, planned }: PlanResult): string {
  return t('plan.counting', { done: figures?.looked_at ?? 0, total: planned ?? 0 })
}

function notCounted(ask: Ask, plan: PlanResult): Block {
  const { t } = ask
  const { figures } = plan
  if (figures?.state === 'failed')
    return { text: [inLanguage(ask.language, figures.message ?? []), ' ', t('plan.hr_again')] }
  return { text: figures?.state === 'stopped' ? t('plan.not_counted') : counting(ask, plan) }
}

function byField(ask: Ask, plan: PlanResult): Block {
  const { t } = ask
  if (plan.figures?.state !== 'done') return notCounted(ask, plan)
  return tableOf(
    plan.figures.fields,
    [
      { title: t('plan.field'), of: ({ field }) => [term('field', field), { soft: [' ', { code: field }] }] },
      { title: t('plan.count'), kind: 'number', of: ({ n }) => n },
    ],
    { caption: t('plan.by_field'), empty: t('plan.no_fields') },
  )
}

/** How many departments are shown; filters find the others. */
const DEPARTMENTS_SHOWN = 12

function byDepartment(ask: Ask, plan: PlanResult): Block[] {
  const { t } = ask
  if (plan.figures?.state !== 'done') return [notCounted(ask, plan)]
  const { departments } = plan.figures
  const rest = departments.length - DEPARTMENTS_SHOWN
  const table = tableOf(
    departments.slice(0, DEPARTMENTS_SHOWN),
    [
      {
        title: t('plan.department'),
        kind: 'main',
        of: ({ department }) => (department ? { foreign: department } : t('common.none')),
      },
      { title: t('plan.count'), kind: 'number', of: ({ n }) => n },
    ],
    {
      caption: t('plan.by_department'),
      empty: t('plan.no_departments'),
      to: ({ department }) => `/runs/${plan.run}/plan?department=${encodeURIComponent(department)}#entities`,
    },
  )
  return rest > 0 ? [table, { text: { soft: t('plan.more_departments', { count: rest }) } }] : [table]
}

// The entities

function entities(ask: Ask, plan: PlanResult, filter: PlanFilter): Block[] {
  const { t, language } = ask
  const isDepartments = plan.kind === 'departments'
  const query = new URLSearchParams(
    Object.entries(filter).filter(
      (entry): entry is [string, string] =>
        ['reason', 'department', 'key'].includes(entry[0]) && typeof entry[1] === 'string',
    ),
  )
  const isUnread = plan.hr_error !== null
  return [
    { drawn: filterForm(ask, plan, filter, query) },
    ...(plan.hr_error === null
      ? []
      : [
          {
            notice: 'warn' as const,
            title: t('plan.hr_away'),
            what: { foreign: inLanguage(language, plan.hr_error) },
          },
        ]),
    tableOf(
      plan.items,
      [
        {
          title: isDepartments ? t('plan.department') : t('plan.userid'),
          kind: 'main',
          of: ({ enterprise_code: enterpriseCode, key }) => [
            qualified(enterpriseCode, key),
            { nameOf: isDepartments ? { enterpriseCode, deptCode: key } : { enterpriseCode, userid: key } },
          ],
        },
        { title: t('plan.reason'), of: ({ reason }) => term('reason', reason) },
        ...(isDepartments
          ? []
          : [
              {
                title: t('plan.department'),
                spare: true as const,
                of: ({ enterprise_code: enterpriseCode, department }: PlanItem) =>
                  department && [
                    { foreign: department },
                    { nameOf: { enterpriseCode, deptCode: department } },
                  ],
              },
              {
                title: t('plan.changes'),
                gives: true as const,
                of: (item: PlanItem) => changesOf(ask, item, isUnread),
              },
            ]),
      ],
      {
        caption: t('plan.entities', { fate: fateOf(plan) }),
        empty: query.size > 0 ? t('plan.none_match') : t('plan.nothing'),
        to: ({ enterprise_code, key }) =>
          isDepartments
            ? departmentPath(enterprise_code, key)
            : employeePath({ enterpriseCode: enterprise_code, userid: key }),
      },
    ),
    { next: plan.next },
  ]
}

function filterForm(ask: Ask, plan: PlanResult, filter: PlanFilter, query: URLSearchParams): SafeHtml {
  const { t, language } = ask
  const isDepartments = plan.kind === 'departments'
  const path = `/runs/${plan.run}/plan`
  return html`<p class="row"><a class="button" href="${path}.csv${query.size > 0 ? `?${query}` : ''}" download>${t(
    query.size > 0 ? 'plan.csv_filtered' : 'common.download_csv',
  )}</a></p>
  ${filters(ask, path, [
    {
      name: 'reason',
      label: t('plan.reason'),
      value: filter.reason,
      choices: [
        { value: '', text: t('common.all') },
        ...PLAN_REASONS.filter(reason => plan.reasons[reason] || reason === filter.reason).map(reason => ({
          value: reason,
          text: capitalised(textOr(language, `reason.${reason}`, reason)),
        })),
      ],
    },
    ...(isDepartments
      ? []
      : [{ name: 'department', label: t('plan.department'), value: filter.department, maxlength: 200 }]),
    {
      name: 'key',
      label: isDepartments ? t('plan.department') : t('plan.userid'),
      type: 'search' as const,
      value: filter.key,
      placeholder: t('plan.beginning'),
      maxlength: 120,
    },
  ])}`
}

/** The masked differences of one employee, or a note that approval leaves the employee out. */
function changesOf({ t }: Ask, { changed, changed_since }: PlanItem, isUnread: boolean): Words {
  if (changed_since) return { tone: 'warn', text: t('plan.not_sent') }
  const changes = changed.map(({ field, value }): Words => {
    const name = term('field', field)
    return isUnread ? name : [name, ' → ', value === null ? t('plan.emptied') : { code: value }]
  })
  return joined(changes, ', ')
}
