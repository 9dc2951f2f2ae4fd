import { html, type SafeHtml } from '@remix-run/html-template'
import { EMPLOYEE_FIELDS, qualified } from '../../directory/employee.ts'
import { isMasked } from '../../directory/masking.ts'
import { capitalised } from '../../lib/text.ts'
import { keyListText } from '../../sync/cases/case-filter.ts'
import { PLAN_DECISIONS, PLAN_REASONS, type PlanFilter, PlanPart } from '../../sync/plan/stored-plan.ts'
import { inLanguage } from '../../texts/failures.ts'
import { message } from '../../texts/message.ts'
import { textOr } from '../../texts/texts.ts'
import type { Ask } from '../ask.ts'
import { byName, keysField } from '../employees/by-name.ts'
import { platformAway } from '../employees/view.ts'
import { type Block, joined, noRows, tableOf, term, type Words } from '../shown.ts'
import { actionForm, csvLink, type Field, field as fieldInput, filters } from '../ui/parts.ts'
import { departmentPath, employeePath } from '../ui/paths.ts'
import { decisionAsked, hasOldValue, type PlanResult } from './query.ts'
import type { PlanItem } from './stored.ts'

/* The rows of a plan: what changes in each, the filters, and the forms that decide about some of them. */

/** The form that decides about ticked rows. */
const FORM = 'part'

/** A page of the plan's rows. @param caption what they are */
export function entities(
  ask: Ask,
  plan: PlanResult,
  filter: PlanFilter,
  { cursor, limit }: { cursor?: string | undefined; limit?: number },
  caption: string,
): Block[] {
  const { t, language } = ask
  const isDepartments = plan.kind === 'departments'
  const decision = decisionAsked(plan, filter)
  const asked = definedIn({ ...filter, decision })
  const isOpen = ({ decision }: PlanItem) => plan.state === 'held' && decision === null
  const mayDecide = ask.may('operator') && plan.items.some(isOpen)
  return [
    {
      drawn: html`${rowAbove(ask, plan, asked, { ...definedIn(filter), ...definedIn({ cursor, limit }) })}
        ${planFilters(ask, plan, filter)}
        ${isDepartments ? '' : byName(ask, filter.keys)}`,
    },
    ...(mayDecide ? [{ drawn: partForm(ask, plan, filter) }] : []),
    ...(plan.hr_error === null
      ? []
      : [
          {
            notice: 'warn' as const,
            title: t('plan.hr_away'),
            what: { foreign: inLanguage(language, plan.hr_error) },
          },
        ]),
    ...platformAway(ask, plan),
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
        {
          title: t('plan.reason'),
          of: ({ reason, odd }) => [
            term('reason', reason),
            odd ? [' ', { tone: 'warn' as const, text: t('plan.odd') }] : null,
          ],
        },
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
                of: (item: PlanItem) => changesOf(ask, plan, item),
              },
            ]),
        ...(plan.items.some(({ decision, outcome, later }) => decision || outcome || later)
          ? [{ title: t('plan.decision'), of: (item: PlanItem) => decisionOf(ask, item) }]
          : []),
      ],
      {
        caption,
        ...noRows(ask, Object.keys(asked).length > 0 ? t('plan.none_match') : t('plan.nothing')),
        to: ({ enterprise_code, key }) =>
          isDepartments
            ? departmentPath(enterprise_code, key)
            : employeePath({ enterpriseCode: enterprise_code, userid: key }),
        ...(mayDecide
          ? {
              tick: { name: 'keys', label: t('plan.tick'), all: t('plan.tick_all'), form: FORM },
              ticked: item => (isOpen(item) ? qualified(item.enterprise_code, item.key) : null),
            }
          : {}),
      },
    ),
    { next: plan.next },
  ]
}

/** The decision about a row, and what came of it. */
function decisionOf({ t, language }: Ask, { decision, outcome, later }: PlanItem): Words {
  const words: Words[] = [
    ...(decision
      ? [
          decision.approved
            ? { tone: 'ok' as const, text: t('plan.decision.approved') }
            : { tone: 'bad' as const, text: t('plan.decision.rejected') },
        ]
      : []),
    ...(outcome ? [term('outcome', outcome)] : []),
    ...(later
      ? later.run === null
        ? [inLanguage(language, message('said.rejected_but_there'))]
        : [[t('plan.later', { run: later.run }), ' ', term('outcome', later.outcome)]]
      : []),
  ]
  return joined(words, t('common.comma'))
}

