import swagger from '@fastify/swagger'
import type { FastifyInstance } from 'fastify'
import { createJsonSchemaTransform, serializerCompiler } from 'fastify-type-provider-zod'
import { API } from './endpoint.ts'

const DESCRIPTION = `Everything that the console shows and does. Send \`Authorization: Bearer\` with a token that
\`dirsync tokens add\` printed. Errors are problem documents (RFC 9457). Lists have \`next\`: give it as \`cursor\` for the next page.
What starts something takes an \`Idempotency-Key\`.`

/** Answers hold only what their schema names. The same schemas describe them at /api/v1/openapi.json. */
export function describeApi(app: FastifyInstance, version: string): void {
  app.setSerializerCompiler(serializerCompiler)
  app.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: { title: 'dirsync', version, description: DESCRIPTION, license: { name: 'MIT' } },
      components: { securitySchemes: { token: { type: 'http', scheme: 'bearer' } } },
      security: [{ token: [] }],
    },
    transform: createJsonSchemaTransform({}),
    hideUntagged: true,
  })
  app.get(
    `${API}/openapi.json`,
    { schema: { hide: true }, config: { access: 'viewer' } },
    async (_request, reply) => reply.type('application/json').send(JSON.stringify(app.swagger())),
  )
}
