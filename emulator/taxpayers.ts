import type { StatementSync } from 'node:sqlite'
import type { Database } from './database.ts'

/** A taxpayer of an enterprise (specification 2.11). */
interface Taxpayer {
  enterprise_code: string
  identifier: string
  taxpayer_name: string
  /** 1 general, 2 small-scale. */
  taxpayer_nature: number
  /** 1 normal, 2 disabled. */
  status: number
}

interface TaxpayerQuery {
  enterpriseCode: string
  identifier: string
  name: string | undefined
  nature: number
}

const LISTED = `from taxpayers where enterprise_code = ?1 and identifier = ?2
  and (?3 is null or taxpayer_name = ?3) and taxpayer_nature = ?4`

export class Taxpayers {
  readonly #normal: StatementSync
  readonly #list: StatementSync
  readonly #count: StatementSync
  readonly #page: StatementSync
  readonly #put: StatementSync

  constructor({ sqlite }: Database) {
    this.#normal = sqlite.prepare(`
      select 1 from taxpayers where enterprise_code = ?1 and status = 1
      and (?2 is null or identifier = ?2) and (?3 is null or taxpayer_name = ?3) limit 1`)
    this.#list = sqlite.prepare('select * from taxpayers order by enterprise_code, identifier, taxpayer_name')
    this.#count = sqlite.prepare(`select count(*) as total ${LISTED}`)
    this.#page = sqlite.prepare(`select * ${LISTED} order by taxpayer_name limit ?5 offset ?6`)
    this.#put = sqlite.prepare('insert or replace into taxpayers values (?, ?, ?, ?, ?)')
  }

  /** Whether a taxpayer that is not disabled has the identifier and the name, as far as they are given. */
  hasNormal(enterpriseCode: string, identifier: string | undefined, name: string | undefined): boolean {
    return this.#normal.get(enterpriseCode, identifier ?? null, name ?? null) !== undefined
  }

  list(): Taxpayer[] {
    return this.#list.all().map(row => ({ ...(row as unknown as Taxpayer) }))
  }

  /** One page, by name, and how many there are in all. */
  page(query: TaxpayerQuery, number: number, size: number): { total: number; taxpayers: Taxpayer[] } {
    const { enterpriseCode, identifier, name = null, nature } = query
    const filter = [enterpriseCode, identifier, name, nature] as const
    const rows = this.#page.all(...filter, size, (number - 1) * size)
    return {
      total: this.#count.get(...filter)?.total as number,
      taxpayers: rows.map(row => ({ ...(row as unknown as Taxpayer) })),
    }
  }

  put({ enterprise_code, identifier, taxpayer_name, taxpayer_nature, status }: Taxpayer): void {
    this.#put.run(enterprise_code, identifier, taxpayer_name, taxpayer_nature, status)
  }
}
