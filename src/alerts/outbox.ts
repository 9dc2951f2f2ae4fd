import { type ClientBase, onlyRow, type Pool, transaction } from '../lib/database.ts'
import { storableText } from '../lib/storable.ts'
import type { LeftOut } from './channel.ts'
import type { Draft, Outlook } from './decide.ts'
import type { ChannelMessage } from './message.ts'

/*
 * `dirsync.alert_message`: messages are written in the transaction that decides about them, and sent by the first
 * process that takes them. The sender holds a lease; if it dies, another process sends the message again.
 */

/** SQL: no process is sending the message. A lease beyond the longest is from before the clock was put back. */
export const IS_FREE = `(leased_until is null or leased_until not between now() and now() + interval '1 minute')`

/** SQL: when to try a message has come, or is later than any try, from before the clock was put back. */
const IS_DUE = `(not_before <= now() or not_before > now() + interval '2 hours')`

/**
 * Condition on `dirsync.alert_check`: so long ago was the last evaluation that no process was there, as everything was down or
 * the machine slept.
 */
export const IS_UNWATCHED = `checked_at < now() - interval '3 minutes'`

/** The stored form of a message: dates have become texts. */
type Stored<T> = T extends Date
  ? string
  : T extends readonly (infer Item)[]
    ? Stored<Item>[]
    : T extends object
      ? { [Key in keyof T]: Stored<T[Key]> }
      : T

function messageOf({ events, ...stored }: Stored<ChannelMessage>): ChannelMessage {
  return {
    ...stored,
    at: new Date(stored.at),
    ...(events && { events: events.map(event => ({ ...event, at: new Date(event.at) })) }),
    alerts: stored.alerts.map(alert => ({
      ...alert,
      since: new Date(alert.since),
      endedAt: alert.endedAt === null ? null : new Date(alert.endedAt),
    })),
  }
}

/**
 * Writes the messages of an evaluation. A waiting message about the same news gets the new texts. One about other
 * news is replaced by a new message, which receivers cannot mistake for the old one, and which inherits its tries and the
 * time of the next one. So does the message that comes after one that was given up: the channel still fails.
 */
export async function writeMessages(
  db: ClientBase,
  messages: readonly { draft: Draft; message: ChannelMessage }[],
  waiting: Outlook['waiting'],
  givenUp: readonly GivenUp[],
): Promise<void> {
  for (const { id, channel } of waiting)
    if (!messages.some(({ draft }) => draft.channel === channel)) await takeBack(db, id)
  for (const { draft, message } of messages) {
    const old = waiting.find(({ channel }) => channel === draft.channel)
    if (old && (await saysTheSame(db, old.id, draft)))
      await db.query('update dirsync.alert_message set content = $2 where id = $1', [old.id, message])
    else {
      const tries = old
        ? await takeBack(db, old.id)
        : givenUp.find(({ channel }) => channel === draft.channel)
      await add(db, draft, message, tries)
    }
  }
}

/** Records what quiet hours or a mute keep from a channel, for people who ask why they were not told. */
export async function noteWithheld(
  db: ClientBase,
  withheld: readonly { alertId: number; channel: string }[],
): Promise<void> {
  if (withheld.length === 0) return
  await db.query(
    `insert into dirsync.alert_notice (alert_id, channel, event)
     select id, channel, 'withheld' from unnest($1::bigint[], $2::text[]) as w (id, channel)`,
    [withheld.map(({ alertId }) => alertId), withheld.map(({ channel }) => channel)],
  )
}

async function saysTheSame(db: ClientBase, id: number, { kind, events }: Draft): Promise<boolean> {
  const { rows } = await db.query<{ kind: Draft['kind']; told: string[] }>(
    `select m.kind, array(select n.alert_id || ' ' || n.event from dirsync.alert_notice n
                          where n.message_id = m.id) as told
     from dirsync.alert_message m where m.id = $1`,
    [id],
  )
  const old = onlyRow(rows)
  const told = kind === 'summary' ? [] : events.map(({ alert, event }) => `${alert.id} ${event}`)
  return old.kind === kind && old.told.sort().join() === told.sort().join()
}

interface Tries {
  attempts: number
  notBefore: Date | null
}

