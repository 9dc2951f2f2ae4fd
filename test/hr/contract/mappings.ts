import { describe, expect, test } from 'vitest'
import { HrDataError, HrUnavailableError, MappingError } from '../../../src/hr/source.ts'
import { type Contract, errorOf, key, linesOf } from './source-under-test.ts'

/** A column of a table: nothing that a message may hold. */
const SECRET = 'secret-7'

export function mappingContract(contract: Contract): void {
  const { kind } = contract
  const staff = () =>
    contract.place.table('staff', { id: 'integer', nick: 'text' }, [
      ['1', SECRET],
      ['2', '1'],
    ])

  const refusal = (sql: string) => errorOf(contract.source(sql).inspect())

  describe('a mapping', () => {
    test('is described by its columns', async () => {
      const table = await staff()
      const departments = "select 'A' as dept_code, null as parent_code, 't' as active"
      const sql = `select nick as name, id as userid, 'A' as dept_code from ${table}`
      const source = contract.source(sql, { departments })
      const inspection = await source.inspect()
      expect(inspection).toEqual({
        employees: {
          file: 'employees.sql',
          columns: ['name', 'userid', 'dept_code'],
          fields: ['name', 'dept_code'],
        },
        departments: { file: 'departments.sql', columns: ['dept_code', 'parent_code', 'active'] },
        fingerprint: expect.stringMatching(/^[\w-]{16}$/),
      })
      const columns = [...(await source.mapping()).columns]
      expect(columns.map(([name, { source: from }]) => [name, from])).toEqual([
        ['name', 'name'],
        ['userid', 'userid'],
        ['dept_code', 'dept_code'],
      ])
      for (const [, { type }] of columns) expect(type).not.toBe('')
      expect((await source.inspect()).fingerprint).toBe(inspection.fingerprint)
    })

    test('is another one with another text, and with other types', async () => {
      const fingerprint = async (sql: string) => (await contract.source(sql).inspect()).fingerprint
      const table = await staff()
      const sql = `select id as userid, nick as name from ${table}`
      const before = await fingerprint(sql)
      expect(await fingerprint(`${sql} `)).not.toBe(before)
      await contract.place.table('staff', { id: 'key', nick: 'text' }, [])
      expect(await fingerprint(sql)).not.toBe(before)
    })

    contract.test('slow SELECT', 'is checked without reading a row', async () => {
      const startedAt = performance.now()
      await contract.source(`select 1 as userid, ${kind.slow} as name`).inspect()
      expect(performance.now() - startedAt).toBeLessThan(20_000)
    })

    test('may end with a semicolon, and with a comment', async () => {
      for (const end of [';', ' -- the end', ' -- the end\n;\n-- indeed\n', '\n/* the end */ ; ;'])
        expect(
          await linesOf(await contract.source(`select 1 as userid, 'n' as name${end}`).scan({})),
        ).toHaveLength(1)
    })

    test('may use quotes, common tables and unions', async () => {
      const sql = `with a as (select 1 as userid, 'x;)y' as name)
        select userid, name from a union all (select 2, '--' from a)`
      expect((await linesOf(await contract.source(sql).scan({}))).sort()).toEqual(['\t1\tx;)y', '\t2\t--'])
    })

    test('that was mended on the server works at the next question', async () => {
      const gone = (await contract.place.table('mended', { id: 'integer' }, [])).replace(
        'mended',
        'is_not_there',
      )
      const source = contract.source(`select id as userid, nick as name from ${gone}`)
      await expect(source.lookup([key('1')])).rejects.toBeInstanceOf(MappingError)
      await contract.place.table('is_not_there', { id: 'integer', nick: 'text' }, [['1', 'n']])
      expect((await source.lookup([key('1')])).size).toBe(1)
      await contract.place.table('is_not_there', { id: 'key', other: 'text' }, [['1', 'n']])
      await expect(source.lookup([key('1')])).rejects.toBeInstanceOf(MappingError)
      await contract.place.table('is_not_there', { id: 'key', nick: 'text' }, [['1', 'n']])
      expect((await source.lookup([key('1')])).size).toBe(1)
    })
  })

  describe('before there is a mapping', () => {
    test('tables are named as people and as SELECTs name them, the largest first', async () => {
      const rows = Array.from({ length: 5000 }, (_, i) => [String(i), 'x'.repeat(50)])
      await contract.place.table('some_people', { id: 'integer', nick: 'text' }, rows.slice(0, 50))
      await contract.place.table('many_people', { id: 'integer', nick: 'text' }, rows)
      const server = contract.place.serverAt(contract.place.url)
      try {
        const tables = await server.tables()
        const ours = tables.filter(({ name }) => /^(?:some|many)_people$/.test(name))
        expect(ours.map(({ name }) => name)).toEqual(['many_people', 'some_people'])
        for (const { name, sql, rows: count } of ours) {
          const columns = await server.reader.describe({ file: name, sql: `select * from ${sql}` })
          expect(columns.map(column => column.name)).toEqual(['id', 'nick'])
          expect(count === null || count > 0).toBe(true)
        }
      } finally {
        await server.close()
      }
    })
  })

  describe('a mapping is refused', () => {
    test.each(kind.mistakes.map(([sql, message], i) => [i + 1, sql, message] as const))(
      'with the server’s own words: mistake %i',
      async (_i, sql, message) => {
        const error = await refusal(sql(await staff()))
        expect(error).toBeInstanceOf(MappingError)
        expect(error).toMatchObject({ code: 'MAPPING_SQL' })
        expect(error.message).toMatch(/^employees\.sql:/)
        if (typeof message === 'string') expect(error.message).toContain(message)
        else expect(error.message).toMatch(message)
        expect(error.message).not.toMatch(/ at .*\.[jt]s:|\n/)
      },
    )

    test('at the line and column of a mistake in its syntax', async () => {
      const table = await staff()
      const error = await refusal(`-- 甲𠮷\nselect id as userid,\n nick as name\nfrom ${table} where where`)
      expect(error).toMatchObject({ code: 'MAPPING_SQL', place: { line: 4 } })
      expect(error.message).toMatch(/^employees\.sql:4:/)
    })

    contract.test('place of a name', 'at the line and column of a name that does not exist', async () => {
      const table = await staff()
      const error = await refusal(
        `-- 甲𠮷\nselect id as userid,\n '甲𠮷' as remark, nikc as name\nfrom ${table}`,
      )
      expect(error).toMatchObject({ code: 'MAPPING_SQL', place: { line: 3, column: 18 } })
      expect(error.message).toMatch(/^employees\.sql:3:18: .*nikc/)
    })

    test('for its columns, all at once', async () => {
      const table = await staff()
      const error = await refusal(`select nick as name,\n nick as wage from ${table}`)
      expect(error).toMatchObject({ code: 'MAPPING_COLUMNS', place: { line: 2, column: 10 } })
      expect(error.message).toContain(
        'employees.sql:2:10: unknown column "wage"; column userid is missing. Columns may be: ',
      )
    })

    for (const type of ['texts', 'json'] as const)
      contract.test(type, `where a name is of type ${type}`, async () => {
        const table = await contract.place.table('structured', { id: 'integer', v: type }, [])
        const error = await refusal(`select id as userid, v as name from ${table}`)
        expect(error.message).toContain('column name cannot be of type')
      })

    test('where the moment of a change is no moment', async () => {
      const error = await refusal("select 1 as userid, 'n' as name, 'x' as updated_at")
      expect(error.message).toContain('(it must be a timestamp or a date)')
    })

    test('where departments are mapped, and those of employees are not', async () => {
      const departments = "select 'a' as dept_code, null as parent_code, 't' as active"
      const source = contract.source("select 1 as userid, 'n' as name", { departments })
      await expect(source.departments()).rejects.toThrow(
        'employees.sql: column dept_code is missing; departments.sql needs it',
      )
    })

    test('where it is no single SELECT, before the server is asked', async () => {
      const url = kind.wrong.address
      for (const sql of ['select 1; select 2', 'delete from staff', '', "select 'x", 'select 1) m; --'])
        expect(() => contract.source(sql, { url })).toThrow(MappingError)
    })

    test('where it holds a second statement, even without a check before', async () => {
      await staff()
      const server = contract.place.serverAt(contract.place.url)
      try {
        const mapping = { file: 'employees.sql', sql: kind.secondStatement }
        await expect(server.reader.describe(mapping)).rejects.toBeInstanceOf(MappingError)
        const session = await server.open({ name: 'dirsync', timeoutMs: null })
        await expect(session.describe(mapping)).rejects.toBeInstanceOf(MappingError)
        await session.close()
      } finally {
        await server.close()
      }
    })

    contract.test('writing SELECT', 'where it writes, and nothing is written', async () => {
      const source = contract.source(kind.writingSelect)
      const attempts = [
        async () => linesOf(await source.scan({})),
        () => source.lookup([key('1')]),
        async () => {
          await using snapshot = await source.snapshot(30_000)
          const mapping = await snapshot.inspect((await source.mappingFiles()).employees)
          return await linesOf(await snapshot.scan(mapping, new AbortController().signal))
        },
      ]
      for (const attempt of attempts) {
        const error = await errorOf(attempt())
        expect(error.message).toMatch(/^employees\.sql:/)
        expect(error).not.toBeInstanceOf(HrUnavailableError)
      }
      expect(await contract.place.hasWritten()).toBe(false)
    })

    contract.test('rights', 'where its user may not read the table', async () => {
      const table = await contract.place.table('hidden', { id: 'integer' }, [['1']])
      await contract.place.forbid('hidden')
      const error = await refusal(`select id as userid, 'n' as name from ${table}`)
      expect(error).toMatchObject({ code: 'MAPPING_SQL' })
      expect(error.message).toMatch(/hidden/)
      const server = contract.place.serverAt(contract.place.url)
      try {
        expect((await server.tables()).map(({ name }) => name)).not.toContain('hidden')
      } finally {
        await server.close()
      }
    })
  })

  describe('a value that cannot be computed', () => {
    const LAST = 149_999

    contract.test('failing value', 'is HrDataError, which does not hold the value', async () => {
      const table = await contract.place.table(
        'priced',
        { id: 'integer', price: 'text' },
        // More than are read ahead.
        Array.from({ length: LAST + 1 }, (_, i) => [String(i), i === LAST ? SECRET : '1']),
      )
      const source = contract.source(
        `select id as userid, ${kind.failing('price')} as cost_center_id from ${table}`,
      )
      for (const fail of [
        async () => linesOf(await source.scan({})),
        () => source.lookup([key(String(LAST))]),
      ]) {
        const error = await errorOf(fail())
        expect(error).toBeInstanceOf(HrDataError)
        expect(error.message).toMatch(/^employees\.sql:.*the query failed on a value in HR/)
        expect(String(error.stack) + String(error.cause)).not.toContain(SECRET)
      }
      // The server does not say where it is; reading again does.
      await using snapshot = await source.snapshot(60_000)
      const mapping = await snapshot.inspect((await source.mappingFiles()).employees)
      expect(await snapshot.culprit(mapping)).toEqual({ column: 'cost_center_id', key: key(String(LAST)) })
      await snapshot[Symbol.asyncDispose]()
      await source.close()
      await contract.gone()
    })

    test('is told apart from a subquery that finds several rows', async () => {
      const table = await contract.place.table('posts', { id: 'integer', post: 'text' }, [
        ['1', 'a'],
        ['2', 'b'],
        ['2', 'c'],
      ])
      const ids = await contract.place.table('holders', { id: 'integer' }, [['1'], ['2']])
      const source = contract.source(
        `select h.id as userid, (select p.post from ${table} p where p.id = h.id) as level from ${ids} h`,
      )
      const error = await errorOf(linesOf(await source.scan({})))
      expect(error).toBeInstanceOf(HrDataError)
      expect(error.message).toMatch(/: a subquery returned more than one row for an employee \(/)
    })
  })
}
