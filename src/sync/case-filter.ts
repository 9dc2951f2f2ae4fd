import { z } from 'zod'
import { CASE_STATES, type CaseState, openStates } from './cases.ts'

/** Which cases: what an address of the console says, what a bulk action keeps, and the SQL that finds them. */

/** As `assignee`: cases that nobody takes care of. */
export const NOBODYS = '-'

/** As the index has it: only Latin capitals are the same as small letters. */
const LOWER_KEY = 'lower(d.entity_key collate "C")'

/** A part of a key is looked for from so many characters on; fewer have to be its beginning. */
const PART_FROM = 3

const text = (most: number) => z.string().trim().min(1).max(most)
/** One value or several, repeated or with commas between them. */
const list = <Item extends z.ZodType>(item: Item) =>
  z.preprocess(
    given => (Array.isArray(given) ? given : [given]).flatMap(one => String(one).split(',')).filter(Boolean),
    z.array(item).min(1).max(50),
  )
const number = z.coerce.number().int().min(0).max(Number.MAX_SAFE_INTEGER)
const period = z.string().regex(/^\d{1,4}[hdw]$/)

export const FIELDS = {
  states: list(z.enum(CASE_STATES)),
  categories: list(text(100)),
  code: number,
  entity: z.enum(['employee', 'department', 'mirror', 'enterprise']),
  operation: text(100),
  field: text(100),
  enterprise: text(100),
  /** The beginning of a key, or a part of three characters or more; capitals do not matter. */
  key: text(120),
  /** A name, or `-` for cases that nobody takes care of. */
  assignee: text(200),
  /** A run in which the case failed first or last. */
  run: number,
  /** Since the first failure: 12h, 3d, 2w. */
  olderThan: period,
  /** The key that has to change first. */
  blockedBy: text(120),
}

/**
 * Reads a filter from the parameters of an address. Empty parameters are as good as none, and those that are not part of a
 * filter are left out.
 */
export const caseFilterSchema = z.preprocess(
  withoutEmpty,
  z.object(FIELDS).partial(),
) as unknown as z.ZodType<CaseFilter>

export type CaseFilter = {
  [Name in keyof typeof FIELDS]?: z.output<(typeof FIELDS)[Name]> | undefined
}

function withoutEmpty(given: unknown): unknown {
  if (typeof given !== 'object' || given === null) return given
  return Object.fromEntries(
    Object.entries(given).filter(([, value]) => value !== '' && value !== undefined && value !== null),
  )
}

/** What is filtered by, in the order in which people read it. */
export function describeFilter(filter: CaseFilter): { name: keyof CaseFilter; values: string[] }[] {
  return (Object.keys(FIELDS) as (keyof CaseFilter)[]).flatMap(name => {
    const value = filter[name]
    return value === undefined ? [] : [{ name, values: [value].flat().map(String) }]
  })
}

/** The filter as parameters of an address. */
export function filterQuery(filter: CaseFilter): URLSearchParams {
  return new URLSearchParams(
    Object.fromEntries(describeFilter(filter).map(({ name, values }) => [name, values.join(',')])),
  )
}

/** The states that the filter lets through: without a word those that are neither resolved nor ignored. */
export function statesOf(filter: CaseFilter): readonly CaseState[] {
  return filter.states ?? [...openStates]
}

/** Whether the filter lets cases through that are resolved or ignored. */
export function includesClosed(filter: CaseFilter): boolean {
  return statesOf(filter).some(state => !openStates.has(state))
}

/** Values of a statement, and the place of each. */
export class Values {
  readonly all: unknown[] = []

  /** Adds a value. Returns its placeholder. */
  add(value: unknown): string {
    this.all.push(value)
    return `$${this.all.length}`
  }
}

/** SQL: whether case `d` matches the filter. */
export function matches(filter: CaseFilter, values: Values): string {
  const conditions = [
    // Said as the partial indexes say it.
    filter.states === undefined
      ? `d.state not in ('resolved', 'ignored')`
      : `d.state = any (${values.add(filter.states)})`,
    ...(filter.states && !includesClosed(filter) ? [`d.state not in ('resolved', 'ignored')`] : []),
  ]
  const { categories, code, entity, operation, field, enterprise, key, assignee, run, olderThan, blockedBy } =
    filter
  if (categories) conditions.push(`d.category = any (${values.add(categories)})`)
  if (code !== undefined) conditions.push(`coalesce(d.platform_code, 0) = ${values.add(code)}`)
  if (entity) conditions.push(`d.entity = ${values.add(entity)}`)
  if (operation) conditions.push(`d.operation = ${values.add(operation)}`)
  if (field) conditions.push(`d.field = ${values.add(field)}`)
  if (enterprise) conditions.push(`d.enterprise_code = ${values.add(enterprise)}`)
  if (key) conditions.push(hasKey(key, values))
  if (assignee)
    conditions.push(assignee === NOBODYS ? 'd.assignee is null' : `d.assignee = ${values.add(assignee)}`)
  if (run !== undefined) conditions.push(wasIn(run, values))
  if (olderThan)
    conditions.push(
      `d.first_failed_at < now() - ${values.add(millisecondsOf(olderThan))} * interval '1 millisecond'`,
    )
  if (blockedBy) conditions.push(`d.blocked_by = ${values.add(blockedBy)}`)
  return conditions.join(' and ')
}

/**
 * SQL: the numbers of few cases among which all that match are, each by an index of its own. A key may be anywhere in the
 * key of a case that is not resolved; of the many resolved ones it has to be the beginning.
 */
export function narrow(filter: CaseFilter, values: Values): string | null {
  const { key, run, assignee, blockedBy } = filter
  if (run !== undefined) return `select d.id from dirsync.dead_letter d where ${wasIn(run, values)}`
  if (blockedBy) return `select d.id from dirsync.dead_letter d where d.blocked_by = ${values.add(blockedBy)}`
  if (key) {
    const beginning = `${LOWER_KEY} like ${values.add(`${pattern(key)}%`)}`
    const isPart = key.length >= PART_FROM && statesOf(filter).some(state => openStates.has(state))
    if (!isPart) return `select d.id from dirsync.dead_letter d where ${beginning}`
    return `(select d.id from dirsync.dead_letter d where ${beginning})
            union
            (select d.id from dirsync.dead_letter d
             where d.state not in ('resolved', 'ignored')
               and ${LOWER_KEY} like ${values.add(`%${pattern(key)}%`)})`
  }
  if (assignee && assignee !== NOBODYS)
    return `select d.id from dirsync.dead_letter d where d.assignee = ${values.add(assignee)}`
  return null
}

function hasKey(key: string, values: Values): string {
  const beginning = `${LOWER_KEY} like ${values.add(`${pattern(key)}%`)}`
  if (key.length < PART_FROM) return beginning
  return `(${beginning} or d.state not in ('resolved', 'ignored')
           and ${LOWER_KEY} like ${values.add(`%${pattern(key)}%`)})`
}

/** For LIKE, in which these three characters mean something. */
function pattern(key: string): string {
  return key.replace(/[A-Z]/g, capital => capital.toLowerCase()).replace(/[\\%_]/g, '\\$&')
}

function wasIn(run: number, values: Values): string {
  const place = values.add(run)
  return `(d.first_run_id = ${place} or d.last_run_id = ${place})`
}

const UNITS = { h: 3_600_000, d: 86_400_000, w: 604_800_000 }

function millisecondsOf(text: string): number {
  return Number(text.slice(0, -1)) * UNITS[text.slice(-1) as keyof typeof UNITS]
}
