import { type Pool, transaction } from '../lib/database.ts'
import { latestPlace, readEvents } from '../sync/health/events.ts'
import type { ChannelSettings } from './channel.ts'
import type { ChannelMessage } from './message.ts'

/* Events of runs and cases for webhooks: they go through the same outbox as alerts, a batch at a time. */

const IN_A_MESSAGE = 100

/**
 * Writes the events since its last message into a new one, unless one waits. A new channel begins with what comes next.
 * @returns whether there is more to look through, while no message of the channel waits
 */
export async function writeEvents(
  pool: Pool,
  { name, language, events: wanted }: ChannelSettings,
): Promise<boolean> {
  if (!wanted) return false
  return transaction(pool, async client => {
    const { rows } = await client.query<{ place: number | null; id: string | null; called: string | null }>(
      `select c.event_place as place, (select id from dirsync.deployment) as id,
              (select name from dirsync.deployment) as called
       from dirsync.alert_channel c
       where c.name = $1
         and not exists (select from dirsync.alert_message m where m.channel = c.name and m.state = 'waiting')
       for no key update of c skip locked`,
      [name],
    )
    const [channel] = rows
    if (!channel) return false
    const read =
      channel.place === null
        ? { events: [], place: await latestPlace(client), isBehind: false }
        : await readEvents(client, channel.place, IN_A_MESSAGE, wanted)
    const { events, place, isBehind } = read
    if (place === channel.place) return false
    await client.query('update dirsync.alert_channel set event_place = $2 where name = $1', [name, place])
    if (events.length === 0) return isBehind
    const message: ChannelMessage = {
      ...{
        kind: 'events',
        language,
        tone: 'info',
        title: '',
        alerts: [],
        note: null,
        url: null,
        urlText: '',
      },
      deployment: { id: channel.id, name: channel.called },
      at: new Date(),
      events,
    }
    await client.query(
      `insert into dirsync.alert_message (channel, kind, content) values ($1, 'events', $2)`,
      [name, message],
    )
    return false
  })
}

/** Whether a message holds as many events as it may, so that more may wait for it. */
export function isFull({ events }: ChannelMessage): boolean {
  return events !== undefined && events.length >= IN_A_MESSAGE
}
