import { openStates } from '../../sync/cases/cases.ts'
import { type MessageKey, type Said, saysFirst } from '../../texts/message.ts'
import { type EmployeeStory, employeeStatusOf, waitingUpdateOf } from './story.ts'

/**
 * How an employee stands in five steps, by the last attempt or by what waits since: HR's row is read, it is in scope, it is
 * validated, the platform is queried, and differences are sent. Pure: derived from the employee's story alone.
 */

export const STEPS = ['read', 'in_scope', 'checked', 'asked', 'sent'] as const
export type StepName = (typeof STEPS)[number]

/** `waiting`: continues by itself. `failed`: needs a person, and the remedy says what to do. */
export type StepState = 'done' | 'skipped' | 'failed' | 'waiting'

/** The keys of the texts about a step, without the prefix `step.`. */
export const STEP_TEXTS = [
  'read_row',
  'read_hr_away',
  'read_not_yet',
  'read_no_source',
  'in_scope_yes',
  'scope_left',
  'scope_vanished',
  'scope_left_in_service',
  'scope_unknown',
  'checked_passed',
  'checked_left',
  'checked_rules_broken',
  'checked_row_changed',
  'checked_not_yet',
  'checked_held',
  'checked_approved',
  'checked_rejected',
  'checked_named',
  'checked_gave_up',
  'checked_unsettled',
  'asked_in_service',
  'asked_absent',
  'asked_refused',
  'asked_another_person',
  'asked_again',
  'asked_halted',
  'asked_queued',
  'asked_doubted',
  'put_off',
  'taken_back',
  'asked_not_needed',
  'sent_nothing',
  'sent_fields',
  'sent_partly',
  'sent_held_back',
  'sent_again',
  'sent_bound',
  'sent_deleted',
  'sent_not_stored',
  'not_reached',
] as const
export type StepText = (typeof STEP_TEXTS)[number]

export interface Step {
  step: StepName
  state: StepState
  /** When it ended; null if it has not been reached, or its time is not stored. */
  at: Date | null
  text: StepText
  values: Record<string, string | number | Said>
  remedy: Said | null
  /** The case of the remedy. */
  case_id: number | null
}

type Attempt = EmployeeStory['attempts'][number]
type Case = EmployeeStory['dead_letters'][number]
type Held = NonNullable<NonNullable<EmployeeStory['record']>['held']>

/** A step without its name and its time. */
type Told = Omit<Step, 'step' | 'at'>

/** How things stand: the latest attempt in steps, unless it is no longer about what is to be sent. */
export function stepsNow(story: EmployeeStory): Step[] {
  const attempt = latestOf(story)
  return stepsOf(attempt && isPast(attempt, story) ? { ...story, attempts: [] } : story)
}

/** Those of a run that ended before it came to the employee. */
export function stepsNotReached(): Step[] {
  return STEPS.map(step => ({ step, at: null, ...NOT_REACHED }))
}

const COMES_BACK: ReadonlySet<string> = new Set(['retry', 'wait', 'halted', 'replan'])

/** Whether other work has been planned since, or the employee is out of sync or in sync for another reason. */
function isPast({ operation, outcome, started_at }: Attempt, story: EmployeeStory): boolean {
  const work = waitingUpdateOf(story)
  if (operation !== 'update-employee') return work !== undefined || isOutOfSync(story)
  const comesBack = COMES_BACK.has(outcome)
  if (work) return !comesBack || work.created_at > started_at
  return story.record?.status === 'no_source' || isInDoubt(story) || comesBack !== isOutOfSync(story)
}

/** HR's row is still to be sent, and no decision about a run holds it back. */
function isOutOfSync({ record }: EmployeeStory): boolean {
  return record !== null && ['waiting', 'halted', 'no_source'].includes(record.status)
}

/** Nothing but a full run, or a person, has the platform asked about them. */
function isInDoubt(story: EmployeeStory): boolean {
  return story.record?.doubted === true && isOutOfSync(story) && !waitingUpdateOf(story)
}

function latestOf({ attempts }: EmployeeStory): Attempt | undefined {
  return attempts.find(({ operation }) => operation === 'update-employee') ?? attempts[0]
}

