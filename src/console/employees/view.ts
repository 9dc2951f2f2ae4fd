import { html, type SafeHtml } from '@remix-run/html-template'
import { failureTexts, inLanguage, runMessage } from '../../texts/failures.ts'
import type { MessageKey, Said } from '../../texts/message.ts'
import { type TextKey, textOr } from '../../texts/texts.ts'
import type { Ask } from '../ask.ts'
import { fieldName } from '../cases/parts.ts'
import { whoText } from '../runs/words.ts'
import {
  actionForm,
  alert,
  code,
  empty,
  foreign,
  head,
  live,
  masked,
  type Part,
  reasonField,
  section,
  since,
  state,
  type Tone,
  table,
} from '../ui/parts.ts'
import { employeePath } from '../ui/paths.ts'
import { runState } from '../ui/states.ts'
import { kept, story } from './kept-view.ts'
import { employeeLabel } from './key.ts'
import { standingState } from './list-view.ts'
import type { EmployeeResult } from './query.ts'
import { fieldNames, steps } from './steps-view.ts'

// One employee

export function employeeBody(ask: Ask, employee: EmployeeResult): SafeHtml {
  const { t } = ask
  const key = { enterpriseCode: employee.enterprise_code, userid: employee.userid }
  const path = employeePath(key)
  // Live updates show dirsync's own data; HR is read once per page, not at each update.
  const moving = { ...ask, url: `${path}?hr=no${employee.run ? `&run=${employee.run.id}` : ''}` }
  // An explanation describes one moment, so nothing on its page is updated.
  const follow = (id: string, topics: string[], body: SafeHtml) =>
    employee.platform === 'not_asked' ? live(moving, id, topics, body) : html`<div>${body}</div>`
  const now = html`${headline(ask, employee)}${employee.run ? runSection(ask, employee.run) : ''}`
  return html`${head(code(employeeLabel(key)), {
    actions: [
      actionForm(ask, {
        to: `${path}/explain`,
        label: t('employees.explain'),
        role: 'reviewer',
      }),
      actionForm(ask, { to: `${path}/sync`, label: t('employees.sync'), role: 'reviewer', tone: 'main' }),
      revealForm(ask, path, employee),
    ],
  })}
  ${follow('now', ['employees', 'work', 'cases', 'runs', 'halts'], now)}
  <div class="columns">${comparison(ask, employee)}${follow('kept', ['employees', 'work', 'runs'], kept(ask, employee))}</div>
  ${follow('story', ['employees', 'work', 'cases', 'runs'], story(ask, employee))}`
}

function revealForm(ask: Ask, path: string, { fields }: EmployeeResult): SafeHtml {
  const { t } = ask
  const known = fields.filter(({ hr }) => hr !== null && hr !== '')
  if (known.length === 0) return html``
  return actionForm(ask, {
    to: `${path}/reveal`,
    label: t('employees.reveal'),
    role: 'admin',
    fields: [
      {
        name: 'field',
        label: t('employees.field'),
        choices: known.map(({ field }) => ({ value: field, text: fieldName(ask, field) })),
      },
      reasonField(t, true, 'employees.reveal.hint'),
    ],
  })
}

/** In sync, or the reason why not and what to do. */
function headline(ask: Ask, employee: EmployeeResult): SafeHtml {
  const { t, language } = ask
  const { standing, record } = employee
  const cases = employee.cases.filter(isOpen)
  const [first] = cases
  const [halt] = employee.halts
  const chip = html`<p>${standingState(ask, standing)}</p>`
  switch (standing) {
    case 'in_step':
      // HR was asked just now, so what dirsync has stored may be out of date.
      if (employee.hr === 'present' && employee.fields.some(field => field.standing === 'to_send'))
        return html`<p>${state('busy', t('employees.now.differs'))}</p>`
      return html`<p>${state('ok', t('employees.now.in_step'))} <span class="soft">${since(ask, record?.acknowledged_at ?? null)}</span></p>${
        first ? caseAlert(ask, first, cases.length) : ''
      }${employee.pending.length > 0 ? html`<p>${state('wait', t('employees.now.asked_anew'))}</p>` : ''}`
    case 'waiting':
      if (halt)
        return html`${chip}${alert(
          'bad',
          foreign(t('employees.now.halted', { message: inLanguage(language, halt.message) })),
          html`${foreign(inLanguage(language, halt.remedy))} <a href="/halts">${t('common.details')}</a>`,
        )}`
      return html`${chip}${alert('info', t('employees.now.waiting'), waitsFor(ask, employee))}${
        first ? caseAlert(ask, first, cases.length) : ''
      }`
    case 'dead_lettered':
      return html`${chip}${
        first
          ? caseAlert(ask, first, cases.length)
          : alert('warn', t('employees.now.dead_lettered'), t('employees.now.dead_lettered.remedy'))
      }`
    case 'awaiting_activation':
      return html`${chip}${alert(
        'info',
        t('employees.now.awaiting_activation'),
        first?.next_retry_at
          ? html`${t('employees.now.awaiting_activation.remedy')} ${t('employees.asked_again')} ${since(ask, first.next_retry_at)}.`
          : t('employees.now.awaiting_activation.remedy'),
      )}`
    case 'held':
      return html`${chip}${heldAlert(ask, employee)}${first ? caseAlert(ask, first, cases.length) : ''}`
    case 'rejected':
      return html`${chip}${rejectedAlert(ask, employee)}`
    case 'accepted':
      return html`${chip}${alert('info', t('employees.now.accepted'), t('employees.now.accepted.remedy'))}`
    case 'left':
      return html`${chip}${
        first
          ? caseAlert(ask, first, cases.length)
          : alert('info', t('employees.now.left'), t('employees.now.left.remedy'))
      }`
    case 'vanished':
      return html`${chip}${
        first
          ? caseAlert(ask, first, cases.length)
          : alert('info', t('employees.now.vanished'), t('employees.now.vanished.remedy'))
      }`
    case 'unknown':
      return unknownEmployee(ask, employee, chip)
  }
}

