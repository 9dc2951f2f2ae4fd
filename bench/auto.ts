import type { RateLimitKind } from '../emulator/faults.ts'
import type { Figure, RunBenchmark } from './figure.ts'
import type { RecordedCall } from './limited-platform.ts'
import { ratePanel } from './rate-panel.ts'
import { accepted, between, rejected } from './recording.ts'
import { savePlot } from './results.ts'
import { type Trial, Trials } from './trial.ts'
import type { Workshop } from './workshop.ts'

const KINDS: RateLimitKind[] = ['sliding-log', 'fixed-window', 'token-bucket']
const LIMITS = [3, 20, 80]
const PROCESSES = 2
/** Calls that each process has waiting or in flight. */
const CALLERS = 8
const MINUTES = 5

/**
 * The share of the permitted calls that are accepted, and the share of rejected ones, with an unknown limit.
 * @param minute seconds that a minute has
 */
export function auto(workshop: Workshop, minute: number, results: string): RunBenchmark {
  const cells = KINDS.flatMap(kind =>
    LIMITS.map(limit => ({ name: `auto-${kind}-${limit}`, trial: trialOf('dirsync', kind, limit, minute) })),
  )
  return {
    name: 'auto',
    measures: `calls that the platform accepted in minutes 2 to ${MINUTES} after the first one, divided by what it permits, and calls rejected then as a share of all; PLATFORM_RATE_LIMIT=auto from nothing learnt, ${PROCESSES} processes, refusals without Retry-After`,
    against: `a loop with fetch, ${CALLERS} calls at a time in each of ${PROCESSES} processes, whose waits after a refusal double, at the same limit counted by sliding log`,
    parts: cells.map(({ name }) => name),
    async run(parts, report) {
      const chosen = cells.filter(({ name }) => parts.length === 0 || parts.includes(name))
      const rates = LIMITS.filter(limit => chosen.some(({ trial }) => trial.limit.perSecond === limit))
      const loops = rates.map(limit => trialOf('loop', 'sliding-log', limit, minute))
      const recorded = await new Trials(workshop).run([...chosen.map(({ trial }) => trial), ...loops])
      const baselines = new Map(
        loops.map((trial, i) => {
          const result = resultOf(trial, recorded[chosen.length + i] as RecordedCall[], minute)
          report(`loop at ${trial.limit.perSecond}/s: ${result.text}`)
          return [trial.limit.perSecond, result]
        }),
      )
      await savePlot(results, 'auto', {
        title: 'An unknown limit is learnt: dirsync with PLATFORM_RATE_LIMIT=auto',
        xLabel: 'seconds',
        yLabel: 'calls per second',
        panels: chosen
          .map(({ trial }, i) => ({ limit: trial.limit, calls: recorded[i] as RecordedCall[] }))
          .filter(({ limit }) => limit.kind === chosen[0]?.trial.limit.kind)
          .map(({ limit, calls }) =>
            ratePanel(`${limit.perSecond} calls/s by ${limit.kind}`, calls, minute * MINUTES, [
              { from: 0, rate: limit.perSecond },
            ]),
          ),
      })
      return chosen.flatMap(({ name, trial }, i): Figure[] => {
        const result = resultOf(trial, recorded[i] as RecordedCall[], minute)
        const baseline = baselines.get(trial.limit.perSecond)
        report(`${name}: ${result.text}`)
        return [
          {
            ...{ name, value: result.share, unit: 'of permitted', baseline: baseline?.share ?? null },
            goal: { valueAtLeast: 0.85 },
          },
          {
            ...{ name: `${name}-rejected`, value: result.rejected, unit: 'of calls' },
            ...{ baseline: baseline?.rejected ?? null, goal: { valueAtMost: 0.01 } },
          },
        ]
      })
    },
  }
}

function trialOf(caller: 'dirsync' | 'loop', kind: RateLimitKind, perSecond: number, minute: number): Trial {
  const limit = { kind, perSecond, retryAfter: false }
  return {
    ...{ caller, processes: PROCESSES, limit, rate: 'auto' },
    ...{ concurrency: CALLERS, seconds: minute * MINUTES },
  }
}

function resultOf({ limit }: Trial, calls: readonly RecordedCall[], minute: number) {
  const counted = between(calls, minute, minute * MINUTES)
  const share = accepted(counted) / (limit.perSecond * minute * (MINUTES - 1))
  const refused = counted.length === 0 ? 0 : rejected(counted) / counted.length
  const text = `accepted ${share.toFixed(4)} of what is permitted, ${(refused * 100).toFixed(2)} % of calls rejected`
  return { share, rejected: refused, text }
}
