import type { Figure, RunBenchmark } from './figure.ts'
import type { RecordedCall } from './limited-platform.ts'
import { ratePanel } from './rate-panel.ts'
import { accepted, between, rejected } from './recording.ts'
import { savePlot } from './results.ts'
import { type Trial, Trials } from './trial.ts'
import type { Workshop } from './workshop.ts'

const SET = 200
const PERMITTED = 60
const PROCESSES = 2
/** Calls that each process has waiting or in flight. */
const CALLERS = 8
const MINUTES = 3

/**
 * The cost of a rate that was set far too high: refused calls, and permitted calls that were not made.
 * @param minute seconds that a minute has
 */
export function ceiling(workshop: Workshop, minute: number, results: string): RunBenchmark {
  const cells = [false, true].map(retryAfter => ({
    name: `ceiling${retryAfter ? '-retry-after' : '-set-too-high'}`,
    trial: trialOf('dirsync', retryAfter, minute),
  }))
  return {
    name: 'ceiling',
    measures: `share of the calls of minutes 2 to ${MINUTES} that were rejected, and calls accepted then divided by what is permitted: PLATFORM_RATE_LIMIT=${SET} before a platform that permits ${PERMITTED} by sliding log, ${PROCESSES} processes`,
    against: `a loop with fetch, ${CALLERS} calls at a time in each of ${PROCESSES} processes, whose waits after a refusal double`,
    parts: cells.map(({ name }) => name),
    async run(parts, report) {
      const chosen = cells.filter(({ name }) => parts.length === 0 || parts.includes(name))
      const loop = trialOf('loop', false, minute)
      const recorded = await new Trials(workshop).run([...chosen.map(({ trial }) => trial), loop])
      const baseline = resultOf(recorded.at(-1) as RecordedCall[], minute)
      report(`loop: ${baseline.text}`)
      await savePlot(results, 'ceiling', {
        title: `A set rate is a ceiling: PLATFORM_RATE_LIMIT=${SET} where ${PERMITTED} are permitted`,
        xLabel: 'seconds',
        yLabel: 'calls per second',
        panels: chosen.map(({ name }, i) =>
          ratePanel(name, recorded[i] as RecordedCall[], minute * MINUTES, [{ from: 0, rate: PERMITTED }]),
        ),
      })
      return chosen.flatMap(({ name }, i): Figure[] => {
        const result = resultOf(recorded[i] as RecordedCall[], minute)
        report(`${name}: ${result.text}`)
        return [
          {
            ...{ name: `${name}-rejected`, value: result.rejected, unit: 'of calls' },
            ...{ baseline: baseline.rejected, goal: { valueAtMost: 0.01 } },
          },
          {
            name,
            value: result.share,
            unit: 'of permitted',
            baseline: baseline.share,
            goal: { valueAtLeast: 0.85 },
          },
        ]
      })
    },
  }
}

function trialOf(caller: 'dirsync' | 'loop', retryAfter: boolean, minute: number): Trial {
  return {
    ...{ caller, processes: PROCESSES, rate: SET, concurrency: CALLERS, seconds: minute * MINUTES },
    limit: { kind: 'sliding-log', perSecond: PERMITTED, retryAfter },
  }
}

function resultOf(calls: readonly RecordedCall[], minute: number) {
  const counted = between(calls, minute, minute * MINUTES)
  const share = accepted(counted) / (PERMITTED * minute * (MINUTES - 1))
  const refused = counted.length === 0 ? 0 : rejected(counted) / counted.length
  const text = `${(refused * 100).toFixed(2)} % of calls rejected, accepted ${share.toFixed(4)} of what is permitted`
  return {
    share,
    rejected: refused,
    text: `${text}; in minute 1 ${rejected(between(calls, 0, minute))} rejected`,
  }
}
