import type { TimeLeft } from '../core/time-left.ts'
import { counted } from './output.ts'
import { duration } from './time.ts'

/** How long a run still takes, without figures: `about 12 min left`. */
export function shortTimeLeft(left: TimeLeft): string {
  switch (left.state) {
    case 'estimated':
      return `about ${left.seconds < 10 ? `${Math.ceil(left.seconds)} s` : duration(left.seconds * 1000)} left`
    case 'paused':
      return `paused for another ${duration(left.pausedForMs)}, as the platform asks`
    case 'no_worker':
      return 'no worker is running'
    case 'halted':
      return 'what is left is halted'
    case 'waiting_for_retries':
      return `waiting for ${left.later === 1 ? 'a retry' : `${left.later.toLocaleString('en')} retries`}`
    case 'rate_unknown':
      return 'the rate is not yet known'
  }
}

/** The same with its figures: `about 12 min left (14,230 calls at 19.6/s)`. */
export function timeLeftText(left: TimeLeft): string {
  if (left.state === 'waiting_for_retries') return shortTimeLeft(left)
  const parts = [
    counted(left.calls, 'call'),
    left.ahead > 0 ? `${left.ahead.toLocaleString('en')} more urgent ones` : '',
    left.later > 0 ? `${left.later.toLocaleString('en')} to be retried later` : '',
  ].filter(Boolean)
  const rate = left.state === 'estimated' ? ` at ${perSecond(left.callsPerSecond)}` : ''
  return `${shortTimeLeft(left)} (${parts.join(', ')}${rate})`
}

/** `19.6/s` */
export function perSecond(rate: number): string {
  return `${rate.toLocaleString('en', { maximumFractionDigits: rate < 1 ? 2 : 1 })}/s`
}
