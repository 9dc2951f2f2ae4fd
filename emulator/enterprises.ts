import type { StatementSync } from 'node:sqlite'
import { BusinessError } from './codes.ts'
import type { Database } from './database.ts'

/** The attribute code that stands for every one, in an enterprise whose back office has them all enabled. */
export const EVERY_ATTRIBUTE = '*'

/** What an enterprise has switched on in its back office. */
export interface Features {
  level: boolean
  category: boolean
  /** The enabled attribute codes. */
  employee_attribute: string[]
}

interface Enterprise {
  enterprise_code: string
  features: Features
}

const ALL_ON: Features = { level: true, category: true, employee_attribute: [EVERY_ATTRIBUTE] }

/** The enterprises that are bound to the application. The single enterprise, code '', is always one of them. */
export class Enterprises {
  readonly #find: StatementSync
  readonly #list: StatementSync
  readonly #put: StatementSync
  readonly #register: StatementSync

  constructor({ sqlite }: Database) {
    this.#find = sqlite.prepare('select * from enterprises where enterprise_code = ?')
    this.#list = sqlite.prepare('select * from enterprises order by enterprise_code')
    this.#put = sqlite.prepare('insert or replace into enterprises values (?, ?, ?, ?)')
    this.#register = sqlite.prepare('insert or ignore into enterprises values (?, ?, ?, ?)')
  }

  /** The features of the enterprise a call names; throws 1000240002 for one that is not bound. */
  require(enterpriseCode: string): Features {
    const row = this.#find.get(enterpriseCode)
    if (row !== undefined) return toEnterprise(row).features
    if (enterpriseCode === '') return ALL_ON
    throw new BusinessError('enterprise')
  }

  list(): Enterprise[] {
    return this.#list.all().map(toEnterprise)
  }

  put(enterprise: Enterprise): void {
    this.#put.run(...toColumns(enterprise))
  }

  /** Makes sure that the enterprise is bound; a new one has every feature on. */
  register(enterpriseCode: string): void {
    this.#register.run(...toColumns({ enterprise_code: enterpriseCode, features: ALL_ON }))
  }
}

function toColumns({ enterprise_code, features }: Enterprise): [string, number, number, string] {
  const attributes = JSON.stringify(features.employee_attribute)
  return [enterprise_code, Number(features.level), Number(features.category), attributes]
}

function toEnterprise(row: Record<string, unknown>): Enterprise {
  return {
    enterprise_code: row.enterprise_code as string,
    features: {
      level: row.level === 1,
      category: row.category === 1,
      employee_attribute: JSON.parse(row.employee_attribute as string),
    },
  }
}
