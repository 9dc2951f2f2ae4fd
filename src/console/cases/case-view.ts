import { isDeepStrictEqual } from 'node:util'
import { html, type SafeHtml } from '@remix-run/html-template'
import { qualified } from '../../directory/employee.ts'
import { shellWord } from '../../lib/text.ts'
import { FOR_A_PERSON, openStates } from '../../sync/cases/cases.ts'
import { actorText } from '../../texts/actor.ts'
import { failureTexts, inLanguage } from '../../texts/failures.ts'
import { isSaid, type Said } from '../../texts/message.ts'
import { COLON, isTextKey, textOr } from '../../texts/texts.ts'
import type { Ask } from '../ask.ts'
import { EMPLOYEE_STATUS_TONES } from '../employees/list-view.ts'
import { whoText } from '../runs/words.ts'
import { asSentence, type Block, joined, type Shown, tableOf, term, type Words } from '../shown.ts'
import { actionForm, copyable, duration, reasonField, timeText } from '../ui/parts.ts'
import { casesPath, employeePath } from '../ui/paths.ts'
import { valueWords } from '../ui/shown.ts'
import { caseStatus } from '../ui/states.ts'
import { SNOOZE, untilFields } from '../until.ts'
import {
  categoryName,
  cause,
  fieldName,
  holderLink,
  holderWords,
  itemOf,
  keyWords,
  operationName,
  retriesStopped,
  short,
} from './parts.ts'
import type { CaseStory } from './read.ts'

