import { qualified } from '../../src/directory/employee.ts'
import type { CallOptions } from '../../src/platform/caller.ts'
import type { PlatformClient } from '../../src/platform/client.ts'
import { PlatformError, type PlatformFailure } from '../../src/platform/errors.ts'
import { codesOf, TREE } from './departments.ts'
import type { Process } from './process.ts'
import type { SimulatedProcess, StandsStill } from './schedule.ts'
import { enterpriseOf, keyOf } from './stage.ts'

/** What the platform holds of an employee. */
export interface Held {
  name: string
  mobile: string
  remark: string
  dept_code: string
}

/** What a call meets instead of its answer. `lost`: it has its effect, and no answer comes. */
export type Fault = 'lost' | 'reset' | 'unavailable' | 'not_json' | 'wrong_secret'

interface EmployeeQuery {
  enterprise_code?: string
  userid?: string
  mobile?: string
  seller_appid?: string
}

interface InFlight {
  operation: string
  name: string
  by: SimulatedProcess
}

const WRITES = ['employee/update', 'department/delete']

/**
 * The platform as its specification has it, where it matters for orders of events: one call after the other takes effect, a
 * mobile number belongs to one employee of an enterprise, the department above all others stays, a call may be lost before or
 * after its effect. It notes what no platform should see.
 */
export class SimulatedPlatform implements StandsStill {
  /** By name: `enterprise/userid`, or a user id alone. */
  readonly employees = new Map<string, Held>()
  readonly departments = new Set<string>()
  /** Those that were deleted, and that somebody has created again. */
  readonly recreated = new Set<string>()
  /** By the name of the employee and the merchant. */
  readonly openids = new Map<string, string>()
  still: Promise<void> | null = null
  /** Breaches of what must always hold. */
  readonly breaches: string[] = []
  /** What the next calls meet. */
  readonly faults: Fault[] = []
  /** Called for each update that takes effect or may, before it does. */
  onUpdate: (name: string, sent: Partial<Held>) => Promise<void> = async () => {}
  /** The same for each deletion of a department. */
  onDelete: (by: Process, name: string) => void = () => {}
  onEffect: () => void = () => {}
  readonly #inFlight = new Set<InFlight>()
  readonly #step: (process: SimulatedProcess, label: string) => Promise<void>

  constructor(step: (process: SimulatedProcess, label: string) => Promise<void>) {
    this.#step = step
  }

  reset(employees: Iterable<[string, Held]>): void {
    this.employees.clear()
    for (const [name, held] of employees) this.employees.set(name, { ...held })
    this.breaches.length = 0
    this.faults.length = 0
    this.#inFlight.clear()
    this.departments.clear()
    this.recreated.clear()
    this.openids.clear()
    for (const employee of this.employees.keys())
      for (const name of codesOf(enterpriseOf(employee))) this.departments.add(name)
  }

  /** Somebody creates a department, if there is none. */
  openDepartment(name: string): void {
    if (this.departments.has(name)) return
    this.departments.add(name)
    this.recreated.add(name)
  }

