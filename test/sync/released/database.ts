import { readFileSync } from 'node:fs'
import type pg from 'pg'
import { RELEASED } from './releases.ts'

/** When the rows of the dumps were written, and how long ago that is to be. */
const WRITTEN = Date.parse('2026-11-23T14:41:36Z')
const AGO_MS = 2 * 3_600_000

/** Loads the dump of a release. */
export async function loadDump(pool: pg.Pool, version: string): Promise<void> {
  const client = await pool.connect()
  try {
    await client.query(`do $$ begin create role dirsync_reviewer nologin;
                        exception when duplicate_object or unique_violation then null; end $$`)
    await client.query(inThePast(readFileSync(new URL(`${version}.sql`, RELEASED), 'utf8')))
  } finally {
    client.release(true) // the dump changes settings of its session
  }
}

/** Moves times to the recent past, as SQL and JSON write them. */
export function inThePast(text: string): string {
  const later = Date.now() - AGO_MS - WRITTEN
  return text.replace(/\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(?:\.\d+)?\+00(?::00)?/g, at =>
    new Date(Date.parse(at.replace(' ', 'T').replace(/\+00$/, 'Z')) + later).toISOString(),
  )
}

/** Everything of the schema but the text of views, which each version of PostgreSQL prints in its own way. */
export async function schemaOf(pool: pg.Pool): Promise<string[]> {
  const { rows } = await pool.query<{ line: string }>(`
    select concat_ws(' ', 'column', c.relname, a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull,
                     a.attgenerated, a.attidentity, pg_get_expr(d.adbin, d.adrelid), col_description(c.oid, a.attnum)) as line
    from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
    left join pg_attrdef d on d.adrelid = c.oid and d.adnum = a.attnum
    where c.relnamespace = 'dirsync'::regnamespace and c.relkind in ('r', 'v')
    union all
    select concat_ws(' ', 'constraint', conrelid::regclass, conname, pg_get_constraintdef(oid))
    from pg_constraint where connamespace = 'dirsync'::regnamespace
    union all
    select indexdef from pg_indexes where schemaname = 'dirsync'
    union all
    select pg_get_triggerdef(t.oid) from pg_trigger t join pg_class c on c.oid = t.tgrelid
    where not t.tgisinternal and c.relnamespace = 'dirsync'::regnamespace
    union all
    select concat_ws(' ', pg_get_functiondef(oid), obj_description(oid, 'pg_proc'),
                     array(select unnest(proacl)::text order by 1))
    from pg_proc where pronamespace = 'dirsync'::regnamespace
    union all
    select concat_ws(' ', relname, relkind, relpersistence, reloptions, obj_description(oid, 'pg_class'),
                     array(select unnest(relacl)::text order by 1))
    from pg_class where relnamespace = 'dirsync'::regnamespace`)
  return rows.map(({ line }) => line).sort()
}
