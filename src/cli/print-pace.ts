import type { Pace } from '../store/pace.ts'
import { colours } from './colours.ts'
import { counted, print, printFacts, printTitle } from './output.ts'
import { table } from './table.ts'
import { duration, shortTime } from './time.ts'
import { perSecond } from './time-left-text.ts'

/** How the calls to the platform go: the rate, the limit, and what each operation waits. */
export function printPace(pace: Pace): void {
  printTitle('Platform calls')
  printFacts([
    [
      'rate',
      `${perSecond(pace.calls_per_second)}, ${counted(pace.calls_last_minute, 'call')} in the last minute`,
    ],
    ['permitted', permitted(pace)],
    ['used', pace.utilisation === null ? null : `${Math.round(pace.utilisation * 100)} %`],
    ['waiting', pace.waiting > 0 ? pace.waiting.toLocaleString('en') : null],
  ])
  if (pace.paused_until) {
    const reason = pace.pause_reason ? `: ${pace.pause_reason}` : ''
    print(colours.yellow(`  paused until ${shortTime(pace.paused_until)}${reason}`))
  }
  if (pace.operations.length === 0) return
  process.stdout.write(
    table(
      [
        { title: 'IN 5 MINUTES', of: row => row.operation },
        { title: 'CALLS', of: row => row.calls.toLocaleString('en'), align: 'right' },
        { title: 'MEAN WAIT', of: row => duration(row.mean_wait_ms), align: 'right' },
        { title: 'LONGEST', of: row => duration(row.longest_wait_ms), align: 'right' },
        { title: 'REJECTED', of: row => row.too_fast.toLocaleString('en'), align: 'right' },
      ],
      pace.operations,
    ),
  )
}

function permitted(pace: Pace): string {
  if (pace.workers === 0) return 'unknown, no worker is running'
  if (pace.permitted_per_second === null) return 'not yet learnt'
  if (!pace.learnt) return perSecond(pace.permitted_per_second)
  if (pace.set_per_second !== null)
    return `${perSecond(pace.permitted_per_second)} of the ${perSecond(pace.set_per_second)} set: more was rejected (${lastRejected(pace)})`
  const how =
    pace.ceiling_per_second === null
      ? 'being learnt (nothing rejected yet)'
      : `learnt (last rejected at ${perSecond(pace.ceiling_per_second)})`
  return `${perSecond(pace.permitted_per_second)}, ${how}`
}

function lastRejected({ ceiling_per_second }: Pace): string {
  return `last at ${perSecond(ceiling_per_second ?? 0)}`
}
