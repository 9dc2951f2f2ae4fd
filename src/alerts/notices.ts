import { qualified } from '../directory/employee.ts'
import { type ClientBase, type Pool, transaction } from '../lib/database.ts'
import { actorText } from '../texts/actor.ts'
import { type Language, textOr, translator } from '../texts/texts.ts'
import type { ChannelSettings } from './channel.ts'
import { canMention } from './channel-settings.ts'
import { type ChannelMessage, type Sender, titled } from './message.ts'

/*
 * One person is told that a case is now theirs, or that a comment names them. SQL notes whom (`dirsync.note_notice`); here it
 * is decided how they are reached, and the message goes through the same outbox as alerts.
 */

/** Where a user can be told. */
export interface NoticeAddresses {
  mail: string | null
  /** `channel:id` */
  mention: string | null
}

/** How a user is reached: the channel, and the address or id there. */
export interface NoticeWay {
  by: 'mail' | 'chat'
  channel: string
  recipient: string
}

/** By mail where there is an address and a channel for mail, else by a mention in the chat that is set for them; null: not at all. */
export function noticeWay(
  { mail, mention }: NoticeAddresses,
  channels: readonly Pick<ChannelSettings, 'name' | 'kind'>[],
): NoticeWay | null {
  const post = channels.find(({ kind }) => kind === 'mail')
  if (mail !== null && post) return { by: 'mail', channel: post.name, recipient: mail }
  const [, name, id = ''] = /^([^:]+):(.+)$/.exec(mention ?? '') ?? []
  const chat = channels.find(channel => channel.name === name)
  return chat && canMention(chat.kind, id) ? { by: 'chat', channel: chat.name, recipient: id } : null
}

/** The addresses of users, by name; those who are disabled, or have no role any more, are not told anything. */
export async function readNoticeAddresses(
  db: Pick<ClientBase, 'query'>,
  names: readonly string[],
): Promise<Map<string, NoticeAddresses>> {
  const { rows } = await db.query<NoticeAddresses & { name: string }>(
    `select name, notice_mail as mail, notice_mention as mention from dirsync.console_user
     where name = any ($1) and disabled_at is null and no_role_since is null`,
    [names],
  )
  return new Map(rows.map(({ name, ...addresses }) => [name, addresses]))
}

/** Notices that are written at a time. */
const AT_A_TIME = 100

interface Noted {
  id: number
  user: string
  event: 'assigned' | 'commented'
  case: number
  bulk: number | null
  cases: number
  actor: string
  at: Date
  language: Language | null
  category: string
  enterprise: string
  key: string
}

/**
 * Writes the notices that are due into messages. A person's next message is written once the one before is sent. Those whom
 * only a channel of another process reaches are left to it.
 */
export async function writeNotices(
  pool: Pool,
  channels: readonly ChannelSettings[],
  consoleUrl: string | null,
): Promise<void> {
  await transaction(pool, async client => {
    const { rows: people } = await client.query<{ name: string }>(
      'select distinct user_name as name from dirsync.notice',
    )
    if (people.length === 0) return
    const addresses = await readNoticeAddresses(
      client,
      people.map(({ name }) => name),
    )
    const { rows: known } = await client.query<Pick<ChannelSettings, 'name' | 'kind'>>(
      'select name, kind from dirsync.alert_channel',
    )
    const others = [...addresses].filter(([, to]) => !noticeWay(to, channels) && noticeWay(to, known))
    const { rows } = await client.query<Noted>(
      `select n.id, n.user_name as user, n.event, n.dead_letter_id as case, n.bulk_id as bulk, n.cases, n.actor, n.at,
              u.language, d.category, d.enterprise_code as enterprise, d.entity_key as key
       from dirsync.notice n
       join dirsync.console_user u on u.name = n.user_name
       join dirsync.dead_letter d on d.id = n.dead_letter_id
       where (n.bulk_id is null
              or exists (select from dirsync.bulk_action b where b.id = n.bulk_id and b.finished_at is not null))
         and not exists (select from dirsync.alert_message m
                         where m.state = 'waiting' and split_part(m.channel, '/', 1) = any ($1)
                           and m.channel = split_part(m.channel, '/', 1) || '/' || n.user_name)
         and n.user_name <> all ($2)
       order by n.id limit ${AT_A_TIME} for update of n skip locked`,
      [channels.map(({ name }) => name), others.map(([name]) => name)],
    )
    if (rows.length === 0) return
    const sender = await senderOf(client)
    for (const noted of rows) {
      const known = addresses.get(noted.user)
      const way = known ? noticeWay(known, channels) : null
      if (way !== null) {
        const language = noted.language ?? channels.find(({ name }) => name === way.channel)?.language ?? 'en'
        const { rowCount } = await client.query(
          `insert into dirsync.alert_message (channel, kind, content) values ($1, 'notice', $2)
           on conflict (channel) where state = 'waiting' do nothing`,
          [`${way.channel}/${noted.user}`, noticeOf(noted, language, sender, consoleUrl)],
        )
        if (rowCount === 0) continue
      }
      await client.query('delete from dirsync.notice where id = $1', [noted.id])
    }
  })
}

async function senderOf(client: ClientBase): Promise<Sender> {
  const { rows } = await client.query<Sender>('select id, name from dirsync.deployment')
  return rows[0] ?? { id: null, name: null }
}

/** Who did what to which case, and no word of a person. */
function noticeOf(
  noted: Noted,
  language: Language,
  sender: Sender,
  consoleUrl: string | null,
): ChannelMessage {
  const t = translator(language)
  const { event, bulk, cases, category, enterprise, key } = noted
  const by = actorText({ t }, noted.actor)
  const title = t(`notice.${event}`, { by, cases, case: String(noted.case) })
  const path = bulk === null || cases === 1 ? `/cases/${noted.case}` : `/bulk/${bulk}`
  return {
    ...{ kind: 'notice', language, tone: 'info', alerts: [], at: noted.at },
    deployment: { id: sender.id, name: sender.name },
    title: titled(sender, title),
    note:
      cases === 1
        ? `${textOr(language, `category.${category}`, category)} · ${qualified(enterprise, key)}`
        : null,
    url: consoleUrl && consoleUrl + path,
    urlText: t('alerts.message.open'),
  }
}
