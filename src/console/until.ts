import { z } from 'zod'
import { isZone } from '../lib/time-text.ts'
import { worded } from '../texts/message.ts'
import type { Ask } from './ask.ts'
import { momentIn, tomorrowAt } from './moment.ts'
import { Problem } from './problem.ts'
import type { Field } from './ui/parts.ts'

/* How long something lasts that a person sets and that ends by itself: a lower rate, a mute. */

const HOUR_MS = 3_600_000
/** The limit of the SQL functions. */
const MOST_MS = 30 * 24 * HOUR_MS

const PERIODS = ['1h', '4h', 'tomorrow'] as const

/** The fields of a form or a body that say until when. */
export const Until = z.object({
  for: z.enum(PERIODS).optional().describe('How long; or give `until`'),
  until: z
    .string()
    .max(40)
    .optional()
    .describe('A moment (ISO 8601), within 30 days; without an offset in the time zone `zone`'),
  zone: z
    .string()
    .max(60)
    .refine(isZone, worded('said.no_time_zone'))
    .optional()
    .describe('Time zone of `until` if it has no offset, such as Asia/Shanghai'),
})

/** @throws Problem if no time is given, or one that is past or too far away */
export function untilOf({ now, t, ...ask }: Ask, given: z.output<typeof Until>): Date {
  // Use the zone that the form was shown in: the browser may have sent another one since.
  const zone = given.zone ?? ask.zone
  const until =
    given.until !== undefined
      ? momentIn(zone, given.until)
      : given.for === 'tomorrow'
        ? tomorrowAt(zone, 8, now)
        : given.for === '1h'
          ? new Date(now.getTime() + HOUR_MS)
          : given.for === '4h'
            ? new Date(now.getTime() + 4 * HOUR_MS)
            : null
  if (until === null || !(until.getTime() > now.getTime()) || until.getTime() > now.getTime() + MOST_MS)
    throw new Problem('invalid', t('common.needs_time'), { field: 'until' })
  return until
}

/** The same as form fields. */
export function untilFields({ t, zone }: Ask): Field[] {
  return [
    {
      name: 'for',
      label: t('common.for'),
      choices: PERIODS.map(period => ({ value: period, text: t(`common.for.${period}`) })),
    },
    {
      name: 'until',
      label: t('common.or_until'),
      type: 'datetime-local',
      hint: t('common.or_until_hint', { zone }),
    },
    { name: 'zone', type: 'hidden', value: zone },
  ]
}
