import type { Connection } from 'mysql2'
import type { Statement } from '../rows.ts'
import { MANY_ROWS, type TableReadWhole } from '../server.ts'
import { quotedName } from '../statement.ts'
import { cells } from './connection.ts'
import { MYSQL } from './query.ts'

/** The user may read a view, but not its underlying tables. */
const NOT_TO_BE_EXPLAINED = new Set<unknown>([1345])

/**
 * The big tables that a look-up scans in full. The server names them as the SELECT does; in a note it writes the SELECT as it
 * understood it, with the tables' own names.
 * @param type of the column that is compared
 */
export async function readWhole(
  connection: Connection,
  { text }: Statement,
  userid: string,
  type: string | undefined,
): Promise<TableReadWhole[]> {
  const texts = async (sql: string) =>
    (await cells(connection, sql)).rows.map(row => row.map(cell => cell?.toString('utf8') ?? ''))
  try {
    const { rows, fields } = await cells(connection, `explain /*M! extended */ ${text}`)
    const notes = (await texts('show warnings')).filter(([, code]) => code === '1003')
    const note = notes.map(([, , message]) => message).join('\n')
    const at = (name: string) => fields.findIndex(field => field.name === name)
    const [table, access, count] = [at('table'), at('type'), at('rows')]
    return rows
      .map(row => ({
        alias: row[table]?.toString('utf8') ?? '',
        access: row[access]?.toString('latin1'),
        rows: Number(row[count]),
      }))
      .filter(({ alias, access }) => !alias.startsWith('<') && (access === 'ALL' || access === 'index'))
      .filter(({ rows }) => rows >= MANY_ROWS)
      .map(({ alias, rows }) => {
        const name = tableOf(alias, note)
        const column = comparedIn(alias, userid, note)
        const part = type === 'text' ? '(64)' : ''
        return {
          table: name,
          rows,
          index: column && `create index dirsync_userid on ${name} (${column}${part})`,
        }
      })
  } catch (error) {
    if (NOT_TO_BE_EXPLAINED.has((error as { errno?: number }).errno)) return []
    throw error
  }
}

const QUOTED = '(`(?:[^`]|``)+`)'

function tableOf(alias: string, note: string): string {
  const tables = [...note.matchAll(new RegExp(`${QUOTED}\\.${QUOTED} ${QUOTED}`, 'g'))]
  const own = quotedName(alias, MYSQL)
  return tables.find(([, , , called]) => called === own)?.[2] ?? own
}

/** The quoted column that is compared with a value directly; null where it is computed first. */
function comparedIn(alias: string, value: string, note: string): string | null {
  const compared = note.matchAll(new RegExp(`${QUOTED}\\.${QUOTED} (?:= |in \\()(?:UUID)?'?${value}\\b`, 'g'))
  const own = quotedName(alias, MYSQL)
  return [...compared].find(([, of]) => of === own)?.[2] ?? null
}
