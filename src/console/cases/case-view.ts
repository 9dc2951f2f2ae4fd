import { html, type SafeHtml } from '@remix-run/html-template'
import type { CaseStory } from '../../report/cases.ts'
import { openStates } from '../../sync/cases.ts'
import { actorText } from '../../texts/actor.ts'
import { failureTexts, inLanguage } from '../../texts/failures.ts'
import { isTextKey, textOr } from '../../texts/texts.ts'
import type { Ask } from '../ask.ts'
import {
  actionForm,
  alert,
  code,
  copyable,
  duration,
  empty,
  facts,
  figure,
  head,
  live,
  type Part,
  reasonField,
  section,
  since,
  table,
  time,
} from '../ui/parts.ts'
import { employeePath } from '../ui/paths.ts'
import { caseState } from '../ui/states.ts'
import { SNOOZE_PERIODS } from './input.ts'
import { categoryName, causeOf, fieldName, keyOf, operationName, short, whatOf } from './parts.ts'

/** What is wrong, what to do and the buttons for it; then everything that is known. */
export function caseBody(ask: Ask, story: CaseStory, appId: string): SafeHtml {
  const { t } = ask
  return live(
    ask,
    'case',
    ['cases', 'work'],
    html`${head(t('cases.case', { id: String(story.id) }), {
      aside: caseState(ask, story.state),
      actions: actionsOf(ask, story),
    })}
    ${verdict(ask, story)}
    <div class="columns">
      <div class="case-part">
        ${blockerOf(ask, story)}
        ${swapOf(ask, story)}
        ${factsOf(ask, story)}
        ${meaningOf(ask, story)}
        ${vendorOf(ask, story, appId)}
      </div>
      <div class="case-part">
        ${section(t('cases.story'), timeline(ask, story), { aside: t('cases.story_hint') })}
        ${othersOf(ask, story)}
      </div>
    </div>`,
  )
}

// What can be done

function actionsOf(ask: Ask, story: CaseStory): SafeHtml[] {
  const { t, viewer } = ask
  const { id, state, version, assignee } = story
  const seen = { name: 'version', type: 'hidden', value: version } as const
  const to = (name: string) => `/cases/${id}/${name}`
  const role = 'reviewer'
  const isOpen = openStates.has(state)
  const retry = actionForm(ask, {
    to: to('retry'),
    label: t('cases.retry'),
    role,
    tone: 'main',
    fields: [seen],
  })
  const snooze = actionForm(ask, {
    to: to('snooze'),
    label: t('cases.snooze'),
    role,
    fields: [
      seen,
      {
        name: 'for',
        label: t('cases.snooze_for'),
        choices: SNOOZE_PERIODS.map(value => ({ value, text: t(`cases.for_${value}`) })),
      },
      { name: 'until', label: t('cases.snooze_until'), type: 'datetime-local' },
      { name: 'reason', label: t('cases.snooze_reason'), maxlength: 2000 },
    ],
  })
  const ignore = actionForm(ask, {
    to: to('ignore'),
    label: t('cases.ignore'),
    role,
    tone: 'danger',
    fields: [seen, { ...reasonField(t, true, 'cases.ignore_hint'), maxlength: 2000 }],
  })
  const assignToMe = actionForm(ask, {
    to: to('assign'),
    label: t('cases.assign_to_me'),
    role,
    fields: [seen, { name: 'assignee', type: 'hidden', value: viewer.name }],
  })
  const assign = actionForm(ask, {
    to: to('assign'),
    label: t('cases.assign'),
    role,
    fields: [
      seen,
      {
        name: 'assignee',
        label: t('cases.assign_to'),
        value: assignee ?? '',
        maxlength: 200,
        hint: t('cases.assign_hint'),
      },
    ],
  })
  const comment = actionForm(ask, {
    to: to('comment'),
    label: t('cases.comment'),
    role,
    fields: [
      {
        name: 'text',
        label: t('cases.comment_text'),
        type: 'textarea',
        required: true,
        maxlength: 2000,
        hint: t('cases.comment_hint'),
      },
    ],
  })
  return [
    ...(state === 'resolved' || state === 'retrying' ? [] : [retry]),
    ...(isOpen ? [snooze, ignore] : []),
    ...(isOpen && assignee !== viewer.name ? [assignToMe] : []),
    assign,
    comment,
  ]
}

