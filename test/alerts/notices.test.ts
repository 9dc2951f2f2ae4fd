import { expect, onTestFinished, test } from 'vitest'
import type { Channel, ChannelSettings } from '../../src/alerts/channel.ts'
import { readChannels } from '../../src/alerts/channel-report.ts'
import { openChannel } from '../../src/alerts/channels/index.ts'
import { Courier } from '../../src/alerts/courier.ts'
import { noteChannels } from '../../src/alerts/record.ts'
import { transaction } from '../../src/lib/database.ts'
import { previewBulk, startBulk } from '../../src/sync/cases/bulk.ts'
import { Commands } from '../../src/sync/runs/commands.ts'
import { until } from '../helpers/company.ts'
import { SILENT, StoreUnderTest } from '../sync/store-under-test.ts'
import { MailServer } from './channels/mail-server.ts'
import { type Receiver, startReceiver } from './channels/receiver.ts'

const store = new StoreUnderTest()
const MEI = { actor: 'console:mei' }
const mei = () => new Commands(store.pool, MEI)

async function user(name: string, addresses: { mail?: string; mention?: string; language?: string } = {}) {
  const { mail = null, mention = null, language = null } = addresses
  await store.pool.query(
    `insert into dirsync.console_user (name, source, role, language, notice_mail, notice_mention)
     values ($1, 'key', 'reviewer', $2, $3, $4)`,
    [name, language, mail, mention],
  )
}

function aCase(key = 'e1'): Promise<number> {
  return store.value<number>(
    `insert into dirsync.dead_letter (entity, entity_key, operation, field, category, message, remedy)
     values ('employee', $1, 'update-employee', 'mobile', 'duplicate_mobile', '[]', '[]') returning id`,
    [key],
  )
}

/** A mail server and a chat, with their channels. */
async function channels(): Promise<{ mail: MailServer; chat: Receiver; open: Channel[] }> {
  const mail = await MailServer.start({ authOptional: true, disabledCommands: ['STARTTLS'] })
  const chat = await startReceiver(() => [200, '{"errcode":0,"errmsg":"ok"}'])
  const common = { secret: null, least: 'warning', language: 'en', mention: ['boss'] } as const
  const settings: ChannelSettings[] = [
    {
      ...common,
      ...{ name: 'post', kind: 'mail', url: `smtp://127.0.0.1:${mail.port}?tls=off` },
      ...{ mention: [], from: 'dirsync@example.com', to: ['ops@example.com'] },
    },
    { ...common, name: 'room', kind: 'wecom', url: `${chat.origin}/send?key=k`, from: null, to: [] },
  ]
  const open = settings.map(openChannel)
  onTestFinished(async () => {
    for (const channel of open) await channel.close()
    await mail[Symbol.asyncDispose]()
    await chat[Symbol.asyncDispose]()
  })
  return { mail, chat, open }
}

function startCourier(open: Channel[]): Courier {
  const courier = new Courier({
    ...{ pool: store.pool, channels: open, logger: SILENT },
    consoleUrl: 'https://dirsync.example.com',
  })
  courier.start()
  onTestFinished(() => courier.stop())
  return courier
}

const settled = () =>
  until(
    async () =>
      (await store.value(
        `select (select count(*) from dirsync.notice)
                + (select count(*) from dirsync.alert_message where state = 'waiting')`,
      )) === 0,
  )
const told = () =>
  store.rows<{ channel: string; title: string; note: string }>(
    `select channel, content ->> 'title' as title, content ->> 'note' as note
     from dirsync.alert_message order by id`,
  )

test('the person to whom a case is assigned is told by mail, and no one else', async () => {
  await user('li', { mail: 'li@example.com' })
  const id = await aCase()
  await mei().assign(id, 'Li')
  const { mail, chat, open } = await channels()
  startCourier(open)
  await settled()
  expect(mail.arrivals).toHaveLength(1)
  const [arrival] = mail.arrivals
  expect(arrival?.to).toEqual(['li@example.com'])
  expect(arrival?.mail.subject).toBe(`dirsync: mei has assigned case ${id} to you`)
  expect(arrival?.mail.text).toContain('mobile number taken · e1')
  expect(arrival?.mail.text).toContain(`https://dirsync.example.com/cases/${id}`)
  expect(chat.arrivals).toEqual([])
})

test('without a mail address they are mentioned in the chat that is set for them, in their language', async () => {
  await user('li', { mention: 'room:li.wei', language: 'zh-CN' })
  const id = await aCase()
  await mei().assign(id, 'li')
  const { mail, chat, open } = await channels()
  startCourier(open)
  await settled()
  expect(mail.arrivals).toEqual([])
  expect(chat.arrivals).toHaveLength(1)
  const { content } = JSON.parse(chat.arrivals[0]?.body ?? '').markdown
  expect(content).toContain(`mei 将异常项`)
  expect(content).toContain('<@li.wei>')
  expect(content).not.toContain('boss')
})

