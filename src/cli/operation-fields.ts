import { z } from 'zod'
import type { Operation } from '../platform/operation.ts'
import { UsageError } from './failure.ts'
import { print, printFacts, printText } from './output.ts'
import { type MoneyRequest, parseJson, readRequestFile } from './request.ts'

/** Rules of the specification that depend on what dirsync cannot know. */
const NOTES: Record<string, string> = {
  'seller/v3/pay/syncRefund': 'In price-difference mode, one of costAmount and tradeInfo must be given.',
  'enterprise/account/applyCharge': 'service_provider 0 is the default provider, 1 a bank transfer.',
}

/** The usage of an operation: its fields with types, limits and defaults, down to what nested objects hold. */
export function printOperationHelp(operation: Operation): void {
  const fields = fieldsOf(operation)
  print(`Usage: dirsync platform ${operation.name} [--field value …] [--json]`, '')
  if (fields.length === 0) print('It takes no fields.')
  printFields(fields, '--')
  printRules(rulesIn(operation.request))
  const shown = new Map<z.ZodObject, string>()
  for (const { name, object } of fields) if (object) printObject(name, object, shown)
  printRules([NOTES[operation.name]].filter(note => note !== undefined))
  if (fields.some(field => field.name === 'enterprise_code'))
    printRules(['Without --enterprise_code, PLATFORM_ENTERPRISE_CODE is sent where it is set.'])
  if (!operation.idempotent)
    printRules([
      'It moves money: it is asked about on a terminal and needs --yes elsewhere; it is sent once, and dirsync never sends the same number again.',
    ])
}

/** The fields of an object and, below, of the objects that it holds; what was shown already is referred to. */
function printObject(path: string, object: z.ZodObject, shown: Map<z.ZodObject, string>): void {
  const before = shown.get(object)
  if (before !== undefined) {
    print('', `${path}: as ${before}`)
    return
  }
  shown.set(object, path)
  print('', `${path}:`)
  const fields = fieldsIn(object)
  printFields(fields, '')
  printRules(rulesIn(object))
  for (const field of fields) if (field.object) printObject(`${path}.${field.name}`, field.object, shown)
}

function printFields(fields: OperationField[], prefix: string): void {
  printFacts(
    fields.map(({ name, required, rule }) => [`${prefix}${name}`, required ? `required; ${rule}` : rule]),
  )
}

function printRules(rules: string[]): void {
  if (rules.length > 0) print('')
  for (const rule of rules) printText(rule, 0)
}

/** A field of an operation's request, for help and for reading flags. */
export interface OperationField {
  name: string
  required: boolean
  /** Its type and limits, in the schema's own words. */
  rule: string
  /** Takes JSON text: an object or a list of objects, which has these fields. */
  object: z.ZodObject | null
}

/** What the platform takes for a field that is left out, where the schema does not say so (sections 2 and 4). */
const DEFAULTS: Record<string, string> = {
  'enterprise/consume/list page_index': '1',
  'enterprise/consume/list page_size': '20',
  'taxpayer/findList page_no': '1',
  'taxpayer/findList page_size': '50',
  'employee/openid third_type': '5',
  'employee/update third_type': '5',
  'employee/update mobile_area': '86',
  'employee/get mobile_area': '86',
}

/** Breaks every rule that a text can break: its characters are incomplete, there are too many, and it is no number. */
const PROBE = '\ud800'.repeat(5000)

/** The fields of an operation's request schema, required ones first. */
export function fieldsOf(operation: Operation): OperationField[] {
  return fieldsIn(operation.request).map(field => {
    const standard = DEFAULTS[`${operation.name} ${field.name}`]
    return standard === undefined ? field : { ...field, rule: `${field.rule}; default ${standard}` }
  })
}

/** The fields of an object, required ones first. */
export function fieldsIn(object: z.ZodObject): OperationField[] {
  const fields = Object.entries(object.shape as Record<string, z.ZodType>).map(
    ([name, schema]): OperationField => {
      const { inner, isList } = structureOf(schema)
      return {
        name,
        required: !schema.safeParse(undefined).success,
        rule: inner ? `JSON text: ${isList ? 'a list of objects' : 'an object'}` : ruleOf(schema),
        object: inner,
      }
    },
  )
  return [...fields.filter(field => field.required), ...fields.filter(field => !field.required)]
}

/** Rules about several fields together, in sentences. */
export function rulesIn(object: z.ZodObject): string[] {
  return (object.def.checks ?? []).flatMap(check => {
    const { def } = (check as z.core.$ZodCheck<never> & { _zod: { def: z.core.$ZodCustomDef } })._zod
    const message = def.error?.({ code: 'custom', input: undefined } as never)
    const subject = def.path?.join('.') || 'It'
    return typeof message === 'string' ? [`${subject} ${message}.`] : []
  })
}

function ruleOf(schema: z.ZodType): string {
  const message = schema.safeParse(PROBE).error?.issues[0]?.message ?? 'text'
  return message
    .replace(/^must have (?=at most \d+ characters|\d+ to \d+ characters)/, 'text of ')
    .replace(/^must have complete characters$/, 'text')
    .replace(/^must (?:be|have) /, '')
    .replace(/ and begin with /, ', beginning with ')
    .replace(/, (?:each of them complete|as a text)$/, '')
}

function structureOf(schema: z.ZodType): { inner: z.ZodObject | null; isList: boolean } {
  const bare = schema instanceof z.ZodOptional ? schema.unwrap() : schema
  const isList = bare instanceof z.ZodArray
  const inner = isList ? bare.element : bare
  return { inner: inner instanceof z.ZodObject ? inner : null, isList }
}

/**
 * Reads `--field value` and `--field=value`, and `--json`, which stands alone for the answer, and with the name of a file
 * (or - for standard input) for the request; flags override the file's fields.
 * @throws UsageError
 */
export async function readRequestFlags(
  operation: Operation,
  fields: OperationField[],
  args: string[],
): Promise<MoneyRequest> {
  const given: Record<string, unknown> = {}
  let json = false
  let yes = false
  let file: string | undefined
  const rest = [...args]
  for (let flag = rest.shift(); flag !== undefined; flag = rest.shift()) {
    const [, name = '', attached] = /^--([^=]+)(?:=(.*))?$/s.exec(flag) ?? []
    if (name === 'json') {
      const named = attached ?? (rest[0]?.startsWith('--') === false ? rest.shift() : undefined)
      if (named === undefined) json = true
      else if (file !== undefined) throw new UsageError('--json names two files: give one request')
      else file = named
      continue
    }
    if (!operation.idempotent && flag === '--yes') {
      yes = true
      continue
    }
    const field = fields.find(known => known.name === name)
    if (!field)
      throw new UsageError(
        `${JSON.stringify(flag)} is no field of ${operation.name}: there are ${fields.map(known => `--${known.name}`).join(', ') || 'none'}`,
      )
    if (Object.hasOwn(given, name)) throw new UsageError(`--${name} is given twice`)
    const value = attached ?? rest.shift()
    if (value === undefined) throw new UsageError(`--${name} needs a value`)
    given[name] = field.object ? parseJson(value, `--${name}`) : value
  }
  const request = { ...(file === undefined ? {} : await readRequestFile(file)), ...given }
  return { request, json, yes, flagOf: name => `--${name}` }
}
