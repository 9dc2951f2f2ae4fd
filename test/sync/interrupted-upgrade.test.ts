import pg from 'pg'
import { expect, onTestFinished, test, vi } from 'vitest'
import { createPool } from '../../src/lib/database.ts'
import { migrate, missingMigrations } from '../../src/lib/migrate.ts'
import { openQueueStore } from '../../src/queue/backend.ts'
import { storeTexts } from '../../src/texts/store.ts'
import { until } from '../helpers/company.ts'
import { createTestDatabase } from '../helpers/postgres.ts'
import { spawnDirsync } from '../helpers/process.ts'
import { loadDump, schemaOf } from './released/database.ts'
import { hashes, released } from './released/releases.ts'
import { SILENT, WAITING_FOR_A_LOCK } from './store-under-test.ts'

/*
 * An upgrade from each release whose connection dies after every single statement, in the middle of the text of a migration,
 * too. The next start must end in the same schema and rows as an upgrade that nothing disturbed.
 */

const VERSIONS = Object.keys(released())
const BEGUN = Date.now()
/** Ends the session that sends it: what was not committed is rolled back, as when its client dies. */
const DIE = 'select pg_terminate_backend(pg_backend_pid());'

/** All that a start does to the databases before it works: the schema, the texts, and the queue's schema in PostgreSQL. */
async function upgrade(url: string): Promise<void> {
  const pool = createPool(url, { max: 2, name: 'upgrade', logger: SILENT })
  try {
    await migrate(pool)
    await storeTexts(pool)
    await openQueueStore({ redisUrl: null, databaseUrl: url }).prepare()
  } finally {
    await pool.end()
  }
}

/** The statements of a text, each with what follows it up to the next one. */
function statementsOf(text: string): string[] {
  const pieces =
    text.match(/--[^\n]*|'(?:[^']|'')*'|"[^"]*"|\$(\w*)\$[\s\S]*?\$\1\$|;|[^-'"$;]+|[\s\S]/g) ?? []
  const statements = ['']
  for (const piece of pieces) {
    statements[statements.length - 1] += piece
    if (piece === ';') statements.push('')
  }
  const [last = ''] = statements.slice(-1)
  if (statements.length > 1 && last.replace(/--[^\n]*/g, '').trim() === '') statements.pop()
  return statements
}

/**
 * Upgrades, and ends the connection after some of the statements that it sends.
 * @param after how many statements are carried out; default: all
 */
async function interrupted(url: string, after = Number.POSITIVE_INFINITY) {
  const seen: string[] = []
  const { query } = pg.Client.prototype
  const spy = vi.spyOn(pg.Client.prototype, 'query').mockImplementation(function (
    this: pg.Client,
    ...given: unknown[]
  ) {
    const [asked, values] = given as [string | pg.QueryConfig, unknown]
    const text = typeof asked === 'string' ? asked : asked.text
    const statements = Array.isArray(values) ? [text] : statementsOf(text)
    const left = after - seen.length
    seen.push(...statements)
    if (left < 0 || left >= statements.length) return Reflect.apply(query, this, given)
    const cut = left === 0 ? DIE : statements.toSpliced(left, 0, DIE).join(' ')
    return Reflect.apply(query, this, [cut, ...given.filter(argument => typeof argument === 'function')])
  } as typeof query)
  try {
    const failure = await upgrade(url).then(
      () => null,
      (error: unknown) => error,
    )
    return { seen, failure }
  } finally {
    spy.mockRestore()
  }
}

/** The schema, and all rows of both schemas; times of this run are all alike. */
async function stateOf(db: pg.Pool): Promise<string[]> {
  const { rows: tables } = await db.query<{ name: string }>(
    `select format('%I.%I', nspname, relname) as name
     from pg_class c join pg_namespace n on n.oid = relnamespace
     where nspname in ('dirsync', 'bullmq') and relkind in ('r', 'p') order by 1`,
  )
  const { rows } = await db.query<{ line: string }>(
    tables
      .map(({ name }) => `select '${name} ' || to_jsonb(t)::text as line from ${name} t`)
      .join(' union all '),
  )
  const lines = rows.map(({ line }) =>
    line.replace(/\d{4}-\d\d-\d\dT[\d:.]+(?:\+00:00|Z)/g, at => (Date.parse(at) >= BEGUN ? 'now' : at)),
  )
  return [...(await schemaOf(db)), ...tables.map(({ name }) => name), ...lines.sort()]
}

/** The first lines of each that the other one lacks. */
function differences(found: readonly string[], wanted: readonly string[]): string[] {
  const [left, right] = [new Set(found), new Set(wanted)]
  return [
    ...found.filter(line => !right.has(line)).map(line => `there is ${line}`),
    ...wanted.filter(line => !left.has(line)).map(line => `there is no ${line}`),
  ].slice(0, 5)
}

test('a text falls into its statements, whatever quotes and bodies it has', () => {
  const text = `-- first; a comment\ninsert into a values ('x;y''z'); create function f() as $$ begin; end $$;\n select "a;b"`
  expect(statementsOf(text)).toHaveLength(3)
  expect(statementsOf(text).join('')).toBe(text)
  expect(statementsOf('begin')).toEqual(['begin'])
  expect(statementsOf('select 1; -- the end;\n')).toEqual(['select 1;'])
})

test.each(VERSIONS)(
  'an upgrade from %s ends alike, whichever statement its connection dies at',
  { timeout: 900_000 },
  async version => {
    // Copied again and again, so that nothing may be connected to it.
    const template = await createTestDatabase()
    onTestFinished(() => template.close())
    await loadDump(template.pool, version)

    await using undisturbed = await createTestDatabase({ copyOf: template.name })
    const { seen } = await interrupted(undisturbed.url)
    const wanted = await stateOf(undisturbed.pool)

    // What the next start makes of a database depends on nothing but what it finds: alike ones are upgraded once.
    const finished = new Set<string>()
    const otherwise: string[] = []
    for (const [after, next] of seen.entries()) {
      await using database = await createTestDatabase({ copyOf: template.name })
      const { failure } = await interrupted(database.url, after)
      if (failure === null) otherwise.push(`did not die before statement ${after}: ${next}`)
      const left = (await stateOf(database.pool)).join('\n')
      if (finished.has(left)) continue
      finished.add(left)
      await upgrade(database.url)
      const found = await stateOf(database.pool)
      for (const line of differences(found, wanted))
        otherwise.push(`died before statement ${after}, ${next}: ${line}`)
    }
    expect(otherwise).toEqual([])
    // Before it and after each of its transactions: nothing in between is ever left.
    const migrations = Object.keys(hashes()).length - Object.keys(released()[version] ?? {}).length
    expect(seen.length).toBeGreaterThan(finished.size)
    expect(finished.size).toBeGreaterThan(migrations)
  },
)

test('a migration whose process is killed while PostgreSQL carries it out is done by the next start', async () => {
  const version = VERSIONS[0] as string
  await using database = await createTestDatabase()
  await loadDump(database.pool, version)
  const reader = await database.pool.connect()
  await reader.query('begin; lock table dirsync.sync_run in access share mode')
  const env = { DATABASE_URL: database.url }
  await using first = spawnDirsync(['migrate'], { env })
  const waiting = async () => (await database.pool.query(WAITING_FOR_A_LOCK)).rowCount === 1
  await until(waiting)
  await first.kill('SIGKILL')
  await using second = spawnDirsync(['migrate'], { env })
  await reader.query('commit')
  reader.release()
  expect(await second.exited).toEqual({ code: 0, signal: null })
  expect(await missingMigrations(database.pool)).toEqual([])
})