/** Always five, in order. */
export function stepsOf(story: EmployeeStory): Step[] {
  const attempt = latestOf(story)
  const waits = story.record?.held
  const said = waits ? ofHeld(story, waits) : attempt ? ofAttempt(attempt, story) : withoutAttempt(story)
  return said.flatMap((one, i) => {
    const step = STEPS[i]
    return step ? [{ step, at: timeOf(step, one, attempt, story), ...one }] : []
  })
}

type Five = readonly [Told, Told, Told, Told, Told]

function timeOf(step: StepName, said: Told, attempt: Attempt | undefined, story: EmployeeStory) {
  if (said.state !== 'done' && said.state !== 'failed') return null
  if (!attempt) return step === 'asked' || step === 'sent' ? (story.record?.acknowledged_at ?? null) : null
  const ended = new Date(attempt.started_at.getTime() + attempt.duration_ms)
  return step === 'asked' || step === 'sent' ? ended : attempt.started_at
}

function say(state: StepState, text: StepText, values: Step['values'] = {}, about?: Case): Told {
  return { state, text, values, remedy: about?.remedy ?? null, case_id: about?.id ?? null }
}

const READ = say('done', 'read_row')
const IN_SCOPE = say('done', 'in_scope_yes')
const PASSED = say('done', 'checked_passed')
/** Of a leaver's row only the key is checked, and HR may have none. */
const PASSED_AS_LEFT = say('done', 'checked_left')
const FOUND = say('done', 'asked_in_service')
const NOT_NEEDED = say('skipped', 'asked_not_needed')
const NOTHING = say('skipped', 'sent_nothing')
const NOT_REACHED = say('skipped', 'not_reached')
const FOUR_NOT_REACHED = [NOT_REACHED, NOT_REACHED, NOT_REACHED, NOT_REACHED] as const
const LATER = say('waiting', 'not_reached')

/** A run is held, or was rejected, so the latest attempt is about an older row. */
function ofHeld(story: EmployeeStory, { run, approved, decided_at, rejected }: Held): Five {
  const { status } = story.record ?? {}
  if (waitingUpdateOf(story)?.named)
    return [READ, scopeOfHeld(story), say('skipped', 'checked_named', { run }), turnOf(story), LATER]
  const waits = approved ? 'checked_approved' : decided_at ? 'checked_row_changed' : 'checked_held'
  if (!rejected) return [READ, scopeOfHeld(story), say('waiting', waits, { run }), LATER, LATER]
  const scope = status === 'rejected' ? IN_SCOPE : outOfScope(story)
  return [READ, scope, say('skipped', 'checked_rejected', { run }), NOT_REACHED, NOT_REACHED]
}

// By the outcome of the attempt

function ofAttempt(attempt: Attempt, story: EmployeeStory): Five {
  const { outcome, fields } = attempt
  const sent = { fields: fields.join(', '), count: fields.length }
  switch (outcome) {
    case 'in_sync':
      return [READ, IN_SCOPE, PASSED, FOUND, NOTHING]
    case 'updated':
      return [READ, IN_SCOPE, PASSED, FOUND, say('done', 'sent_fields', sent)]
    case 'partly_updated':
      return [READ, IN_SCOPE, PASSED, FOUND, partlySent(attempt, story)]
    case 'bound':
      return [READ, IN_SCOPE, PASSED, NOT_NEEDED, say('done', 'sent_bound', { merchant: attempt.detail })]
    case 'deleted':
      return [READ, IN_SCOPE, PASSED, NOT_NEEDED, say('done', 'sent_deleted')]
    case 'awaiting_activation': {
      const about = caseOf(attempt, story, 'not_on_platform')
      return [READ, IN_SCOPE, PASSED, say('waiting', 'asked_absent', next(about), about), LATER]
    }
    case 'left':
      return [READ, outOfScope(story), PASSED_AS_LEFT, say('done', 'asked_absent'), NOTHING]
    case 'parked':
      return parked(attempt, story)
    case 'retry':
    case 'wait':
    case 'halted':
      return comesBack(attempt, story)
    case 'obsolete':
      // No HR source has the enterprise any more.
      if (attempt.error !== null)
        return [say('failed', 'read_hr_away', { message: attempt.error }), ...FOUR_NOT_REACHED]
      return [READ, outOfScope(story), NOT_REACHED, NOT_REACHED, NOT_REACHED]
    case 'replan':
      return [READ, IN_SCOPE, say('waiting', 'checked_row_changed'), LATER, LATER]
    default:
      return [READ, IN_SCOPE, PASSED, NOT_REACHED, NOT_REACHED]
  }
}

