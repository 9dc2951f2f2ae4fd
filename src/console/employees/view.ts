import { html, type SafeHtml } from '@remix-run/html-template'
import { shellWord } from '../../lib/text.ts'
import { openStates } from '../../sync/cases/cases.ts'
import { isUnderWay } from '../../sync/runs/run.ts'
import { failureTexts, inLanguage, runMessage } from '../../texts/failures.ts'
import type { MessageKey, Said } from '../../texts/message.ts'
import type { TextKey } from '../../texts/texts.ts'
import { type Ask, lacksRole } from '../ask.ts'
import { fieldName, holderWords, retriesStopped } from '../cases/parts.ts'
import { runStateWords, whoText } from '../runs/words.ts'
import { asSentence, type Block, joined, type Shown, tableOf, term, type Words } from '../shown.ts'
import { actionForm, code, facts, head, reasonField, section, type Tone } from '../ui/parts.ts'
import { employeePath } from '../ui/paths.ts'
import { valueWords } from '../ui/shown.ts'
import { keptBlocks, storyBlocks } from './kept-view.ts'
import { employeeLabel } from './key.ts'
import { EMPLOYEE_STATUS_TONES } from './list-view.ts'
import type { EmployeeResult } from './query.ts'
import { WHOLE_ROW } from './reveal.ts'
import { fieldNames, steps } from './steps-view.ts'
import { waitingUpdateOf } from './story.ts'

// One employee

export function employeeShown(ask: Ask, employee: EmployeeResult): Shown {
  const { t } = ask
  const key = { enterpriseCode: employee.enterprise_code, userid: employee.userid }
  const name = employeeLabel(key)
  const path = employeePath(key)
  // Live updates show dirsync's own data; HR is read once per page, not at each update, unless it has news.
  const url = `${path}?hr=no${employee.run ? `&run=${employee.run.id}` : ''}`
  const urlOf = (part: string) =>
    part === 'now' &&
    (newsOfHr(employee) !== null || employee.hr === 'unknown' || employee.status === 'unknown')
      ? url.replace('hr=no', 'hr=yes')
      : url
  // An explanation describes one moment, so nothing on its page is updated.
  const follow = (part: string, topics: string[], blocks: Block[]): Block[] =>
    employee.platform === 'not_asked' ? [{ part, topics, url: urlOf(part), blocks }] : blocks
  const [first] = employee.dead_letters
  return {
    title: t('employees.employee', { name }),
    copy: key.userid,
    aside: { nameOf: key },
    actions: [
      actionForm(ask, { to: `${path}/explain`, label: t('employees.explain'), role: 'reviewer' }),
      ...(canBeSynced(employee)
        ? [
            actionForm(ask, {
              to: `${path}/sync`,
              label: t('employees.sync'),
              role: 'reviewer',
              tone: 'main',
            }),
          ]
        : []),
      revealForm(ask, path, employee),
    ],
    blocks: [
      ...follow(
        'now',
        ['employees', 'work', 'cases', 'runs', 'halts', 'processes'],
        [...headline(ask, employee), ...(employee.run ? [runSection(ask, employee.run)] : [])],
      ),
      {
        columns: [
          [comparisonOf(ask, employee)],
          follow('kept', ['employees', 'work', 'runs'], keptBlocks(ask, employee)),
        ],
      },
      ...follow('story', ['employees', 'work', 'cases', 'runs', 'halts'], storyBlocks(ask, employee)),
      {
        commands: t('common.details'),
        lines: [
          ...(first ? [`dead-letters show ${first.id}`] : []),
          ...(canBeSynced(employee) ? [`resync --employee ${shellWord(name)} --wait`] : []),
        ],
      },
    ],
  }
}

/** It fails where no source has the enterprise. A user id that no run has seen may turn out to be of another enterprise. */
function canBeSynced({ has_source, status }: EmployeeResult): boolean {
  return has_source || status === 'unknown'
}

/** What would be sent now, alone. */
export function employeePlanShown(ask: Ask, employee: EmployeeResult): Shown {
  const { title } = employeeShown(ask, employee)
  return { title, blocks: [comparisonOf(ask, employee)] }
}