// What is wrong, and what to do

function verdict(ask: Ask, story: CaseStory): SafeHtml {
  const { t } = ask
  const { state } = story
  const { message, remedy } = failureTexts(ask.language, story)
  const isForAPerson = state === 'open' || state === 'blocked'
  const isOver = state === 'resolved' || state === 'ignored'
  const next = t(`cases.next.${state}`, { key: short(story.blocked_by ?? '') })
  return html`<div class="verdict">
    <p class="soft">${whatOf(ask, story)} · ${whoOf(story)}</p>
    ${alert(
      isForAPerson ? 'warn' : 'info',
      message,
      html`${isOver ? '' : html`<p class="todo">${remedy}</p>`}<p class="soft">${next}</p>`,
    )}</div>`
}

/** The employee or department of the case, with a link to its page. */
function whoOf(story: Pick<CaseStory, 'entity' | 'entity_key' | 'enterprise_code'>): SafeHtml {
  const name = keyOf(story)
  if (story.entity === 'employee')
    return html`<a href="${employeePath({ enterpriseCode: story.enterprise_code, userid: story.entity_key })}">${name}</a>`
  return story.entity === 'department' ? html`<a href="/departments">${name}</a>` : name
}

function factsOf(ask: Ask, story: CaseStory): SafeHtml {
  const { t, language } = ask
  const run = (id: number | null): Part =>
    id === null ? '' : html` <a href="/runs/${id}">${t('cases.in_run', { run: String(id) })}</a>`
  const { changed_fields, resolution, resolved_by, resolved_at } = story
  const isIgnored = story.state === 'ignored' || story.state === 'snoozed'
  return facts([
    [t('cases.who'), html`${textOr(language, `entity.${story.entity}`, story.entity)} ${whoOf(story)}`],
    [t('cases.category'), html`<a href="${sameCause(story)}">${causeOf(ask, story)}</a>`],
    [t('cases.enterprise'), story.enterprise_code],
    [t('cases.field'), story.field && fieldName(ask, story.field)],
    [
      t('cases.fields'),
      changed_fields.length === 0
        ? null
        : html`<ul class="values">${changed_fields.map(
            ({ field, value }) =>
              html`<li>${fieldName(ask, field)}: ${value ? code(value) : html`<span class="soft">${t('cases.empty_value')}</span>`}</li>`,
          )}</ul>`,
    ],
    [t('cases.assignee'), story.assignee ?? html`<span class="soft">${t('cases.nobody')}</span>`],
    [
      t('cases.next_try'),
      story.state === 'snoozed' || !story.next_retry_at ? null : since(ask, story.next_retry_at),
    ],
    [t('cases.snooze_ends'), story.snooze_until && time(ask, story.snooze_until)],
    [t('cases.reason_given'), isIgnored ? story.note : null],
    [
      t('cases.resolved_at'),
      resolved_at &&
        html`${since(ask, resolved_at)} <span class="soft">${t('cases.resolved_by', {
          how: textOr(language, `resolution.${resolution}`, resolution ?? ''),
          who: actorText(ask, resolved_by ?? 'dirsync'),
        })}</span>`,
    ],
    [t('cases.failures'), figure(ask, story.occurrences)],
    [t('cases.first_failed'), html`${since(ask, story.first_failed_at)}${run(story.first_run_id)}`],
    [
      t('cases.last_failed'),
      story.occurrences > 1 ? html`${since(ask, story.last_failed_at)}${run(story.last_run_id)}` : null,
    ],
    [t('cases.code'), story.platform_code === null ? null : code(story.platform_code)],
    [t('cases.trace'), story.trace_id === null ? null : code(story.trace_id)],
  ])
}

