import { describe, expect, onTestFinished, test } from 'vitest'
import { createPool } from '../../src/lib/database.ts'
import { asAsker, type CommandError, Commands } from '../../src/sync/runs/commands.ts'
import { inLanguage } from '../../src/texts/failures.ts'
import { caseOf, fail, plantRun, story } from './planted.ts'
import { SILENT, StoreUnderTest } from './store-under-test.ts'

const store = new StoreUnderTest()
const as = (name: string, address?: string) =>
  new Commands(store.pool, { actor: `console:${name}`, address: address ?? null })
const recorded = () =>
  store.rows(
    'select name, arguments, address, reason, run_id, dead_letter_id from dirsync.command order by id',
  )
const refusal = (promise: Promise<unknown>) =>
  promise.then(
    () => null,
    (error: CommandError) => error,
  )

describe('a person’s command is recorded', () => {
  test('with who asked, from where and why', async () => {
    const id = await fail(store)
    await as('mei', '192.0.2.7').ignore(id, ' shared phone ')
    expect(await store.rows('select * from dirsync.command')).toMatchObject([
      {
        name: 'ignore',
        arguments: { id, reason: 'shared phone' },
        requested_by: expect.stringMatching(/ \(console:mei\)$/),
        address: '192.0.2.7',
        reason: 'shared phone',
        dead_letter_id: id,
      },
    ])
  })

  test('with the address of the database client, unless another one is given', async () => {
    await as('mei').resync('changes')
    const client = await store.value<string | null>('select host(inet_client_addr())')
    expect(await recorded()).toMatchObject([{ name: 'resync', address: client, reason: null }])
  })

  test('before it takes effect: the record is there when the change is made', async () => {
    const [id, held, going] = [
      await fail(store),
      await plantRun(store, { state: 'held' }),
      await plantRun(store, { state: 'running' }),
    ]
    await store.pool.query(`
      create function public.demand() returns trigger language plpgsql as $$
      begin
        if not exists (select from dirsync.command where xmin::text = txid_current()::text) then
          raise exception 'nothing is recorded yet';
        end if;
        return new;
      end $$`)
    const tables = ['dead_letter', 'dead_letter_event', 'sync_run', 'halt']
    for (const table of tables)
      await store.pool.query(
        `create trigger demand before insert or update on dirsync.${table}
           for each row execute function public.demand()`,
      )
    onTestFinished(async () => {
      await store.pool.query('drop function public.demand() cascade')
    })
    const commands = as('mei')
    await commands.comment(id, 'called him')
    await commands.assign(id, 'li')
    await commands.snooze(id, new Date(Date.now() + 60_000), null)
    await commands.retry([id])
    await commands.ignore(id, 'shared')
    await commands.resync('full')
    await commands.approve(held)
    await commands.cancel(going, null)
    await commands.pause('maintenance')
    expect((await recorded()).map(({ name }) => name)).toEqual([
      ...['comment', 'assign', 'snooze', 'retry', 'ignore', 'resync', 'approve', 'cancel', 'pause'],
    ])
  })

  test('for good: the record can be neither changed nor emptied, and deleted only when it is old', async () => {
    await as('mei').resync('changes')
    for (const statement of [
      `update dirsync.command set requested_by = 'nobody'`,
      'delete from dirsync.command',
      'truncate dirsync.command',
    ])
      await expect(store.pool.query(statement)).rejects.toMatchObject({
        code: '42501',
        message: expect.stringContaining('append-only'),
      })
    await store.pool.query(
      `insert into dirsync.command (name, requested_by, requested_at)
       values ('resync', 'li', now() - interval '181 days')`,
    )
    await store.pool.query(`delete from dirsync.command where requested_at < now() - interval '180 days'`)
    expect(await store.rows('select requested_by from dirsync.command')).toMatchObject([
      { requested_by: expect.stringContaining('console:mei') },
    ])
  })

  test('and refused where a text is too long, without a trace', async () => {
    const id = await fail(store)
    const long = 'x'.repeat(2001)
    for (const asked of [
      as('mei').comment(id, long),
      as('mei').ignore(id, long),
      as('mei').assign(id, 'x'.repeat(201)),
      as('mei').pause(long),
    ].map(refusal))
      expect(await asked).toMatchObject({ code: 'COMMAND_INVALID' })
    expect(await recorded()).toEqual([])
    await as('mei').comment(id, 'x'.repeat(2000))
  })
})

describe('what SQL refuses is a message', () => {
  const chinese = async (asked: Promise<unknown>) => inLanguage('zh-CN', (await refusal(asked))?.said ?? [])

  test('with values that are what they were given as', async () => {
    expect((await refusal(as('mei').approve(4711)))?.said).toEqual({
      key: 'said.no_held_run',
      values: { run: 4711 },
    })
    expect((await refusal(as('mei').ignore(await fail(store), ' ')))?.said).toEqual({
      key: 'said.needs_reason',
      values: { name: 'ignore' },
    })
  })

  test('which a Chinese reader reads with the names of states and of what was done', async () => {
    const id = await fail(store)
    await as('mei').ignore(id, 'shared')
    expect(await chinese(as('li').assign(id, 'li', 1))).toMatch(
      new RegExp(`^异常项 ${id} 在您查看之后已有变化：mei 于 .* UTC 执行了“忽略”$`),
    )
    const run = await plantRun(store, { state: 'done' })
    expect(await chinese(as('mei').cancel(run, null))).toBe(
      `同步任务 ${run} 的状态为“已完成”，没有正在执行的内容`,
    )
    expect(await chinese(as('mei').comment(id, 'x'.repeat(2001)))).toBe('备注有 2001 个字符，最多 2000 个')
  })

  test('while one of PostgreSQL itself stays in its words', async () => {
    const asked = asAsker(store.pool, { actor: 'console:mei' }, client =>
      client.query(`select set_config('timezone', 'Atlantis', true)`),
    )
    expect(await refusal(asked)).toMatchObject({
      code: 'COMMAND_INVALID',
      said: { key: 'said.words', values: { words: 'invalid value for parameter "TimeZone": "Atlantis"' } },
    })
  })
})

