import { z } from 'zod'
import { periodMs } from '../lib/time-text.ts'
import { worded } from '../texts/message.ts'
import type { Ask } from './ask.ts'
import { givenMoment, wallClockIn } from './moment.ts'
import type { Field } from './ui/parts.ts'

/* From when until when: the same for every list that has moments, for its export and the shell, and for curves. */

const PATTERN = /^(\d{1,4}[hdw]|\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)?)?)$/

/** A moment, a day or a period before now, as a person gives it. */
const moment = z.string().regex(PATTERN, { message: worded('said.give_since') })

/** The fields of a query. */
export const RANGE = {
  from: moment.optional().describe('From this day or moment on (ISO 8601), or from so long ago: 12h, 7d, 4w'),
  to: moment
    .optional()
    .describe('Until this moment (ISO 8601), the end of this day, or so long ago: 12h, 7d, 4w'),
}

/** What `from` was called before. */
export const SINCE = { since: z.string().max(40).optional().describe('The same as `from`') }

interface Given {
  from?: string | undefined
  to?: string | undefined
  since?: string | undefined
}

/**
 * The moments: from the first one on, and before the second one.
 * @throws Problem if one is no moment
 */
export function rangeOf(
  ask: Pick<Ask, 'zone' | 't' | 'now'>,
  { from, to, since }: Given,
): { from: Date | undefined; to: Date | undefined } {
  return {
    from: from === undefined ? momentOf(ask, 'since', since) : momentOf(ask, 'from', from),
    to: momentOf(ask, 'to', to),
  }
}

const DAY_MS = 86_400_000

function momentOf(ask: Pick<Ask, 'zone' | 't' | 'now'>, name: string, text: string | undefined) {
  if (text === undefined) return undefined
  const period = periodMs(text)
  if (period !== null) return new Date(ask.now.getTime() - period)
  if (text.length > 10) return givenMoment(ask, name, text)
  // A day ends where the next one begins.
  const begins = givenMoment(ask, name, `${text}T00:00`)
  return begins && name === 'to' ? nextDay(ask, begins) : begins
}

/** Where clocks change, a day is shorter or longer. */
function nextDay(ask: Pick<Ask, 'zone' | 't'>, begins: Date): Date | undefined {
  const noon = new Date(begins.getTime() + 1.5 * DAY_MS)
  return givenMoment(ask, 'to', `${wallClockIn(ask.zone, noon).slice(0, 10)}T00:00`)
}

/** The fields of a filter form. @param what the moment that is meant, as the list calls it */
export function rangeFields(ask: Ask, what: string, given: Given): Field[] {
  const shown = rangeOf(ask, given)
  return (['from', 'to'] as const).map(name => ({
    name,
    label: ask.t(`common.${name}`, { what }),
    type: 'datetime-local',
    value: shown[name] && wallClockIn(ask.zone, shown[name]),
  }))
}