/** SQL: what the next message inherits as {@link Tries}. A receiver that refuses events may take alerts. */
const TRIES = `case when kind = 'events' then 0 else attempts end as attempts,
  case when kind <> 'events' then not_before end as "notBefore"`

/** Withdraws a message that is not being sent; its content counts as not told. */
async function takeBack(db: ClientBase, id: number): Promise<Tries> {
  await db.query('delete from dirsync.alert_notice where message_id = $1', [id])
  const { rows } = await db.query<Tries>(
    `delete from dirsync.alert_message where id = $1 returning ${TRIES}`,
    [id],
  )
  return onlyRow(rows)
}

async function add(
  db: ClientBase,
  { channel, kind, events }: Draft,
  message: ChannelMessage,
  tries: Tries | undefined,
): Promise<void> {
  const { rows } = await db.query<{ id: number }>(
    `insert into dirsync.alert_message (channel, kind, content, attempts, not_before)
     values ($1, $2, $3, $4, coalesce($5, now())) returning id`,
    [channel, kind, message, tries?.attempts ?? 0, tries?.notBefore ?? null],
  )
  await db.query(`select pg_notify('dirsync', 'alerts')`)
  // The alerts that a summary counts are told once the channel may have messages again.
  if (kind === 'summary') return
  await db.query(
    `insert into dirsync.alert_notice (alert_id, channel, event, message_id)
     select id, $3, event, $4 from unnest($1::bigint[], $2::text[]) as e (id, event)`,
    [events.map(({ alert }) => alert.id), events.map(({ event }) => event), channel, onlyRow(rows).id],
  )
}

interface GivenUp extends Tries {
  channel: string
}

/** Gives up messages that no channel has accepted for a day. */
export async function giveUpOld(db: ClientBase): Promise<GivenUp[]> {
  const { rows } = await db.query<GivenUp>(
    `update dirsync.alert_message set state = 'given_up'
     where state = 'waiting' and created_at < now() - interval '24 hours' and ${IS_FREE}
     returning channel, ${TRIES}`,
  )
  return rows
}

/** A message that this process is sending. */
export interface Taken {
  id: number
  /** Name of the channel; of a notice, also whom it is for; of a message to recipients who were put off, also which it was. */
  channel: string
  message: ChannelMessage
  /** Including this one. It also distinguishes the holder of one lease from that of a later one. */
  attempts: number
}

/**
 * Takes the messages that are due for these channels: at most one per channel, and one for each person to be told.
 * @param leaseMs how long other processes leave them alone
 */
export async function takeDue(db: Pool, channels: readonly string[], leaseMs: number): Promise<Taken[]> {
  if (channels.length === 0) return []
  const { rows } = await db.query<Omit<Taken, 'message'> & { content: Stored<ChannelMessage> }>(
    `update dirsync.alert_message
     set attempts = attempts + 1, leased_until = now() + $2 * interval '1 ms'
     where id in (select id from dirsync.alert_message
                  where state = 'waiting' and split_part(channel, '/', 1) = any ($1) and ${IS_DUE} and ${IS_FREE}
                    -- After a downtime the next evaluation says what they say, or withdraws them.
                    and not (kind in ('alerts', 'summary')
                             and exists (select from dirsync.alert_check where ${IS_UNWATCHED}))
                  for update skip locked)
     returning id, channel, content, attempts`,
    [channels, leaseMs],
  )
  return rows.map(({ content, ...taken }) => ({ ...taken, message: messageOf(content) }))
}

/** The length to which a server's answer is stored. */
const MOST_ANSWER = 500

/** What is left to do for a message that its channel took for some of its recipients only. */
export interface Left extends LeftOut {
  /** After how long it is sent again to those who were put off. */
  delayMs: number
}

/**
 * The channel accepted the message.
 * @param left null: for all of its recipients; otherwise the channel fails. Those who were put off get a message of their own, which
 *   news does not replace: others wait for no one. A message that is not for all of the channel does not end its failure while others
 *   lack theirs
 */