/** @param given why a value was revealed just now */
function revealForm(ask: Ask, path: string, { fields }: EmployeeResult, given?: string): SafeHtml {
  const { t } = ask
  const known = fields.filter(({ hr }) => hr !== null && hr !== '')
  if (known.length === 0) return html``
  return actionForm(ask, {
    to: `${path}/reveal`,
    label: t('employees.reveal'),
    role: 'reviewer',
    fields: [
      {
        name: 'field',
        label: t('employees.field'),
        choices: [
          ...known.map(({ field }) => ({ value: field, text: fieldName(ask, field) })),
          ...(ask.may('admin') ? [{ value: WHOLE_ROW, text: t('employees.reveal.all') }] : []),
        ],
      },
      { ...reasonField(t, true, 'employees.reveal.hint'), value: given },
    ],
  })
}

/** In sync, or the reason why not and what to do. */
function headline(ask: Ask, employee: EmployeeResult): Block[] {
  const { t, language } = ask
  const { status, record } = employee
  const cases = employee.dead_letters.filter(({ state }) => openStates.has(state))
  const [first] = cases
  const [halt] = employee.halts
  const name: Words = status === 'unknown' ? t('employees.unknown') : term('status', status)
  const chip: Block = { text: { tone: EMPLOYEE_STATUS_TONES[status] ?? 'off', text: name } }
  const ofCase = first ? [caseNotice(ask, employee, first, cases.length)] : []
  switch (status) {
    case 'in_sync': {
      const news = newsOf(ask, employee)
      if (news !== null) return [news]
      const since = record?.acknowledged_at ? { soft: { since: record.acknowledged_at } } : null
      return [
        {
          text: joined(
            [
              employee.hr === 'unknown'
                ? { tone: 'wait', text: t('employees.now.was_in_sync') }
                : { tone: 'ok', text: t('employees.now.in_sync') },
              since,
            ],
            ' ',
          ),
        },
        ...ofCase,
        ...(employee.pending.length > 0
          ? [{ text: { tone: 'wait', text: t('employees.now.asked_anew') } } as const]
          : []),
      ]
    }
    case 'halted':
      // It may have ended since.
      if (!halt) return [chip]
      return [
        chip,
        {
          notice: 'bad',
          title: { foreign: t('employees.now.halted', { message: inLanguage(language, halt.message) }) },
          // The end of the halt alone does not send what a cancelled run has left.
          what: waitingUpdateOf(employee) ? null : waitsForPlan(ask, employee),
          todo: inLanguage(language, halt.remedy),
          next: { to: '/halts', text: t('common.details') },
        },
      ]
    case 'waiting': {
      const news = newsOf(ask, employee)
      if (news !== null) return [news, ...ofCase]
      return [
        chip,
        { notice: 'info', title: t('employees.now.waiting'), todo: waitsFor(ask, employee) },
        ...ofCase,
      ]
    }
    case 'awaiting_activation': {
      const news = newsOf(ask, employee)
      const at = first?.next_retry_at
      const next =
        first === undefined || first.state === 'retrying'
          ? null
          : employee.retries_stopped
            ? joined(retriesStopped(ask), ' ')
            : at && asSentence(ask, t('employees.asked_again'), { since: at })
      if (news !== null) return next && employee.platform === 'in_service' ? [news, { text: next }] : [news]
      return [
        chip,
        {
          notice: 'info',
          title: t('employees.now.awaiting_activation'),
          todo: t('employees.now.awaiting_activation.remedy'),
          next,
        },
      ]
    }
    case 'held':
      return [chip, heldNotice(ask, employee), ...ofCase]
    case 'rejected':
      return [chip, rejectedNotice(ask, employee)]
    case 'accepted':
      return [chip, notice(ask, 'info', status)]
    case 'no_source':
      return [chip, notice(ask, 'warn', status), ...ofCase]
    case 'dead_lettered':
      if (first) return [chip, ...ofCase]
      return employee.dead_letters.some(({ state }) => state === 'ignored')
        ? [notice(ask, 'info', 'accepted')]
        : [chip, notice(ask, 'warn', status)]
    case 'left':
    case 'vanished': {
      if (record?.held && !record.held.rejected) return [chip, heldNotice(ask, employee)]
      const news = newsOf(ask, employee)
      if (news && newsOfHr(employee) === 'back') return [news]
      if (record?.held) return [chip, rejectedNotice(ask, employee)]
      const remedy = employee.has_source ? status : 'no_source'
      return [chip, ...(first ? ofCase : [news ?? notice(ask, 'info', status, remedy)])]
    }
    case 'unknown':
      return employee.hr === 'absent'
        ? [notice(ask, 'warn', 'nowhere')]
        : [chip, notice(ask, 'info', 'unknown')]
  }
}

