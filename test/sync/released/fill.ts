import { readFileSync } from 'node:fs'
import type pg from 'pg'
import { migrate } from '../../../src/lib/migrate.ts'
import { storeTexts } from '../../../src/texts/store.ts'

/** Work in hand, one row a line: what dirsync wrote on its own for the company that `upgrade.test.ts` describes. */
const WORK = new URL('work.jsonl', import.meta.url)
/** A row or two of every other table. */
const ROWS = new URL('rows.sql', import.meta.url)

/**
 * Brings an empty database to the newest schema, with work in hand and rows in every table.
 * @param rewrite changes the text of the rows, such as their times
 */
export async function fill(db: pg.Pool, rewrite = (text: string) => text): Promise<void> {
  await migrate(db)
  await storeTexts(db)
  for (const line of rewrite(readFileSync(WORK, 'utf8')).trim().split('\n')) {
    const [table, row] = JSON.parse(line) as [string, object]
    const columns = Object.keys(row).join(', ')
    await db.query(
      `insert into dirsync.${table} (${columns}) overriding system value
       select ${columns} from jsonb_populate_record(null::dirsync.${table}, $1)`,
      [JSON.stringify(row)],
    )
  }
  await db.query(
    `select setval('dirsync.execution', 100), setval(pg_get_serial_sequence(t, 'id'), 100)
     from unnest('{dirsync.sync_run,dirsync.dead_letter,dirsync.dead_letter_event,dirsync.attempt,
                   dirsync.alert,dirsync.alert_message,dirsync.command}'::text[]) t`,
  )
  await db.query(rewrite(readFileSync(ROWS, 'utf8')))
}

/** Tables of the schema without a row. */
export async function emptyTables(db: pg.Pool): Promise<string[]> {
  const { rows } = await db.query<{ name: string }>(
    `select relname as name from pg_class
     where relnamespace = 'dirsync'::regnamespace and relkind = 'r' order by 1`,
  )
  const empty: string[] = []
  for (const { name } of rows)
    if ((await db.query(`select from dirsync.${name} limit 1`)).rowCount === 0) empty.push(name)
  return empty
}
