import { setTimeout as delay } from 'node:timers/promises'
import type { Figure, RunBenchmark } from './figure.ts'
import type { LimitedPlatform, RecordedCall } from './limited-platform.ts'
import { ratePanel } from './rate-panel.ts'
import { insideRetryAfter, secondsToSettle } from './recording.ts'
import { savePlot } from './results.ts'
import { type Trial, Trials } from './trial.ts'
import type { Workshop } from './workshop.ts'

const LIMITS = [20, 80]
const PROCESSES = 4
/** Calls that each process has waiting or in flight. */
const CALLERS = 8
/** Unfounded refusals that ask for `seconds` of silence, every `every` seconds, with a known rate. */
const ADVICE = { rate: 40, seconds: 3, every: 6 }
/** More than is ever called. */
const UNLIMITED = 10_000

interface Cell {
  name: string
  trial: Trial
  /** When the limit halved, milliseconds since 1970. */
  changedAt: number
}

/**
 * How long it takes until a halved limit is kept again, and how many calls arrive while all were asked to stay away.
 * @param minute seconds after the limit has halved; twice as many come before
 */
export function halving(workshop: Workshop, minute: number, results: string): RunBenchmark {
  return {
    name: 'halving',
    measures: `seconds from a limit's halving, ${2 * minute} s after the start, until at most 1 % of the calls in any five seconds are rejected, for ten seconds (${minute} if that never comes); -retry-after: calls that arrive after a refusal was answered and before its Retry-After is over; ${PROCESSES} processes with ${CALLERS} callers each; PLATFORM_RATE_LIMIT=auto, and retry-after-…: ${ADVICE.rate} calls/s with a planted refusal every ${ADVICE.every} s`,
    against: 'a loop with fetch, as many calls at a time, each repeated after the Retry-After it got',
    async run(_parts, report) {
      const cells = cellsOf(minute)
      const recorded = await new Trials(workshop).run(cells.map(({ trial }) => trial))
      const done = cells.map((cell, i) => ({ ...cell, calls: recorded[i] as RecordedCall[] }))
      await plot(done, minute, results)
      const figures = done.flatMap(cell => figuresOf(cell, minute, report))
      const isLoop = (name: string) => name.includes('-loop')
      return figures
        .filter(({ name }) => !isLoop(name))
        .map(figure => {
          const loop = figure.name.replace(/^(halving-\d+|retry-after)/, '$1-loop')
          return { ...figure, baseline: figures.find(({ name }) => name === loop)?.value ?? null }
        })
    },
  }
}

function cellsOf(minute: number): Cell[] {
  const common = { processes: PROCESSES, concurrency: CALLERS, seconds: 3 * minute }
  return (['dirsync', 'loop'] as const).flatMap(caller => {
    const side = caller === 'loop' ? '-loop' : ''
    const halved = LIMITS.map(perSecond => {
      const limit = { kind: 'sliding-log' as const, perSecond }
      const cell: Cell = {
        name: `halving-${perSecond}${side}`,
        changedAt: 0,
        trial: {
          ...common,
          ...{ caller, limit, rate: 'auto' },
          async meanwhile(platform) {
            await delay(2 * minute * 1000)
            await platform.permit({ ...limit, perSecond: perSecond / 2 })
            cell.changedAt = Date.now()
          },
        },
      }
      return cell
    })
    const limit = { kind: 'sliding-log' as const, perSecond: UNLIMITED }
    const advised: Cell = {
      name: `retry-after${side}`,
      changedAt: 0,
      trial: {
        ...common,
        ...{ caller, limit, rate: ADVICE.rate, meanwhile: advise(3 * minute - ADVICE.every) },
      },
    }
    return [...halved, advised]
  })
}

function advise(seconds: number): (platform: LimitedPlatform) => Promise<void> {
  return async platform => {
    for (let at = 0; at < seconds; at += ADVICE.every) {
      await delay(ADVICE.every * 1000)
      await platform.refuseOne(ADVICE.seconds)
    }
  }
}

interface Done extends Cell {
  calls: RecordedCall[]
}

function figuresOf(
  { name, calls, changedAt }: Done,
  minute: number,
  report: (line: string) => void,
): Figure[] {
  const inside = insideRetryAfter(calls)
  const refusals = calls.filter(({ accepted }) => !accepted)
  const late = inside.map(call => {
    const refusal = refusals.findLast(({ answeredAt }) => answeredAt < call.arrivedAt)
    return Math.round(call.arrivedAt - (refusal?.answeredAt ?? 0))
  })
  const lateText =
    late.length === 0 ? '' : ` (${late.slice(0, 20).join(', ')} ms after the last refusal was answered)`
  const common = { baseline: null, unit: 'calls', goal: { valueAtMost: 0 } }
  const isAdvised = changedAt === 0
  const insideFigure = {
    ...common,
    name: isAdvised ? name : `${name}-retry-after`,
    value: inside.length,
  }
  report(
    `${insideFigure.name}: ${inside.length} of ${calls.length} calls inside a Retry-After of ${refusals.length} refusals${lateText}`,
  )
  if (isAdvised) return [insideFigure]
  const seconds = Math.min(secondsToSettle(calls, changedAt, changedAt + minute * 1000), minute)
  report(`${name}: settled ${seconds} s after the limit had halved`)
  return [{ name, value: seconds, unit: 's', baseline: null, goal: { valueAtMost: 15 } }, insideFigure]
}

async function plot(done: readonly Done[], minute: number, results: string): Promise<void> {
  const shown = done.filter(({ name }) => /^halving-\d+(-loop)?$/.test(name))
  await savePlot(results, 'halving', {
    title: 'The limit halves: dirsync with PLATFORM_RATE_LIMIT=auto, and a loop with fetch',
    xLabel: 'seconds',
    yLabel: 'calls per second',
    panels: shown.map(({ trial, calls, changedAt }) => {
      const { perSecond } = trial.limit
      const change = Math.round((changedAt - (calls[0]?.arrivedAt ?? 0)) / 1000)
      const title = `${trial.caller === 'loop' ? 'Loop with fetch' : 'dirsync'}, ${perSecond} calls/s, then ${perSecond / 2}`
      return ratePanel(title, calls, 3 * minute, [
        { from: 0, rate: perSecond },
        { from: change, rate: perSecond / 2 },
      ])
    }),
  })
}