/** What HR says just now, where it contradicts the status that dirsync has stored. */
function newsOfHr({
  status,
  hr,
  row_confirmed,
}: EmployeeResult): 'left' | 'vanished' | 'back' | 'changed' | null {
  const isGone = status === 'left' || status === 'vanished'
  if (!isGone && !['in_sync', 'waiting', 'awaiting_activation'].includes(status)) return null
  if (hr === 'left') return status === 'left' ? null : 'left'
  if (hr === 'absent') return status === 'vanished' ? null : 'vanished'
  if (hr === 'present' && isGone) return 'back'
  // Which of its rows hold, or that one breaks rules, does not tell whether the employee has left.
  if ((hr === 'duplicate' || hr === 'invalid') && status === 'vanished') return 'back'
  return status === 'in_sync' && row_confirmed === false ? 'changed' : null
}

/** What HR and the platform say just now, where it contradicts the status that dirsync has stored. */
function newsOf(ask: Ask, employee: EmployeeResult): Block | null {
  const { t } = ask
  const { status, hr, platform, fields, row_confirmed } = employee
  const news = newsOfHr(employee)
  if (news === 'left' || news === 'vanished') return notice(ask, 'info', news)
  if (news === 'back') return { text: { tone: 'busy', text: t('employees.now.back') } }
  if (status === 'awaiting_activation')
    return platform === 'in_service' ? { text: { tone: 'busy', text: t('employees.now.activated') } } : null
  if (status === 'in_sync' && platform === 'absent') return notice(ask, 'info', 'awaiting_activation')
  if (status === 'in_sync' && hr === 'present' && fields.some(({ status }) => status === 'to_send'))
    // Only a full run looks at whom HR has not changed.
    return {
      text: { tone: 'busy', text: t(`employees.now.${row_confirmed ? 'differs_there' : 'differs'}`) },
    }
  return news === 'changed' ? { text: { tone: 'busy', text: t('employees.now.changed') } } : null
}

type Noticed =
  | 'accepted'
  | 'no_source'
  | 'dead_lettered'
  | 'left'
  | 'vanished'
  | 'awaiting_activation'
  | 'nowhere'
  | 'unknown'

function notice({ t }: Ask, tone: 'info' | 'warn', name: Noticed, remedy = name): Block {
  return { notice: tone, title: t(`employees.now.${name}`), todo: t(`employees.now.${remedy}.remedy`) }
}

/** What to do about an undecided or rejected change: leavers are never sent. */
function todoOf(ask: Ask, employee: EmployeeResult, status: 'held' | 'rejected'): Words {
  const { hr, record } = employee
  if (record?.held?.has_source === false)
    return ask.t(status === 'held' ? 'employees.now.held.no_source' : 'employees.now.no_source')
  const isRead = hr !== 'not_asked' && hr !== 'unknown'
  const said = hr === 'left' ? 'left' : hr === 'absent' ? 'vanished' : null
  const gone = isRead ? said : record?.held?.gone
  if (!gone && waitingUpdateOf(employee)?.named) return waitsFor(ask, employee)
  return ask.t(`employees.now.${gone ?? status}.remedy`)
}

/** HR has another row, and the run that found it awaits a decision; or the plan was made before this change. */
function heldNotice(ask: Ask, employee: EmployeeResult): Block {
  const { t } = ask
  const { record } = employee
  const { run = 0, decided_at, approved } = record?.held ?? {}
  const isNamed = waitingUpdateOf(employee)?.named
  if (isNamed)
    return {
      notice: 'info',
      title: t('employees.now.held.named', { run }),
      todo: todoOf(ask, employee, 'held'),
      next: planLink(t, run),
    }
  if (approved) return { notice: 'info', title: t('step.checked_approved', { run }), next: planLink(t, run) }
  if (decided_at)
    return { notice: 'info', title: t('employees.now.held.decided', { run }), next: planLink(t, run) }
  return {
    notice: 'warn',
    title: t('employees.now.held', { run }),
    todo: todoOf(ask, employee, 'held'),
    next: planLink(t, run),
  }
}

function rejectedNotice(ask: Ask, employee: EmployeeResult): Block {
  const { t } = ask
  const { run = 0, decided_by, reason } = employee.record?.held ?? {}
  const who = whoText(ask, decided_by ?? '')
  return {
    notice: 'info',
    title: reason
      ? t('employees.now.rejected', { run, who, reason })
      : t('employees.now.rejected_bare', { run, who }),
    what: waitingUpdateOf(employee)?.named ? t('employees.now.rejected.named') : null,
    todo: todoOf(ask, employee, 'rejected'),
    next: planLink(t, run),
  }
}

