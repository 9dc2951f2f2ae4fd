import { z } from 'zod'
import { keysOfName } from '../../directory/employee.ts'
import type { PlaceValue } from '../../lib/database.ts'
import { likeBeginning, likeText, lowerAscii } from '../../lib/text.ts'
import { periodMs } from '../../lib/time-text.ts'
import { worded } from '../../texts/message.ts'
import { runAndParts } from '../runs/run.ts'
import { CASE_STATES, type CaseState, openStates, UNRESOLVED } from './cases.ts'

/** Filters of cases: from the console's URL, for a bulk action, and as SQL. */

/** As `assignee`: cases without an assignee. */
export const UNASSIGNED = '-'

/** As `assignee`: cases of the person who looks. No user has such a name. */
export const MINE = '@me'

/** The steps in the story of a case that hold a person's words. SQL has an index of them. */
const PERSONS_WORDS = `v.event in ('commented', 'ignored', 'snoozed')`

/** As in the index: only Latin letters are matched without case. */
export const LOWER_KEY = 'lower(d.entity_key collate "C")'

/** Minimum length of a key fragment; shorter ones have to be a prefix. */
const PART_FROM = 3

/** A value to filter by: an empty one would match all. */
export const soughtText = (most: number) => z.string().trim().min(1).max(most)
/** One value or several, repeated or separated by commas. */
const list = <Item extends z.ZodType>(item: Item) =>
  z.preprocess(
    given => (Array.isArray(given) ? given : [given]).flatMap(one => String(one).split(',')).filter(Boolean),
    z.array(item).min(1).max(50),
  )
/** Most keys that a filter names. */
export const MOST_KEYS = 50

/** Whole keys, as `qualified` writes them; in one text separated by commas, with %2C for a comma and %25 for a percent sign. */
export const keyList = z.preprocess(
  given =>
    typeof given === 'string'
      ? given.split(',').map(key => key.replaceAll('%2C', ',').replaceAll('%25', '%'))
      : given,
  z.array(soughtText(250)).min(1).max(MOST_KEYS),
)

/** The text that `keyList` reads. */
export function keyListText(keys: readonly string[]): string {
  return keys.map(key => key.replaceAll('%', '%25').replaceAll(',', '%2C')).join(',')
}

const number = z.coerce.number().int().min(0).max(Number.MAX_SAFE_INTEGER)
const period = z.string().regex(/^\d{1,4}[hdw]$/, worded('said.give_age'))

/** The fields of the filter. The console's URLs and the shell's options are derived from it. */
export const FIELDS = {
  states: list(z.enum(CASE_STATES)).describe(
    `In one of these states: ${CASE_STATES.join(', ')}; absent: neither resolved nor ignored`,
  ),
  categories: list(soughtText(100)).describe('Of one of these categories'),
  code: number.describe('With this code of the platform'),
  entity: z
    .enum(['employee', 'department', 'mirror', 'enterprise'])
    .describe('Of an employee, a department, a mirror or an enterprise'),
  operation: soughtText(100).describe('Of this operation, such as update-employee'),
  field: soughtText(100).describe('Of this field, such as mobile'),
  enterprise: soughtText(100).describe('Of this enterprise'),
  key: soughtText(120).describe('With this beginning of the key, or part of it from three characters on'),
  keys: keyList.describe(
    `Of these employees: user ids, or enterprise/user id, at most ${MOST_KEYS}, separated by commas`,
  ),
  department: soughtText(100).describe(
    'Of this department (code), or of employees whom the platform shows in this department',
  ),
  assignee: soughtText(200).describe(
    `Assigned to this person; ${MINE}: to the caller; ${UNASSIGNED}: to no one`,
  ),
  run: number.positive().describe('That failed first or last in this run'),
  olderThan: period.describe('That failed first so long ago: 12h, 3d, 2w'),
  from: soughtText(40).describe(
    'That failed last from this day or moment on (ISO 8601), or from so long ago: 12h, 7d, 4w',
  ),
  to: soughtText(40).describe('That failed last until this moment, the end of this day, or so long ago'),
  younger_than: period.describe('That failed first within this time: 12h, 3d, 2w'),
  text: soughtText(200).describe('With this text in a comment, or in the reason of an ignore or snooze'),
  blockedBy: soughtText(120).describe('That wait for a change of this key'),
}

