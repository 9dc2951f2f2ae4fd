import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import type { Viewer } from './viewer.ts'

declare module 'fastify' {
  interface FastifyRequest {
    viewer: Viewer | null
  }
}
export const auth = fp(async (app: FastifyInstance, _options: Record<string, unknown>) => {
  app.decorateRequest('viewer', null)
  app.addHook('onRequest', async request => {
    request.viewer = request.cookies.stub
      ? { name: 'stub', role: request.cookies.stub as Viewer['role'], via: 'password' }
      : null
  })
})
