import { once } from 'node:events'
import { connect as connectTo, createServer, type Socket } from 'node:net'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { toDesired } from '../../src/directory/desired.ts'
import { keyText } from '../../src/directory/employee.ts'
import { HrDataError, HrUnavailableError, MappingError } from '../../src/hr/source.ts'
import type { TestDatabase } from '../helpers/postgres.ts'
import { failureOf, hrDatabase, hrSource, rowsOf } from './hr-database.ts'

const MANY = `select g as userid, repeat('x', 200) as name from generate_series(1, 3000000) g`

/** Backends of dirsync in this database, but for the one asking. */
async function backends(database: TestDatabase) {
  const { rows } = await database.pool.query<{ pid: number; state: string; wait_event: string | null }>(
    `select pid, state, wait_event from pg_stat_activity
     where datname = current_database() and application_name = 'dirsync'`,
  )
  return rows
}

const gone = (database: TestDatabase) =>
  vi.waitFor(async () => expect(await backends(database)).toEqual([]), { timeout: 15_000, interval: 20 })

describe('a scan', () => {
  test('streams the mapped columns in canonical order, as canonical text', async () => {
    const database = await hrDatabase(`
      create type grade as enum ('P1', 'P2');
      create table staff (id char(6), company text, works boolean, changed timestamptz, label varchar(50), sex smallint,
        born timestamp, joined timestamptz, groups text[], grade grade, cost numeric(12, 2), more jsonb, note text);
      insert into staff values
        ('  7', ' C1 ', true, '2026-01-02 03:04:05.5+00', E'tab\\there\\\\', 1, '1990-05-17 23:59',
          '2020-01-31 17:00+00', '{b,a}', 'P2', 12.00, '{"k": "v"}', E'line\\nline'),
        ('8', null, false, null, null, null, null, null, '{}', null, null, null, '');`)
    const source = hrSource(
      database.url,
      `select more as employee_attribute, cost as cost_center_id, grade as level, groups as category, born as birth_day,
        joined as entry_day, sex as gender, label as name, note as remark, changed as updated_at, works as active,
        id as userid, company as enterprise_code from staff order by id; -- that is all`,
    )
    const scan = await source.scan({})
    expect(scan.columns).toEqual([
      'enterprise_code',
      'userid',
      'active',
      'updated_at',
      'name',
      'gender',
      'remark',
      'level',
      'category',
      'birth_day',
      'entry_day',
      'cost_center_id',
      'employee_attribute',
    ])
    const rows = await rowsOf(scan)
    expect(rows).toEqual([
      {
        enterprise_code: 'C1',
        userid: '7',
        active: 't',
        updated_at: '2026-01-02 11:04:05.5+08',
        name: 'tab\there\\',
        gender: '1',
        remark: 'line\nline',
        level: 'P2',
        category: 'b,a',
        birth_day: '1990-05-17',
        entry_day: '2020-02-01',
        cost_center_id: '12',
        employee_attribute: '{"k": "v"}',
      },
      {
        enterprise_code: '',
        userid: '8',
        active: 'f',
        updated_at: null,
        name: null,
        gender: null,
        remark: '',
        level: null,
        category: '',
        birth_day: null,
        entry_day: null,
        cost_center_id: null,
        employee_attribute: null,
      },
    ])
    for (const row of rows) expect(toDesired(row, scan.columns).ok).toBe(true)
    const found = await source.lookup([
      { enterpriseCode: 'C1', userid: '7' },
      { enterpriseCode: '', userid: '8' },
    ])
    expect([
      found.get(keyText({ enterpriseCode: 'C1', userid: '7' })),
      found.get(keyText({ enterpriseCode: '', userid: '8' })),
    ]).toEqual(rows)
  })

  test('gives rows without an enterprise the default one', async () => {
    const database = await hrDatabase('create table staff (id int, company text)')
    await database.pool.query("insert into staff values (1, null), (2, ' '), (3, 'C')")
    const options = { defaultEnterpriseCode: "it's" }
    const mapped = hrSource(
      database.url,
      'select id as userid, company as enterprise_code, null as name from staff',
      options,
    )
    const codes = (await rowsOf(await mapped.scan({}))).map(row => row.enterprise_code)
    expect(codes).toEqual(["it's", "it's", 'C'])
    const unmapped = hrSource(database.url, 'select id as userid, null as name from staff', options)
    expect((await rowsOf(await unmapped.scan({})))[0]?.enterprise_code).toBe("it's")
  })

  test.each(['timestamptz', 'timestamp', 'date'])(
    'since a moment holds only rows changed from then on (%s)',
    async type => {
      const database = await hrDatabase(`create table staff (id int, changed ${type});
      insert into staff values (1, '2026-01-01'), (2, '2026-01-03'), (3, null)`)
      const source = hrSource(
        database.url,
        'select id as userid, id as name, changed as updated_at from staff',
      )
      const ids = async (since?: Date) => (await rowsOf(await source.scan({ since }))).map(row => row.userid)
      expect(await ids()).toEqual(['1', '2', '3'])
      expect(await ids(new Date('2026-01-02T12:00:00Z'))).toEqual(['2'])
    },
  )

  test('ignores since where updated_at is not mapped', async () => {
    const database = await hrDatabase('')
    const source = hrSource(database.url, "select '1' as userid, 'n' as name")
    expect(await rowsOf(await source.scan({ since: new Date() }))).toHaveLength(1)
  })

  test('is one read-only, repeatable-read transaction, without a time limit', async () => {
    const database = await hrDatabase('')
    await database.pool.query(`alter database ${database.name} set datestyle = 'German, DMY'`)
    await database.pool.query(`alter database ${database.name} set statement_timeout = 1000`)
    const source = hrSource(
      database.url,
      `select 1 as userid, current_setting('transaction_isolation') as name, current_setting('transaction_read_only')
       as remark, current_setting('statement_timeout') as dept_code, date '2024-02-29' as entry_day`,
    )
    expect(await rowsOf(await source.scan({}))).toMatchObject([
      { name: 'repeatable read', remark: 'on', dept_code: '0', entry_day: '2024-02-29' },
    ])
  })

  test('ends its transaction and connection when it was read to its end', async () => {
    const database = await hrDatabase('')
    const scan = await hrSource(database.url, "select 1 as userid, 'n' as name").scan({})
    expect(await backends(database)).toHaveLength(1)
    await rowsOf(scan)
    await gone(database)
    await scan.close()
  })

  test('holds the server back when it is not read', async () => {
    const database = await hrDatabase('')
    const scan = await hrSource(database.url, MANY).scan({})
    await once(scan.stream, 'readable')
    await vi.waitFor(
      async () => expect(await backends(database)).toMatchObject([{ wait_event: 'ClientWrite' }]),
      {
        timeout: 15_000,
      },
    )
    expect(scan.stream.readableLength).toBeLessThan(1_000_000)
    await scan.close()
    await gone(database)
  })
})

