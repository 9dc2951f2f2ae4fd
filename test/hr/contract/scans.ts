import { once } from 'node:events'
import { describe, expect, test } from 'vitest'
import { keyText } from '../../../src/directory/employee.ts'
import type { HrScan } from '../../../src/hr/source.ts'
import { rest } from '../../../src/lib/waiting.ts'
import { heldBytes } from '../../helpers/memory.ts'
import {
  begin,
  type ColumnType,
  type Contract,
  errorOf,
  failureOf,
  key,
  linesOf,
} from './source-under-test.ts'

/** Rows of some 200 bytes: more of them than any buffer on the way holds. */
const MANY = 600_000
/** Of a table of such rows, which are filled in one by one. */
const SOME = 30_000

const WIDE = 'x'.repeat(200)
const never = new AbortController().signal

export function scanContract(contract: Contract): void {
  const many = () => `select n as userid, '${WIDE}' as name from ${contract.place.numbers(MANY)}`

  describe('scans', () => {
    test('the mapped columns in canonical order, under their canonical names', async () => {
      const source =
        contract.source(`select 'r' as remark, 'x1' as code, '2024-02-29' as entry_day, 'n' as name,
        'f' as active, 'e1' as userid, 'C1' as enterprise_code;`)
      const scan = await source.scan({})
      expect(scan.columns).toEqual([
        ...['enterprise_code', 'userid', 'active', 'name', 'corp_code', 'remark', 'entry_day'],
      ])
      expect(scan.mapping).toBe((await source.inspect()).fingerprint)
      expect(await linesOf(scan)).toEqual(['C1\te1\tf\tn\tx1\tr\t2024-02-29'])
    })

    test('no rows as no lines', async () => {
      const table = await contract.place.table('nobody', { id: 'key' }, [])
      const scan = await contract.source(`select id as userid, 'n' as name from ${table}`).scan({})
      expect(await linesOf(scan)).toEqual([])
    })

    contract.test('order', 'in the order of the mapping', async () => {
      const rows = Array.from({ length: 5000 }, (_, i) => [String((i * 7919) % 5000)])
      const table = await contract.place.table('ordered', { id: 'integer' }, rows)
      const source = contract.source(`select id as userid, 'n' as name from ${table} order by id desc`)
      const ids = (await linesOf(await source.scan({}))).map(line => Number(line.split('\t')[1]))
      expect(ids).toEqual(Array.from({ length: 5000 }, (_, i) => 4999 - i))
    })

    const since: [ColumnType, string[]][] = [
      ['date', ['2026-01-01', '2026-01-03']],
      ['timestamp', ['2026-01-02 19:59:59.9', '2026-01-02 20:00:00']],
      ['moment', ['2026-01-02T11:59:59.9Z', '2026-01-02T12:00:00Z']],
    ]
    for (const [type, [before, from]] of since)
      contract.test(type, `only what has changed since a moment or has none, by a ${type}`, async () => {
        const table = await contract.place.table('changed', { id: 'integer', changed: type }, [
          ['1', before ?? null],
          ['2', from ?? null],
          ['3', null],
        ])
        const source = contract.source(
          `select id as userid, 'n' as name, changed as updated_at from ${table}`,
        )
        const ids = async (moment?: Date) =>
          (await linesOf(await source.scan({ since: moment }))).map(line => line.split('\t')[1]).sort()
        expect(await ids()).toEqual(['1', '2', '3'])
        expect(await ids(new Date('2026-01-02T12:00:00Z'))).toEqual(['2', '3'])
      })

    test('everything where a moment is asked for and none is mapped', async () => {
      const scan = await contract.source("select 1 as userid, 'n' as name").scan({ since: new Date() })
      expect(await linesOf(scan)).toHaveLength(1)
    })

    test('what HR was when it began, whatever changes meanwhile', async () => {
      const rows = (nick: string) => Array.from({ length: SOME }, (_, i) => [String(i), `${nick} ${WIDE}`])
      const table = await contract.place.table('moving', { id: 'integer', nick: 'text' }, rows('before'))
      const source = contract.source(`select id as userid, nick as name from ${table}`)
      const scan = await source.scan({})
      await begin(scan)
      await contract.place.replaceRows('moving', rows('after').slice(10))
      const lines = await linesOf(scan)
      expect(lines).toHaveLength(SOME)
      expect(lines.filter(line => !line.includes('\tbefore '))).toEqual([])
      expect(await linesOf(await source.scan({}))).toHaveLength(SOME - 10)
    })

    test('several times at one moment, with any mapping, and looks up in it', async () => {
      const table = await contract.place.table('still', { id: 'key', nick: 'text' }, [
        ['1', 'before'],
        ['2', 'before'],
      ])
      const source = contract.source(`select id as userid, nick as name from ${table}`)
      await using snapshot = await source.snapshot(30_000)
      const today = await snapshot.inspect((await source.mappingFiles()).employees)
      expect(await linesOf(await snapshot.scan(today, never))).toHaveLength(2)
      await contract.place.replaceRows('still', [['1', 'after']])
      const other = await snapshot.inspect({
        file: 'SELECT',
        sql: `select id as userid, nick as remark from ${table}`,
      })
      const lines = await linesOf(await snapshot.scan(other, never))
      expect(lines.sort()).toEqual(['\t1\tbefore', '\t2\tbefore'])
      expect((await snapshot.lookup(today, [key('2')])).get(keyText(key('2')))).toMatchObject({
        name: 'before',
      })
      expect((await source.lookup([key('2')])).size).toBe(0)
    })

    test('no row that is longer than a row may be, and no look-up of one', async () => {
      const long = "repeat('x', 400000)"
      const table = await contract.place.table('wide', { id: 'key' }, [['1'], ['2']])
      const source = contract.source(
        `select id as userid, case when id = '2' then ${long} else 'n' end as name, ${long} as remark, ${long} as level from ${table}`,
      )
      const message =
        /^employees\.sql: the row of 2 is longer than 1024 kB, above all in (name|remark|level): shorten it in the SELECT/
      const refused = { code: 'HR_DATA', message: expect.stringMatching(message) }
      expect(await failureOf(await source.scan({}))).toMatchObject(refused)
      expect(await errorOf(source.lookup([key('2')]))).toMatchObject(refused)
      expect((await source.lookup([key('1')])).size).toBe(1)
    })

    test('one beside the other', async () => {
      const source = contract.source(many())
      const scans = await Promise.all([source.scan({}), source.scan({})])
      await Promise.all(scans.map(begin))
      await Promise.all(scans.map(scan => scan.close()))
      await contract.gone()
    })
  })

  describe('reads no faster than is taken', () => {
    test('and holds the server back meanwhile', async () => {
      const scan = await contract.source(many()).scan({})
      await begin(scan)
      await expect.poll(() => contract.place.isHeldBack()).toBe(true)
      expect(scan.stream.readableLength).toBeLessThan(1_000_000)
      await scan.close()
      await contract.gone()
    })

    test('and keeps nothing of it', async () => {
      const scan = await contract.source(many()).scan({})
      let [rows, bytes, looked, most] = [0, 0, 0, 0]
      const before = heldBytes()
      for await (const chunk of scan.stream as AsyncIterable<Buffer>) {
        for (let at = chunk.indexOf(10); at !== -1; at = chunk.indexOf(10, at + 1)) rows++
        bytes += chunk.length
        if (bytes - looked < 24_000_000) continue
        looked = bytes
        most = Math.max(most, heldBytes() - before)
      }
      expect(rows).toBe(MANY)
      expect(bytes).toBeGreaterThan(120_000_000)
      expect(looked).toBeGreaterThan(95_000_000)
      expect(most).toBeLessThan(75_000_000)
    })
  })

  describe('leaves nothing behind', () => {
    const connected = async (scan: HrScan) => {
      await begin(scan)
      expect(await contract.place.connections()).toBeGreaterThan(0)
    }

    contract.test('connections', 'after a scan that was read to its end', async () => {
      const scan = await contract.source("select 1 as userid, 'n' as name").scan({})
      await connected(scan)
      await linesOf(scan)
      await contract.gone()
      await scan.close()
    })

    contract.test('connections', 'after one that was closed', async () => {
      const scan = await contract.source(many()).scan({})
      await connected(scan)
      await scan.close()
      await scan.close()
      expect(scan.stream.destroyed).toBe(true)
      await contract.gone()
    })

    contract.test('connections', 'after one whose source was closed', async () => {
      const source = contract.source(many())
      const scan = await source.scan({})
      await connected(scan)
      await source.close()
      await source.close()
      expect(scan.stream.closed).toBe(true)
      await contract.gone()
    })

    test('after one whose signal was given', async () => {
      const controller = new AbortController()
      const scan = await contract.source(many()).scan({ signal: controller.signal })
      const failure = failureOf(scan)
      await once(scan.stream, 'data')
      controller.abort()
      expect(await failure).toMatchObject({ name: 'AbortError' })
      await contract.gone()
    })

    test('where the signal was given before it began', async () => {
      const source = contract.source(many(), { url: contract.kind.wrong.address })
      await expect(source.scan({ signal: AbortSignal.abort() })).rejects.toMatchObject({ name: 'AbortError' })
    })

    contract.test(['slow SELECT', 'connections'], 'while the server has not sent a row yet', async () => {
      const scan = await contract.source(`select ${contract.kind.slow} as name, 1 as userid`).scan({})
      expect(await contract.place.connections()).toBeGreaterThan(0)
      const startedAt = performance.now()
      await scan.close()
      await contract.gone()
      expect(performance.now() - startedAt).toBeLessThan(20_000)
    })

    for (const ends of ['signal', 'source'] as const)
      contract.test('slow SELECT', `while employees are counted, with their ${ends}`, async () => {
        const source = contract.source(`select 1 as userid, ${contract.kind.slow} as dept_code`, {
          departments: "select 'A' as dept_code, null as parent_code, 't' as active",
        })
        const controller = new AbortController()
        const counting = errorOf(source.departments({ signal: controller.signal }))
        await rest(1000, controller.signal)
        const startedAt = performance.now()
        if (ends === 'signal') controller.abort()
        else await source.close()
        expect((await counting).message).toMatch(/aborted|is closed/)
        await contract.gone()
        expect(performance.now() - startedAt).toBeLessThan(5000)
      })

    test('after a snapshot in the middle of a scan', async () => {
      const source = contract.source(many())
      const snapshot = await source.snapshot(60_000)
      const scan = await snapshot.scan(await snapshot.inspect((await source.mappingFiles()).employees), never)
      const failure = failureOf(scan)
      await once(scan.stream, 'data')
      await snapshot[Symbol.asyncDispose]()
      await snapshot[Symbol.asyncDispose]()
      expect(await failure).toMatchObject({ code: 'HR_UNAVAILABLE' })
      await contract.gone()
    })
  })
}
