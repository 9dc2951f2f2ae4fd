import type { Pool } from '../lib/database.ts'
import { SENTENCES } from './failures.ts'
import { CATALOGUES, LANGUAGES } from './texts.ts'

/** Lists whose names SQL gives; pages and commands have the rest to themselves. */
const IN_SQL = /^(?:state|category|field|entity|operation|call|run_kind|run_state|code|circumstance|said)\./

/**
 * Writes what SQL says to operators into `dirsync.text`, where it differs from this version's catalogue. Every migrate and
 * start does it, so that names in SQL are those of the console. Returns how many rows were changed.
 */
export async function storeTexts(db: Pool): Promise<number> {
  const places = new Map(
    SENTENCES.map((sentence, position) => [sentence.key as string, { sentence, position }]),
  )
  const texts = LANGUAGES.flatMap(language =>
    Object.entries(CATALOGUES[language])
      .filter(([key]) => IN_SQL.test(key))
      .map(([key, text]) => {
        const found = language === 'en' ? places.get(key) : undefined
        const { prefix = null, literal = null, pattern = null, parameters = null } = found?.sentence ?? {}
        // Of a sentence without parameters, or with somebody's words at its end, the prefix is enough.
        const isPlain = parameters === null || parameters.every(name => name === 'words')
        return {
          ...{ language, key, text, position: found?.position ?? null, prefix, literal, parameters },
          pattern: isPlain ? null : pattern,
        }
      }),
  )
  const { rowCount } = await db.query(
    `with given as (
       select * from jsonb_to_recordset($1)
         as g (language text, key text, text text, position integer, prefix text,
             literal text, pattern text, parameters text[])
     ), gone as (
       delete from dirsync.text t
       where not exists (select from given g where g.language = t.language and g.key = t.key)
       returning 1
     ), written as (
       insert into dirsync.text as t (language, key, text, position, prefix, literal, pattern, parameters)
       select language, key, text, position, prefix, literal, pattern, parameters from given
       order by language, key
       on conflict (language, key) do update
       set (text, position, prefix, literal, pattern, parameters)
         = (excluded.text, excluded.position, excluded.prefix, excluded.literal, excluded.pattern,
            excluded.parameters)
       where (t.text, t.position, t.prefix, t.literal, t.pattern, t.parameters)
             is distinct from (excluded.text, excluded.position, excluded.prefix, excluded.literal,
                               excluded.pattern, excluded.parameters)
       returning 1
     )
     select from gone union all select from written`,
    [JSON.stringify(texts)],
  )
  return rowCount ?? 0
}