describe('a scan that is given up', () => {
  test('by close() leaves nothing behind on the server', async () => {
    const database = await hrDatabase('')
    const scan = await hrSource(database.url, MANY).scan({})
    await once(scan.stream, 'readable')
    await scan.close()
    await scan.close()
    expect(scan.stream.destroyed).toBe(true)
    await gone(database)
  })

  test('by its signal fails with the signal’s error', async () => {
    const database = await hrDatabase('')
    const controller = new AbortController()
    const scan = await hrSource(database.url, MANY).scan({ signal: controller.signal })
    const failure = failureOf(scan.stream)
    await once(scan.stream, 'data')
    controller.abort()
    expect(await failure).toMatchObject({ name: 'AbortError' })
    await gone(database)
  })

  test('before it began does not connect', async () => {
    const source = hrSource('postgres://nobody@127.0.0.1:1/none', MANY)
    await expect(source.scan({ signal: AbortSignal.abort() })).rejects.toMatchObject({ name: 'AbortError' })
  })

  test('while the server has not sent a row yet ends on the server too', async () => {
    const database = await hrDatabase('')
    const scan = await hrSource(database.url, 'select pg_sleep(60)::text as name, 1 as userid').scan({})
    await vi.waitFor(
      async () => expect(await backends(database)).toMatchObject([{ wait_event: 'PgSleep' }]),
      {
        timeout: 15_000,
      },
    )
    await scan.close()
    await gone(database)
  })

  test('by closing the source', async () => {
    const database = await hrDatabase('')
    const source = hrSource(database.url, MANY)
    const scan = await source.scan({})
    await source.close()
    await source.close()
    expect(scan.stream.closed).toBe(true)
    await gone(database)
  })
})

