import { describe, expect, test } from 'vitest'
import { type CommandFilter, commandNames, listCommands } from '../../src/console/audit/entries.ts'
import { Commands } from '../../src/sync/runs/commands.ts'
import { fail, plantRun } from '../sync/planted.ts'
import { StoreUnderTest } from '../sync/store-under-test.ts'
import { ConsoleUnderTest } from './console-under-test.ts'

const store = new StoreUnderTest()
const console = new ConsoleUnderTest()
const as = (name: string) => new Commands(store.pool, { actor: `console:${name}`, address: '192.0.2.7' })

describe('the record of what people asked for', () => {
  test('is listed the latest first, with who, when, from where and why', async () => {
    const id = await fail(store)
    await as('mei').ignore(id, 'shared phone')
    const [run] = await as('Li').resync('full')
    expect(await listCommands(store.pool, {}, { limit: 10 })).toEqual({
      items: [
        {
          ...{ id: expect.any(Number), name: 'resync', arguments: { kind: 'full' }, run_id: run },
          ...{ dead_letter_id: null, address: '192.0.2.7', reason: null },
          requested_by: expect.stringContaining('console:Li'),
          requested_at: expect.any(Date),
        },
        expect.objectContaining({ name: 'ignore', dead_letter_id: id, reason: 'shared phone' }),
      ],
      next: null,
    })
    expect(await commandNames(store.pool)).toEqual(['ignore', 'resync'])
  })

  test('is filtered by who, what, run, case and time', async () => {
    const id = await fail(store)
    const held = await plantRun(store, { state: 'held' })
    await as('mei').comment(id, 'called')
    await as('mei').reject(held, 'HR import was broken')
    await as('Li').retry([id])
    await store.pool.query(
      `insert into dirsync.command (name, requested_by, requested_at) values ('old', 'li', '2026-01-01Z')`,
    )
    const names = async (filter: CommandFilter) =>
      (await listCommands(store.pool, filter, { limit: 10 })).items.map(({ name }) => name)
    expect(await names({ who: 'LI)' })).toEqual(['retry'])
    expect(await names({ who: 'mei' })).toEqual(['reject', 'comment'])
    expect(await names({ name: 'retry' })).toEqual(['retry'])
    expect(await names({ run: held })).toEqual(['reject'])
    expect(await names({ case: id })).toEqual(['retry', 'comment'])
    expect(await names({ to: new Date('2026-01-02') })).toEqual(['old'])
    expect(await names({ from: new Date('2026-01-02'), who: 'mei', name: 'comment' })).toEqual(['comment'])
    expect(await names({ who: '%' })).toEqual([])
  })
})

test.each([
  [
    'en',
    [
      'password',
      'because the one-time link is not valid',
      'looking at everything and Cases: looking and acting',
    ],
  ],
  ['zh-CN', ['密码', '原因 一次性链接无效', '查看']],
])(
  'says in words how people sign in, why they fail, and what tokens may do, in %s',
  async (language, words) => {
    await console.app.inject({
      method: 'POST',
      url: '/sign-in/link',
      headers: {
        'content-type': 'application/x-www-form-urlencoded',
        'sec-fetch-site': 'same-origin',
        host: 'localhost',
      },
      payload: 'key=wrong',
    })
    const name = `limited-${language}`
    await console.ask('admin', 'POST', '/api/v1/access/tokens', {
      name,
      role: 'viewer',
      expires: '1d',
      scopes: ['read', 'cases'],
    })
    const { body } = await console.browse('admin', 'GET', '/audit', undefined, {
      'accept-language': language,
    })
    const text = body.replaceAll(/<[^>]+>/g, ' ').replaceAll(/\s+/g, ' ')
    for (const word of words) expect(text).toContain(word)
    for (const code of ['unknown user', '用户不存在', 'read, cases', '方式 password', '原因 link'])
      expect(text).not.toContain(code)
  },
)
