import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type pg from 'pg'
import type { PlatformEmployee } from '../../examples/hr/generator/people.ts'

const FOLDER = join(import.meta.dirname, '../../examples/hr')

export type Row = Record<string, string | null>

export interface ExpectedEmployee {
  case: string
  enterprise_code: string
  userid: string
  outcome: string
  dead_letters: { category: string; field: string | null }[]
  other_userid?: string
}

export interface Expected {
  employees: Record<string, number>
  departments: Record<string, number>
  dead_letters: Record<string, number>
  employee_cases: ExpectedEmployee[]
  department_cases: {
    case: string
    enterprise_code: string
    dept_code: string
    outcome: string
    category: string | null
  }[]
}

export interface Seed {
  enterprises: { enterprise_code: string; features: Record<string, unknown> }[]
  departments: { enterprise_code: string; dept_code: string; base?: boolean }[]
  employees: PlatformEmployee[]
}

export function sampleFile(name: string): Promise<string> {
  return readFile(join(FOLDER, name), 'utf8')
}

export async function sampleJson<T>(name: string): Promise<T> {
  return JSON.parse(await sampleFile(name))
}

/** The rows of a query as texts, the way PostgreSQL prints them. */
export async function textRows(pool: pg.Pool, text: string): Promise<{ columns: string[]; rows: Row[] }> {
  const asText = { getTypeParser: () => (value: string) => value } as unknown as pg.CustomTypesConfig
  const { fields, rows } = await pool.query<Row>({ text, types: asText })
  return { columns: fields.map(field => field.name), rows }
}