/** HR has another row, and the run that found it awaits a decision; or the plan was made before this change. */
function heldAlert({ t }: Ask, { record }: EmployeeResult): SafeHtml {
  const { run = 0, decided_at } = record?.held ?? {}
  if (decided_at) return alert('info', t('employees.now.held.decided', { run }), planLink(t, run))
  return alert(
    'warn',
    t('employees.now.held', { run }),
    html`${t('employees.now.held.remedy')} ${planLink(t, run)}`,
  )
}

function rejectedAlert(ask: Ask, { record }: EmployeeResult): SafeHtml {
  const { t } = ask
  const { run = 0, decided_by, reason } = record?.held ?? {}
  const who = whoText(ask, decided_by ?? '')
  return alert(
    'info',
    reason
      ? t('employees.now.rejected', { run, who, reason })
      : t('employees.now.rejected_bare', { run, who }),
    html`${t('employees.now.rejected.remedy')} ${planLink(t, run)}`,
  )
}

function planLink(t: Ask['t'], run: number): SafeHtml {
  return html`<a href="/runs/${run}/plan">${t('common.details')}</a>`
}

function unknownEmployee({ t }: Ask, { hr }: EmployeeResult, chip: SafeHtml): SafeHtml {
  if (hr === 'absent') return alert('warn', t('employees.now.nowhere'), t('employees.now.nowhere.remedy'))
  return html`${chip}${alert('info', t('employees.now.unknown'), t('employees.now.unknown.remedy'))}`
}

function waitsFor(ask: Ask, { pending }: EmployeeResult): Part {
  const { t } = ask
  const [work] = pending
  if (!work) return t('employees.now.waiting.plan')
  if (work.replan_at) return t('employees.now.waiting.replan')
  if (work.not_before && work.not_before > ask.now)
    return html`${t('employees.now.waiting.later')} ${since(ask, work.not_before)}.`
  return t('employees.now.waiting.remedy')
}

function isOpen({ state }: EmployeeResult['cases'][number]): boolean {
  return state !== 'resolved' && state !== 'ignored'
}

function caseAlert(ask: Ask, found: EmployeeResult['cases'][number], count: number): SafeHtml {
  const { t } = ask
  const { message, remedy } = failureTexts(ask.language, found)
  return alert(
    'warn',
    foreign(message),
    html`${foreign(remedy)} <a href="/cases/${found.id}">${t('employees.open_case', { id: found.id })}</a>${
      count > 1 ? html` · ${t('employees.more_cases', { count: count - 1 })}` : ''
    }`,
  )
}

// A run that was started here

const RUN_ENDS = new Set(['done', 'failed', 'held', 'source_suspect', 'rejected', 'superseded', 'cancelled'])

function runSection(ask: Ask, run: NonNullable<EmployeeResult['run']>): SafeHtml {
  const { t, language } = ask
  const hasEnded = RUN_ENDS.has(run.state)
  const message = runMessage(language, run)
  return section(
    t('employees.this_run', { run: run.id }),
    html`<p class="row">${runState(ask, run.state)} <a href="/runs/${run.id}">${t('common.details')}</a></p>
    ${message === null ? '' : html`<p>${foreign(message)}</p>`}${steps(ask, run.steps, t('employees.run_reads'))}${
      hasEnded ? '' : html`<p class="soft">${t('common.live')}</p>`
    }`,
    { id: 'this-run' },
  )
}

// HR against the platform

const FIELD_TONES: Record<EmployeeResult['fields'][number]['standing'], Tone> = {
  in_step: 'ok',
  to_send: 'busy',
  held_back: 'warn',
  invalid: 'bad',
  unknown: 'off',
}