describe('a scan that fails', () => {
  test('because the server ends the connection is HrUnavailableError', async () => {
    const database = await hrDatabase('')
    const scan = await hrSource(database.url, MANY).scan({})
    const failure = failureOf(scan.stream)
    await once(scan.stream, 'data')
    await database.pool.query(
      "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'dirsync' and datname = current_database()",
    )
    const error = await failure
    expect(error).toBeInstanceOf(HrUnavailableError)
    expect(error).toMatchObject({ code: 'HR_UNAVAILABLE' })
  })

  test.each(['resetAndDestroy', 'end'] as const)(
    'because the network breaks (%s) is HrUnavailableError',
    async how => {
      const database = await hrDatabase('')
      const target = new URL(database.url)
      const sockets = new Set<Socket>()
      const proxy = createServer(inward => {
        const outward = connectTo(Number(target.port), target.hostname)
        for (const socket of [inward, outward]) socket.on('error', () => {})
        sockets.add(inward)
        inward.pipe(outward)
        outward.pipe(inward)
        inward.on('close', () => outward.destroy())
      }).listen(0, '127.0.0.1')
      onTestFinished(() => void proxy.close())
      await once(proxy, 'listening')
      const url = new URL(database.url)
      url.host = `127.0.0.1:${(proxy.address() as { port: number }).port}`
      const scan = await hrSource(url.href, MANY).scan({})
      const failure = failureOf(scan.stream)
      await once(scan.stream, 'data')
      for (const socket of sockets) {
        socket.unpipe()
        socket[how]()
      }
      expect(await failure).toBeInstanceOf(HrUnavailableError)
    },
  )

  test('because nobody listens, or the database is not there, is HrUnavailableError', async () => {
    const database = await hrDatabase('')
    const elsewhere = new URL(database.url)
    elsewhere.pathname = '/there_is_no_such_database'
    for (const url of ['postgres://nobody@127.0.0.1:1/none', elsewhere.href]) {
      const source = hrSource(url, MANY)
      await expect(source.scan({})).rejects.toBeInstanceOf(HrUnavailableError)
      await expect(source.inspect()).rejects.toBeInstanceOf(HrUnavailableError)
      await expect(source.lookup([{ enterpriseCode: '', userid: '1' }])).rejects.toBeInstanceOf(
        HrUnavailableError,
      )
    }
  })

  test('because a value cannot be computed is HrDataError, which does not hold the value', async () => {
    const database = await hrDatabase(`create table staff (id int, price text);
      insert into staff select g, case g when 20000 then 'secret-7' else '1' end from generate_series(1, 20000) g`)
    const source = hrSource(database.url, 'select id as userid, price::int as cost_center_id from staff')
    const error = await failureOf((await source.scan({})).stream)
    expect(error).toBeInstanceOf(HrDataError)
    expect((error as Error).message).toContain('employees.sql: ')
    expect((error as Error).message).toContain('22P02')
    expect(String((error as Error).stack) + String((error as Error).cause)).not.toContain('secret-7')
    await gone(database)
  })

  test('because the mapping writes is MappingError, and nothing is written', async () => {
    const database = await hrDatabase('create sequence counter')
    const source = hrSource(database.url, "select nextval('counter') as userid, 'n' as name")
    expect(await failureOf((await source.scan({})).stream)).toBeInstanceOf(MappingError)
    await expect(source.lookup([{ enterpriseCode: '', userid: '1' }])).rejects.toBeInstanceOf(MappingError)
    const { rows } = await database.pool.query('select is_called from counter')
    expect(rows).toEqual([{ is_called: false }])
  })
})
