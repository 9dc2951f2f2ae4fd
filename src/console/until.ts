import { z } from 'zod'
import { isZone } from '../lib/time-text.ts'
import { worded } from '../texts/message.ts'
import type { Ask } from './ask.ts'
import { momentIn, tomorrowAt } from './moment.ts'
import { Problem } from './problem.ts'
import type { Field } from './ui/parts.ts'

/* How long something lasts that a person sets and that ends by itself: a lower rate, a mute, a snooze. */

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
/** The limit of the SQL functions. */
const MOST_MS = 30 * DAY_MS

const lasting = (ms: number) => (now: Date) => new Date(now.getTime() + ms)

/** When each period ends. */
const PERIODS = {
  '1h': lasting(HOUR_MS),
  '4h': lasting(4 * HOUR_MS),
  tomorrow: (now: Date, zone: string) => tomorrowAt(zone, 8, now),
  '1d': lasting(DAY_MS),
  '3d': lasting(3 * DAY_MS),
  '1w': lasting(7 * DAY_MS),
}
type Period = keyof typeof PERIODS

/** What can be chosen: for how long, how far ahead at most, and what is said where no such time is given. */
interface Choice {
  periods: readonly Period[]
  mostMs: number
  missing: 'common.needs_time' | 'cases.needs_time'
}

const WITHIN_A_MONTH = {
  periods: ['1h', '4h', 'tomorrow'],
  mostMs: MOST_MS,
  missing: 'common.needs_time',
} as const satisfies Choice

export const SNOOZE = {
  periods: ['1d', '3d', '1w'],
  mostMs: Number.POSITIVE_INFINITY,
  missing: 'cases.needs_time',
} as const satisfies Choice

/** The fields of a form or a body that say until when. */
const untilInput = <const Periods extends readonly Period[]>({
  periods,
  mostMs,
}: {
  periods: Periods
  mostMs: number
}) =>
  z.object({
    for: z.enum(periods).optional().describe('How long; or give `until`'),
    until: z
      .string()
      .max(40)
      .optional()
      .describe(
        `A moment (ISO 8601)${mostMs === MOST_MS ? ', within 30 days' : ''}; without an offset in the time zone \`zone\``,
      ),
    zone: z
      .string()
      .max(60)
      .refine(isZone, worded('said.no_time_zone'))
      .optional()
      .describe('Time zone of `until` if it has no offset, such as Asia/Shanghai'),
  })
export const Until = untilInput(WITHIN_A_MONTH)
export const SnoozeUntil = untilInput(SNOOZE)

/** @throws Problem if no time is given, or one that is past or too far away */
export function untilOf(
  { now, t, ...ask }: Pick<Ask, 'now' | 't' | 'zone'>,
  given: { for?: Period | undefined; until?: string | undefined; zone?: string | undefined },
  { mostMs, missing }: Choice = WITHIN_A_MONTH,
): Date {
  // Use the zone that the form was shown in: the browser may have sent another one since.
  const zone = given.zone ?? ask.zone
  const until = given.until ? momentIn(zone, given.until) : given.for ? PERIODS[given.for](now, zone) : null
  if (until === null || !(until.getTime() > now.getTime()) || until.getTime() > now.getTime() + mostMs)
    throw new Problem('invalid', t(missing), { field: 'until' })
  return until
}

/** The same as form fields. */
export function untilFields({ t, zone }: Ask, { periods }: Choice = WITHIN_A_MONTH): Field[] {
  return [
    {
      name: 'for',
      label: t('common.for'),
      choices: periods.map(period => ({ value: period, text: t(`common.for.${period}`) })),
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
