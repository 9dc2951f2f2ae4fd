import type { z } from 'zod'
import type { Operation } from '../platform/operation.ts'
import { fieldsIn, fieldsOf, type OperationField, rulesIn } from './operation-fields.ts'
import { print, printFacts, printText } from './output.ts'

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
