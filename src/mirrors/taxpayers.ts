import type { ClientBase } from '../lib/database.ts'
import { storableRows } from '../lib/storable.ts'
import { keyOfTaxpayer, RowsSeen, type ShortList } from '../platform/client.ts'
import type { Taxpayer, TaxpayerAnswer } from '../platform/operations/account.ts'
import { enterpriseParams } from '../platform/request.ts'
import { message } from '../texts/message.ts'
import type { MirrorTask, PageCursor } from './mirror.ts'
import {
  type CountedCalls,
  endsPass,
  FIRST_PAGE,
  listName,
  type MirrorReader,
  nextPage,
  notesOfOdd,
  notesOfShort,
  type Reading,
  type ReadingPlan,
} from './mirror-reader.ts'

const OPERATION = 'taxpayer/findList'
const PAGE_SIZE = 100
/** General and small-scale taxpayers: a query without a nature returns only the small-scale ones. */
const NATURES = ['1', '2']

/** The taxpayers of the configured identification numbers (section 4.13), by number and nature. */
export class TaxpayerReader implements MirrorReader {
  readonly #identifiers: string[]

  /** @param identifiers those of TAXPAYER_IDENTIFIERS */
  constructor(identifiers: string[]) {
    this.#identifiers = identifiers
  }

  async plan(db: ClientBase, enterpriseCodes: string[]): Promise<ReadingPlan> {
    await db.query(
      `update dirsync.taxpayer set gone_at = now(), changed_at = now()
       where gone_at is null
         -- A worker without the setting knows nothing of those of others.
         and cardinality($2::text[]) > 0
         and not (enterprise_code = any ($1)
                  and lower(identifier) = any (select lower(asked) from unnest($2::text[]) as i (asked)))`,
      [enterpriseCodes, this.#identifiers],
    )
    const tasks = enterpriseCodes.flatMap(enterpriseCode =>
      this.#identifiers.flatMap(identifier =>
        NATURES.map(detail => ({ enterpriseCode, part: identifier, entityKey: identifier, detail })),
      ),
    )
    return {
      tasks,
      reasons: { taxpayer_queries: tasks.length },
      nothing: message('said.no_taxpayers'),
    }
  }

  operation(): string {
    return OPERATION
  }

  /** Reads all pages at once. They are few, and a taxpayer who is on none of them is gone. */
  async read({ enterpriseCode, entityKey, detail }: MirrorTask, calls: CountedCalls): Promise<Reading> {
    const nature = Number(detail)
    const found = new Map<string, Taxpayer & { taxpayer_name: string }>()
    const seen = new RowsSeen<Taxpayer>(OPERATION, keyOfTaxpayer)
    let short: ShortList | null = null
    let isOdd = false
    const query = {
      identifier: entityKey,
      taxpayer_nature: nature,
      page_size: PAGE_SIZE,
      ...enterpriseParams(enterpriseCode),
    }
    let next: PageCursor | null = FIRST_PAGE
    while (next !== null) {
      const cursor: PageCursor = next
      // As it came: the client's `page` does not tell null from an empty list.
      const { data_list, ...counts } = (await calls.make((client, options) =>
        client.call(OPERATION, { ...query, page_no: cursor.page }, options),
      )) as TaxpayerAnswer
      const answer = { ...counts, data_list: data_list ?? [] }
      const read = { answer, pageSize: PAGE_SIZE }
      seen.add(cursor.page, answer.data_list, endsPass(cursor, read))
      for (const row of answer.data_list) {
        const kept = {
          identifier: row.identifier ?? entityKey,
          taxpayer_nature: row.taxpayer_nature ?? nature,
          taxpayer_name: row.taxpayer_name ?? '',
          status: row.status,
        }
        found.set(JSON.stringify([kept.identifier, kept.taxpayer_nature, kept.taxpayer_name]), kept)
      }
      const after = nextPage(cursor, { ...read, found: seen.found })
      next = after.next
      short = after.short
      isOdd = data_list === null
    }
    const isWhole = short === null && !isOdd
    const asked = { enterpriseCode, identifier: entityKey, nature, isWhole }
    const list = listName(enterpriseCode, entityKey, detail)
    return {
      rows: found.size,
      store: async db => ({
        changed: await storeTaxpayers(db, asked, [...found.values()]),
        next: null,
        notes: [...notesOfShort(list, short), ...notesOfOdd(list, isOdd)],
      }),
    }
  }
}

/**
 * Stores all taxpayers that the platform returned for an identification number and a nature. Those that it no longer shows are
 * marked gone if they are the whole list; unchanged rows are not written.
 * @returns how many were new, different or gone
 */
async function storeTaxpayers(
  db: ClientBase,
  asked: { enterpriseCode: string; identifier: string; nature: number; isWhole: boolean },
  taxpayers: (Taxpayer & { taxpayer_name: string })[],
): Promise<number> {
  const { enterpriseCode, identifier, nature, isWhole } = asked
  const stored = await db.query(
    `insert into dirsync.taxpayer as t (enterprise_code, identifier, taxpayer_nature, taxpayer_name, status)
     select distinct on (identifier, taxpayer_nature, taxpayer_name)
            $1, identifier, taxpayer_nature, taxpayer_name, status
     from jsonb_populate_recordset(null::dirsync.taxpayer, $2)
     on conflict (enterprise_code, identifier, taxpayer_nature, taxpayer_name) do update
     set status = excluded.status, changed_at = now(), gone_at = null
     where (t.status, t.gone_at) is distinct from (excluded.status, null)`,
    [enterpriseCode, storableRows(taxpayers)],
  )
  if (!isWhole) return stored.rowCount ?? 0
  const gone = await db.query(
    // The platform may spell the number that was asked for in other letters.
    `update dirsync.taxpayer t set gone_at = now(), changed_at = now()
     where enterprise_code = $1 and lower(identifier) = lower($2) and taxpayer_nature = $3 and gone_at is null
       and not exists (select from unnest($4::text[], $5::text[]) as shown (identifier, name)
                       where shown.identifier = t.identifier and shown.name = t.taxpayer_name)`,
    [
      ...[enterpriseCode, identifier, nature],
      taxpayers.map(taxpayer => taxpayer.identifier),
      taxpayers.map(taxpayer => taxpayer.taxpayer_name),
    ],
  )
  return (stored.rowCount ?? 0) + (gone.rowCount ?? 0)
}