test('one message tells of a bulk assignment, once it is over', async () => {
  await user('li', { mail: 'li@example.com' })
  const ids = [await aCase('e1'), await aCase('e2'), await aCase('e3')]
  const { id } = await previewBulk(store.pool, MEI, { of: { ids }, action: 'assign', assignee: 'li' })
  await startBulk(store.pool, MEI, id)
  await store.pool.query('select dirsync.bulk_step(2, 10)')
  const { mail, open } = await channels()
  const courier = startCourier(open)
  await mei().assign(await aCase('e9'), 'li')
  courier.wake()
  await until(async () => mail.arrivals.length === 1)
  expect(await store.value('select cases from dirsync.notice')).toBe(2)
  await store.pool.query('select dirsync.bulk_step(2, 10)')
  courier.wake()
  await settled()
  expect((await told()).map(({ title }) => title)).toEqual([
    expect.stringMatching(/^dirsync: mei has assigned case \d+ to you$/),
    'dirsync: mei has assigned 3 cases to you',
  ])
  expect(mail.arrivals[1]?.mail.text).toContain(`https://dirsync.example.com/bulk/${id}`)
})

test('a comment tells the users that it names, but not what it says', async () => {
  for (const name of ['mei', 'li', 'bo', 'gone']) await user(name, { mail: `${name}@example.com` })
  await store.pool.query(`update dirsync.console_user set disabled_at = now() where name = 'gone'`)
  const id = await aCase()
  await mei().comment(id, 'Ask @li, @Bo. Not me@example.com, @mei, @gone or @nobody: number 13900000000')
  const { mail, open } = await channels()
  startCourier(open)
  await settled()
  expect(mail.arrivals.map(({ to }) => to[0]).sort()).toEqual(['bo@example.com', 'li@example.com'])
  expect(mail.arrivals[0]?.mail.subject).toBe(`dirsync: mei mentions you in a comment on case ${id}`)
  expect(mail.arrivals[0]?.mail.text).not.toContain('1390')
})

test('no one is told of what they assign to themselves, nor without an address or a channel', async () => {
  await user('mei', { mail: 'mei@example.com' })
  await user('li')
  await user('bo', { mention: 'elsewhere:bo' })
  for (const name of ['mei', 'li', 'bo', 'stranger', null]) await mei().assign(await aCase(`e-${name}`), name)
  const { mail, chat, open } = await channels()
  startCourier(open)
  await settled()
  expect(await told()).toEqual([])
  expect(mail.arrivals.length + chat.arrivals.length).toBe(0)
})

test('what only another process can send is left to it, and keeps no one waiting', async () => {
  await user('li', { mail: 'li@example.com' })
  await user('bo', { mention: 'room:bo' })
  const id = await aCase()
  await store.pool.query(
    `insert into dirsync.notice (user_name, event, dead_letter_id, actor)
     select 'li', 'assigned', $1, 'console:mei' from generate_series(1, 150)`,
    [id],
  )
  await mei().assign(id, 'bo')
  const { mail, chat, open } = await channels()
  await transaction(store.pool, client => noteChannels(client, open))
  const [post, room] = open as [Channel, Channel]
  startCourier([room])
  await until(async () => chat.arrivals.length === 1)
  expect(await store.value('select count(*) from dirsync.notice')).toBe(150)
  startCourier([post])
  await until(async () => mail.arrivals.length === 1)
  expect(mail.arrivals[0]?.to).toEqual(['li@example.com'])
})

test('a notice that its channel takes shows that the channel works', async () => {
  await user('li', { mail: 'li@example.com' })
  await mei().assign(await aCase(), 'li')
  const { open } = await channels()
  await transaction(store.pool, client => noteChannels(client, open))
  await store.pool.query(`update dirsync.alert_channel set failing_since = now()`)
  startCourier(open)
  await until(
    async () =>
      (await store.value('select count(*) from dirsync.alert_channel where last_sent_at is not null')) === 1,
  )
  expect(
    await store.value(
      'select count(*) from dirsync.alert_channel where last_sent_at is not null and failing_since is not null',
    ),
  ).toBe(0)
})

test.each([
  ['is away', () => 'smtp://127.0.0.1:9?tls=off'],
  ['refuses the password', (port: number) => `smtp://dirsync:wrong@127.0.0.1:${port}?tls=off`],
])('a channel whose server %s fails, and its notices wait', async (_, address) => {
  await user('li', { mail: 'li@example.com' })
  await mei().assign(await aCase(), 'li')
  const { mail, open } = await channels()
  const [post] = open
  if (!post) throw new Error('there is no channel')
  const away = openChannel({ ...post.settings, url: address(mail.port) })
  onTestFinished(() => away.close())
  await transaction(store.pool, client => noteChannels(client, [away]))
  startCourier([away])
  await until(
    async () =>
      (await store.value('select count(*) from dirsync.alert_message where answer is not null')) === 1,
  )
  expect(await readChannels(store.pool, [])).toMatchObject([
    { name: 'post', state: 'failing', waiting: 1, last_answer: expect.stringContaining('127.0.0.1') },
  ])
})

test.each(['nobody', 'full'])(
  'a mail that is not taken for %s alone is no failure of the channel',
  async name => {
    await user('li', { mail: `${name}@example.com` })
    await mei().assign(await aCase(), 'li')
    const { open } = await channels()
    await transaction(store.pool, client => noteChannels(client, open))
    startCourier(open)
    await until(
      async () =>
        (await store.value('select count(*) from dirsync.alert_message where answer is not null')) === 1,
    )
    expect(
      await store.value('select count(*) from dirsync.alert_channel where failing_since is not null'),
    ).toBe(0)
  },
)
