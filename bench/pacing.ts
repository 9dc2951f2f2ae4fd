import type { RateLimitKind } from '../src/emulator/rate-limits.ts'
import type { Figure, RunBenchmark } from './figure.ts'
import type { RecordedCall } from './limited-platform.ts'
import { accepted, between, rejected } from './recording.ts'
import { type Store, type Trial, Trials } from './trial.ts'
import type { Workshop } from './workshop.ts'

const STORES: Store[] = ['postgres', 'redis']
export const LIMIT_KINDS: RateLimitKind[] = ['sliding-log', 'fixed-window', 'token-bucket']
const RATES = [5, 20, 100]
const PROCESSES = [1, 4]
/** Calls that each process has waiting or under way. */
const CALLERS = 8
/** The cell whose rate and processes the baselines have too. */
const BASELINE = { rate: 20, processes: 4 }

interface Cell {
  name: string
  trial: Trial
}

/** Calls accepted in a minute of those the platform permits, and calls rejected, for a rate that is known. */
export function pacing(workshop: Workshop, seconds: number): RunBenchmark {
  const waves = STORES.flatMap(store => LIMIT_KINDS.map(kind => cellsOf(store, kind, seconds)))
  return {
    name: 'pacing',
    measures: `calls that the platform accepted in ${seconds} s from the first accepted one on, divided by rate × ${seconds}, and calls it rejected in the whole run; ${CALLERS} callers in each process`,
    against: `the better of bare BullMQ with its own limiter and a loop with fetch and a fixed concurrency, at ${BASELINE.rate} calls/s and ${BASELINE.processes} processes under the same kind of limit`,
    parts: waves.flat().map(({ name }) => name),
    async run(parts, report) {
      const trials = new Trials(workshop)
      const figures: Figure[] = []
      for (const wave of waves) {
        const chosen = wave.filter(({ name }) => parts.length === 0 || parts.includes(name))
        if (chosen.length === 0) continue
        figures.push(...(await runWave(trials, chosen, seconds, report)))
      }
      return figures
    },
  }
}

function cellsOf(store: Store, kind: RateLimitKind, seconds: number): Cell[] {
  return RATES.flatMap(rate =>
    PROCESSES.map(processes => ({
      name: `pacing-${kind}-${rate}-${processes}p-${store}`,
      trial: {
        ...{ caller: 'dirsync' as const, store, processes, rate, seconds },
        ...{ concurrency: CALLERS, limit: { kind, perSecond: rate } },
      },
    })),
  )
}

/** Cells of one store and one kind of limit, side by side with what they are compared with. */
async function runWave(
  trials: Trials,
  cells: readonly Cell[],
  seconds: number,
  report: (line: string) => void,
): Promise<Figure[]> {
  const [first] = cells
  if (first === undefined) return []
  const { rate, processes } = BASELINE
  const limit = { kind: first.trial.limit.kind, perSecond: rate }
  const baselines = (['bullmq', 'loop'] as const).map(caller => ({
    name: `${caller} (${limit.kind}, ${rate}/s, ${processes} processes, ${first.trial.store})`,
    trial: { ...first.trial, caller, rate, processes, limit },
  }))
  const all = [...cells, ...baselines]
  const recorded = await trials.run(all.map(({ trial }) => trial))
  const results = all.map(({ name, trial }, i) => {
    const calls = recorded[i] as RecordedCall[]
    const counted = between(calls, 0, seconds)
    const result = {
      share: accepted(counted) / (trial.limit.perSecond * seconds),
      rejected: rejected(calls),
    }
    report(`${name}: accepted ${result.share.toFixed(4)} of what is permitted, ${result.rejected} rejected`)
    return result
  })
  const [baseline] = results.slice(cells.length).sort((a, b) => b.share - a.share)
  return cells.flatMap(({ name }, i): Figure[] => {
    const result = results[i] as { share: number; rejected: number }
    return [
      {
        name,
        value: result.share,
        unit: 'of permitted',
        baseline: baseline?.share ?? null,
        goal: { valueAtLeast: 0.97 },
      },
      {
        name: `${name}-rejected`,
        value: result.rejected,
        unit: 'calls',
        baseline: baseline?.rejected ?? null,
        goal: { valueAtMost: 0 },
      },
    ]
  })
}
