import swagger from '@fastify/swagger'
import type { FastifyInstance } from 'fastify'
import {
  createJsonSchemaTransform,
  createJsonSchemaTransformObject,
  serializerCompiler,
} from 'fastify-type-provider-zod'
import { z } from 'zod'
import { descriptionsIn } from '../../texts/beside.ts'
import { TokenRow } from '../auth/tokens.ts'
import { ACCESS_ROLES, WAYS_IN } from '../auth/viewer.ts'
import { API, type Endpoint, type Kit, read } from '../endpoint.ts'
import { Problem } from '../problem.ts'
import type { Screen } from '../screen.ts'
import { finishedDocument } from './document.ts'
import { type ApiOperation, operationsOf } from './operations.ts'
import { nameSchemas } from './schemas.ts'
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
        scopes: TokenRow.shape.scopes,
      }),
      run: async ({ viewer: { name, role, via, scopes = null } }) => ({
        ...{ name, role, via },
        scopes: scopes && [...scopes],
      }),
    }),
  ]
}

/** The page that renders /api/v1/openapi.json: every operation, the role that it needs, and how to call it. */
export function apiReference(app: FastifyInstance, kit: Kit): void {
  let operations: ApiOperation[] | undefined
  app.get<{ Querystring: { operation?: string } }>(
    '/api',
    { schema: { hide: true }, config: { access: 'viewer', tag: 'api' } },
    async (request, reply) => {
      operations ??= operationsOf(app.swagger())
      const ask = kit.askOf(request)
      const { operation: id } = request.query
      const operation = operations.find(({ operationId }) => operationId === id)
      if (id !== undefined && !operation) throw new Problem('not_found')
      const describe = await descriptionsIn(ask.language)
      const page = {
        title: operation ? `${operation.method} ${operation.path}` : ask.t('api.title'),
        body: operation ? operationBody(ask, describe, operation) : apiBody(ask, describe, operations),
      }
      return kit.send(request, reply, ask, page, 'api')
    },
  )
}

const DESCRIPTION = `Everything that the console shows and does. Send \`Authorization: Bearer\` with a token that
\`dirsync tokens add\` printed. What is refused is answered with a problem document (RFC 9457). Lists have \`items\` and \`next\`:
give \`next\` as \`cursor\` for the next page. What starts work is answered 202, and what creates something 201, with a Location.
Actions take an \`Idempotency-Key\`, unless they only look or answer with a secret: then the key is refused.`

/** Answers hold only what their schema names. The same schemas describe them at /api/v1/openapi.json. */
export function describeApi(app: FastifyInstance, version: string, publicUrl: string | null): void {
  nameSchemas()
  app.setSerializerCompiler(serializerCompiler)
  app.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: {
        title: 'dirsync',
        version,
        description: DESCRIPTION,
        license: { name: 'MIT', identifier: 'MIT' },
      },
      servers: [{ url: publicUrl ?? '/' }],
      components: {
        securitySchemes: {
          token: {
            type: 'http',
            scheme: 'bearer',
            description: 'A token with the role that an operation takes',
          },
        },
      },
      security: [{ token: [] }],
    },
    transform: createJsonSchemaTransform({}),
    transformObject: document => finishedDocument(createJsonSchemaTransformObject({})(document)),
    hideUntagged: true,
  })
  app.get(
    `${API}/openapi.json`,
    { schema: { hide: true }, config: { access: 'viewer', tag: 'api' } },
    async (_request, reply) => reply.type('application/json').send(JSON.stringify(app.swagger())),
  )
}
