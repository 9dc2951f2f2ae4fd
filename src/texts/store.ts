import type { Pool } from '../lib/database.ts'
import { listNaming } from './failures.ts'
import { CATALOGUES, LANGUAGES } from './texts.ts'

/** Lists whose names SQL gives, and what messages say; pages and commands have the rest to themselves. */
const IN_SQL =
  /^(?:state|category|field|entity|operation|call|run_kind|run_state|dry_run_state|bulk_state|event|money_state|payment_order_status|code|circumstance|schedules\.pause|said)\./

/**
 * Writes what SQL says to operators into `dirsync.text`, where it differs from this version's catalogue. Every migrate and
 * start does it, so that names in SQL are those of the console. Returns how many rows were changed.
 */
export async function storeTexts(db: Pool): Promise<number> {
  const texts = LANGUAGES.flatMap(language =>
    Object.entries(CATALOGUES[language])
      .filter(([key]) => IN_SQL.test(key))
      .map(([key, text]) => {
        const [before, ...rest] = text.split(/\{(\w+)\}/)
        const parts = rest.flatMap((part, i) => (i % 2 === 0 ? [part, listNaming(language, part)] : [part]))
        return { language, key, text, parts: parts.length > 0 ? [before, ...parts] : null }
      }),
  )
  const { rowCount } = await db.query(
    `with given as (
       select * from jsonb_to_recordset($1) as g (language text, key text, text text, parts text[])
     ), gone as (
       delete from dirsync.text t
       where not exists (select from given g where g.language = t.language and g.key = t.key)
       returning 1
     ), written as (
       insert into dirsync.text as t (language, key, text, parts)
       select language, key, text, parts from given order by language, key
       on conflict (language, key) do update set (text, parts) = (excluded.text, excluded.parts)
       where (t.text, t.parts) is distinct from (excluded.text, excluded.parts)
       returning 1
     )
     select from gone union all select from written`,
    [JSON.stringify(texts)],
  )
  return rowCount ?? 0
}
