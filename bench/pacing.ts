import type { RateLimitKind } from '../emulator/faults.ts'
import type { Figure, RunBenchmark } from './figure.ts'
import type { RecordedCall } from './limited-platform.ts'
import { ratePanel } from './rate-panel.ts'
import { accepted, between, rejected } from './recording.ts'
import { savePlot } from './results.ts'
import { type Trial, Trials } from './trial.ts'
import type { Workshop } from './workshop.ts'

const LIMIT_KINDS: RateLimitKind[] = ['sliding-log', 'fixed-window', 'token-bucket']
const RATES = [5, 20, 100]
const PROCESSES = [1, 4]
/** Calls that each process has waiting or in flight. */
const CALLERS = 8
/** The cell with which the baselines share rate and processes. */
const BASELINE = { rate: 20, processes: 4 }

const CALLER_NAMES = {
  dirsync: 'dirsync',
  bullmq: "BullMQ's own limiter",
  loop: 'Loop with fetch and back-off',
}

interface Cell {
  name: string
  trial: Trial
}

/** The share of the permitted calls that are accepted within a minute, and the rejected calls, with a known rate. */
export function pacing(workshop: Workshop, seconds: number, results: string): RunBenchmark {
  const waves = LIMIT_KINDS.map(kind => cellsOf(kind, seconds))
  return {
    name: 'pacing',
    measures: `calls that the platform accepted in ${seconds} s from the first accepted one on, divided by rate × ${seconds}, and calls it rejected in the whole run; ${CALLERS} callers in each process`,
    against: `the better of bare BullMQ on Redis with its own limiter and a loop with fetch and a fixed concurrency, at ${BASELINE.rate} calls/s and ${BASELINE.processes} processes under the same kind of limit`,
    parts: waves.flat().map(({ name }) => name),
    async run(parts, report) {
      const trials = new Trials(workshop)
      const figures: Figure[] = []
      for (const wave of waves) {
        const chosen = wave.filter(({ name }) => parts.length === 0 || parts.includes(name))
        if (chosen.length === 0) continue
        const recorded = await runWave(trials, chosen)
        figures.push(...figuresOf(recorded, seconds, report))
        await plotWave(recorded, seconds, results)
      }
      return figures
    },
  }
}

function cellsOf(kind: RateLimitKind, seconds: number): Cell[] {
  return RATES.flatMap(rate =>
    PROCESSES.map(processes => ({
      name: `pacing-${kind}-${rate}-${processes}p`,
      trial: {
        ...{ caller: 'dirsync' as const, processes, rate, seconds },
        ...{ concurrency: CALLERS, limit: { kind, perSecond: rate } },
      },
    })),
  )
}

interface Recorded extends Cell {
  calls: RecordedCall[]
}

/** Runs cells of one kind of limit concurrently with their baselines. */
async function runWave(trials: Trials, cells: readonly Cell[]): Promise<Recorded[]> {
  const all = [...cells, ...baselinesOf(cells[0] as Cell)]
  const recorded = await trials.run(all.map(({ trial }) => trial))
  return all.map((cell, i) => ({ ...cell, calls: recorded[i] as RecordedCall[] }))
}

function baselinesOf({ trial }: Cell): Cell[] {
  const { rate, processes } = BASELINE
  const limit = { kind: trial.limit.kind, perSecond: rate }
  return (['bullmq', 'loop'] as const).map(caller => ({
    name: `${CALLER_NAMES[caller]} (${limit.kind}, ${rate}/s, ${processes} processes)`,
    trial: { ...trial, caller, rate, processes, limit },
  }))
}

function figuresOf(recorded: readonly Recorded[], seconds: number, report: (line: string) => void): Figure[] {
  const results = recorded.map(({ name, trial, calls }) => {
    const permitted = trial.limit.perSecond * seconds
    const share = accepted(between(calls, 0, seconds)) / permitted
    report(`${name}: accepted ${share.toFixed(4)} of what is permitted, ${rejected(calls)} rejected`)
    return { name, caller: trial.caller, share, rejected: rejected(calls) }
  })
  const [baseline] = results.filter(({ caller }) => caller !== 'dirsync').sort((a, b) => b.share - a.share)
  return results
    .filter(({ caller }) => caller === 'dirsync')
    .flatMap(({ name, share, rejected }): Figure[] => [
      {
        ...{ name, value: share, unit: 'of permitted', baseline: baseline?.share ?? null },
        goal: { valueAtLeast: 0.97 },
      },
      {
        ...{ name: `${name}-rejected`, value: rejected, unit: 'calls', baseline: baseline?.rejected ?? null },
        goal: { valueAtMost: 0 },
      },
    ])
}

/** Plots the cell that matches the baselines, above both of them. */
async function plotWave(recorded: readonly Recorded[], seconds: number, results: string): Promise<void> {
  const { rate, processes } = BASELINE
  const shown = recorded.filter(
    ({ trial }) => trial.limit.perSecond === rate && trial.processes === processes,
  )
  const [ours] = shown
  if (ours === undefined || ours.trial.caller !== 'dirsync') return
  const { limit } = ours.trial
  await savePlot(results, `pacing-${limit.kind}`, {
    title: `${rate} calls/s by ${limit.kind}, ${processes} processes`,
    xLabel: 'seconds',
    yLabel: 'calls per second',
    panels: shown.map(({ trial, calls }) =>
      ratePanel(CALLER_NAMES[trial.caller], calls, seconds, [{ from: 0, rate }]),
    ),
  })
}