  /** The calls of a process that has died are on their way no longer: some have arrived. */
  forget(process: SimulatedProcess): void {
    for (const call of this.#inFlight) if (call.by === process) this.#inFlight.delete(call)
  }

  /** @param writes whether only these count */
  isCalled(writes: boolean): boolean {
    return [...this.#inFlight].some(({ operation }) => !writes || WRITES.includes(operation))
  }

  isCalledBy(process: SimulatedProcess): boolean {
    return [...this.#inFlight].some(({ by }) => by === process)
  }

  /** The client of a process: what a job needs of `PlatformClient`. */
  client(process: Process): PlatformClient {
    const call = <T>(
      operation: string,
      name: string,
      effect: () => Promise<T> | T,
      options: CallOptions = {},
    ) => this.#call(process, operation, name, effect, options)
    return {
      employees: {
        get: ({ enterprise_code = '', userid, mobile }: EmployeeQuery, options?: CallOptions) => {
          const name = userid === undefined ? '' : qualified(enterprise_code, userid)
          const isMeant = ([other, held]: [string, Held]) =>
            other === name || (enterpriseOf(other) === enterprise_code && held.mobile === mobile)
          return call(
            'employee/get',
            name,
            () => {
              const found = [...this.employees].find(isMeant)
              if (!found) throw refused('employee/get', 1000220096)
              return { userid: keyOf(found[0]), ...found[1], mobile_area: 86 }
            },
            options,
          )
        },
        update: (params: EmployeeQuery & Partial<Held>, options?: CallOptions) => {
          const { enterprise_code = '', userid = '', name, mobile, remark, dept_code } = params
          const employee = qualified(enterprise_code, userid)
          return call(
            'employee/update',
            employee,
            async () => {
              const sent = Object.fromEntries(
                Object.entries({ name, mobile, remark, dept_code }).filter(
                  ([, value]) => value !== undefined,
                ),
              ) as Partial<Held>
              await this.onUpdate(employee, sent)
              const held = this.employees.get(employee)
              if (!held) throw refused('employee/update', 1000220096)
              for (const [other, { mobile: taken }] of this.employees)
                if (other !== employee && enterpriseOf(other) === enterprise_code && taken === mobile)
                  throw refused('employee/update', 1002218007)
              if (dept_code !== undefined && !this.departments.has(qualified(enterprise_code, dept_code)))
                throw refused('employee/update', 1000220010)
              Object.assign(held, sent)
              return ''
            },
            options,
          )
        },
        openid: (
          { enterprise_code = '', userid = '', seller_appid }: EmployeeQuery,
          options?: CallOptions,
        ) => {
          const name = qualified(enterprise_code, userid)
          return call(
            'employee/openid',
            name,
            () => {
              if (!this.employees.has(name)) throw refused('employee/openid', 1000220096)
              const key = `${name} ${seller_appid}`
              const open_userid = this.openids.get(key) ?? `o-${this.openids.size} of ${key}`
              this.openids.set(key, open_userid)
              return { open_userid }
            },
            options,
          )
        },
      },
      departments: {
        delete: (
          { enterprise_code = '', dept_code }: { enterprise_code?: string; dept_code: string },
          options?: CallOptions,
        ) => {
          const name = qualified(enterprise_code, dept_code)
          return call(
            'department/delete',
            name,
            () => {
              if (!this.departments.has(name)) throw refused('department/delete', 1000220010)
              if (TREE[dept_code] === null) throw refused('department/delete', 1002212002)
              this.onDelete(process, name)
              this.departments.delete(name)
              this.recreated.delete(name)
              return dept_code
            },
            options,
          )
        },
      },
    } as unknown as PlatformClient
  }

  /** A write meets whatever comes next; other calls only what makes no difference to them. */
  #faultOf(operation: string): Fault | undefined {
    return WRITES.includes(operation) || this.faults[0] !== 'lost' ? this.faults.shift() : undefined
  }

  async #call<T>(
    by: SimulatedProcess,
    operation: string,
    name: string,
    effect: () => Promise<T> | T,
    { signal, onCall, isStillWanted = async () => true }: CallOptions,
  ): Promise<T> {
    if (signal?.aborted || !(await isStillWanted())) throw failed('aborted', operation, true)
    const mine = { operation, name, by }
    if (name !== '' && [...this.#inFlight].some(other => other.name === name))
      this.breaches.push(`two calls at once for ${name}`)
    this.#inFlight.add(mine)
    const aborted = Promise.withResolvers<never>()
    aborted.promise.catch(() => {})
    // From then on another process may call: what was sent has arrived or never will.
    const abort = () => {
      this.#inFlight.delete(mine)
      aborted.reject(failed('aborted', operation, false))
    }
    signal?.addEventListener('abort', abort, { once: true })
    const fault = this.#faultOf(operation)
    try {
      await Promise.race([this.#step(by, `${operation} ${name}`), aborted.promise])
      if (fault === 'reset') throw failed('connection', operation, false)
      if (fault === 'unavailable') throw failed('http', operation, false, { httpStatus: 503 })
      if (fault === 'not_json') throw failed('malformed', operation, false)
      if (fault === 'wrong_secret') throw refused(operation, 1000210003)
      const answer = await effect()
      this.onEffect()
      await Promise.race([this.#step(by, `answer of ${operation} ${name}`), aborted.promise])
      if (fault === 'lost') throw failed('timeout', operation, false)
      return answer
    } finally {
      signal?.removeEventListener('abort', abort)
      this.#inFlight.delete(mine)
      onCall?.({ operation, waitedMs: 0, rateLimited: false } as Parameters<NonNullable<typeof onCall>>[0])
    }
  }
}

function refused(operation: string, platformCode: number): PlatformError {
  return new PlatformError({ kind: 'business', operation, platformCode, outcomeKnown: true })
}

function failed(
  kind: PlatformFailure['kind'],
  operation: string,
  outcomeKnown: boolean,
  more: Partial<PlatformFailure> = {},
): PlatformError {
  return new PlatformError({ kind, operation, outcomeKnown, ...more })
}
