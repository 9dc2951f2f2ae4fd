import { html, type SafeHtml } from '@remix-run/html-template'
import type { Config } from '../../config.ts'
import { qualified } from '../../directory/employee.ts'
import { capitalised } from '../../lib/text.ts'
import { PLAN_REASONS, type PlanFilter } from '../../sync/stored-plan.ts'
import { inLanguage, runMessage } from '../../texts/failures.ts'
import { textOr } from '../../texts/texts.ts'
import type { Ask } from '../ask.ts'
import { sumOf } from '../runs/list.ts'
import { whoText } from '../runs/words.ts'
import {
  actionForm,
  alert,
  bar,
  code,
  empty,
  facts,
  figure,
  filters,
  head,
  live,
  type Part,
  pager,
  percent,
  reasonField,
  section,
  since,
  stack,
  state,
  table,
  time,
} from '../ui/parts.ts'
import { departmentPath, employeePath } from '../ui/paths.ts'
import { runState } from '../ui/states.ts'
import type { PlanItem, PlanResult } from './query.ts'

type Breakers = Pick<
  Config,
  | 'BREAKER_EMPLOYEES'
  | 'BREAKER_EMPLOYEES_PERCENT'
  | 'BREAKER_LEAVERS_PERCENT'
  | 'BREAKER_DEPARTMENTS'
  | 'BREAKER_DEPARTMENTS_PERCENT'
>

/** The title, with the HR source if there are several. */
export function planTitle({ t }: Ask, { run, hr_source }: Pick<PlanResult, 'run' | 'hr_source'>): string {
  const title = t('plan.title', { run })
  return hr_source === '' ? title : `${title} (${hr_source})`
}

/**
 * What would be sent, to whom and why it needs a decision: everything that an operator should see before deciding.
 */
