import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import { ACCESS } from '../access.ts'
import { ACCESS_ROLES } from '../auth/viewer.ts'
import { API, type Endpoint, type Kit, read } from '../endpoint.ts'
import { Problem } from '../problem.ts'
import { apiBody, operationBody } from './view.ts'

/** Who is asking: for a program that wants to know whether its token still holds. */
export function me(): Endpoint[] {
  return [
    read({
      path: '/me',
      tag: 'api',
      summary: 'Who you are, and what you may do',
      result: z.object({
        name: z.string(),
        role: z.enum(ACCESS_ROLES),
        via: z.enum(['password', 'oidc', 'key', 'token']),
      }),
      run: async ({ viewer }) => ({ name: viewer.name, role: viewer.role, via: viewer.via }),
    }),
  ]
}

const Operations = z.record(
  z.string(),
  z.record(
    z.string(),
    z.looseObject({
      operationId: z.string(),
      summary: z.string(),
      tags: z.array(z.string()),
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
      responses: z.looseObject({
        200: z
          .object({ content: z.record(z.string(), z.object({ schema: z.looseObject({}) })).optional() })
          .optional(),
      }),
    }),
  ),
)

/** One operation of the API, as its description has it. */
export type Operation = z.infer<typeof Operations>[string][string] & {
  method: string
  path: string
  role: string
}

/** The page that renders /api/v1/openapi.json: every operation, the role that it takes, and how to call it. */
export function apiReference(app: FastifyInstance, kit: Kit): void {
  let operations: Operation[] | undefined
  app.get<{ Querystring: { operation?: string } }>(
    '/api',
    { schema: { hide: true } },
    async (request, reply) => {
      operations ??= operationsOf(app.swagger())
      const ask = kit.askOf(request)
      const { operation: id } = request.query
      const operation = operations.find(({ operationId }) => operationId === id)
      if (id !== undefined && !operation) throw new Problem('not_found')
      const origin = `${request.protocol}://${request.host}`
      return kit.send(request, reply, ask, {
        title: operation ? `${operation.method} ${operation.path}` : ask.t('api.title'),
        nav: 'api',
        body: operation ? operationBody(ask, operation, origin) : apiBody(ask, operations, origin),
      })
    },
  )
}

function operationsOf(document: { paths?: object }): Operation[] {
  return Object.entries(Operations.parse(document.paths ?? {})).flatMap(([path, methods]) =>
    Object.entries(methods).map(([name, operation]) => {
      const method = name.toUpperCase()
      const route = path.slice(API.length).replaceAll(/\{(\w+)\}/g, ':$1')
      return { ...operation, method, path, role: ACCESS[`${method} ${route}`] ?? 'admin' }
    }),
  )
}
