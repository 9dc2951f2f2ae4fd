import type pg from 'pg'
import {
  type DepartmentMapping,
  type DescribedColumn,
  departmentMapping,
  type EmployeeMapping,
  employeeMapping,
  type MappingFile,
} from './mapping.ts'
import { scanColumns, textRows } from './rows.ts'
import { MappingError, type MappingInspection, toHrError } from './source.ts'

/** Both mappings, checked. */
export interface Mappings {
  employees: EmployeeMapping
  departments: DepartmentMapping | null
}

const BEFORE = 'select * from (\n'

/** The columns that a mapping's SELECT returns. It is planned, and stopped before its first row. */
async function describe(
  client: pg.Pool | pg.ClientBase,
  { file, sql }: MappingFile,
): Promise<DescribedColumn[]> {
  try {
    const { fields } = await client.query({ text: `${BEFORE}${sql}\n) m limit 0`, rowMode: 'array' })
    const oids = [...new Set(fields.map(field => field.dataTypeID))]
    const types = await textRows(client, 'select oid, typname from pg_type where oid = any($1::oid[])', [
      oids,
    ])
    const names = new Map(types.map(([oid, name]) => [Number(oid), name ?? '']))
    return fields.map(field => ({ name: field.name, type: names.get(field.dataTypeID) ?? 'record' }))
  } catch (error) {
    throw toHrError(error, { file, sql, offset: BEFORE.length })
  }
}

/** Checks the columns of the employees' mapping on the server. */
export async function inspectEmployees(
  client: pg.Pool | pg.ClientBase,
  employees: MappingFile,
): Promise<EmployeeMapping> {
  return employeeMapping(employees.file, employees.sql, await describe(client, employees))
}

/**
 * Checks the columns of both mappings on the server.
 *
 * @param client what it asks; within a transaction the answer holds for that transaction
 */
export async function inspectMappings(
  client: pg.Pool | pg.ClientBase,
  employees: MappingFile,
  departments: MappingFile | null,
): Promise<Mappings> {
  const mappedEmployees = await inspectEmployees(client, employees)
  if (!departments) return { employees: mappedEmployees, departments: null }
  const mappedDepartments = departmentMapping(
    departments.file,
    departments.sql,
    await describe(client, departments),
  )
  if (!mappedEmployees.columns.has('dept_code')) {
    throw new MappingError(
      'MAPPING_COLUMNS',
      employees.file,
      `column dept_code is missing; with ${departments.file} it is needed, so that no department with employees in it is deleted`,
    )
  }
  return { employees: mappedEmployees, departments: mappedDepartments }
}

/** What is told about the mappings. */
export function describeMappings({ employees, departments }: Mappings): MappingInspection {
  return {
    employees: { file: employees.file, columns: scanColumns(employees.columns), fields: employees.fields },
    departments: departments && { file: departments.file, columns: [...departments.columns.keys()] },
    fingerprint: employees.fingerprint,
  }
}
