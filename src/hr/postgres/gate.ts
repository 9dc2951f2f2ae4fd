import type pg from 'pg'
import { message } from '../../texts/message.ts'
import { mappingRefused, onlyPlaceOf, placeAfter } from '../errors.ts'
import type { MappingFile } from '../statement.ts'
import { textRows } from './connection.ts'
import { toHrError } from './errors.ts'

/**
 * Checks the functions that a mapping's SELECT calls. It can only read, because it is one statement of a read-only transaction.
 * Yet a function may act outside of any transaction: end other sessions, hold locks, open connections, read the server's files,
 * run a text as SQL, or sleep. PostgreSQL calls those volatile. A function that HR hides in a view, or declares stable, is HR's
 * own responsibility.
 */

/** Volatile only because they return different values. */
const HARMLESS = [
  'clock_timestamp',
  'gen_random_uuid',
  'random',
  'random_normal',
  'timeofday',
  'uuidv4',
  'uuidv7',
]

/**
 * Stable functions that run SQL which the tree does not show: of texts, in libraries of extensions (crosstab, connectby,
 * xpath_table); of tables that are named by a value, in the server's own.
 */
const RUNS_SQL = '/(tablefunc|pgxml)$|^(table|schema|database)_to_xml(_and_xmlschema)?$'

/**
 * The first function or relation that is refused, if any: its name, the name as SQL writes it, and which of REFUSALS it is. An
 * aggregate is checked by its functions. Relations of the server that are not public hold its files and passwords; their views
 * call functions that read files.
 */
const FIRST_REFUSED = `
  select p.proname, p.oid::regprocedure::text,
         case when p.pronamespace = 'pg_catalog'::regnamespace
                or exists (select from pg_depend d
                           where d.classid = 'pg_proc'::regclass and d.objid = p.oid and d.deptype = 'e')
              then 'server' else 'hr' end
  from pg_proc p
  where p.oid in (select unnest($1::oid[])
                  union all
                  select unnest(array[aggtransfn, aggfinalfn, aggmtransfn, aggminvtransfn, aggmfinalfn,
                                      aggcombinefn, aggserialfn, aggdeserialfn]::oid[])
                  from pg_aggregate where aggfnoid = any ($1::oid[]))
    and (p.provolatile = 'v' and not (p.pronamespace = 'pg_catalog'::regnamespace and p.proname = any ($2))
         or p.provolatile = 's' and coalesce(p.probin, p.prosrc) ~ $3)
  union all
  select c.relname, c.oid::regclass::text, 'relation'
  from pg_class c
  where c.oid = any ($4::oid[]) and c.oid < 16384 -- from there on they are HR's
    and not has_table_privilege('public', c.oid, 'select')
  order by 3, 2 limit 1`

const REFUSALS = {
  server: 'said.select_calls',
  hr: 'said.select_calls_volatile',
  relation: 'said.select_reads',
} as const

/** Allowed SELECTs to cache per server: each check leaves a record in the server's log. */
const MOST_KNOWN = 100

/** Refuses SELECTs that call a forbidden function. One per server, whose connections all share its functions. */
export class FunctionGate {
  readonly #passed = new Set<string>()

  /**
   * @param client in a transaction, whose settings are changed until it is rolled back
   * @throws MappingError, HrUnavailableError
   */
  async check(client: pg.ClientBase, { file, sql }: MappingFile): Promise<void> {
    if (this.#passed.has(sql)) return
    const before = 'select * from (\n'
    const tree = await readAsTree(client, `${before}${sql}\n) m`).catch(error => {
      throw toHrError(error, { mapping: { file, sql }, before }, false)
    })
    if (tree === null) {
      throw mappingRefused(file, message('said.select_hidden'), null, null)
    }
    const [[name, written, kind] = []] = await textRows(client, FIRST_REFUSED, [
      numbersIn(tree, FUNCTIONS),
      HARMLESS,
      RUNS_SQL,
      numbersIn(tree, RELATIONS),
    ])
    if (name) {
      const at = onlyPlaceOf(name, sql)
      const reason = message(REFUSALS[kind as keyof typeof REFUSALS], { name: written ?? name })
      throw mappingRefused(file, reason, at === null ? null : placeAfter(sql.slice(0, at)), null)
    }
    if (this.#passed.size >= MOST_KNOWN) this.#passed.clear()
    this.#passed.add(sql)
  }
}

/**
 * The server's own parse of a statement, which is neither planned nor run: a tree that names every function by its number,
 * including those behind operators and casts, before views are expanded. It has everything that our own parsing might miss.
 * Null where the server does not show it.
 */
async function readAsTree(client: pg.ClientBase, text: string): Promise<string | null> {
  await client.query(
    'set local client_min_messages = log; set local debug_pretty_print = off; set local debug_print_parse = on',
  )
  let tree: string | null = null
  const heard = (notice: { detail?: string | undefined }) => {
    if (notice.detail?.startsWith('{QUERY')) tree = notice.detail
  }
  client.on('notice', heard)
  try {
    await parse(client, text)
  } finally {
    client.off('notice', heard)
  }
  await client.query('set local debug_print_parse = off; set local client_min_messages = notice')
  return tree
}

/** Makes the server parse one statement. A second one in the text is an error of the extended protocol. */
function parse(client: pg.ClientBase, text: string): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  client.query({
    submit(connection: pg.Connection) {
      connection.parse({ name: '', text, types: [] }, true)
      connection.sync()
    },
    handleError: reject,
    handleReadyForQuery: () => resolve(),
  })
  return promise
}

const FUNCTIONS = /:(?:funcid|opfuncid|aggfnoid|winfnoid|tsmhandler)\s(\d+)/g
const RELATIONS = /:relid\s(\d+)/g

/**
 * The numbers in a tree. The server breaks its lines at blanks, including one before a number. Names and texts in it have a
 * backslash before every blank.
 */
function numbersIn(tree: string, pattern: RegExp): string[] {
  return [...new Set([...tree.matchAll(pattern)].map(([, oid = '']) => oid))]
}