/** What is wrong, what to do, and the buttons for it; then everything that is known. */
export function caseShown(ask: Ask, story: CaseStory, appId: string): Shown {
  const { t } = ask
  return {
    title: t('cases.case', { id: String(story.id) }),
    copy: String(story.id),
    aside: caseStatus(story.state),
    actions: actionsOf(ask, story),
    topics: ['cases', 'work', 'runs', 'halts'],
    blocks: [
      ...verdict(ask, story),
      {
        columns: [
          [
            ...blockerOf(ask, story),
            ...swapOf(ask, story),
            factsOf(ask, story),
            { drawn: html`${meaningOf(ask, story)}${vendorOf(ask, story, appId)}` },
          ],
          [
            {
              section: t('cases.story'),
              aside: t('cases.story_hint'),
              blocks: [timeline(ask, story)],
            },
            ...othersOf(ask, story),
          ],
        ],
      },
      { commands: t('cases.act'), lines: commandsOf(story) },
    ],
  }
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
      ...untilFields(ask, SNOOZE),
      { name: 'reason', label: t('cases.snooze_reason'), maxlength: 2000 },
    ],
  })
  const ignore = actionForm(ask, {
    to: to('ignore'),
    label: t('cases.ignore'),
    role,
    tone: 'danger',
    fields: [
      seen,
      {
        ...reasonField(t),
        maxlength: 2000,
        hint: t('cases.ignore_hint', { next: t(`cases.next.${ignoredOf(story)}`) }),
      },
    ],
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
  const wake = actionForm(ask, { to: to('wake'), label: t('cases.wake'), role, fields: [seen] })
  const undo = actionForm(ask, {
    to: to('undo'),
    label: t('cases.undo', { what: story.undoable ? t(`event.${story.undoable.event}`) : '' }),
    role,
    fields: [seen],
  })
  return [
    ...(story.undoable ? [undo] : []),
    ...(state === 'snoozed' ? [wake] : []),
    ...(state === 'resolved' || state === 'retrying' ? [] : [retry]),
    ...(isOpen ? [snooze, ignore] : []),
    ...(isOpen && assignee !== viewer.name ? [assignToMe] : []),
    assign,
    comment,
  ]
}

/** What can be done, as it is typed. */
function commandsOf({ id, state, entity, undoable, ...key }: CaseStory): string[] {
  return [
    ...(undoable ? [`dead-letters undo ${id}`] : []),
    ...(state === 'snoozed' ? [`dead-letters wake ${id}`] : []),
    ...(state === 'resolved' || state === 'retrying' ? [] : [`dead-letters retry ${id}`]),
    ...(openStates.has(state)
      ? [`dead-letters ignore ${id} --reason "…"`, `dead-letters snooze ${id} --until 3d`]
      : []),
    ...(entity === 'employee'
      ? [`employee ${shellWord(qualified(key.enterprise_code, key.entity_key))}`]
      : []),
  ]
}

// What is wrong, and what to do

function verdict(ask: Ask, story: CaseStory): Block[] {
  const { state } = story
  const { message, remedy } = failureTexts(ask.language, story)
  const isRetried = state === 'retrying' || story.retry_run !== null
  const isForAPerson = FOR_A_PERSON.includes(state) && !isRetried && story.has_source
  const isOver = !openStates.has(state)
  return [
    { text: { soft: joined([term('operation', story.operation), fieldOf(story), whoOf(story)], ' · ') } },
    {
      notice: isForAPerson ? 'warn' : 'info',
      title: message,
      what: isOver || story.blocker?.has_changed ? null : holderWords(ask, story),
      todo: isOver ? null : remedy,
      next: joined(isRetried ? retryWords(ask, story) : nextWords(ask, story), ' '),
    },
  ]
}

/** What the cron job of due retries does, by the text that promises it. */
const BY_RETRIES: ReadonlySet<string> = new Set([
  'retry_scheduled',
  'awaiting_activation',
  'snoozed',
  'ignored_field',
])

/** What comes next if no retry is requested. */
function nextWords(ask: Ask, story: CaseStory): Words[] {
  const { t } = ask
  const { state, next_retry_at, snooze_until } = story
  const next = state === 'ignored' ? ignoredOf(story) : state
  const again = state === 'open' ? next_retry_at : null
  if (openStates.has(state) && !story.has_source) return [t('cases.next.no_source')]
  return [
    state === 'ignored' ? t('cases.accepted') : null,
    t(`cases.next.${next}`, {
      key: short(story.blocked_by ?? ''),
      time: snooze_until ? timeText(ask, snooze_until) : '',
    }),
    again && asSentence(ask, t('cases.next.unless'), { since: again }),
    ...(story.retries_stopped && (next_retry_at || BY_RETRIES.has(next)) ? retriesStopped(ask) : []),
  ]
}

/** Which text says what becomes of an ignored case: what is not of HR's row does not reopen when that changes. */
function ignoredOf({ entity, operation, category }: CaseStory) {
  if (category === 'unknown_payer') return 'ignored_payer'
  if (entity === 'enterprise') return 'ignored_field'
  return entity === 'mirror' || operation === 'bind-openid' ? 'ignored_call' : 'ignored'
}

/** What a retry waits for, if anything. */
function retryWords({ t }: Ask, { entity, halt, held_run, retry_run }: CaseStory): Words[] {
  if (retry_run !== null)
    return [t('cases.next.requested'), { to: `/runs/${retry_run}`, text: t('common.details') }]
  if (halt !== null) return [t(`cases.next.${halt}`), { to: '/halts', text: t('common.details') }]
  if (held_run === null) return [t('cases.next.retrying')]
  const plan = { to: `/runs/${held_run}/plan`, text: t('runs.look_at_plan') }
  const of = entity === 'department' ? 'cases.next.held_department' : 'cases.next.held'
  return [t(of, { run: String(held_run) }), plan]
}

const fieldOf = ({ field }: { field: string }) => term('field', short(field))

/** Who or what it is about, with the page that tells more. */
function whoOf(story: Pick<CaseStory, 'entity' | 'entity_key' | 'enterprise_code'>): Words {
  const { entity, entity_key: userid, enterprise_code: enterpriseCode } = story
  const name = keyWords(story)
  if (entity === 'employee') return { to: employeePath({ enterpriseCode, userid }), text: name }
  return entity === 'department' ? { to: '/departments', text: name } : name
}

function inRun({ t }: Ask, id: number | null): Words {
  return id === null ? null : { to: `/runs/${id}`, text: t('cases.in_run', { run: String(id) }) }
}

function factsOf(ask: Ask, story: CaseStory): Block {
  const { t, language } = ask
  const { changed_fields, resolution, resolved_by, resolved_at } = story
  const isSetAside = story.state === 'ignored' || story.state === 'snoozed'
  const values = changed_fields.map(({ field, value }) => [
    term('field', field),
    ' ',
    valueWords(ask, field, value),
  ])
  return {
    facts: [
      [t('cases.who'), [term('entity', story.entity), ' ', whoOf(story)]],
      [
        t('cases.category'),
        [
          { to: sameCause(story), text: term('category', short(story.category)) },
          story.platform_code === null ? null : [' ', { soft: { code: story.platform_code } }],
        ],
      ],
      [t('cases.enterprise'), story.enterprise_code],
      [t('cases.field'), term('field', story.field)],
      [t('cases.fields'), joined(values, t('common.comma'))],
      [
        t('cases.blocked_by'),
        story.blocked_by && [
          { code: short(story.blocked_by) },
          { nameOf: { enterpriseCode: story.enterprise_code, userid: story.blocked_by } },
        ],
      ],
      [t('cases.assignee'), story.assignee ?? { soft: t('cases.nobody') }],
      [
        t('cases.next_try'),
        ['snoozed', 'open'].includes(story.state) ||
        !story.next_retry_at ||
        !story.has_source ||
        story.retries_stopped
          ? null
          : { since: story.next_retry_at },
      ],
      [
        t('cases.snooze_ends'),
        // What is resolved or has failed since keeps the time.
        story.state === 'snoozed' && story.snooze_until ? timeText(ask, story.snooze_until) : null,
      ],
      [t('cases.reason_given'), isSetAside ? story.note : null],
      [
        t('cases.resolved_at'),
        resolved_at && [
          { since: resolved_at },
          ' ',
          {
            soft: t('cases.resolved_by', {
              how: textOr(language, `resolution.${resolution}`, resolution ?? ''),
              who: actorText(ask, resolved_by ?? 'dirsync'),
            }),
          },
        ],
      ],
      [t('cases.failures'), story.occurrences],
      [
        t('cases.first_failed'),
        joined([{ since: story.first_failed_at }, inRun(ask, story.first_run_id)], ' '),
      ],
      [
        t('cases.last_failed'),
        story.occurrences > 1
          ? joined([{ since: story.last_failed_at }, inRun(ask, story.last_run_id)], ' ')
          : null,
      ],
      [t('cases.trace'), story.trace_id && { code: story.trace_id }],
    ],
  }
}

/** Link to the list of cases that failed in the same way. */
function sameCause({ category, platform_code }: CaseStory): string {
  return casesPath({ categories: [category], code: platform_code ?? 0 })
}

function meaningOf(ask: Ask, story: CaseStory): SafeHtml {
  const { t } = ask
  const about = `cases.about.${story.category}`
  return html`<details class="meaning"><summary>${t('cases.meaning')}</summary>
    <p><strong>${categoryName(ask, story.category)}</strong></p>
    ${isTextKey(about) ? html`<p>${t(about)}</p>` : ''}
    <p><a href="${sameCause(story)}">${t('cases.same_cause')}</a></p></details>`
}

/** How the holder of a value stands, and so what becomes of it. */
function holderStands({ t }: Ask, holder: NonNullable<CaseStory['blocker']>['employee']): Words {
  const status = holder?.status
  switch (status) {
    case undefined:
      return t('cases.blocker_unknown')
    case 'in_sync':
      return t('cases.blocker_in_sync')
    case 'left':
    case 'vanished':
      return t('cases.blocker_gone')
    case 'waiting':
      return t('cases.blocker_waits')
    default: {
      const tone = EMPLOYEE_STATUS_TONES[status] ?? 'off'
      return [t('cases.blocker_not_in_sync'), ' ', { tone, text: term('status', status) }]
    }
  }
}

function blockerOf(ask: Ask, { blocker, state }: CaseStory): Block[] {
  if (blocker === null || state === 'resolved') return []
  const { t } = ask
  const { userid, enterprise_code: enterpriseCode, employee, has_changed } = blocker
  const stands = has_changed
    ? t('cases.blocker_changed')
    : [t('cases.blocker_is'), ' ', holderStands(ask, employee)]
  return [
    {
      section: t('cases.blocker'),
      blocks: [
        { text: [holderLink(enterpriseCode, userid), ' ', stands] },
        blocker.cases.length === 0
          ? { text: { soft: t('cases.blocker_no_cases') } }
          : lines(ask, t('cases.blocker_cases'), blocker.cases),
      ],
    },
  ]
}

function swapOf({ t }: Ask, { swapped_with }: CaseStory): Block[] {
  if (swapped_with.length === 0) return []
  const others = swapped_with.map(id => ({ to: `/cases/${id}`, text: t('cases.case', { id: String(id) }) }))
  return [
    {
      section: t('cases.swap'),
      blocks: [{ text: [t('cases.swap_with'), ' ', joined(others, t('common.comma'))] }],
    },
  ]
}

function othersOf(ask: Ask, story: CaseStory): Block[] {
  if (story.others.length === 0) return []
  const title = ask.t('cases.others', { key: short(story.entity_key) })
  return [{ section: title, blocks: [lines(ask, title, story.others)] }]
}

/** Cases of one employee or department, as short as can be. */
function lines({ t }: Ask, caption: string, rows: CaseStory['others']): Block {
  return tableOf(
    rows,
    [
      { title: t('cases.number'), kind: 'number', only: 'shell', of: row => row.id },
      { title: t('cases.what'), kind: 'main', of: itemOf },
      { title: t('cases.cause'), of: cause },
      { title: t('cases.state'), of: row => caseStatus(row.state) },
      { title: t('cases.age'), spare: true, of: row => ({ since: row.first_failed_at }) },
    ],
    { caption, to: ({ id }) => `/cases/${id}` },
  )
}

// What has happened

/** Decisions and attempts in one story. */
function timeline(ask: Ask, story: CaseStory): Block {
  const steps = [
    ...story.events.toReversed().map(event => eventStep(ask, event)),
    ...story.attempts.map(attempt => attemptStep(ask, attempt, story.message)),
  ].sort((a, b) => b.at.getTime() - a.at.getTime())
  return { steps, empty: ask.t('cases.story_empty') }
}

/** Events whose note is the category of the failure. */
const NOTE_IS_CATEGORY = new Set(['opened', 'changed', 'reopened'])

function eventStep(ask: Ask, { at, event, actor, run_id, note }: CaseStory['events'][number]) {
  const who = joined([whoText(ask, actor), inRun(ask, run_id)], ' · ')
  return {
    at,
    what: [term('event', event), ' ', { soft: who }],
    details: [],
    words: saidIn(ask, event, note),
  }
}

function saidIn({ t, language }: Ask, event: string, note: CaseStory['events'][number]['note']): Words {
  if (isSaid(note)) return inLanguage(language, note)
  if (event === 'assigned') return t('cases.to', { name: note ?? t('cases.nobody') })
  if (note === null) return null
  if (event === 'resolved') return term('resolution', note)
  if (event === 'undone') return term('event', note)
  return NOTE_IS_CATEGORY.has(event) ? term('category', note) : note
}

/** @param known what the page says above already */
function attemptStep(ask: Ask, attempt: CaseStory['attempts'][number], known: Said) {
  const { t, language } = ask
  const { started_at: at, run_id, error, trace_id } = attempt
  const outcome = textOr(language, `outcome.${attempt.outcome}`, attempt.outcome)
  const calls = Object.entries(attempt.calls).map(
    ([call, count]) => `${textOr(language, `call.${call}`, call)}${count === 1 ? '' : ` × ${count}`}`,
  )
  const fields = attempt.fields.map(name => fieldName(ask, name))
  const details = [
    operationName(ask, attempt.operation),
    t('cases.took', { duration: duration(ask, attempt.duration_ms) }),
    calls.length === 0 ? '' : t('cases.calls', { calls: calls.join(t('common.list_comma')) }),
    fields.length === 0 ? '' : t('cases.sent_fields', { fields: fields.join(t('common.list_comma')) }),
  ]
  return {
    at,
    what: joined([t('cases.attempted', { outcome }), run_id && { soft: inRun(ask, run_id) }], ' · '),
    details: [joined(details, ' · '), trace_id && [t('cases.trace'), ' ', { code: trace_id }]],
    words: error === null || isDeepStrictEqual(error, known) ? null : inLanguage(language, error),
  }
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
    ...facts
      .filter(([, value]) => value !== null)
      .map(([name, value]) => `${name}${COLON[ask.language]}${value}`),
    '',
    t('cases.vendor_again'),
  ].join('\n')
}
