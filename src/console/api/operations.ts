import { z } from 'zod'
import { ACCESS_ROLES } from '../auth/viewer.ts'

const Operations = z.record(
  z.string(),
  z.record(
    z.string(),
    z.looseObject({
      operationId: z.string(),
      summary: z.string(),
      tags: z.array(z.string()),
      'x-role': z.enum(ACCESS_ROLES),
      'x-scopes': z.array(z.string()),
      parameters: z
        .array(
          z.looseObject({
            name: z.string(),
            in: z.string(),
            required: z.boolean().default(false),
            description: z.string().default(''),
            schema: z.looseObject({}),
          }),
        )
        .default([]),
      requestBody: z
        .object({ content: z.record(z.string(), z.object({ schema: z.looseObject({}) })) })
        .optional(),
      responses: z.record(
        z.string(),
        z.object({ content: z.record(z.string(), z.object({ schema: z.looseObject({}) })).optional() }),
      ),
    }),
  ),
)

export type Schema = Readonly<Record<string, unknown>>

/** One operation of the API, as the OpenAPI document describes it. */
export type ApiOperation = z.infer<typeof Operations>[string][string] & {
  method: string
  path: string
  role: string
  /** HTTP status of success. */
  status: string
  body: Schema | undefined
  answer: Schema | undefined
}

/** A field of a body or an answer. */
export interface ApiField {
  name: string
  schema: Schema
  required: boolean
  description: string
}

/** The operations of the OpenAPI document, with the role that each needs. Their schemas are whole. */
export function operationsOf(document: { paths?: object; components?: object }): ApiOperation[] {
  const { schemas = {} } = Object(document.components)
  return Object.entries(Operations.parse(whole(document.paths ?? {}, schemas))).flatMap(([path, methods]) =>
    Object.entries(methods).map(([name, operation]) => {
      const { requestBody, responses, 'x-role': role } = operation
      const status = Object.keys(responses).find(status => status.startsWith('2')) ?? '200'
      return {
        ...operation,
        method: name.toUpperCase(),
        path,
        role,
        status,
        body: schemaOf(requestBody?.content),
        answer: schemaOf(responses[status]?.content),
      }
    }),
  )
}

function schemaOf(content: Record<string, { schema: Schema }> = {}): Schema | undefined {
  return Object.values(content)[0]?.schema
}

/** A value with the schemas that it names in their places. */
function whole(value: unknown, schemas: Record<string, unknown>): unknown {
  if (Array.isArray(value)) return value.map(one => whole(one, schemas))
  if (typeof value !== 'object' || value === null) return value
  const { $ref, ...rest } = value as { $ref?: string }
  const named = $ref === undefined ? {} : whole(schemas[$ref.slice($ref.lastIndexOf('/') + 1)], schemas)
  const entries = Object.entries(rest).map(([key, inner]) => [key, whole(inner, schemas)])
  return { ...Object(named), ...Object.fromEntries(entries) }
}

/** Flattens a schema to a list of fields. Nested fields are named by their path: `cases[].id`. */
export function apiFieldsOf({ properties, required, items, anyOf }: Schema, prefix = ''): ApiField[] {
  const needed = new Set((required ?? []) as string[])
  return [
    ...Object.entries((properties ?? {}) as Record<string, Schema>).flatMap(([key, schema]) => {
      const name = `${prefix}${key}`
      const { description = '' } = schema as { description?: string }
      return [{ name, schema, required: needed.has(key), description }, ...apiFieldsOf(schema, `${name}.`)]
    }),
    ...((anyOf ?? []) as Schema[]).flatMap(option => apiFieldsOf(option, prefix)),
    ...(items ? apiFieldsOf(items as Schema, `${prefix.slice(0, -1)}[].`) : []),
  ]
}
