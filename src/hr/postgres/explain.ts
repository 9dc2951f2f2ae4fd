import type pg from 'pg'
import { MANY_ROWS, type TableReadWhole } from '../server.ts'
import { textRows } from './connection.ts'
import { toHrError } from './errors.ts'
import type { RowsStatement } from './query.ts'

/** A node of a plan from `explain (format json, verbose)`. */
interface PlanNode {
  'Node Type': string
  'Relation Name'?: string
  Schema?: string
  Alias?: string
  Filter?: string
  Plans?: PlanNode[]
}

/**
 * The big tables that a look-up scans in full, and the foreign tables whose server does not get its condition. With sequential scans disabled, the server chooses one only where no index
 * serves, however small the table or old its statistics.
 */
export async function readWhole(
  client: pg.ClientBase,
  { text, values, mapping, before }: RowsStatement,
  userid: string,
): Promise<TableReadWhole[]> {
  await client.query('set local enable_seqscan = off')
  const explain = 'explain (format json, verbose) '
  const [[plan = '[]'] = []] = await textRows(client, explain + text, values).catch(error => {
    throw toHrError(error, { mapping, before: explain + before })
  })
  const scans = (JSON.parse(plan ?? '[]') as { Plan: PlanNode }[])
    .flatMap(({ Plan }) => scansIn(Plan))
    .filter(scan => scan['Node Type'] === 'Seq Scan' || comparedIn(scan, userid) !== null)
  const expressions = scans.map(scan => (scan.Filter === undefined ? null : comparedIn(scan, userid)))
  // A partition counts as its table, and no other figure exists for a table that was never analysed.
  const tables = await textRows(
    client,
    `select root.oid::regclass::text, expression, column_type,
       case when not bool_or(c.relkind = 'f') then sum(rows)::bigint end
     from unnest($1::text[], $2::text[], $3::text[], $4::text[]) s (schema, name, expression, plain)
     join pg_namespace n on n.nspname = s.schema
     join pg_class c on c.relnamespace = n.oid and c.relname = s.name
     join pg_class root on root.oid = coalesce(pg_partition_root(c.oid), c.oid)
     left join lateral (select format_type(a.atttypid, null) as column_type from pg_attribute a
                        where a.attrelid = root.oid and a.attname = s.plain) a on true
     cross join lateral (select case when c.reltuples >= 0 then c.reltuples
                                     else pg_relation_size(c.oid) / 100 end as rows) r
     group by 1, 2, 3 having sum(rows) >= ${MANY_ROWS} or bool_or(c.relkind = 'f')
     order by 4 desc nulls last`,
    [
      scans.map(scan => scan.Schema ?? ''),
      scans.map(scan => scan['Relation Name'] ?? ''),
      expressions,
      expressions.map(expression => PRINTED.exec(expression ?? '')?.[1] ?? null),
    ],
  )
  return tables.map(([table, expression, type, rows]) => {
    // A varchar is compared as a text, which an index on the column serves.
    const column = type === 'character varying' ? PRINTED.exec(expression ?? '')?.[1] : undefined
    const of = column ?? expression
    const isName = /^(?:\w+|"[^"]+")$/.test(of ?? '')
    const isForeign = rows === null || rows === undefined
    return {
      table: table ?? '',
      rows: isForeign ? null : Number(rows),
      index: of && !isForeign ? `create index on ${table} (${isName ? of : `(${of})`})` : null,
    }
  })
}

/** A column cast to text. */
const PRINTED = /^\((\w+)\)::text$/

const SCANS = new Set(['Seq Scan', 'Foreign Scan'])

function scansIn(node: PlanNode): PlanNode[] {
  const below = (node.Plans ?? []).flatMap(scansIn)
  return SCANS.has(node['Node Type']) ? [node, ...below] : below
}

/** The expression that a filter compares with a value: before ` = `, from the opening parenthesis. */
function comparedIn({ Filter = '', Alias = '' }: PlanNode, value: string): string | null {
  const filter = Filter.replaceAll(/(?<![\w"])(?:(\w+)|"([^"]+)")\./g, (all, plain, quoted) =>
    (plain ?? quoted) === Alias ? '' : all,
  )
  const at = filter.search(new RegExp(` = (?:ANY \\()?'\\{?"?${value}`))
  if (at === -1) return null
  let from = at
  for (let depth = 0; from > 0; from -= 1) {
    const before = filter.charAt(from - 1)
    if (before === ')') depth += 1
    if (before === '(' && depth === 0) break
    if (before === '(') depth -= 1
  }
  const expression = filter.slice(from, at)
  const inner = /^\((.*)\)$/.exec(expression)?.[1]
  return inner !== undefined && isBalanced(inner) ? inner : expression
}

/** Whether every closing parenthesis was opened. */
function isBalanced(text: string): boolean {
  let depth = 0
  for (const character of text) {
    if (character === '(') depth += 1
    if (character === ')') depth -= 1
    if (depth < 0) return false
  }
  return true
}
