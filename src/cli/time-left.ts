import { timeLeftText } from '../console/runs/words.ts'
import type { TimeLeft } from '../sync/health/time-left.ts'
import { say, shellLanguage } from './language.ts'

/** How long a run will still take: `about 12 min left`. */
export function shortTimeLeft(left: TimeLeft): string {
  return timeLeftText({ language: shellLanguage(), t: say }, left)
}

/** The same with its figures: `about 12 min left (14,230 calls at 19.6/s)`. */
export function figuredTimeLeft(left: TimeLeft): string {
  if (left.state === 'waiting_for_retries') return shortTimeLeft(left)
  const parts = [
    say('shell.calls', { count: left.calls }),
    left.ahead > 0 ? say('shell.go_first', { count: left.ahead }) : '',
    left.later > 0 ? say('shell.retried_later', { count: left.later }) : '',
  ].filter(Boolean)
  const { calls_per_second } = left
  const rate = calls_per_second === null ? '' : say('shell.at_rate', { rate: perSecond(calls_per_second) })
  return say('shell.with_figures', {
    left: shortTimeLeft(left),
    figures: parts.join(say('shell.comma')) + rate,
  })
}

/** `19.6/s` */
function perSecond(rate: number): string {
  return say('shell.per_second', {
    rate: rate.toLocaleString('en', { maximumFractionDigits: rate < 1 ? 2 : 1 }),
  })
}
