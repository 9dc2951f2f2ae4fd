import { z } from 'zod'
import type { Pool } from '../lib/database.ts'
import { IS_IN_SETTINGS } from '../sync/health/health.ts'
import { LANGUAGES } from '../texts/texts.ts'
import { type ChannelSettings, getsAlerts, targetOf } from './channel.ts'
import { SEVERITIES, type Severity } from './rule.ts'

/** A channel, as last seen by the running processes or as this process's settings define it. Holds no secrets. */
export const ChannelReport = z.object({
  name: z.string(),
  kind: z.string(),
  target: z.string().describe('Host, or mail addresses'),
  least: z.enum(SEVERITIES).describe('Alerts of a lesser severity are not sent there'),
  language: z.enum(LANGUAGES),
  events: z
    .array(z.string())
    .nullable()
    .describe('The events of runs and cases that it gets instead of alerts; null: it gets alerts'),
  state: z
    .enum(['fine', 'unused', 'failing', 'new'])
    .describe('unused: nothing was sent yet; new: known only to this process, or not evaluated yet'),
  last_sent_at: z.date().nullable(),
  failing_since: z.date().nullable(),
  last_answer: z.string().nullable().describe('What its server answered last'),
  waiting: z.int().describe('Messages that wait to be sent'),
  testable: z.boolean().describe('Whether the process that answers has it among its settings'),
})
export type ChannelReport = z.infer<typeof ChannelReport>

/**
 * The channels of all processes: those recorded by running processes, and those of this process that are not
 * recorded yet.
 * @param configured the channels in this process's settings
 */
export async function readChannels(
  db: Pool,
  configured: readonly ChannelSettings[],
): Promise<ChannelReport[]> {
  const own = new Set(configured.map(({ name }) => name))
  const stored = await readStored(db, [...own])
  const known = new Set(stored.map(({ name }) => name))
  const unknown = configured
    .filter(({ name }) => !known.has(name))
    .map(settings => ({
      name: settings.name,
      kind: settings.kind,
      target: targetOf(settings),
      least: settings.least,
      language: settings.language,
      events: settings.events ? [...settings.events] : null,
      state: 'new' as const,
      last_sent_at: null,
      failing_since: null,
      last_answer: null,
      waiting: 0,
      testable: true,
    }))
  return [
    ...stored.map(channel => ({
      ...channel,
      state: channel.failing_since
        ? ('failing' as const)
        : channel.last_sent_at
          ? ('fine' as const)
          : ('unused' as const),
      testable: own.has(channel.name),
    })),
    ...unknown,
  ].sort((a, b) => a.name.localeCompare(b.name))
}

type StoredChannel = Omit<ChannelReport, 'state' | 'testable'>

/** The recorded channels that a process has; `own`: those that this one has. */
async function readStored(db: Pool, own: string[]): Promise<StoredChannel[]> {
  const { rows } = await db.query<StoredChannel>(
    `select c.name, c.kind, c.target, c.least, c.language, c.events, c.last_sent_at, c.failing_since, c.last_answer,
            (select count(*)::int from dirsync.alert_message m
             where split_part(m.channel, '/', 1) = c.name and m.state = 'waiting') as waiting
     from dirsync.alert_channel c
     where c.name = any ($1) or ${IS_IN_SETTINGS}`,
    [own],
  )
  return rows
}

/** The names of the channels that receive alerts of a severity. */
export function takersOf(severity: Severity, channels: readonly ChannelReport[]): string[] {
  return channels
    .filter(getsAlerts)
    .filter(({ least }) => SEVERITIES.indexOf(least) <= SEVERITIES.indexOf(severity))
    .map(({ name }) => name)
}