/** Reads a filter that was stored, or the parameters of a URL. Those of other things are ignored. */
export const caseFilterSchema = z.object(FIELDS).partial()
export type CaseFilter = z.output<typeof caseFilterSchema>

/** The filter's fields, in reading order. */
export function describeFilter(filter: CaseFilter): { name: keyof CaseFilter; values: string[] }[] {
  return (Object.keys(FIELDS) as (keyof CaseFilter)[]).flatMap(name => {
    const value = filter[name]
    return value === undefined ? [] : [{ name, values: [value].flat().map(String) }]
  })
}

/** The filter as URL parameters. */
export function filterQuery(filter: CaseFilter): URLSearchParams {
  return new URLSearchParams(
    Object.fromEntries(
      describeFilter(filter).map(({ name, values }) => [
        name,
        name === 'keys' ? keyListText(values) : values.join(','),
      ]),
    ),
  )
}

/** The states that the filter selects: by default those neither resolved nor ignored. */
export function statesOf(filter: CaseFilter): readonly CaseState[] {
  return filter.states ?? [...openStates]
}

/** Whether the filter selects resolved or ignored cases. */
export function includesClosed(filter: CaseFilter): boolean {
  return statesOf(filter).some(state => !openStates.has(state))
}

/** SQL: whether case `d` matches the filter. */
export function caseMatches(filter: CaseFilter, place: PlaceValue): string {
  const conditions = [
    filter.states === undefined ? UNRESOLVED : `d.state = any (${place(filter.states)})`,
    ...(filter.states && !includesClosed(filter) ? [UNRESOLVED] : []),
  ]
  const { categories, code, entity, operation, field, enterprise, key, keys, department, assignee, run } =
    filter
  const { olderThan, younger_than, from, to, text, blockedBy } = filter
  if (categories) conditions.push(`d.category = any (${place(categories)})`)
  if (code !== undefined) conditions.push(`coalesce(d.platform_code, 0) = ${place(code)}`)
  if (entity) conditions.push(`d.entity = ${place(entity)}`)
  if (operation) conditions.push(`d.operation = ${place(operation)}`)
  if (field) conditions.push(`d.field = ${place(field)}`)
  if (enterprise) conditions.push(`d.enterprise_code = ${place(enterprise)}`)
  if (key) conditions.push(hasKey(key, place))
  if (keys) conditions.push(isOfOne(keys, place))
  if (department) conditions.push(ofDepartment(department, place))
  if (assignee) conditions.push(assignee === UNASSIGNED ? 'd.assignee is null' : isOf(assignee, place))
  if (run !== undefined) conditions.push(wasIn(run, place))
  if (olderThan) conditions.push(`d.first_failed_at < ${ago(olderThan, place)}`)
  if (younger_than) {
    // The second condition follows from the first, and bounds what is read in the order of latest failures.
    const since = ago(younger_than, place)
    conditions.push(`d.first_failed_at >= ${since}`, `d.last_failed_at >= ${since}`)
  }
  if (from) conditions.push(`d.last_failed_at >= ${place(from)}::timestamptz`)
  if (to) conditions.push(`d.last_failed_at < ${place(to)}::timestamptz`)
  if (text)
    conditions.push(
      `exists (select from dirsync.dead_letter_event v where v.dead_letter_id = d.id and ${hasWords(text, place)})`,
    )
  if (blockedBy) conditions.push(`d.blocked_by = ${place(blockedBy)}`)
  return conditions.join(' and ')
}

/**
 * SQL: the numbers of a few cases that include all matching ones, each found by an index of its own. For unresolved cases a key
 * may be anywhere in the case's key; for the many resolved ones it has to be a prefix.
 */