function planLink(t: Ask['t'], run: number): Words {
  return { to: `/runs/${run}/plan`, text: t('common.details') }
}

/** Of one without work in the outbox. */
function waitsForPlan({ t }: Ask, { record }: EmployeeResult): Words {
  return t(record?.doubted ? 'step.asked_doubted' : 'employees.now.waiting.plan')
}

function waitsFor(ask: Ask, employee: EmployeeResult): Words {
  const { t } = ask
  const work = waitingUpdateOf(employee)
  const [halt] = employee.halts
  if (!work) return waitsForPlan(ask, employee)
  if (halt) return { foreign: t('employees.now.halted', { message: inLanguage(ask.language, halt.message) }) }
  if (work.replan_at) return t('employees.now.waiting.replan')
  if (work.not_before && work.not_before > ask.now)
    return asSentence(ask, t('employees.now.waiting.later'), { since: work.not_before })
  const { scheduler = 0, worker = 0 } = employee.roles_alive
  const missing = worker === 0 ? 'worker' : scheduler === 0 && !work.enqueued_at ? 'scheduler' : null
  return missing === null
    ? t('employees.now.waiting.remedy')
    : [t(`overview.no_${missing}`), ' ', t(`overview.no_${missing}.remedy`)]
}

type Case = EmployeeResult['dead_letters'][number]

function caseNotice(ask: Ask, { enterprise_code }: EmployeeResult, found: Case, count: number): Block {
  const { t } = ask
  const { message, remedy } = failureTexts(ask.language, found)
  const more = count > 1 ? t('employees.more_cases', { count: count - 1 }) : null
  return {
    notice: 'warn',
    title: { foreign: message },
    what: holderWords(ask, { ...found, enterprise_code }),
    todo: remedy,
    next: joined([caseLink(t, found.id), more], ' · '),
  }
}

function caseLink(t: Ask['t'], id: number): Words {
  return { to: `/cases/${id}`, text: t('employees.open_case', { id }) }
}

// A run that was started here

function runSection(ask: Ask, run: NonNullable<EmployeeResult['run']>): Block {
  const { t, language } = ask
  const message = runMessage(language, run)
  return {
    section: t('employees.this_run', { run: run.id }),
    id: 'this-run',
    blocks: [
      { text: [runStateWords(ask, run), ' ', { to: `/runs/${run.id}`, text: t('common.details') }] },
      ...(message === null ? [] : [{ text: { foreign: message } }]),
      { drawn: steps(ask, run.steps, t('employees.run_reads')) },
      ...(isUnderWay(run.state) ? [{ text: { soft: t('common.live') } }] : []),
    ],
  }
}

// HR against the platform

type Field = EmployeeResult['fields'][number]

const FIELD_TONES: Record<Field['status'], Tone> = {
  in_sync: 'ok',
  to_send: 'busy',
  held_back: 'warn',
  invalid: 'bad',
  unknown: 'off',
}

