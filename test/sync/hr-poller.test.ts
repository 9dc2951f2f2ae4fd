import { describe, expect, onTestFinished, test } from 'vitest'
import { WHOLE } from '../../src/hr/sources.ts'
import { type ChangedRow, MOST_CHANGED } from '../../src/hr/updated-times.ts'
import { SessionLocks } from '../../src/lib/session-locks.ts'
import { HrPoller, SeenRows } from '../../src/sync/runs/hr-poller.ts'
import { until } from '../helpers/company.ts'
import { createMariadbDatabase } from '../helpers/mariadb.ts'
import { hrDatabase, hrSource } from '../hr/hr-database.ts'
import { plantRun } from './planted.ts'
import { SILENT, StoreUnderTest } from './store-under-test.ts'

const at = (time: string) => new Date(`2026-03-01T${time}+08:00`)
const row = (userid: string, time: string, hash = 'first'): ChangedRow => ({
  userid,
  key: userid,
  hash,
  updatedAt: at(time),
})

describe('of what it looks at', () => {
  test('a row is new once, and again when it is otherwise', () => {
    const seen = new SeenRows()
    expect(seen.unseen([row('a', '10:00:00'), row('b', '10:00:01')], at('10:00:02'))).toEqual(['a', 'b'])
    expect(seen.unseen([row('a', '10:00:00'), row('b', '10:00:01')], at('10:00:03'))).toEqual([])
    // In the same second: its column updated_at tells no difference.
    expect(seen.unseen([row('a', '10:00:00', 'second'), row('b', '10:00:01')], at('10:00:04'))).toEqual(['a'])
  })

  test('a user id of two enterprises is named once', () => {
    const rows = ['C1', 'C2'].map(code => ({ ...row('a', '10:00:00'), key: `${code}/a` }))
    expect(new SeenRows().unseen(rows, at('10:00:01'))).toEqual(['a'])
  })

  test('the next look begins five minutes before the newest row, as a transaction may commit late', () => {
    const seen = new SeenRows()
    expect(seen.since(at('10:00:00'))).toBe(null)
    seen.unseen([row('a', '09:00:00')], at('10:00:00'))
    expect(seen.since(at('10:00:01'))).toEqual(at('08:55:00'))
    expect(seen.unseen([row('a', '09:00:00'), row('late', '08:56:00')], at('10:00:01'))).toEqual(['late'])
    expect(seen.since(at('10:00:02'))).toEqual(at('08:55:00'))
  })

  test('a row from the future, and one without a moment, do not hide the present', () => {
    const seen = new SeenRows()
    const rows = [row('a', '23:00:00'), { ...row('b', '10:00:00'), updatedAt: new Date(Number.NaN) }]
    expect(seen.unseen(rows, at('10:00:00'))).toEqual(['a', 'b'])
    // Neither tells how far HR is: the next look begins where this one began.
    expect(seen.since(at('10:00:01'))).toBe(null)
    expect(seen.unseen([...rows, row('c', '02:00:01')], at('10:00:02'))).toEqual(['c'])
    expect(seen.since(at('10:00:03'))).toEqual(at('01:55:01'))
  })

  test('so many by a clock that is hours behind ours do not hide what follows', () => {
    const seen = new SeenRows()
    const many = Array.from({ length: MOST_CHANGED + 1 }, (_, i) => row(`e${i}`, '02:00:00'))
    expect(seen.unseen(many, at('10:00:00'))).toBe('too many')
    expect(seen.since(at('10:00:01'))).toEqual(at('01:55:01'))
    expect(seen.since(at('10:06:00'))).toEqual(at('02:01:00'))
    expect(seen.unseen([row('new', '02:06:00')], at('10:06:01'))).toEqual(['new'])
    expect(seen.since(at('10:06:02'))).toEqual(at('02:01:02'))
  })

  test('so many that they are not told apart are forgotten after five minutes', () => {
    const seen = new SeenRows()
    const many = Array.from({ length: MOST_CHANGED + 1 }, (_, i) => row(`e${i}`, '02:00:00'))
    expect(seen.unseen(many, at('02:00:01'))).toBe('too many')
    expect(seen.since(at('02:00:02'))).toEqual(at('01:55:01'))
    expect(seen.unseen(many, at('02:05:02'))).toBe('too many')
    expect(seen.since(at('02:05:03'))).toEqual(at('02:00:02'))
    expect(seen.unseen([], at('02:05:04'))).toEqual([])
  })
})

