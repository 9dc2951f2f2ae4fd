import type { ColumnShape, KeyComparison } from '../server.ts'
import { driver } from './driver.ts'

/** A column of an answer, as the protocol describes it. */
export interface ColumnDefinition {
  name: string
  /** One of `Types`. */
  columnType: number
  characterSet: number
  columnLength: number
  flags: number
  /** MariaDB's name of types without a protocol number: `uuid`, `inet6`. */
  extendedTypeName?: string | undefined
  /** `json`, from MariaDB, where JSON is a long text. */
  extendedFormat?: string | undefined
}

/** Character set of binary data. */
const BINARY = 63

const UNSIGNED = 32
const ZEROFILL = 64
const ENUM = 256
const SET = 2048

let known: ReturnType<typeof namesOf> | undefined

/** Names by the protocol's numbers. */
const namesOf = ({ Types }: ReturnType<typeof driver>) => ({
  bit: Types.BIT,
  integers: new Map<number, string>([
    [Types.TINY, 'tinyint'],
    [Types.SHORT, 'smallint'],
    [Types.INT24, 'mediumint'],
    [Types.LONG, 'int'],
    [Types.LONGLONG, 'bigint'],
  ]),

  others: new Map<number, string>([
    [Types.DECIMAL, 'decimal'],
    [Types.NEWDECIMAL, 'decimal'],
    [Types.FLOAT, 'float'],
    [Types.DOUBLE, 'double'],
    [Types.NULL, 'null'],
    [Types.DATE, 'date'],
    [Types.NEWDATE, 'date'],
    [Types.DATETIME, 'datetime'],
    [Types.TIMESTAMP, 'timestamp'],
    [Types.TIME, 'time'],
    [Types.YEAR, 'year'],
    [Types.JSON, 'json'],
    [Types.ENUM, 'enum'],
    [Types.SET, 'set'],
    [Types.GEOMETRY, 'geometry'],
  ]),

  strings: new Map<number, { text: string; bytes: string }>([
    [Types.STRING, { text: 'char', bytes: 'binary' }],
    [Types.VAR_STRING, { text: 'varchar', bytes: 'varbinary' }],
    [Types.VARCHAR, { text: 'varchar', bytes: 'varbinary' }],
    ...[Types.TINY_BLOB, Types.BLOB, Types.MEDIUM_BLOB, Types.LONG_BLOB].map(
      code => [code, { text: 'text', bytes: 'blob' }] as const,
    ),
  ]),
})

/** A type as MySQL writes it, without lengths. A length of one digit stays: `tinyint(1)` and comparisons mark booleans by it. */
export function typeName(column: ColumnDefinition): string {
  const { columnType, characterSet, columnLength, flags, extendedTypeName, extendedFormat } = column
  known ??= namesOf(driver())
  if (extendedFormat === 'json') return 'json'
  if (extendedTypeName !== undefined) return extendedTypeName
  const integer = known.integers.get(columnType)
  if (integer !== undefined) {
    const length = columnLength === 1 ? '(1)' : ''
    return `${integer}${length}${flags & UNSIGNED ? ' unsigned' : ''}${flags & ZEROFILL ? ' zerofill' : ''}`
  }
  if (columnType === known.bit) return columnLength === 1 ? 'bit(1)' : 'bit'
  const string = known.strings.get(columnType)
  if (string === undefined) return known.others.get(columnType) ?? `of number ${columnType}`
  if (flags & ENUM) return 'enum'
  if (flags & SET) return 'set'
  return characterSet === BINARY ? string.bytes : string.text
}

const MOMENTS = new Set(['date', 'datetime', 'timestamp'])
const TEXTS = new Set(['char', 'varchar', 'text', 'enum'])
const PLAIN = new Set([
  ...TEXTS,
  'decimal',
  'float',
  'double',
  'null',
  'time',
  'year',
  'uuid',
  'inet4',
  'inet6',
])
const INTEGER = /^(?:tiny|small|medium|big)?int\b/

export function shapeOf(type: string): ColumnShape {
  if (MOMENTS.has(type)) return 'moment'
  if (type === 'set') return 'array'
  if (type === 'json') return 'json'
  return PLAIN.has(type) || INTEGER.test(type) || type.startsWith('bit') ? 'plain' : 'other'
}

export function isText(type: string): boolean {
  return TEXTS.has(type)
}

/** Shown as one digit, in practice only 1 and 0. */
export function isBoolean(type: string): boolean {
  return type === 'bit(1)' || (INTEGER.test(type) && type.includes('(1)'))
}

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

/**
 * A text's collation may treat more values as equal than we do (`A1` and `a1`, `a1` and `a1` with a blank): it narrows by the
 * index, and only byte-identical ones are taken. Numbers and uuids have one spelling.
 */
export function keyComparison(type: string): KeyComparison | null {
  if (isText(type)) return { holds: () => true, isExact: false }
  // With `zerofill` a number prints with leading zeros.
  if (INTEGER.test(type)) {
    const pattern = type.endsWith('zerofill') ? /^\d{1,20}$/ : /^(?:0|-?[1-9]\d{0,19})$/
    return { holds: text => pattern.test(text), isExact: true }
  }
  if (type === 'uuid') return { holds: text => UUID.test(text), isExact: true }
  if (type === 'decimal' || type === 'double' || type === 'float')
    return { holds: text => /^-?\d{1,65}(?:\.\d{1,30})?$/.test(text), isExact: true }
  return null
}