/** Link to the list of cases that failed in the same way. */
function sameCause({ category, platform_code }: CaseStory): string {
  return `/cases?${new URLSearchParams({ categories: category, code: String(platform_code ?? 0) })}`
}

function meaningOf(ask: Ask, story: CaseStory): SafeHtml {
  const { t } = ask
  const about = `cases.about.${story.category}`
  return html`<details class="meaning"><summary>${t('cases.meaning')}</summary>
    <p><strong>${categoryName(ask, story.category)}</strong></p>
    ${isTextKey(about) ? html`<p>${t(about)}</p>` : ''}
    <p><a href="${sameCause(story)}">${t('cases.same_cause')}</a></p></details>`
}

function blockerOf(ask: Ask, { blocker, state }: CaseStory): SafeHtml {
  if (blocker === null || state === 'resolved') return html``
  const { t } = ask
  const { userid, enterprise_code: enterpriseCode, employee } = blocker
  const standing =
    employee === null ? 'blocker_unknown' : employee.in_step ? 'blocker_in_step' : 'blocker_waits'
  return section(
    t('cases.blocker'),
    html`<p><a href="${employeePath({ enterpriseCode, userid })}">${t('cases.blocker_is', { key: short(userid) })}</a> ${t(
      `cases.${standing}`,
    )}</p>
    ${
      blocker.cases.length === 0
        ? html`<p class="soft">${t('cases.blocker_no_cases')}</p>`
        : lines(ask, t('cases.blocker_cases'), blocker.cases)
    }`,
  )
}

function swapOf({ t }: Ask, { swapped_with }: CaseStory): SafeHtml {
  if (swapped_with.length === 0) return html``
  return section(
    t('cases.swap'),
    html`<p>${t('cases.swap_with')} ${swapped_with.map(
      (id, i) =>
        html`${i === 0 ? '' : ', '}<a href="/cases/${id}">${t('cases.case', { id: String(id) })}</a>`,
    )}</p>`,
  )
}

function othersOf(ask: Ask, story: CaseStory): SafeHtml {
  if (story.others.length === 0) return html``
  const title = ask.t('cases.others', { key: short(story.entity_key) })
  return section(title, lines(ask, title, story.others))
}

/** Other cases of the same employee, one short line each. */
function lines(ask: Ask, caption: string, rows: CaseStory['others']): SafeHtml {
  const { t } = ask
  return table(
    rows,
    [
      { title: t('cases.what'), kind: 'main', cell: row => whatOf(ask, row) },
      { title: t('cases.cause'), cell: row => causeOf(ask, row) },
      { title: t('cases.state'), cell: row => caseState(ask, row.state) },
      { title: t('cases.age'), kind: 'spare', cell: row => since(ask, row.first_failed_at) },
    ],
    { caption, empty: empty(''), href: ({ id }) => `/cases/${id}` },
  )
}

// What has happened

/** Decisions and attempts in one timeline. */
function timeline(ask: Ask, story: CaseStory): SafeHtml {
  const steps = [
    ...story.events.map(event => ({ at: event.at, body: eventStep(ask, event) })),
    ...story.attempts.map(attempt => ({
      at: attempt.started_at,
      body: attemptStep(ask, attempt, story.message),
    })),
  ].sort((a, b) => b.at.getTime() - a.at.getTime())
  if (steps.length === 0) return empty(ask.t('cases.story_empty'))
  return html`<ol class="steps">${steps.map(({ at, body }) => html`<li>${time(ask, at)}${body}</li>`)}</ol>`
}

/** Events whose note is the category of the failure. */
const NOTE_IS_CATEGORY = new Set(['opened', 'changed', 'reopened'])

function eventStep(ask: Ask, { event, actor, run_id, note }: CaseStory['events'][number]): SafeHtml {
  const { t, language } = ask
  const said =
    note === null
      ? event === 'assigned'
        ? t('cases.to', { name: t('cases.nobody') })
        : null
      : event === 'assigned'
        ? t('cases.to', { name: note })
        : event === 'resolved'
          ? textOr(language, `resolution.${note}`, note)
          : NOTE_IS_CATEGORY.has(event)
            ? categoryName(ask, note)
            : note
  return html`<div><strong>${textOr(language, `event.${event}`, event)}</strong> <span class="soft" title="${actor}">${actorText(ask, actor)}${
    run_id === null
      ? ''
      : html` · <a href="/runs/${run_id}">${t('cases.in_run', { run: String(run_id) })}</a>`
  }</span></div>${said === null ? '' : html`<p class="words">${said}</p>`}`
}