function comparison(ask: Ask, employee: EmployeeResult): SafeHtml {
  const { t, language } = ask
  const { hr, hr_error, platform, platform_error, fields } = employee
  const isAsked = platform !== 'not_asked'
  const isJudged = platform === 'in_service' || hr === 'invalid'
  const said: Part[] = [
    hr_error
      ? alert('bad', t('employees.hr.unknown'), foreign(inLanguage(language, hr_error)))
      : hr === 'not_asked' || hr === 'unknown'
        ? ''
        : html`<p>${t(`employees.hr.${hr}`)}</p>`,
    platform_error
      ? alert('warn', t('employees.platform.unknown'), foreign(inLanguage(language, platform_error)))
      : platform === 'not_asked'
        ? ''
        : html`<p>${t(`employees.platform.${platform}`)}</p>`,
    platform === 'in_service' && fields.length > 0 ? verdict(ask, employee) : '',
    fields.length > 0 && !isAsked
      ? html`<p class="soft">${t(ask.may('reviewer') ? 'employees.platform.not_asked' : 'employees.platform.not_asked_viewer')}</p>`
      : '',
  ]
  const problems = employee.problems.filter(problem => !fields.some(({ field }) => field === problem.field))
  type Row = EmployeeResult['fields'][number]
  return section(
    t('employees.comparison'),
    html`<div class="stack">${said}</div>
    ${problems.map(({ message }) => alert('bad', foreign(inLanguage(language, message))))}
    ${
      fields.length === 0
        ? ''
        : table(
            fields,
            [
              { title: t('employees.field'), cell: ({ field }) => fieldName(ask, field) },
              { title: t('employees.in_hr'), cell: row => masked(ask, row.hr) },
              ...(isAsked
                ? [
                    {
                      title: t('employees.on_platform'),
                      cell: (row: Row) =>
                        row.platform_told
                          ? masked(ask, row.platform)
                          : html`<span class="soft">${t('employees.not_told')}</span>`,
                    },
                  ]
                : []),
              ...(isJudged
                ? [
                    {
                      title: t('employees.standing'),
                      cell: (row: Row) =>
                        html`${
                          row.standing === 'unknown'
                            ? ''
                            : state(FIELD_TONES[row.standing], t(`employees.field.${row.standing}`))
                        }${row.note ? html` <span class="soft">${note(ask, row.note)}</span>` : ''}`,
                    },
                  ]
                : []),
            ],
            { caption: t('employees.comparison'), empty: empty('') },
          )
    }`,
    { id: 'fields', aside: t('employees.masked') },
  )
}

/** What a run would do about the employee now. */
function verdict(ask: Ask, { fields, hr }: EmployeeResult): SafeHtml {
  const { t } = ask
  const named = (standing: string) =>
    fieldNames(
      ask,
      fields
        .filter(field => field.standing === standing)
        .map(({ field }) => field)
        .join(', '),
    )
  const [send, held] = [named('to_send'), named('held_back')]
  const isSent = send !== '' && hr === 'present'
  return alert(
    'info',
    isSent ? t('employees.would_send', { fields: send }) : t('employees.would_send_nothing'),
    html`${held ? html`${t('employees.would_hold_back', { fields: held })} ` : ''}${t('employees.nothing_changed')}`,
  )
}

/** Why a field is held back, by the notes of preview.ts. */
const NOTES: Partial<Record<MessageKey, TextKey>> = {
  'said.switched_off': 'employees.note.feature_off',
  'said.not_kept': 'employees.note.not_kept',
  'said.keeps_own': 'employees.note.platform_own',
}

function note({ t, language }: Ask, what: Said): Part {
  const { key, values } = 'key' in what ? what : {}
  if (key === 'said.see_case') {
    const [id, category] = [Number(values?.case), String(values?.category)]
    return html`<a href="/cases/${id}">${t('employees.open_case', { id })}</a> ${textOr(language, `category.${category}`, category)}`
  }
  const text = key && NOTES[key]
  return text ? t(text) : foreign(inLanguage(language, what))
}

// One value

/** Shown once, in the answer to the request: no address leads to it and the browser does not cache it. */
export function revealedBody(
  ask: Ask,
  revealed: { name: string; path: string; field: string; reason: string; value: string | null },
): SafeHtml {
  const { t } = ask
  return html`${head(code(revealed.name))}
  ${section(
    t('employees.revealed', { field: fieldName(ask, revealed.field) }),
    html`<div class="stack"><p class="revealed">${
      revealed.value === null || revealed.value === ''
        ? t('common.empty')
        : html`<bdi>${revealed.value}</bdi>`
    }</p>
    <p class="soft">${t('employees.revealed.note', { reason: revealed.reason })}</p>
    <p><a href="${revealed.path}">${t('employees.back')}</a></p></div>`,
  )}`
}