/** Given values as those of a query. */
export function definedIn(
  given: Record<string, string | number | readonly string[] | undefined>,
): Record<string, string> {
  return Object.fromEntries(
    Object.entries(given).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, typeof value === 'object' ? keyListText(value) : String(value)]],
    ),
  )
}

/** Enter in a field sends a form by its first button, even a hidden one, unless that is disabled. */
const ENTER_DECIDES_NOTHING = html`<button disabled hidden></button>`

/** Approves or rejects ticked rows, or all that match the filter. A rejection needs a reason. */
function partForm({ t }: Ask, { run, figures, matching }: PlanResult, filter: PlanFilter): SafeHtml {
  const part = definedIn(PlanPart.parse(filter))
  // Rows that were not read yet have no field and no department.
  const isPartial =
    figures?.state !== 'done' && (part.field ?? part.from ?? part.department ?? part.odd) !== undefined
  const isDecidable =
    Object.keys(part).length > 0 && (filter.decision ?? 'open') === 'open' && matching !== 0 && !isPartial
  const buttons = (approve: string, reject: string, which: SafeHtml | string = '') =>
    html`<p class="row"><button class="main" formaction="/runs/${run}/approve-part" formnovalidate${which}>${approve}</button>
    <button class="danger"${which}>${reject}</button></p>`
  const all = html` name="filter" value="${JSON.stringify(part)}"`
  const count = { count: matching ?? 0 }
  return html`<form class="act" method="post" action="/runs/${run}/reject-part" id="${FORM}" aria-label="${t('plan.decide_part')}">
    ${ENTER_DECIDES_NOTHING}
    ${fieldInput({ name: 'reason', label: t('common.reason'), maxlength: 500, required: true, hint: t('plan.part_reason') })}
    ${buttons(t('plan.approve_ticked'), t('plan.reject_ticked'))}${
      !isDecidable
        ? ''
        : matching === null
          ? buttons(t('plan.approve_all_matching'), t('plan.reject_all_matching'), all)
          : html`<input type="hidden" name="expected" value="${matching}">${buttons(
              t('plan.approve_matching', count),
              t('plan.reject_matching', count),
              all,
            )}`
    }
    <p class="soft">${t(isPartial ? 'plan.part_unread' : 'plan.part_hint')}</p></form>`
}

/** The plan as a file, and the platform's values. @param shown the page as it is */
function rowAbove(
  ask: Ask,
  plan: PlanResult,
  asked: Record<string, string>,
  shown: Record<string, string>,
): SafeHtml {
  const { t } = ask
  const { run, items } = plan
  const isAsked = items.some(item => hasOldValue(plan, item))
  const isFiltered = Object.keys(asked).length > 0
  return html`<div class="row">${csvLink(
    ask,
    `/runs/${run}/plan`,
    asked,
    t(isFiltered ? 'plan.csv_filtered' : 'common.download_csv'),
  )}${
    isAsked
      ? actionForm(ask, {
          to: `/runs/${run}/plan/ask`,
          label: t('plan.ask'),
          role: 'reviewer',
          fields: Object.entries(shown).map(([name, value]) => ({ name, type: 'hidden' as const, value })),
        })
      : ''
  }</div>`
}