function scopeOfHeld({ record }: EmployeeStory): Told {
  const gone = record?.held?.gone
  return gone ? say('skipped', `scope_${gone}`) : IN_SCOPE
}

function outOfScope({ record }: EmployeeStory): Told {
  return say(
    'skipped',
    record?.vanished_at || record?.status === 'vanished' ? 'scope_vanished' : 'scope_left',
  )
}

function partlySent(attempt: Attempt, story: EmployeeStory): Told {
  const { fields } = attempt
  const about = caseOf(attempt, story)
  const held = heldFields(story)
  return say('failed', 'sent_partly', { fields: fields.join(', '), count: fields.length, held }, about)
}

/** The fields of unresolved and accepted cases, and those that are withheld from all employees. */
function heldFields({ dead_letters, record }: EmployeeStory): string {
  const open = dead_letters.filter(({ state }) => state !== 'resolved').map(({ field }) => field)
  return [...new Set([...open, ...(record?.withheld ?? [])])].filter(Boolean).join(', ')
}

/** A person has to act. The step follows from what the case is about, and from the calls made. */
function parked(attempt: Attempt, story: EmployeeStory): Five {
  const about = caseOf(attempt, story)
  const reason = { message: attempt.error ?? about?.message ?? '' }
  const category = about?.category
  const asked = (attempt.calls['employee/get'] ?? 0) > 0
  if (category === 'left_hr')
    return [READ, say('failed', 'scope_left_in_service', reason, about), PASSED_AS_LEFT, FOUND, NOTHING]
  if (category === 'invalid_hr_row')
    return [READ, IN_SCOPE, say('failed', 'checked_rules_broken', reason, about), NOT_REACHED, NOT_REACHED]
  if (category === 'another_person')
    return [READ, IN_SCOPE, PASSED, say('failed', 'asked_another_person', reason, about), NOT_REACHED]
  if (category === 'unsettled_hr_row')
    return [READ, IN_SCOPE, say('failed', 'checked_unsettled', reason, about), NOT_REACHED, NOT_REACHED]
  if (category === 'internal_error')
    return [
      READ,
      IN_SCOPE,
      PASSED,
      asked ? FOUND : NOT_REACHED,
      say('failed', 'sent_not_stored', reason, about),
    ]
  if ((attempt.calls['employee/openid'] ?? 0) > 0)
    return [
      READ,
      IN_SCOPE,
      PASSED,
      NOT_NEEDED,
      say('failed', 'sent_held_back', { held: attempt.detail }, about),
    ]
  if (!asked && attempt.error === null)
    return [READ, IN_SCOPE, say('failed', 'checked_gave_up', reason, about), NOT_REACHED, NOT_REACHED]
  const isOfFields = about === undefined || about.field !== '' || (attempt.calls['employee/update'] ?? 0) > 0
  if (isOfFields) {
    const held = heldFields(story)
    return [READ, IN_SCOPE, PASSED, FOUND, say('failed', 'sent_held_back', { held }, about)]
  }
  return [READ, IN_SCOPE, PASSED, say('failed', 'asked_refused', reason, about), NOT_REACHED]
}

