import { type Pool, transaction } from '../lib/database.ts'
import { type Event, latestPlace, readEvents } from '../sync/events.ts'
import type { ChannelSettings } from './channel.ts'
import type { ChannelMessage } from './message.ts'

/* Events of runs and cases for webhooks: they go through the same outbox as alerts, a batch at a time. */

/** Events in a message, and how many are looked through for them. */
const IN_A_MESSAGE = 100
const AT_A_TIME = 1000

/** Writes the events since its last message into a new one, unless one waits. A new channel begins with what comes next. */
export async function writeEvents(
  pool: Pool,
  { name, language, events: patterns }: ChannelSettings,
): Promise<void> {
  if (!patterns) return
  const isWanted = ({ type }: Event) =>
    patterns.some(
      pattern => pattern === type || (pattern.endsWith('*') && type.startsWith(pattern.slice(0, -1))),
    )
  await transaction(pool, async client => {
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
    if (!channel) return
    const all = channel.place === null ? [] : await readEvents(client, channel.place, AT_A_TIME)
    const events = all.filter(isWanted).slice(0, IN_A_MESSAGE)
    const last = events.length === IN_A_MESSAGE ? events.at(-1) : all.at(-1)
    const place = last?.id ?? channel.place ?? (await latestPlace(client))
    if (place === channel.place) return
    await client.query('update dirsync.alert_channel set event_place = $2 where name = $1', [name, place])
    if (events.length === 0) return
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
  })
}
