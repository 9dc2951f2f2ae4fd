import { isDeepStrictEqual } from 'node:util'
import type { HrDelivery } from '../../hr/server.ts'
import { type SourceScope, WHOLE } from '../../hr/sources.ts'
import { lockTransaction } from '../../lib/advisory-lock.ts'
import { type ClientBase, LOOK_MS, type Pool } from '../../lib/database.ts'
import { inEnglish } from '../../texts/message.ts'
import { KINDS_BY_SOURCE, type RunKind } from './run.ts'

/** Another process was started later, with other sources of HR: this one must no longer plan for its own. */
export class OutdatedSources extends Error {
  readonly code = 'SOURCES_OUTDATED'

  constructor() {
    super('another process was started later with other HR sources')
  }
}

/**
 * Whether a source still has the enterprises that the process started last gave it; '': whether all of them do. If not, the
 * calling process is older, and must leave the source alone.
 * @param all the sources that the calling process knows
 */
export async function areInForce(
  db: ClientBase | Pool,
  { all }: { all: readonly SourceScope[] },
  source: string,
): Promise<boolean> {
  const { rows } = await db.query<SourceScope>({
    text: 'select name, enterprise_codes as codes from dirsync.hr_source',
    query_timeout: LOOK_MS,
  })
  const owned = (scopes: readonly SourceScope[]) =>
    scopes
      .filter(({ name }) => source === '' || name === source)
      .flatMap(({ name, codes }) => (codes ?? []).map(code => `${name} ${code}`))
      .sort()
  return isDeepStrictEqual(owned(all), owned(rows))
}

/** The same until the end of the transaction: a process that starts with other sources waits for it. @throws OutdatedSources */
export async function assertInForce(
  db: ClientBase,
  hr: { all: readonly SourceScope[] },
  source: string,
): Promise<void> {
  await lockTransaction(db, 'sources', '_shared')
  if (!(await areInForce(db, hr, source))) throw new OutdatedSources()
}

/**
 * Remembers since when a source's delivery of files is the latest; nothing of a source that has none. Files that were copied once
 * more, with the time at which they were written, are the same.
 */
export async function noteDelivery(
  db: ClientBase,
  source: string,
  delivery: Pick<HrDelivery, 'stamp' | 'files' | 'writtenAt'> | undefined,
): Promise<void> {
  if (delivery === undefined) await db.query('delete from dirsync.hr_delivery where source = $1', [source])
  else if (delivery.stamp !== null)
    await db.query(
      `insert into dirsync.hr_delivery as h (source, stamp) values ($1, md5($2))
       on conflict (source) do update
       set stamp = excluded.stamp, read_at = now(),
           since = case when h.stamp = excluded.stamp and h.since <= now() then h.since else now() end`,
      [source, `${delivery.files && inEnglish(delivery.files)} ${delivery.writtenAt?.toISOString()}`],
    )
}

/** Names of the sources, in the order of HR_SOURCES; none where there is only one HR system. */
export async function sourceNames(db: Pool): Promise<string[]> {
  const { rows } = await db.query<{ name: string }>('select name from dirsync.hr_source order by position')
  return rows.map(({ name }) => name)
}

/** The sources for which a run of this kind is requested, one run each. */
export async function sourcesFor(db: ClientBase | Pool, kind: RunKind): Promise<SourceScope[]> {
  if (!KINDS_BY_SOURCE.includes(kind)) return [WHOLE]
  const { rows } = await db.query<SourceScope>(
    'select name, enterprise_codes as codes from dirsync.hr_source order by position',
  )
  return rows.length === 0 ? [WHOLE] : rows
}