export function narrow(filter: CaseFilter, place: PlaceValue): string | null {
  const { key, keys, run, assignee, blockedBy, department, text } = filter
  if (run !== undefined) return `select d.id from dirsync.dead_letter d where ${wasIn(run, place)}`
  if (blockedBy) return `select d.id from dirsync.dead_letter d where d.blocked_by = ${place(blockedBy)}`
  if (keys) return `select d.id from dirsync.dead_letter d where ${isOfOne(keys, place)}`
  if (key) {
    const beginning = keyBegins(key, place)
    const isPart = key.length >= PART_FROM && statesOf(filter).some(state => openStates.has(state))
    if (!isPart) return `select d.id from dirsync.dead_letter d where ${beginning}`
    return `(select d.id from dirsync.dead_letter d where ${beginning})
            union
            (select d.id from dirsync.dead_letter d where ${openKeyHas(key, place)})`
  }
  if (assignee && assignee !== UNASSIGNED)
    return `select d.id from dirsync.dead_letter d where ${isOf(assignee, place)}`
  if (text)
    return `select distinct v.dead_letter_id as id from dirsync.dead_letter_event v where ${hasWords(text, place)}`
  if (department) {
    const code = place(department)
    return `(select d.id from dirsync.employee e
             join dirsync.dead_letter d on d.enterprise_code = e.enterprise_code and d.entity_key = e.userid
             where e.dept_code = ${code})
            union
            (select d.id from dirsync.dead_letter d where lower(d.entity_key collate "C") = lower(${code} collate "C"))`
  }
  return null
}

/** Users are stored in lower case, others as they were typed. */
function isOf(assignee: string, place: PlaceValue): string {
  return `d.assignee = any (${place([assignee, assignee.toLowerCase()])})`
}

function ago(time: string, place: PlaceValue): string {
  return `now() - ${place(periodMs(time))} * interval '1 millisecond'`
}

function hasWords(text: string, place: PlaceValue): string {
  return `${PERSONS_WORDS} and v.note ilike ${place(`%${likeText(text)}%`)}`
}

function ofDepartment(department: string, place: PlaceValue): string {
  const code = place(department)
  return `(d.entity = 'department' and d.entity_key = ${code}
           or d.entity = 'employee' and exists (
             select from dirsync.employee e
             where e.enterprise_code = d.enterprise_code and e.userid = d.entity_key and e.dept_code = ${code}))`
}

function hasKey(key: string, place: PlaceValue): string {
  const beginning = keyBegins(key, place)
  return key.length < PART_FROM ? beginning : `(${beginning} or ${openKeyHas(key, place)})`
}

function keyBegins(key: string, place: PlaceValue): string {
  return `${LOWER_KEY} like ${place(likeBeginning(lowerAscii(key)))}`
}

function openKeyHas(part: string, place: PlaceValue): string {
  return `${UNRESOLVED} and ${LOWER_KEY} like ${place(`%${likeBeginning(lowerAscii(part))}`)}`
}

/** A user id without its enterprise means the employee without one; where HR has none, that of any. */
function isOfOne(names: readonly string[], place: PlaceValue): string {
  const userids = names.flatMap(keysOfName).map(({ userid }) => lowerAscii(userid))
  const named = place(names)
  // The first condition is for the index.
  return `${LOWER_KEY} = any (${place(userids)}) and d.entity = 'employee'
          and (d.enterprise_code <> '' and d.enterprise_code || '/' || d.entity_key = any (${named})
               or d.entity_key = any (${named})
                  and (d.enterprise_code = ''
                       or not exists (select from dirsync.employee e
                                      where e.enterprise_code = '' and e.userid = d.entity_key
                                        and e.vanished_at is null)))`
}

function wasIn(run: number, place: PlaceValue): string {
  const runs = runAndParts(place(run))
  return `(d.first_run_id = any (${runs}) or d.last_run_id = any (${runs}))`
}
