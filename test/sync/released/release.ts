/**
 * Writes what later versions are held to, for the version in package.json: a dump of its schema with data of every table
 * (`VERSION.sql`), and the hashes of its migrations (in `migrations.json`). Run it once for a release, before its tag:
 *
 *     npm run release:schema -- postgres://postgres@127.0.0.1/postgres
 *
 * It makes a database of its own on that server and removes it again. `pg_dump` must be as new as the server, or newer.
 */
import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import pg from 'pg'
import { emptyTables, fill } from './fill.ts'
import { hashes, RELEASED, released } from './releases.ts'

const { version } = JSON.parse(readFileSync(new URL('../../../package.json', import.meta.url), 'utf8'))

const [server = ''] = process.argv.slice(2)
if (!/^postgres(?:ql)?:/.test(server))
  throw new Error('name a PostgreSQL server, such as postgres://postgres@127.0.0.1/postgres')

const name = `dirsync_release_${process.pid}`
const admin = new pg.Client({ connectionString: server })
await admin.connect()
await admin.query(`create database ${name} template template0`)
try {
  const url = Object.assign(new URL(server), { pathname: name }).href
  const pool = new pg.Pool({ connectionString: url })
  await fill(pool)
  const empty = await emptyTables(pool)
  if (empty.length > 0) throw new Error(`add rows of ${empty.join(', ')} to rows.sql`)
  // Each start writes the texts anew: two of them stand for all.
  await pool.query(`delete from dirsync.text where key <> 'state.open'`)
  await pool.end()
  writeFileSync(new URL(`${version}.sql`, RELEASED), dump(url))
  const versions = { ...released(), [version]: hashes() }
  writeFileSync(new URL('migrations.json', RELEASED), `${JSON.stringify(versions, null, 2)}\n`)
} finally {
  await admin.query(`drop database ${name} with (force)`)
  await admin.end()
}

/** Plain SQL that any client can run: neither commands of psql nor comments of pg_dump. */
function dump(url: string): string {
  const text = execFileSync('pg_dump', ['--no-owner', '--inserts', '--schema=dirsync', url], {
    encoding: 'utf8',
    env: { ...process.env, PGTZ: 'UTC' },
    maxBuffer: 2 ** 26,
  })
  return text.replace(/^\\.*\n/gm, '').replace(/\n*(?:^--.*\n)+\n*/gm, '\n')
}
