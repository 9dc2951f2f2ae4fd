import { setImmediate } from 'node:timers/promises'
import type { CallRecord } from '../../emulator/call-log.ts'
import { type Department, DepartmentWatch, type Tree } from '../simulation/departments.ts'
import type { Chaos } from './disturbances.ts'

/** The departments of the invented company, and whether each deletion was due. */

export const TOP = 'D0'
export const TREE: Tree = {
  ...{ [TOP]: null, D1: TOP, D2: TOP, D3: TOP },
  ...{ D4: 'D1', D5: 'D1', D6: 'D1', D7: 'D2', D8: 'D2', D9: 'D2', D10: 'D3', D11: 'D3', D12: 'D3' },
  ...{ D13: 'D4', D14: 'D4', D15: 'D7' },
}
export const CODES = Object.keys(TREE)

/** How long they stay once HR has closed them. */
export const GRACE_S = 8

/** A department with all that are above it, or below it. */
export function upFrom(code: string): string[] {
  const parent = TREE[code]
  return parent ? [...upFrom(parent), code] : [code]
}

export function downFrom(code: string): string[] {
  return CODES.filter(other => upFrom(other).includes(code))
}

/** As the emulator is given it. */
export function seedOf(code: string): object {
  return { dept_code: code, dept_name: code, parent_code: TREE[code], base: code === TOP }
}

/** What HR's database has written down about itself. */
export interface Change {
  of: 'person' | 'department'
  key: string
  /** The department of a person, or whether a department is open. */
  value: string
  /** Milliseconds since 1970. */
  at: number
}

/** All jobs of a run share a reading of HR for as long; the clocks of their servers are the machine's. */
const READ_BEFORE_MS = 30_000 + 1000
/** A worker of whose call no attempt tells, because it was killed, may have stood still before. */
const UNSEEN_MS = READ_BEFORE_MS + 90_000

/**
 * Plays what HR and the platform have written down once more, in the order in which it happened.
 * @returns departments that were deleted although something had kept them ever since the worker began to read HR
 */
export async function undueDeletions({ company, platform, db }: Chaos): Promise<string[]> {
  const { rows: attempts } = await db.query<{ code: string; from: number; to: number }>(
    `select entity_key as code, t as "from", t + duration_ms as to
     from dirsync.attempt cross join lateral (select (extract(epoch from started_at) * 1000)::float8 as t) started
     where operation = 'delete-department' and calls ? 'department/delete' order by started_at`,
  )
  const [people, departments] = [new Map<string, Employee>(), new Map<string, Department>()]
  const employees = new Map<string, { dept_code: string | null }>(
    company.people.map(({ userid, dept_code }) => [userid, { dept_code }]),
  )
  const kept = new Set(CODES)
  const directory = { tree: TREE, hr: { people, departments }, platform: { employees, departments: kept } }
  const watch = new DepartmentWatch(directory, GRACE_S * 1000)
  const breaches: string[] = []
  const events: { at: number; happen(): void }[] = []
  for (const { of, key, value, at } of await company.past())
    events.push({
      at,
      happen: () =>
        of === 'person'
          ? people.set(key, { dept_code: value, active: true })
          : departments.set(key, { parent: TREE[key] ?? null, active: value === 'true' }),
    })
  for (const { at, codes } of platform.putBack)
    events.push({ at, happen: () => codes.forEach(code => void kept.add(code)) })
  for (const call of platform.calls.filter(({ code }) => code === 0)) {
    const { id, operation, params } = call
    const at = effectOf(call)
    const code = String(params.dept_code)
    if (operation === 'employee/update' && params.dept_code !== undefined)
      events.push({ at, happen: () => employees.set(String(params.userid), { dept_code: code }) })
    if (operation !== 'department/delete') continue
    const called = Date.parse(call.at)
    const attempt = attempts.find(each => each.code === code && each.from <= called && called <= each.to)
    const begun = attempt ? attempt.from - READ_BEFORE_MS : called - UNSEEN_MS
    events.push({ at: begun, happen: () => watch.begins(String(id), code) })
    events.push({
      at,
      happen: () => {
        const objections = watch.objections(String(id), code)
        breaches.push(...objections.map(why => `${code} was deleted by call ${id} although ${why}`))
        kept.delete(code)
        for (const held of employees.values()) if (held.dept_code === code) held.dept_code = null
      },
    })
  }
  let now = events[0]?.at ?? 0
  for (const [i, { at, happen }] of events.toSorted((a, b) => a.at - b.at).entries()) {
    // After hours of chaos they take a while, and servers close connections that nobody serves.
    if (i % 1000 === 0) await setImmediate()
    watch.look((at - now) / 1000)
    now = at
    happen()
    watch.look()
  }
  return breaches
}

interface Employee {
  dept_code: string
  active: boolean
}

/** When a call took effect: the emulator notes when it came, and how long it took. */
function effectOf({ at, durationMs }: CallRecord): number {
  return Date.parse(at) + durationMs
}
