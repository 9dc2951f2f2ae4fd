import { setTimeout as sleep } from 'node:timers/promises'
import type { CallRecord } from '../../emulator/call-log.ts'
import type { Dice } from './dice.ts'
import type { Chaos } from './disturbances.ts'
import { approveHeld } from './judge.ts'
import type { Ended, Process } from './processes.ts'

/** Stops processes politely at any moment, as every release of dirsync does, and checks what that cost. */

const ENDS_WITHIN_S = 10
/** So many stops while the platform answers fast, then as many while it is slow. */
const STRETCH = 20
const SLOW = { operation: '*', latencyMs: 300, jitterMs: 1500 }
const GAP_MS = [100, 1700] as const
/** Of all stops, those that may hit a process that is starting. */
const ANYWHERE_SHARE = 0.25

export interface Stop extends Ended {
  name: string
  at: Date
  /** Employees that it had in hand. */
  held: number
  /** Whether it was connected to PostgreSQL, so that it could do anything at all. */
  wasConnected: boolean
}

/** `SIGTERM` to a random process, again and again. One that is starting is hit, too. */
export async function stopOften(chaos: Chaos, count: number, dice: Dice): Promise<Stop[]> {
  const { processes, kills, platform } = chaos
  const stopping = new Set<Process>()
  const stops: Promise<Stop>[] = []
  for (let i = 0; i < count; i++) {
    if (i % (2 * STRETCH) === STRETCH) await platform.plant('slow', [SLOW])
    if (i % (2 * STRETCH) === 0) await platform.lift('slow')
    await sleep(dice.between(...GAP_MS))
    await approveHeld(chaos)
    const isAnywhere = dice.roll() < ANYWHERE_SHARE
    const running = () =>
      processes.filter(each => !each.isOlder && !stopping.has(each) && (isAnywhere || each.isAtWork()))
    while (running().length === 0) await sleep(100)
    const process = dice.pick(running())
    stopping.add(process)
    const held = (await kills.heldBy(process)).length
    const [at, wasConnected] = [new Date(), process.links.postgres.ports().length > 0]
    stops.push(
      process.terminate().then(ended => {
        stopping.delete(process)
        return { name: process.name, at, held, wasConnected, ...ended }
      }),
    )
  }
  const ended = await Promise.all(stops)
  await platform.lift('slow')
  return ended
}

/** @returns what no stop may do, a sentence each */
export function breachesOfStops(stops: readonly Stop[]): string[] {
  return stops.flatMap(({ name, at, seconds, code, signal, wasConnected }) => {
    const which = `${name}, told to stop at ${at.toISOString()},`
    if (seconds > ENDS_WITHIN_S) return [`${which} took ${seconds.toFixed(1)} s`]
    // Before Node.js runs the first line of dirsync, a signal ends it without a word, and without harm.
    return code === 0 || (signal === 'SIGTERM' && !wasConnected)
      ? []
      : [`${which} ended with ${code ?? signal}`]
  })
}

/**
 * Updates that carry nothing but values of which the platform had answered that it took them.
 * @param calls as the platform's log has them
 */
export function repeatedUpdates(calls: readonly CallRecord[]): string[] {
  const taken = new Map<string, unknown>()
  return calls
    .filter(({ operation }) => operation === 'employee/update')
    .flatMap(({ id, params: { userid, ...values }, code, end }) => {
      const fields = Object.entries(values).map(([field, value]) => [`${userid} ${field}`, value] as const)
      const isRepeated = fields.every(([key, value]) => taken.has(key) && taken.get(key) === value)
      for (const [key, value] of fields)
        if (end === 'answered' && code === 0) taken.set(key, value)
        // Refused, or nobody knows: the value may be sent again.
        else taken.delete(key)
      return isRepeated ? [`${userid} was sent by call ${id} what had been accepted before`] : []
    })
}

/** Calls about employees and departments of which no attempt tells: their answers were lost with their process. By operation. */
export async function unrecordedCalls({ db, platform }: Chaos): Promise<string[]> {
  const { rows } = await db.query<{ entity: string; operation: string; calls: number }>(
    `select a.entity_key as entity, c.key as operation, sum(c.value::int)::int as calls
     from dirsync.attempt a cross join jsonb_each_text(a.calls) c
     group by 1, 2`,
  )
  const recorded = new Map(rows.map(row => [`${row.entity} ${row.operation}`, row.calls]))
  const made = new Map<string, number>()
  for (const { operation, params } of platform.calls) {
    const entity = params.userid ?? params.dept_code
    if (entity === undefined) continue
    const key = `${entity} ${operation}`
    made.set(key, (made.get(key) ?? 0) + 1)
  }
  return [...made].flatMap(([key, count]) => {
    const known = recorded.get(key) ?? 0
    return count > known ? [`${key}: ${count} calls, of which attempts tell of ${known}`] : []
  })
}