function planFilters(ask: Ask, plan: PlanResult, filter: PlanFilter): SafeHtml {
  const { t, language } = ask
  const choice = (
    name: string,
    label: string,
    value: string | undefined,
    choices: [string, string][],
  ): Field => ({
    ...{ name, label, value },
    choices: [{ value: '', text: t('common.all') }, ...choices.map(([value, text]) => ({ value, text }))],
  })
  const isDepartments = plan.kind === 'departments'
  const path = `/runs/${plan.run}/plan`
  return html`${filters(ask, path, [
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
      : [
          {
            name: 'field',
            label: t('plan.field'),
            value: filter.field,
            choices: [
              { value: '', text: t('common.all') },
              ...[...new Set([...(plan.figures?.fields.map(({ field }) => field) ?? []), filter.field ?? ''])]
                .filter(Boolean)
                .map(field => ({
                  value: field,
                  text: capitalised(textOr(language, `field.${field}`, field)),
                })),
            ],
          },
          { name: 'from', label: t('plan.from'), value: filter.from, maxlength: 200 },
          { name: 'department', label: t('plan.department'), value: filter.department, maxlength: 200 },
          ...(filter.enterprise !== undefined || plan.items.some(({ enterprise_code: code }) => code !== '')
            ? [{ name: 'enterprise', label: t('plan.enterprise'), value: filter.enterprise, maxlength: 100 }]
            : []),
        ]),
    {
      name: 'key',
      label: isDepartments ? t('plan.department') : t('plan.userid'),
      type: 'search' as const,
      value: filter.key,
      placeholder: t('plan.beginning'),
      maxlength: 120,
    },
    ...keysField(filter.keys),
    ...(isDepartments ? [] : [choice('odd', t('plan.rare'), filter.odd, [['yes', t('plan.only_odd')]])]),
    ...(plan.undecided === null
      ? []
      : [
          {
            name: 'decision',
            label: t('plan.decision'),
            value: decisionAsked(plan, filter) ?? 'all',
            choices: PLAN_DECISIONS.map(value => ({ value, text: capitalised(t(`plan.decision.${value}`)) })),
          },
        ]),
  ])}`
}

/** The differences of one employee, masked but for the name; fields alone where HR's values are other ones by now. */
function changesOf(ask: Ask, plan: PlanResult, item: PlanItem): Words {
  const { t } = ask
  const { changed, changed_since, decision } = item
  const key = { enterpriseCode: item.enterprise_code, userid: item.key }
  const shown = (value: string | null, field: string): Words => {
    if (value === null) return t('plan.emptied')
    const { enterpriseCode } = key
    return [{ code: value }, field === 'dept_code' ? { nameOf: { enterpriseCode, deptCode: value } } : null]
  }
  const hasValues = plan.hr_error === null && !changed_since
  const changes = joined(
    changed.map(({ field, value, before }): Words => {
      const name = term('field', field)
      if (!hasValues) return name
      // As it stands beside the user id, masked for those who may not read it.
      const now: Words =
        field === 'name' && value !== null && !isHidden(value)
          ? { nameOf: key, or: value }
          : shown(value, field)
      return [name, ' ', before === undefined ? null : [shown(before, field), ' '], '→ ', now]
    }),
    t('common.list_comma'),
  )
  if (!changed_since) return [changes, hasValues ? { drawn: revealForm(ask, item) } : null]
  const isOpen = plan.state === 'held' && decision === null
  const since: Words = isOpen ? { tone: 'warn', text: t('plan.not_sent') } : { soft: t('plan.changed_again') }
  return joined(changed.length === 0 ? [since] : [changes, since], ' · ')
}

/** What is shown of a value that breaks a rule. */
function isHidden(value: string): boolean {
  return value.startsWith('****')
}

/** Shows one of the masked values, and records who asked and why. */
function revealForm(ask: Ask, { enterprise_code: enterpriseCode, key: userid, changed }: PlanItem): SafeHtml {
  const { t, language } = ask
  const masked = changed.filter(
    ({ field, value }) =>
      value !== null &&
      EMPLOYEE_FIELDS.some(name => name === field) &&
      (isHidden(value) || (isMasked(field) && field !== 'name')),
  )
  if (masked.length === 0 || !ask.may('reviewer')) return html``
  const choices = masked.map(({ field }) => ({
    value: field,
    text: capitalised(textOr(language, `field.${field}`, field)),
  }))
  return html`<details class="meaning"><summary>${t('employees.reveal')}</summary><form class="stack" method="post" action="${employeePath({ enterpriseCode, userid })}/reveal">
    ${fieldInput({ name: 'field', label: t('employees.field'), choices })}
    ${fieldInput({ name: 'reason', label: t('common.reason'), required: true, maxlength: 500, hint: t('employees.reveal.hint') })}
    <p><button>${t('employees.reveal')}</button></p></form></details>`
}