describe('a case', () => {
  test('is assigned to a person, and unassigned', async () => {
    const id = await fail(store)
    await as('mei').assign(id, ' li ')
    expect(await caseOf(store, id)).toMatchObject({ assignee: 'li', state: 'open', version: 2 })
    await as('li').assign(id, null)
    expect(await caseOf(store, id)).toMatchObject({ assignee: null, version: 3 })
    expect(await story(store, id)).toMatchObject([
      { event: 'opened' },
      { event: 'assigned', note: 'li', actor: expect.stringContaining('console:mei') },
      { event: 'assigned', note: null, actor: expect.stringContaining('console:li') },
    ])
  })

  test('is commented, even when it is resolved, without becoming another version', async () => {
    const id = await fail(store)
    await store.pool.query(`update dirsync.dead_letter set state = 'resolved', resolved_at = now()`)
    await as('mei').comment(id, ' it was his old number ')
    expect(await caseOf(store, id)).toMatchObject({ version: 1, state: 'resolved' })
    expect((await story(store, id)).at(-1)).toMatchObject({
      event: 'commented',
      note: 'it was his old number',
      actor: expect.stringContaining('console:mei'),
    })
    expect(await refusal(as('mei').comment(id, '  '))).toMatchObject({ code: 'COMMAND_INVALID' })
    for (const asked of [as('mei').comment(4711, 'x'), as('mei').assign(4711, 'li')].map(refusal))
      expect(await asked).toMatchObject({
        code: 'COMMAND_NOT_FOUND',
        message: 'there is no case 4711',
      })
  })

  test('that has been changed since is a conflict, which says who did what and when', async () => {
    const id = await fail(store)
    const { version } = await caseOf(store, id)
    await as('mei').ignore(id, 'shared', version)
    const until = new Date(Date.now() + 60_000)
    for (const asked of [
      as('li').snooze(id, until, null, version),
      as('li').ignore(id, 'mine', version),
      as('li').assign(id, 'li', version),
      as('li').retry([id], version),
    ].map(refusal))
      expect(await asked).toMatchObject({
        code: 'COMMAND_CONFLICT',
        message: expect.stringMatching(
          /^case \d+ has changed since you looked: \S+ \(console:mei\) ignored it at \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC$/,
        ),
      })
    expect(await recorded()).toHaveLength(1)
    await as('li').retry([id], version + 1)
  })

  test('that has only failed again says so', async () => {
    const id = await fail(store)
    await fail(store)
    expect(await refusal(as('li').assign(id, 'li', 1))).toMatchObject({
      message: expect.stringMatching(/since you looked: it failed again at /),
    })
  })

  test('of two people who decide at the same moment, one is told that the other was quicker', async () => {
    const id = await fail(store)
    const decisions = await Promise.allSettled([
      as('mei').ignore(id, 'shared', 1),
      as('li').assign(id, 'li', 1),
      as('bo').snooze(id, new Date(Date.now() + 60_000), null, 1),
    ])
    expect(decisions.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
    for (const decision of decisions)
      if (decision.status === 'rejected') expect(decision.reason).toMatchObject({ code: 'COMMAND_CONFLICT' })
    expect(await recorded()).toHaveLength(1)
  })
})

describe('a run that another person has decided about', () => {
  test.each([
    ['approve', 'approved'],
    ['reject', 'rejected'],
    ['cancel', 'cancelled'],
  ] as const)('by %s is a conflict, which says who did', async (first, done) => {
    const id = await plantRun(store, { state: first === 'cancel' ? 'requested' : 'held' })
    const mei = as('mei')
    await (first === 'approve' ? mei.approve(id) : mei[first](id, 'HR import was broken'))
    const second = first === 'approve' ? [as('li').reject(id, null)] : [as('li').cancel(id, null)]
    for (const asked of [...second, as('li').approve(id)].map(refusal))
      expect(await asked).toMatchObject({
        code: 'COMMAND_CONFLICT',
        message: expect.stringMatching(
          new RegExp(
            `^run ${id} was ${done} by \\S+ \\(console:mei\\)${first === 'approve' ? '' : ' \\(HR import was broken\\)'} at .* UTC$`,
          ),
        ),
      })
    expect(await recorded()).toHaveLength(1)
  })

  test('may still be cancelled when it was approved', async () => {
    const id = await plantRun(store, { state: 'held' })
    await as('mei').approve(id)
    expect(await as('li').cancel(id, null)).toEqual({ run: id, undecidedIn: null })
  })
})

test('a connection goes back to the pool without the name of who asked', async () => {
  const pool = createPool(store.url, { max: 1, name: 'test', logger: SILENT })
  onTestFinished(() => pool.end())
  await new Commands(pool, { actor: 'console:mei', address: '192.0.2.7' }).resync('changes')
  const { rows } = await pool.query<{ actor: string; address: string }>(
    `select current_setting('dirsync.actor', true) as actor, current_setting('dirsync.address', true) as address`,
  )
  expect(rows).toEqual([{ actor: '', address: '' }])
})