/** It will be retried by itself, after some time or once a halt has ended, unless it was taken back. */
function comesBack(attempt: Attempt, story: EmployeeStory): Five {
  const { calls, outcome, error, platform_code } = attempt
  const [halt] = story.halts
  const values = { message: error ?? halt?.message ?? '' }
  const isCalled = Object.keys(calls).length > 0
  const isSent = (calls['employee/update'] ?? 0) > 0
  if (attempt.operation === 'update-employee' && !waitingUpdateOf(story) && isOutOfSync(story)) {
    const taken = say('skipped', 'taken_back')
    return isSent ? [READ, IN_SCOPE, PASSED, FOUND, taken] : [READ, IN_SCOPE, PASSED, taken, NOT_REACHED]
  }
  // It was asked for anew, or taken back, just before it would have been sent.
  if (outcome === 'retry' && error === null)
    return [READ, IN_SCOPE, PASSED, FOUND, say('waiting', 'asked_queued')]
  if (outcome === 'halted' && !isCalled && error !== null)
    return [
      { ...say('waiting', 'read_hr_away', values), remedy: halt?.remedy ?? null },
      LATER,
      LATER,
      LATER,
      LATER,
    ]
  if (isSent) {
    // A code that asks for a repetition may come after the effect.
    const isRefused = outcome === 'wait' ? !isGivenUp(error) : outcome === 'halted' && platform_code !== null
    return [READ, IN_SCOPE, PASSED, FOUND, say('waiting', isRefused ? 'put_off' : 'sent_again', values)]
  }
  if (outcome === 'halted' && halt) {
    const stopped = { ...say('waiting', 'asked_halted', values), remedy: halt.remedy }
    // Without a call, the halt was in force before HR was read.
    return isCalled ? [READ, IN_SCOPE, PASSED, stopped, LATER] : [LATER, LATER, LATER, stopped, LATER]
  }
  if (outcome === 'halted' && !isCalled)
    return [READ, IN_SCOPE, PASSED, say('waiting', 'asked_queued'), LATER]
  if (saysFirst(error) === ('said.other_mapping' satisfies MessageKey))
    return [READ, IN_SCOPE, say('waiting', 'checked_unsettled', values), LATER, LATER]
  const text = outcome === 'wait' || platform_code !== null ? 'put_off' : 'asked_again'
  return [READ, IN_SCOPE, PASSED, say('waiting', text, values), LATER]
}

/** dirsync ended the call itself, perhaps on its way. */
function isGivenUp(error: Said | null): boolean {
  return saysFirst(error) === ('circumstance.aborted.meaning' satisfies MessageKey)
}

// Without an attempt: attempts are kept for a month only, or the first one is still to come

function withoutAttempt(story: EmployeeStory): Five {
  const { record } = story
  const work = waitingUpdateOf(story)
  if (!record && !work && employeeStatusOf(story) === 'no_source')
    return [say('skipped', 'read_no_source'), ...FOUR_NOT_REACHED]
  if (!record && !work)
    return [say('waiting', 'read_not_yet'), say('waiting', 'scope_unknown'), LATER, LATER, LATER]
  if (work?.replan_at) return [READ, IN_SCOPE, say('waiting', 'checked_row_changed'), LATER, LATER]
  const isGone = record?.vanished_at || record?.active === false
  if (work && isGone) return [READ, outOfScope(story), PASSED_AS_LEFT, turnOf(story), LATER]
  if (work) return [READ, IN_SCOPE, PASSED, turnOf(story), LATER]
  if (record?.status === 'no_source') return [say('skipped', 'read_no_source'), ...FOUR_NOT_REACHED]
  if (isGone) return [READ, outOfScope(story), NOT_REACHED, NOT_REACHED, NOT_REACHED]
  if (record?.in_sync) return [READ, IN_SCOPE, PASSED, FOUND, NOTHING]
  if (isInDoubt(story)) return [READ, IN_SCOPE, PASSED, say('waiting', 'asked_doubted'), LATER]
  // A case of someone who is out of sync is about an older row.
  const about = isOutOfSync(story) ? undefined : story.dead_letters.find(isOpen)
  if (about)
    return [READ, IN_SCOPE, PASSED, FOUND, say('failed', 'sent_held_back', { held: about.field }, about)]
  return [READ, IN_SCOPE, say('waiting', 'checked_not_yet'), LATER, LATER]
}

/** What their work in the outbox waits for. */
function turnOf({ halts: [halt] }: EmployeeStory): Told {
  if (!halt) return say('waiting', 'asked_queued')
  return { ...say('waiting', 'asked_halted', { message: halt.message }), remedy: halt.remedy }
}

function isOpen({ state }: Case): boolean {
  return openStates.has(state)
}

/** The case in which the attempt ended: the one with the same category, else the open one. */
function caseOf(attempt: Attempt, { dead_letters }: EmployeeStory, category?: string): Case | undefined {
  const own = dead_letters.filter(
    found => found.operation === attempt.operation && found.state !== 'resolved',
  )
  return (
    own.find(found => found.category === category) ??
    own.find(found => saysFirst(found.message) === saysFirst(attempt.error)) ??
    own.find(isOpen) ??
    own[0]
  )
}

function next(about: Case | undefined): Record<string, string> {
  return about?.next_retry_at ? { next: about.next_retry_at.toISOString() } : {}
}
