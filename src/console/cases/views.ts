import { z } from 'zod'
import type { Pool } from '../../lib/database.ts'
import { filterQuery } from '../../sync/cases/case-filter.ts'
import { asAsker, noteCommand } from '../../sync/runs/commands.ts'
import type { Ask } from '../ask.ts'
import { mayAs } from '../auth/viewer.ts'
import { oneOrMore, plainText, queryFields } from '../endpoint.ts'
import { Problem } from '../problem.ts'
import { COLUMNS, filterOf, ListInput } from './query.ts'

/* How people want to see the list of cases: views that they have saved, and the columns that each has chosen. */

/** A saved view: what the address of a list says after the question mark. */
export const CaseView = z.object({
  id: z.int(),
  name: z.string(),
  owner: z.string(),
  shared: z.boolean().describe('Whether others see it, too'),
  query: z.string().describe('Filter, order and columns, as GET /cases takes them'),
})
export type CaseView = z.infer<typeof CaseView>

export const ViewInput = z.object({
  name: plainText(60).pipe(z.string().min(1)).describe('Saving under a name of one’s own replaces that view'),
  shared: z
    .stringbool()
    .or(z.boolean())
    .default(false)
    .describe('Whether others see it, too, which needs the role reviewer'),
  query: z
    .preprocess(
      given => (typeof given === 'string' ? queryFields(given) : (given ?? {})),
      ListInput.omit({ cursor: true, limit: true }),
    )
    .describe('Filter, order and columns, as GET /cases takes them'),
})

/** Filter, order and columns as an address has them, always in the same sequence. */
export function viewQuery(input: Omit<ListInput, 'limit'>): string {
  const query = filterQuery(filterOf(input))
  if (input.order) query.set('order', input.order)
  if (input.columns) query.set('columns', input.columns.join(','))
  return String(query)
}

/** Views that one person keeps: everyone's page lists those that are shared. */
const MOST_VIEWS = 50

/** The views of a person, and those that others share. */
export async function listViews(pool: Pool, { viewer }: Ask): Promise<CaseView[]> {
  const { rows } = await pool.query<CaseView>({
    name: 'console case views',
    text: `select id, name, owner, shared, query from dirsync.case_view where owner = $1 or shared
           order by owner <> $1, name, id limit 200`,
    values: [viewer.name],
  })
  return rows
}

/** Who may put a view on the page of everyone; each person keeps views of their own. */
export const SHARES = 'reviewer'

/** @throws Problem if the asker has too many, or may not share it */
export async function saveView(
  pool: Pool,
  { viewer, asker, t }: Ask,
  { name, shared, query }: z.output<typeof ViewInput>,
): Promise<CaseView> {
  if (shared && !mayAs(viewer.role, SHARES))
    throw new Problem('forbidden', '', { values: { role: t(`role.${SHARES}`) } })
  const view = { name, shared, query: viewQuery(query) }
  return asAsker(pool, asker, async client => {
    await noteCommand(client, 'save_view', view)
    const { rows } = await client.query<CaseView>(
      `insert into dirsync.case_view (owner, name, shared, query)
       select $1, $2, $3::boolean, $4
       where (select count(*) from dirsync.case_view where owner = $1 and name <> $2) < ${MOST_VIEWS}
       on conflict (owner, name) do update set shared = excluded.shared, query = excluded.query
       returning id, name, owner, shared, query`,
      [viewer.name, view.name, view.shared, view.query],
    )
    const [saved] = rows
    if (saved) return saved
    throw new Problem('invalid', t('cases.too_many_views', { most: MOST_VIEWS }), { field: 'name' })
  })
}

/** Only the owner deletes a view, or an admin. @throws Problem if there is none that the asker may delete */
export async function deleteView(pool: Pool, { viewer, asker }: Ask, id: number): Promise<void> {
  await asAsker(pool, asker, async client => {
    const { rows } = await client.query<CaseView>(
      `delete from dirsync.case_view where id = $1 and (owner = $2 or shared and $3) returning name, owner, shared, query`,
      [id, viewer.name, viewer.role === 'admin'],
    )
    const [view] = rows
    if (!view) throw new Problem('not_found', '')
    await noteCommand(client, 'delete_view', view)
  })
}

/** The columns that a person sees where the address names none, and how close the rows are. */
export const Display = z.object({
  columns: oneOrMore(z.enum(COLUMNS), COLUMNS.length)
    .default([])
    .describe('Beside the key; none: the usual ones'),
  compact: z.stringbool().or(z.boolean()).default(false).describe('Rows close to each other'),
})
/** The same, as it is answered. */
export const ChosenDisplay = z.object({ columns: z.array(z.enum(COLUMNS)), compact: z.boolean() })
export type Display = z.infer<typeof ChosenDisplay>

/** Null for those who are no users of the console, such as tokens, and for users who have chosen nothing. */
export async function readDisplay(pool: Pool, { viewer }: Ask): Promise<Display | null> {
  const { rows } = await pool.query<{ cases: unknown }>({
    name: 'console case display',
    text: `select preferences -> 'cases' as cases from dirsync.console_user where name = $1`,
    values: [viewer.name],
  })
  // Another version may have other columns.
  return Display.safeParse(rows[0]?.cases).data ?? null
}

/** @throws Problem if the asker is no user of the console */
export async function keepDisplay(pool: Pool, { viewer, t }: Ask, display: Display): Promise<void> {
  const { rowCount } = await pool.query(
    `update dirsync.console_user set preferences = preferences || jsonb_build_object('cases', $2::jsonb)
     where name = $1`,
    [viewer.name, display],
  )
  if (rowCount === 0) throw new Problem('invalid', t('cases.display_needs_user'))
}