describe('while it looks at HR', () => {
  const store = new StoreUnderTest()

  /** A plan has read everything. */
  const plantFullReading = (newest: string) =>
    plantRun(store, {
      state: 'done',
      read_all: true,
      planned_at: new Date(),
      finished_at: new Date(),
      source: { rows: 2, keyless: 0, empty: {}, newest },
    })

  function poller(hr: Pick<ReturnType<typeof hrSource>, 'changedSince'>) {
    const named: (string[] | null)[] = []
    const looks = { count: 0 }
    const locks = new SessionLocks(store.url, SILENT)
    const polling = new HrPoller({
      pool: store.pool,
      scope: WHOLE,
      hr: {
        delivery: async () => undefined,
        async changedSince(since) {
          const rows = await hr.changedSince(since)
          looks.count += 1
          return rows
        },
      },
      changes: { changed: userids => named.push(userids) },
      locks,
      everyMs: 20,
      logger: SILENT,
    })
    onTestFinished(async () => {
      await polling.stop()
      await locks.close()
    })
    polling.start()
    /** Waits until it has looked at what is there now. */
    const looked = async () => {
      const { count } = looks
      await until(async () => looks.count >= count + 2)
    }
    return { named, looked, polling }
  }

  const SQL = 'select id as userid, nick as name, changed as updated_at from person'
  const NEWEST = '2026-03-01 10:00:00+08'

  const inPostgres = async () => {
    const { url, pool } = await hrDatabase('create table person (id text, nick text, changed timestamp)')
    return { url, run: async (sql: string) => void (await pool.query(sql)) }
  }
  const inMariadb = async () => {
    const { url, admin, close } = await createMariadbDatabase()
    onTestFinished(close)
    await admin.query('create table person (id varchar(20), nick text, changed datetime)')
    return { url, run: async (sql: string) => void (await admin.query(sql)) }
  }
  for (const { name, tags, open } of [
    { name: 'PostgreSQL', tags: [], open: inPostgres },
    { name: 'MariaDB', tags: ['mariadb'], open: inMariadb },
  ])
    test(`in ${name}, rows are named as they come, and no row twice`, { tags }, async () => {
      const { url, run } = await open()
      await run(
        `insert into person values ('old', 'n', '2026-03-01 09:00:00'), ('e1', 'n', '2026-03-01 10:00:00')`,
      )
      await plantFullReading(NEWEST)
      const { named, looked } = poller(hrSource(url, SQL))
      await looked()
      expect(named).toEqual([['e1']])
      await run(`update person set nick = 'other', changed = '2026-03-01 10:00:05' where id = 'old'`)
      await until(async () => named.length > 1)
      await run(`update person set nick = 'another' where id = 'old'`)
      await until(async () => named.length > 2)
      await looked()
      expect(named).toEqual([['e1'], ['old'], ['old']])
    })

  test('it asks for a plan to begin from, once, and waits for it', async () => {
    const { url } = await hrDatabase(
      "create table person as select 'e1' as id, 'n' as nick, now() as changed",
    )
    const { named, looked } = poller(hrSource(url, SQL))
    await looked()
    expect(named).toEqual([null])
    await plantFullReading(NEWEST)
    await until(async () => named.length > 1)
    await looked()
    expect(named).toEqual([null, ['e1']])
  })

  test('it asks for nothing where no column tells when a row was written', async () => {
    const { url } = await hrDatabase("create table person as select 'e1' as id, 'n' as nick")
    const { named, looked } = poller(hrSource(url, 'select id as userid, nick as name from person'))
    await looked()
    expect(named).toEqual([])
  })

  test('of two processes one looks, and the other takes over', async () => {
    const { url, pool } = await hrDatabase('create table person (id text, nick text, changed timestamptz)')
    await pool.query(`insert into person values ('e1', 'n', '${NEWEST}')`)
    await plantFullReading(NEWEST)
    const first = poller(hrSource(url, SQL))
    await until(async () => first.named.length === 1)
    const second = poller(hrSource(url, SQL))
    await first.looked()
    expect(second.named).toEqual([])
    await first.polling.stop()
    await until(async () => second.named.length === 1)
    expect(second.named).toEqual([['e1']])
  })
})