/** @param known what the page already says further up */
function attemptStep(ask: Ask, attempt: CaseStory['attempts'][number], known: string): SafeHtml {
  const { t, language } = ask
  const outcome = textOr(language, `outcome.${attempt.outcome}`, attempt.outcome)
  const calls = Object.entries(attempt.calls).map(
    ([call, count]) => `${textOr(language, `call.${call}`, call)}${count === 1 ? '' : ` × ${count}`}`,
  )
  const details = [
    operationName(ask, attempt.operation),
    t('cases.took', { duration: duration(ask, attempt.duration_ms) }),
    calls.length === 0 ? '' : t('cases.calls', { calls: calls.join(', ') }),
    attempt.fields.length === 0
      ? ''
      : t('cases.sent_fields', { fields: attempt.fields.map(name => fieldName(ask, name)).join(', ') }),
  ].filter(Boolean)
  return html`<div>${t('cases.attempted', { outcome })}${
    attempt.run_id === null
      ? ''
      : html` <span class="soft">· <a href="/runs/${attempt.run_id}">${t('cases.in_run', { run: String(attempt.run_id) })}</a></span>`
  }</div><p class="soft">${details.join(' · ')}</p>${
    attempt.error === null || attempt.error === known
      ? ''
      : html`<p class="words">${inLanguage(language, attempt.error)}</p>`
  }${attempt.trace_id === null ? '' : html`<p class="soft">${t('cases.trace')} ${code(attempt.trace_id)}</p>`}`
}

// For the vendor

function vendorOf(ask: Ask, story: CaseStory, appId: string): SafeHtml {
  if (story.platform_code === null && story.trace_id === null) return html``
  const { t } = ask
  return html`<details class="meaning"><summary>${t('cases.vendor')}</summary>
    <p class="soft">${t('cases.vendor_hint')}</p>
    ${copyable(t, vendorText(ask, story, appId))}</details>`
}

/** The platform interface that a job calls, by its name in the vendor's documentation. */
const INTERFACES: Record<string, string> = {
  'update-employee': 'employee/update',
  'delete-department': 'department/delete',
  'bind-openid': 'employee/openid',
  'mirror-orders': 'enterprise/consume/list',
  'mirror-accounts': 'assets/limit/enterprise/get',
  'mirror-taxpayers': 'taxpayer/findList',
}

/**
 * What the platform's support needs to find a failed call and to explain it. It holds no personal data: the message
 * may name a person, so the catalogue's description of the code is given instead.
 */
function vendorText(ask: Ask, story: CaseStory, appId: string): string {
  const { t } = ask
  const key = `code.${story.platform_code}.meaning`
  const message = isTextKey(key) ? t(key) : categoryName(ask, story.category)
  const colon = ask.language === 'zh-CN' ? '：' : ': '
  const facts: [name: string, value: string | number | null][] = [
    [t('cases.vendor_app'), appId],
    [t('cases.vendor_operation'), INTERFACES[story.operation] ?? story.operation],
    [t('cases.vendor_field'), story.field || null],
    [t('cases.vendor_code'), story.platform_code],
    [t('cases.vendor_message'), message],
    [t('cases.vendor_trace'), story.trace_id],
    [t('cases.vendor_first'), story.first_failed_at.toISOString()],
    [t('cases.vendor_last'), story.last_failed_at.toISOString()],
    [t('cases.vendor_count'), story.occurrences],
  ]
  return [
    t('cases.vendor_intro'),
    '',
    ...facts.filter(([, value]) => value !== null).map(([name, value]) => `${name}${colon}${value}`),
    '',
    t('cases.vendor_again'),
  ].join('\n')
}
