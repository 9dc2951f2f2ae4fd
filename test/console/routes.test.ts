import { afterAll, describe, expect, test } from 'vitest'
import { SCREENS, TOPICS } from '../../src/console/screens.ts'
import { createTestDatabase } from '../helpers/postgres.ts'
import { accessOf, keyOf, openApp, signInAs } from './console-under-test.ts'

const database = await createTestDatabase({ migrated: true })
const console = await openApp(database.url, {
  publicUrl: 'http://localhost',
  // Its routes exist only with a provider, which is never asked here.
  oidc: {
    issuer: 'https://login.example',
    clientId: 'c',
    clientSecret: 's',
    scopes: 'openid',
    roles: { claim: 'groups', roles: new Map() },
  },
})
afterAll(async () => {
  await console[Symbol.asyncDispose]()
  await database.close()
})

/** Every route that the application has: method and address. */
function routes(): { method: string; url: string }[] {
  return console.routes.flatMap(({ method, url }) => [method].flat().map(name => ({ method: name, url })))
}

test('only health, metrics, assets and signing in are open to those who have not signed in', () => {
  const open = [...accessOf(console)].filter(([, access]) => access === 'open').map(([key]) => key)
  expect(open.sort()).toEqual([
    'GET /assets/*',
    'GET /healthz',
    'GET /metrics',
    'GET /problems',
    'GET /problems/:kind',
    'GET /readyz',
    'GET /sign-in',
    'GET /sign-in/key',
    'GET /sign-in/link',
    'GET /sign-in/oidc',
    'GET /sign-in/oidc/callback',
    'POST /preferences',
    'POST /sign-in',
    'POST /sign-in/first',
    'POST /sign-in/key',
    'POST /sign-in/link',
  ])
})

test('what a viewer may not do takes the role that is written here', () => {
  const { open, viewer, ...beyond } = Object.groupBy(accessOf(console), ([, access]) => access)
  const keysOf = (routes: [string, string][]) => routes.map(([key]) => key)
  expect(Object.fromEntries(Object.entries(beyond).map(([role, of]) => [role, keysOf(of)]))).toEqual({
    reviewer: [
      'GET /cases.csv',
      'POST /cases/:id/retry',
      'POST /cases/:id/snooze',
      'POST /cases/:id/wake',
      'POST /cases/:id/undo',
      'POST /cases/:id/ignore',
      'POST /cases/:id/assign',
      'POST /cases/:id/comment',
      'POST /employees/by-name',
      'POST /employees/:key/explain',
      'POST /employees/:key/sync',
      'POST /employees/:key/reveal',
      'POST /runs/:id/plan/ask',
      'POST /bulk',
      'POST /bulk/:id/start',
      'POST /bulk/:id/stop',
      'POST /bulk/:id/undo',
    ],
    operator: [
      'GET /setup',
      'POST /pause',
      'POST /resume',
      'POST /alerts/acknowledge/:id',
      'POST /alerts/:id/acknowledge',
      'POST /alerts/mute',
      'POST /alerts/unmute',
      'POST /alerts/quiet-hours',
      'POST /alerts/quiet-hours/clear',
      'POST /alerts/channels/:channel/test',
      'GET /runs/new',
      'POST /runs',
      'POST /runs/:id/cancel',
      'GET /departments/run',
      'POST /departments/run',
      'POST /platform/rate',
      'POST /platform/rate/clear',
      'POST /platform/token',
      'POST /schedules/:job/run',
      'POST /schedules/:job/pause',
      'POST /schedules/:job/resume',
      'POST /mapping/try',
      'POST /mapping/dry-runs',
      'POST /mapping/dry-runs/:id/cancel',
      'POST /mirrors/:mirror/read',
      'POST /halts/:scope/probe',
      'POST /runs/:id/approve-part',
      'POST /runs/:id/reject-part',
      'POST /runs/:id/approve',
      'POST /runs/:id/reject',
    ],
    admin: [
      'POST /setup/dismiss',
      'POST /money/refunds/:number/settle',
      'POST /money/refunds/:number/resolve',
      'POST /money/topups/:code/resolve',
      'GET /audit',
      'GET /audit.csv',
      'GET /access',
      'GET /access/users/:name',
      'POST /access/users',
      'POST /access/users/:name/role',
      'POST /access/users/:name/notices',
      'POST /access/users/:name/disable',
      'POST /access/users/:name/enable',
      'POST /access/users/:name/password',
      'POST /access/users/:name/link',
      'POST /access/users/:name/sign-out',
      'GET /access/tokens',
      'POST /access/tokens',
      'POST /access/tokens/:name/revoke',
      'GET /access/sessions',
      'POST /access/sessions/:id/end',
      'GET /access/provider',
      'GET /settings',
      'GET /doctor',
      'POST /doctor',
    ],
  })
})

test('the API does everything that a page does', () => {
  const pages = routes().filter(({ url }) => !url.startsWith('/api'))
  const api = new Set(
    routes()
      .filter(({ url }) => url.startsWith('/api/v1/'))
      .map(({ method, url }) => keyOf(method, url)),
  )
  const lacking = pages.map(({ method, url }) => keyOf(method, url)).filter(key => !api.has(key))
  // Signing in, files that pages are made of, and what only asks for pages.
  expect(
    [...new Set(lacking)].filter(
      key =>
        !/^(GET|POST) \/(sign-in|sign-out|assets|healthz|readyz|metrics|problems|preferences|events)/.test(
          key,
        ),
    ),
  ).toEqual(['GET /'])
})

describe('every screen', () => {
  test.each(SCREENS.map(({ name }) => name))(
    'is at its path, and follows what a screen has: %s',
    async name => {
      const cookie = await signInAs(console, 'admin')
      const { statusCode, body } = await console.app.inject({ url: `/${name}`, headers: { cookie } })
      expect(statusCode).toBe(200)
      expect(body).toContain(`<a href="/${name}" aria-current="page">`)
      const followed = [...body.matchAll(/data-live="([^"]*)"/g)].flatMap(([, names = '']) =>
        names.split(' '),
      )
      expect(followed.filter(topic => !Object.hasOwn(TOPICS, topic))).toEqual([])
    },
  )
})

describe('without signing in', () => {
  const closed = [...accessOf(console)].filter(([, access]) => access !== 'open')
  test.each(closed.map(([key]) => key))('%s is refused', async key => {
    const [method, path = ''] = key.split(' ')
    const url = path.replaceAll(/:\w+/g, '1')
    const headers = { 'sec-fetch-site': 'same-origin', accept: 'text/html' }
    const page = await console.app.inject({ method: method as 'GET', url, headers })
    expect([303, 404]).toContain(page.statusCode)
    if (page.statusCode === 303) expect(page.headers.location).toMatch(/^\/sign-in/)
    const program = await console.app.inject({
      method: method as 'GET',
      url: `/api/v1${url}`,
      headers: { 'sec-fetch-site': 'same-origin' },
    })
    expect([401, 404]).toContain(program.statusCode)
    expect(program.headers['content-type']).toContain('application/problem+json')
  })
})