function comparisonOf(ask: Ask, employee: EmployeeResult): Block {
  const { t, language } = ask
  const { hr, hr_error, platform, platform_error, fields } = employee
  const isAsked = platform !== 'not_asked'
  const isChecked = platform === 'in_service' || hr === 'invalid'
  const blocks: Block[] = []
  const departmentToo = (field: string, value: string | null): Words => [
    valueWords(ask, field, value),
    field === 'dept_code' && value
      ? { nameOf: { enterpriseCode: employee.enterprise_code, deptCode: value } }
      : null,
  ]
  if (hr_error)
    blocks.push({
      notice: 'bad',
      title: t('employees.hr.unknown'),
      todo: { foreign: inLanguage(language, hr_error) },
    })
  else if (hr === 'invalid') {
    const list = employee.problems.map(({ message }) => ({ foreign: inLanguage(language, message) }))
    blocks.push({ notice: 'bad', title: t('employees.hr.invalid'), list })
  } else if (hr !== 'not_asked' && hr !== 'unknown') blocks.push({ text: t(`employees.hr.${hr}`) })
  blocks.push(...platformAway(ask, employee))
  if (!platform_error && platform !== 'not_asked') blocks.push({ text: t(`employees.platform.${platform}`) })
  if (platform === 'in_service' && fields.length > 0) blocks.push(verdict(ask, employee))
  if (fields.length > 0 && !isAsked && !platform_error) {
    const viewers = lacksRole(ask, 'reviewer') ? 'not_asked_viewer' : 'not_asked_here'
    const said = ask.may('reviewer') ? 'not_asked' : viewers
    blocks.push({ text: { soft: t(`employees.platform.${said}`) } })
  }
  if (fields.length > 0)
    blocks.push(
      tableOf(
        fields,
        [
          { title: t('employees.field'), of: ({ field }) => term('field', field) },
          { title: t('employees.in_hr'), gives: true, of: row => departmentToo(row.field, row.hr) },
          ...(isAsked
            ? [
                {
                  title: t('employees.on_platform'),
                  gives: true as const,
                  of: (row: Field) =>
                    row.platform_told
                      ? departmentToo(row.field, row.platform)
                      : { soft: t('employees.not_told') },
                },
              ]
            : []),
          ...(isChecked ? [{ title: t('employees.status'), of: (row: Field) => statusOf(ask, row) }] : []),
        ],
        {
          caption: t('employees.comparison'),
          note: row => noteOf(ask, row),
        },
      ),
    )
  return { section: t('employees.comparison'), id: 'fields', aside: t('employees.masked'), blocks }
}

/** Why the platform's values are missing, and what to do. */
export function platformAway(
  { t, language }: Ask,
  { platform, platform_error }: { platform: string; platform_error: Said | null },
): Block[] {
  if (platform_error === null) return []
  const title = t(
    platform === 'not_asked' ? 'employees.platform.was_not_asked' : 'employees.platform.unknown',
  )
  return [{ notice: 'warn', title, todo: { foreign: inLanguage(language, platform_error) } }]
}

function statusOf({ t }: Ask, { status }: Field): Words {
  return status === 'unknown' ? null : { tone: FIELD_TONES[status], text: t(`employees.field.${status}`) }
}

/** What a run would do about the employee now. */
function verdict(ask: Ask, { fields, hr }: EmployeeResult): Block {
  const { t } = ask
  const named = (status: string) =>
    fieldNames(
      ask,
      fields
        .filter(field => field.status === status)
        .map(({ field }) => field)
        .join(', '),
    )
  const [send, held] = [named('to_send'), named('held_back')]
  return {
    notice: 'info',
    title:
      send !== '' && hr === 'present'
        ? t('employees.would_send', { fields: send })
        : t('employees.would_send_nothing'),
    todo: held ? t('employees.would_hold_back', { fields: held }) : null,
    next: t('employees.nothing_changed'),
  }
}

/** Why a field is held back, by the notes of preview.ts. */
const NOTES: Partial<Record<MessageKey, TextKey>> = {
  'said.switched_off': 'employees.note.feature_off',
  'said.not_kept': 'employees.note.not_kept',
  'said.keeps_own': 'employees.note.platform_own',
}

function noteOf({ t, language }: Ask, { note, status }: Field): Words {
  // The rules that a row breaks stand above the table.
  if (note === null || status === 'invalid') return null
  const { key, values } = 'key' in note ? note : {}
  if (key === 'said.see_case')
    return [caseLink(t, Number(values?.case)), ' ', term('category', String(values?.category))]
  const text = key && NOTES[key]
  return text ? t(text) : { foreign: inLanguage(language, note) }
}

// One value

/** Shown once, in the answer to the request: no address leads to it and the browser does not cache it. */
export function revealedBody(
  ask: Ask,
  employee: EmployeeResult,
  revealed: { reason: string; values: Record<string, string | null> },
): SafeHtml {
  const { t } = ask
  const key = { enterpriseCode: employee.enterprise_code, userid: employee.userid }
  const path = employeePath(key)
  return html`${head(html`${code(employeeLabel(key))}${ask.marks.nameOf(key)}`, {
    actions: [revealForm(ask, path, employee, revealed.reason)],
  })}
  ${section(
    t('employees.revealed'),
    html`<div class="stack"><div class="revealed">${facts(
      Object.entries(revealed.values).map(([field, value]) => [
        fieldName(ask, field),
        value === null || value === '' ? t('common.empty') : html`<bdi>${value}</bdi>`,
      ]),
    )}</div>
    <p class="soft">${t('employees.revealed.note', { reason: revealed.reason })}</p>
    <p><a href="${path}">${t('employees.back')}</a></p></div>`,
  )}`
}
