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

/** One operation of the API, as the OpenAPI document describes it. */
export type ApiOperation = z.infer<typeof Operations>[string][string] & {
  method: string
  path: string
  role: string
  /** HTTP status of success. */
  status: string
}

/** The operations of the OpenAPI document, with the role that each needs. Their schemas are whole. */
export function operationsOf(document: { paths?: object; components?: object }): ApiOperation[] {
  const { schemas = {} } = Object(document.components)
  return Object.entries(Operations.parse(whole(document.paths ?? {}, schemas))).flatMap(([path, methods]) =>
    Object.entries(methods).map(([name, operation]) => ({
      ...operation,
      method: name.toUpperCase(),
      path,
      role: operation['x-role'],
      status: Object.keys(operation.responses).find(status => status.startsWith('2')) ?? '200',
    })),
  )
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
