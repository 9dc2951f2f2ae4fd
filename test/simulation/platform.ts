import type { CallOptions } from '../../src/platform/caller.ts'
import type { PlatformClient } from '../../src/platform/client.ts'
import { PlatformError, type PlatformFailure } from '../../src/platform/errors.ts'
import type { SimulatedProcess, StandsStill } from './schedule.ts'

/** What the platform holds of an employee. */
export interface Held {
  name: string
  mobile: string
  remark: string
  dept_code: string
}

/** What a call meets instead of its answer. `lost`: it has its effect, and no answer comes. */
export type Fault = 'lost' | 'reset' | 'unavailable' | 'not_json' | 'wrong_secret'

interface InFlight {
  operation: string
  userid: string
  by: SimulatedProcess
}

/**
 * The platform as its specification has it, where it matters for orders of events: one call after the other takes effect, a
 * mobile number belongs to one employee, a call may be lost before or after its effect. It notes what no platform should see.
 */
export class SimulatedPlatform implements StandsStill {
  readonly employees = new Map<string, Held>()
  readonly departments = new Set(['D0', 'D1', 'D2'])
  still: Promise<void> | null = null
  /** Breaches of what must always hold. */
  readonly breaches: string[] = []
  /** What the next calls meet. */
  readonly faults: Fault[] = []
  /** Called for each update that takes effect or may, before it does. */
  onUpdate: (userid: string, sent: Partial<Held>) => Promise<void> = async () => {}
  readonly #inFlight = new Set<InFlight>()
  readonly #step: (process: SimulatedProcess, label: string) => Promise<void>

  constructor(step: (process: SimulatedProcess, label: string) => Promise<void>) {
    this.#step = step
  }

  reset(employees: Iterable<[string, Held]>): void {
    this.employees.clear()
    for (const [userid, held] of employees) this.employees.set(userid, { ...held })
    this.breaches.length = 0
    this.faults.length = 0
    this.#inFlight.clear()
    this.departments.clear()
    for (const code of ['D0', 'D1', 'D2']) this.departments.add(code)
  }

  /** The calls of a process that has died are on their way no longer: some have arrived. */
  forget(process: SimulatedProcess): void {
    for (const call of this.#inFlight) if (call.by === process) this.#inFlight.delete(call)
  }

  /** @param updates whether only updates count */
  isCalled(updates: boolean): boolean {
    return [...this.#inFlight].some(({ operation }) => !updates || operation === 'employee/update')
  }

  isCalledBy(process: SimulatedProcess): boolean {
    return [...this.#inFlight].some(({ by }) => by === process)
  }

  /** The client of a process: what a job needs of `PlatformClient`. */
  client(process: SimulatedProcess): PlatformClient {
    const call = <T>(
      operation: string,
      userid: string,
      effect: () => Promise<T> | T,
      options: CallOptions = {},
    ) => this.#call(process, operation, userid, effect, options)
    return {
      employees: {
        get: (query: { userid?: string; mobile?: string; email?: string }, options?: CallOptions) =>
          call(
            'employee/get',
            query.userid ?? '',
            () => {
              for (const [userid, held] of this.employees)
                if (userid === query.userid || (query.mobile !== undefined && held.mobile === query.mobile))
                  return { userid, ...held, mobile_area: 86 }
              throw refused('employee/get', 1000220096)
            },
            options,
          ),
        update: (params: { userid: string } & Partial<Held>, options?: CallOptions) =>
          call(
            'employee/update',
            params.userid,
            async () => {
              const { userid, name, mobile, remark, dept_code } = params
              const sent = Object.fromEntries(
                Object.entries({ name, mobile, remark, dept_code }).filter(
                  ([, value]) => value !== undefined,
                ),
              ) as Partial<Held>
              await this.onUpdate(userid, sent)
              const held = this.employees.get(userid)
              if (!held) throw refused('employee/update', 1000220096)
              for (const [other, { mobile: taken }] of this.employees)
                if (other !== userid && taken === mobile) throw refused('employee/update', 1002218007)
              if (dept_code !== undefined && !this.departments.has(dept_code))
                throw refused('employee/update', 1000220010)
              Object.assign(held, sent)
              return ''
            },
            options,
          ),
        openid: (query: { userid: string }, options?: CallOptions) =>
          call('employee/openid', query.userid, () => ({ open_userid: `o-${query.userid}` }), options),
      },
      departments: {
        delete: ({ dept_code }: { dept_code: string }, options?: CallOptions) =>
          call(
            'department/delete',
            '',
            () => {
              if (!this.departments.delete(dept_code)) throw refused('department/delete', 1000220010)
              return dept_code
            },
            options,
          ),
      },
    } as unknown as PlatformClient
  }

  /** An update meets whatever comes next; other calls only what makes no difference to them. */
  #faultOf(operation: string): Fault | undefined {
    return operation === 'employee/update' || this.faults[0] !== 'lost' ? this.faults.shift() : undefined
  }

  async #call<T>(
    by: SimulatedProcess,
    operation: string,
    userid: string,
    effect: () => Promise<T> | T,
    { signal, onCall }: CallOptions,
  ): Promise<T> {
    if (signal?.aborted) throw failed('aborted', operation, true)
    const mine = { operation, userid, by }
    if (userid !== '' && [...this.#inFlight].some(other => other.userid === userid))
      this.breaches.push(`two calls at once for ${userid}`)
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
      await Promise.race([this.#step(by, `${operation} ${userid}`), aborted.promise])
      if (fault === 'reset') throw failed('connection', operation, false)
      if (fault === 'unavailable') throw failed('http', operation, false, { httpStatus: 503 })
      if (fault === 'not_json') throw failed('malformed', operation, false)
      if (fault === 'wrong_secret') throw refused(operation, 1000210003)
      const answer = await effect()
      await Promise.race([this.#step(by, `answer of ${operation} ${userid}`), aborted.promise])
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