export function planBody(ask: Ask, plan: PlanResult, filter: PlanFilter, breakers: Breakers): SafeHtml {
  const { t } = ask
  return html`${live(
    ask,
    'plan',
    ['runs'],
    html`${head(planTitle(ask, plan), {
      aside: runState(ask, plan.state),
      actions: plan.state === 'held' ? decisions(ask, plan) : [],
    })}
    ${stack(alertsOf(ask, plan))}
    <div class="columns">
      ${section(t('plan.why', { fate: fateOf(plan) }), why(ask, plan, breakers))}
      ${section(t('plan.by_reason'), byReason(ask, plan))}
    </div>
    ${
      plan.stored && plan.kind !== 'departments'
        ? html`<div class="columns">
      ${section(t('plan.by_field'), byField(ask, plan), { aside: countedAside(ask, plan) })}
      ${section(t('plan.by_department'), byDepartment(ask, plan), { aside: countedAside(ask, plan) })}
    </div>`
        : ''
    }`,
  )}
  ${plan.stored ? section(t('plan.entities', { fate: fateOf(plan) }), entities(ask, plan, filter), { id: 'entities' }) : ''}`
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

function decisions(ask: Ask, plan: PlanResult): Part[] {
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

function alertsOf(ask: Ask, plan: PlanResult): SafeHtml[] {
  const { t } = ask
  const toRun = html`<a href="/runs/${plan.run}">${t('plan.to_run', { run: plan.run })}</a>`
  if (!plan.stored) return [alert('info', t('plan.not_stored'), toRun)]
  if (plan.state !== 'held')
    return [
      alert(
        'info',
        plan.decided_at
          ? html`${t('plan.decided', { who: whoText(ask, plan.decided_by ?? '') })} ${since(ask, plan.decided_at)}`
          : t('plan.over'),
        html`${plan.decision_reason ? html`<p>${plan.decision_reason}</p>` : ''}${toRun}`,
      ),
    ]
  const changed = plan.changed_since ?? 0
  return [
    alert('warn', runMessage(ask.language, plan) ?? t('plan.held'), t('plan.exactly')),
    ...(changed > 0
      ? [alert('warn', t('plan.changed_since', { count: changed }), t('plan.changed_since.what'))]
      : []),
  ]
}

/** Which breaker tripped, and by how much. */
function why(ask: Ask, plan: PlanResult, breakers: Breakers): SafeHtml {
  const { t } = ask
  const isDepartments = plan.kind === 'departments'
  const count = changing(plan)
  const total = plan.total ?? 0
  const least = isDepartments ? breakers.BREAKER_DEPARTMENTS : breakers.BREAKER_EMPLOYEES
  const share = isDepartments ? breakers.BREAKER_DEPARTMENTS_PERCENT : breakers.BREAKER_EMPLOYEES_PERCENT
  const limit = Math.max(least, Math.floor((total * share) / 100))
  const { leavers } = plan
  const most = breakers.BREAKER_LEAVERS_PERCENT
  const breaker: [string, SafeHtml][] = leavers
    ? [
        [
          t('plan.have_left'),
          html`<strong>${figure(ask, leavers.left)}</strong> ${t('plan.of_employees', { total: leavers.of, share: percent(ask, leavers.left / leavers.of) })}${bar(leavers.left / leavers.of, 'warn')}`,
        ],
        [
          t('plan.limit'),
          html`${t('plan.share_of_all', { share: percent(ask, most / 100) })} ${code('BREAKER_LEAVERS_PERCENT')}`,
        ],
      ]
    : [
        [
          t('plan.would_change', { fate: fateOf(plan) }),
          html`<strong>${figure(ask, count)}</strong> ${t('plan.of', { total, share: percent(ask, total === 0 ? 0 : count / total) })}${bar(
            total === 0 ? 0 : count / total,
            'warn',
          )}`,
        ],
        [
          t('plan.limit'),
          html`${t('plan.limit_is', { limit, least, share: percent(ask, share / 100) })} ${code(
            isDepartments ? 'BREAKER_DEPARTMENTS' : 'BREAKER_EMPLOYEES',
          )}`,
        ],
      ]
  return facts([
    ...breaker,
    [
      t('plan.since', { fate: fateOf(plan) }),
      plan.changed_since === null
        ? t('plan.since_unknown', { fate: fateOf(plan) })
        : t('plan.since_count', { count: plan.changed_since }),
    ],
    [t('plan.judged_at'), plan.judged_at && time(ask, plan.judged_at)],
  ])
}

function byReason(ask: Ask, plan: PlanResult): SafeHtml {
  const { t, language } = ask
  return table(
    Object.entries(plan.reasons)
      .filter(([, n]) => n > 0)
      .sort(([, a], [, b]) => b - a),
    [
      {
        title: t('plan.reason'),
        kind: 'main',
        cell: ([reason]) => capitalised(textOr(language, `reason.${reason}`, reason)),
      },
      { title: t('plan.count'), kind: 'number', cell: ([, n]) => figure(ask, n) },
    ],
    {
      caption: t('plan.by_reason'),
      empty: empty(t('plan.nothing')),
      href: ([reason]) => `/runs/${plan.run}/plan?reason=${encodeURIComponent(reason)}#entities`,
    },
  )
}

/** How much of the plan has been counted; null once all of it has. */
function countedAside(ask: Ask, { figures, planned }: PlanResult): Part {
  if (figures?.state !== 'running') return ''
  return ask.t('plan.counting', { done: figures.looked_at, total: planned ?? 0 })
}

function notCounted(ask: Ask, { figures, planned }: PlanResult): SafeHtml {
  const { t } = ask
  if (figures?.state === 'failed')
    return empty(inLanguage(ask.language, figures.message ?? []), t('plan.hr_again'))
  if (figures?.state === 'stopped') return empty(t('plan.not_counted'))
  return empty(t('plan.counting', { done: figures?.looked_at ?? 0, total: planned ?? 0 }))
}

function byField(ask: Ask, plan: PlanResult): SafeHtml {
  const { t, language } = ask
  if (plan.figures?.state !== 'done') return notCounted(ask, plan)
  return table(
    plan.figures.fields,
    [
      {
        title: t('plan.field'),
        cell: ({ field }) =>
          html`${capitalised(textOr(language, `field.${field}`, field))} <code class="soft">${field}</code>`,
      },
      { title: t('plan.count'), kind: 'number', cell: ({ n }) => figure(ask, n) },
    ],
    { caption: t('plan.by_field'), empty: empty(t('plan.no_fields')) },
  )
}

/** How many departments are shown; filters find the others. */
const DEPARTMENTS_SHOWN = 12

function byDepartment(ask: Ask, plan: PlanResult): SafeHtml {
  const { t } = ask
  if (plan.figures?.state !== 'done') return notCounted(ask, plan)
  const { departments } = plan.figures
  const rest = departments.length - DEPARTMENTS_SHOWN
  return html`${table(
    departments.slice(0, DEPARTMENTS_SHOWN),
    [
      { title: t('plan.department'), kind: 'main', cell: ({ department }) => department || t('common.none') },
      { title: t('plan.count'), kind: 'number', cell: ({ n }) => figure(ask, n) },
    ],
    {
      caption: t('plan.by_department'),
      empty: empty(t('plan.no_departments')),
      href: ({ department }) =>
        `/runs/${plan.run}/plan?department=${encodeURIComponent(department)}#entities`,
    },
  )}${rest > 0 ? html`<p class="soft">${t('plan.more_departments', { count: rest })}</p>` : ''}`
}

// The entities

function entities(ask: Ask, plan: PlanResult, filter: PlanFilter): SafeHtml {
  const { t, language } = ask
  const isDepartments = plan.kind === 'departments'
  const query = new URLSearchParams(
    Object.entries(filter).filter(
      (entry): entry is [string, string] =>
        ['reason', 'department', 'key'].includes(entry[0]) && typeof entry[1] === 'string',
    ),
  )
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
  ])}
  ${plan.hr_error === null ? '' : alert('warn', t('plan.hr_away'), inLanguage(language, plan.hr_error))}
  ${table(
    plan.entries,
    [
      {
        title: isDepartments ? t('plan.department') : t('plan.userid'),
        kind: 'main',
        cell: ({ enterprise_code, key }) => qualified(enterprise_code, key),
      },
      { title: t('plan.reason'), cell: ({ reason }) => textOr(language, `reason.${reason}`, reason) },
      ...(isDepartments
        ? []
        : [
            {
              title: t('plan.department'),
              kind: 'spare' as const,
              cell: (entry: PlanItem) => entry.department,
            },
            {
              title: t('plan.changes'),
              cell: (entry: PlanItem) => changesOf(ask, entry, plan.hr_error !== null),
            },
          ]),
    ],
    {
      caption: t('plan.entities', { fate: fateOf(plan) }),
      empty:
        query.size > 0
          ? empty(t('plan.none_match'), html`<a href="${path}">${t('common.clear')}</a>`)
          : empty(t('plan.nothing')),
      href: ({ enterprise_code, key }) =>
        isDepartments
          ? departmentPath(enterprise_code, key)
          : employeePath({ enterpriseCode: enterprise_code, userid: key }),
    },
  )}
  ${pager(ask, plan.next)}`
}

/** The masked differences of one employee, or a note that approval leaves the employee out. */
function changesOf(ask: Ask, { changed, changed_since }: PlanItem, isUnread: boolean): SafeHtml {
  const { t, language } = ask
  if (changed_since) return state('warn', t('plan.not_sent'))
  if (changed.length === 0) return html`–`
  return html`<span class="changes">${changed.map(({ field, value }) => {
    const name = capitalised(textOr(language, `field.${field}`, field))
    return isUnread
      ? html`<span>${name}</span>`
      : html`<span>${name} <span class="soft">→</span> ${value === null ? html`<em>${t('plan.emptied')}</em>` : html`<code>${value}</code>`}</span>`
  })}</span>`
}
