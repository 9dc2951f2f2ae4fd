import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import { ACCESS_ROLES, WAYS_IN } from '../auth/viewer.ts'
import { type Endpoint, type Kit, read } from '../endpoint.ts'
import { Problem } from '../problem.ts'
import type { Screen } from '../screen.ts'
import { type ApiOperation, operationsOf } from './operations.ts'
import { apiBody, operationBody } from './view.ts'

export const screen: Screen = { name: 'api', endpoints: me }

/** Who is asking: lets a program check whether its token is still valid. */
function me(): Endpoint[] {
  return [
    read({
      path: '/me',
      tag: 'api',
      role: 'viewer',
      summary: 'Who you are, and what you may do',
      result: z.object({
        name: z.string(),
        role: z.enum(ACCESS_ROLES),
        via: z.enum(WAYS_IN),
      }),
      run: async ({ viewer }) => ({ name: viewer.name, role: viewer.role, via: viewer.via }),
    }),
  ]
}

/** The page that renders /api/v1/openapi.json: every operation, the role that it needs, and how to call it. */
export function apiReference(app: FastifyInstance, kit: Kit): void {
  let operations: ApiOperation[] | undefined
  app.get<{ Querystring: { operation?: string } }>(
    '/api',
    { schema: { hide: true }, config: { access: 'viewer' } },
    async (request, reply) => {
      operations ??= operationsOf(app.swagger())
      const ask = kit.askOf(request)
      const { operation: id } = request.query
      const operation = operations.find(({ operationId }) => operationId === id)
      if (id !== undefined && !operation) throw new Problem('not_found')
      const origin = `${request.protocol}://${request.host}`
      const page = {
        title: operation ? `${operation.method} ${operation.path}` : ask.t('api.title'),
        body: operation ? operationBody(ask, operation, origin) : apiBody(ask, operations, origin),
      }
      return kit.send(request, reply, ask, page, 'api')
    },
  )
}
