import { z } from 'zod'
import type { Operation } from '../platform/operation.ts'

/** A request field of an operation, for help and for reading flags. */
export interface OperationField {
  name: string
  required: boolean
  /** The rule that its value has to keep, in the schema's own words. */
  rule: string
  /** Takes JSON text: an object or a list. */
  isJson: boolean
}

/** Breaks every rule that a text can break: its characters are incomplete, there are too many, and it is no number. */
const PROBE = '\ud800'.repeat(5000)

/** The fields of an operation's request schema, required ones first. */
export function fieldsOf(operation: Operation): OperationField[] {
  const fields = Object.entries(operation.request.shape as Record<string, z.ZodType>).map(
    ([name, schema]): OperationField => {
      const isJson = isStructured(schema)
      return {
        name,
        required: !schema.safeParse(undefined).success,
        rule: isJson ? 'JSON text' : ruleOf(schema),
        isJson,
      }
    },
  )
  return [...fields.filter(field => field.required), ...fields.filter(field => !field.required)]
}

/** Rules about several fields together, as the schema tells them of an empty request. */
export function rulesOf(operation: Operation): string[] {
  const issues = operation.request.safeParse({}).error?.issues ?? []
  return issues.filter(issue => issue.path.length === 0).map(issue => issue.message)
}

function ruleOf(schema: z.ZodType): string {
  const message = schema.safeParse(PROBE).error?.issues[0]?.message ?? 'text'
  return message.replace(/^must (?:be|have) /, '').replace(/, each of them complete$/, '')
}

function isStructured(schema: z.ZodType): boolean {
  const inner = schema instanceof z.ZodOptional ? schema.unwrap() : schema
  return inner instanceof z.ZodObject || inner instanceof z.ZodArray
}
