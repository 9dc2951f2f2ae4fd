import { z } from 'zod'
import { onlyRow, type Pool } from '../../lib/database.ts'
import { TOKEN_CREATIONS_PER_HOUR } from '../../platform/token.ts'
import { RECENT_CREATIONS } from '../../platform/token-store.ts'
import { isAtConcurrency } from '../../sync/health/time-left.ts'
import { readHalts } from '../../sync/outbox/halts.ts'
import { callsWithin, readPace } from '../../sync/processes/pace.ts'
import { aliveProcesses } from '../../sync/processes/process.ts'
import { HaltReport } from '../halts/query.ts'
import { RANGE } from '../range.ts'

/** Of the curves on the page. */
export const PlatformSpan = z.object(RANGE)

const Operation = z.object({
  operation: z.string(),
  calls: z.int(),
  rate_limited: z.int().describe('Refused as too fast; they are repeated'),
  failed: z.int(),
  mean_wait_ms: z.number().describe('For the pacer'),
  longest_wait_ms: z.number(),
  mean_duration_ms: z.number().describe('From the request to the answer'),
})
type Operation = z.infer<typeof Operation>

const Cap = z.object({
  per_second: z.number(),
  since: z.date(),
  until: z.date(),
  set_by: z.string(),
  reason: z.string(),
})

/** The answer of `/api/v1/platform`. */
export const PlatformResult = z.object({
  pace: z.object({
    workers: z.int().describe('Living processes that make calls for runs'),
    calls_per_second: z.number().describe('Over the last ten seconds'),
    calls_last_minute: z.int(),
    permitted_per_second: z
      .number()
      .nullable()
      .describe('null: no worker is running, or the rate has not been learnt yet'),
    set_per_second: z.number().nullable().describe('PLATFORM_RATE_LIMIT; null: to be learnt'),
    learnt: z.boolean().describe('The rate was learnt, or lowered since the platform refused calls'),
    ceiling_per_second: z.number().nullable().describe('The rate at which the platform last refused calls'),
    utilisation: z.number().nullable().describe('0 to 1'),
    waiting: z.int().describe('Calls that wait for the pacer'),
    concurrency: z.number().nullable(),
    at_concurrency: z.boolean().describe('As many calls are in flight as the workers make at a time'),
    cap: Cap.nullable().describe('A lower rate that a person has set for a time'),
  }),
  last_hour: z.array(Operation).describe('Calls of the last hour by operation, the most called first'),
  token: z
    .object({
      created_at: z.date(),
      expires_at: z.date(),
      renews_at: z.date().describe('After 80 % of its life'),
    })
    .nullable()
    .describe('The access token; null: the next call creates one'),
  token_creations: z
    .object({ last_hour: z.int(), permitted: z.int() })
    .describe("Against dirsync's fuse; the platform permits 60 within an hour"),
  holdoffs: z
    .array(z.object({ gate: z.string(), paused_until: z.date(), pause_reason: z.string().nullable() }))
    .describe('The platform asked for it; `platform`: of all calls'),
  halts: z.array(HaltReport).describe('Why work stands still'),
  scheduler_alive: z.boolean().describe('false: no work is handed to the workers'),
})
export type PlatformResult = z.infer<typeof PlatformResult>

export async function readPlatformPage(db: Pool): Promise<PlatformResult> {
  const [pace, { rows: last_hour }, { rows: tokens }, { rows: creations }, { rows: holdoffs }, halts, alive] =
    await Promise.all([
      readPace(db),
      db.query<Operation>(callsWithin('1 hour')),
      // After a switch of the account, an older token may be left.
      db.query<NonNullable<PlatformResult['token']>>(
        `select created_at, expires_at, created_at + 0.8 * (expires_at - created_at) as renews_at
         from dirsync.platform_token order by created_at desc limit 1`,
      ),
      db.query<{ n: number }>(`select ${RECENT_CREATIONS} as n`),
      db.query<PlatformResult['holdoffs'][number]>(
        `select gate, paused_until, pause_reason from dirsync.pacer
         where gate <> 'platform' and paused_until > now() order by paused_until desc`,
      ),
      readHalts(db),
      aliveProcesses(db),
    ])
  const { paused_until, pause_reason } = pace
  return {
    pace: { ...pace, at_concurrency: isAtConcurrency(pace) },
    last_hour,
    token: tokens[0] ?? null,
    token_creations: { last_hour: onlyRow(creations).n, permitted: TOKEN_CREATIONS_PER_HOUR },
    holdoffs: [...(paused_until ? [{ gate: 'platform', paused_until, pause_reason }] : []), ...holdoffs],
    halts,
    scheduler_alive: alive.some(({ roles }) => roles.includes('scheduler')),
  }
}

/** Identifies the lower rate that a form was made for, so that an outdated form is noticed. */
export function versionOf(cap: PlatformResult['pace']['cap']): string {
  return cap ? `${cap.per_second} ${cap.until.toISOString()}` : 'none'
}

/** Totals of the last hour. */
export function totalsOf(
  operations: readonly Operation[],
): Pick<Operation, 'calls' | 'rate_limited' | 'failed'> {
  const sum = (name: 'calls' | 'rate_limited' | 'failed') =>
    operations.reduce((total, operation) => total + operation[name], 0)
  return { calls: sum('calls'), rate_limited: sum('rate_limited'), failed: sum('failed') }
}

/** What keeps calls below the permitted rate, the most severe first. */
export type Hindrance =
  | { what: 'halt'; halt: PlatformResult['halts'][number] }
  | { what: 'no_worker' | 'no_scheduler' }
  | { what: 'holdoff'; holdoff: PlatformResult['holdoffs'][number] }
  | { what: 'fuse' }
  | { what: 'cap' }
  | { what: 'refused'; set: number; permitted: number }

/** An empty list means that calls go as fast as permitted. */
export function hindrancesOf(result: PlatformResult): Hindrance[] {
  const { pace, halts, holdoffs, token_creations } = result
  const { set_per_second: set, permitted_per_second: permitted, cap, learnt } = pace
  return [
    ...halts.map(halt => ({ what: 'halt', halt }) as const),
    ...(pace.workers === 0 ? [{ what: 'no_worker' } as const] : []),
    ...(result.scheduler_alive ? [] : [{ what: 'no_scheduler' } as const]),
    ...holdoffs.map(holdoff => ({ what: 'holdoff', holdoff }) as const),
    ...(token_creations.last_hour >= token_creations.permitted * FUSE_WARNING
      ? [{ what: 'fuse' } as const]
      : []),
    ...(cap ? [{ what: 'cap' } as const] : []),
    ...(learnt && set !== null && permitted !== null && permitted < set && permitted !== cap?.per_second
      ? [{ what: 'refused', set, permitted } as const]
      : []),
  ]
}

/** The share of the permitted token creations from which the page warns. */
const FUSE_WARNING = 0.8