export async function markSent(
  db: Pool,
  { id, attempts, channel }: Taken,
  answer: string,
  left: Left | null,
): Promise<void> {
  const name = channel.replace(/\/.*/s, '')
  await transaction(db, async client => {
    // One at a time, so that the last of several sees that no other waits.
    await client.query('select from dirsync.alert_channel where name = $1 for update', [name])
    await client.query(
      `with sent as (
         update dirsync.alert_message set state = 'sent', sent_at = now(), leased_until = null, answer = $3
         where id = $1 and attempts = $2 and state = 'waiting' returning *
       ), again as (
         insert into dirsync.alert_message (channel, kind, content, created_at, attempts, not_before)
         select $4 || '//' || id, kind, content || jsonb_build_object('recipients', $6::text[]), created_at, attempts,
                now() + $7 * interval '1 ms'
         from sent where cardinality($6::text[]) > 0
       ), outcome as (
         select channel <> c.name and refuses_some as refuses_some,
                channel <> c.name and not $5
                  and (refuses_some or exists (select from dirsync.alert_message other
                                               where other.state = 'waiting' and other.attempts > 0 and other.id <> sent.id
                                                 and (other.channel = c.name
                                                      or starts_with(other.channel, c.name || '//')))) as others_fail
         from sent join dirsync.alert_channel c on c.name = $4
       )
       update dirsync.alert_channel c
       set last_sent_at = now(), refuses_some = outcome.refuses_some or $8,
           failing_since = case when others_fail or $5 then least(failing_since, now()) end,
           last_answer = case when others_fail then last_answer else $3 end
       from outcome where c.name = $4`,
      [
        ...[id, attempts, storableText(answer.slice(0, MOST_ANSWER)), name, left !== null],
        ...[left?.putOff ?? [], left?.delayMs ?? 0, (left?.refused ?? []).length > 0],
      ],
    )
  })
}

/** The channel accepted a test message, so it works again, and its waiting messages are tried at once. */
export async function noteTaken(db: Pool, channel: string, answer: string): Promise<void> {
  await db.query(
    `update dirsync.alert_channel
     set last_sent_at = now(), failing_since = null, refuses_some = false, last_answer = $2 where name = $1`,
    [channel, storableText(answer.slice(0, MOST_ANSWER))],
  )
  await hurry(db, [channel])
}

/**
 * The message was not accepted: it is tried again after `delayMs`. A failure of long ago whose messages are gone is another one.
 * @param isOfChannel whether the channel is failing
 */
export async function putOff(
  db: Pool,
  { id, attempts }: Taken,
  answer: string,
  { delayMs, isOfChannel }: { delayMs: number; isOfChannel: boolean },
): Promise<void> {
  await db.query(
    `with failed as (
       update dirsync.alert_message
       set not_before = now() + $4 * interval '1 ms', leased_until = null, answer = $3
       where id = $1 and attempts = $2 and state = 'waiting' returning channel
     )
     update dirsync.alert_channel c
     set failing_since = case when exists (select from dirsync.alert_message m
                                           where m.state = 'waiting' and split_part(m.channel, '/', 1) = c.name
                                             and m.attempts > case m.id when $1 then 1 else 0 end)
                              then least(failing_since, now()) else now() end,
         last_answer = $3
     from failed where $5 and c.name = split_part(failed.channel, '/', 1)`,
    [id, attempts, storableText(answer.slice(0, MOST_ANSWER)), delayMs, isOfChannel],
  )
}

/** Returns a message that this process stopped sending before it got an answer. */
export async function giveBack(db: Pool, { id, attempts }: Taken): Promise<void> {
  await db.query(
    `update dirsync.alert_message set leased_until = null
     where id = $1 and attempts = $2 and state = 'waiting'`,
    [id, attempts],
  )
}

/** Gives up a message whose receiver is gone. */
export async function giveUp(db: Pool, { id, attempts }: Taken): Promise<void> {
  await db.query(
    `update dirsync.alert_message set state = 'given_up', leased_until = null
     where id = $1 and attempts = $2 and state = 'waiting'`,
    [id, attempts],
  )
}

/** Makes waiting messages of these channels due at once: their settings may have been corrected. */
export async function hurry(db: Pool, channels: readonly string[]): Promise<void> {
  await db.query(
    `update dirsync.alert_message set not_before = now()
     where state = 'waiting' and split_part(channel, '/', 1) = any ($1) and not_before > now()`,
    [channels],
  )
}
