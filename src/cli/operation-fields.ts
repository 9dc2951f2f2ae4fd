import { z } from 'zod'
import type { Operation } from '../platform/operation.ts'

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
