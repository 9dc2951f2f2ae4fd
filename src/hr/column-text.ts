import pg from 'pg'
import { EMPLOYEE_FIELDS } from '../core/employee.ts'
import type { MappedColumn } from './mapping.ts'

const TEXTS = new Set(['text', 'varchar', 'bpchar', 'citext', 'name'])
const INTEGERS = new Set(['int2', 'int4', 'int8'])
const DAYS = new Set(['birth_day', 'entry_day'])

/** Canonical columns of an employee scan, in their order. */
export function scanColumns(columns: ReadonlyMap<string, MappedColumn>): string[] {
  const optional = ['active', 'updated_at', ...EMPLOYEE_FIELDS].filter(name => columns.has(name))
  return ['enterprise_code', 'userid', ...optional]
}

/**
 * SQL expressions (over the mapping as `m`) that print the columns as canonical text. A column whose type prints right
 * by itself is not cast: casts are what a scan of a million rows would spend its time on.
 *
 * @param defaultEnterprise enterprise code of rows that have none
 */
export function columnTexts(
  names: readonly string[],
  columns: ReadonlyMap<string, MappedColumn>,
  defaultEnterprise: string,
): string[] {
  return names.map(name => {
    const column = columns.get(name)
    if (name === 'enterprise_code') return enterpriseText(column, defaultEnterprise)
    return column ? columnText(name, column) : 'null'
  })
}

function enterpriseText(column: MappedColumn | undefined, defaultEnterprise: string): string {
  const otherwise = pg.escapeLiteral(defaultEnterprise)
  if (!column) return `${otherwise}::text`
  const trimmed = `btrim(${reference(column)}::text)`
  if (defaultEnterprise === '') return `coalesce(${trimmed}, '')`
  return `coalesce(nullif(${trimmed}, ''), ${otherwise})`
}

function columnText(name: string, column: MappedColumn): string {
  const { type } = column
  const plain = reference(column)
  if (name === 'userid') return INTEGERS.has(type) ? plain : `btrim(${plain}::text)`
  if (name === 'active') return TEXTS.has(type) ? `btrim(${plain}::text)` : plain
  if (name === 'updated_at') return type === 'timestamptz' ? plain : `${plain}::timestamptz`
  if (name === 'closed_at') return `extract(epoch from ${plain}::timestamptz)`
  if (DAYS.has(name) && type.startsWith('timestamp')) return `${plain}::date`
  if (type.startsWith('_')) return `array_to_string(${plain}, ',')`
  if (type === 'bpchar') return `${plain}::text`
  if (type === 'numeric') return `trim_scale(${plain})`
  return plain
}

/** The column in the mapping. Its name is one of a fixed list, so it needs no more than the quotes. */
export function reference(column: MappedColumn): string {
  return `m."${column.source}"`
}
