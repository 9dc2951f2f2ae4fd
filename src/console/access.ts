import type { AccessRole } from './auth/viewer.ts'

/** Who may call a route: a role, and every role above it. `open`: also who has not signed in. */
export type Access = AccessRole | 'open'

/**
 * Every route of the console, and the role that it takes: the one place where that is decided. A page and its twin under
 * `/api/v1` have one entry. The console does not start with a route that is missing here; a test finds entries without a route.
 */
export const ACCESS: Readonly<Record<string, Access>> = {
  'GET /healthz': 'open',
  'GET /readyz': 'open',
  'GET /metrics': 'open', // CONSOLE_TOKEN guards it
  'GET /assets/*': 'open',

  'GET /sign-in': 'open',
  'POST /sign-in': 'open',
  'GET /sign-in/key': 'open',
  'POST /sign-in/key': 'open',
  'GET /sign-in/oidc': 'open',
  'GET /sign-in/oidc/callback': 'open',
  'POST /sign-out': 'viewer',
  'POST /preferences': 'open',

  'GET /': 'viewer',
  'GET /overview': 'viewer',
  'GET /overview/history': 'viewer',
  'POST /pause': 'operator',
  'POST /resume': 'operator',
  'GET /events': 'viewer',
  'GET /search': 'viewer',

  'GET /alerts': 'viewer',
  'GET /alerts/history': 'viewer',
  'GET /alerts/rules/:rule': 'viewer',
  'POST /alerts/:id/acknowledge': 'operator',
  'POST /alerts/mute': 'operator',
  'POST /alerts/unmute': 'operator',
  'POST /alerts/quiet-hours': 'operator',
  'POST /alerts/quiet-hours/clear': 'operator',
  'POST /alerts/channels/:channel/test': 'operator',

  'GET /runs': 'viewer',
  'GET /runs/new': 'operator',
  'POST /runs': 'operator',
  'GET /runs/:id': 'viewer',
  'POST /runs/:id/cancel': 'operator',
  'GET /runs/:id/plan': 'viewer',
  'GET /runs/:id/plan.csv': 'viewer',
  'POST /runs/:id/approve': 'operator',
  'POST /runs/:id/reject': 'operator',

  'GET /cases': 'viewer',
  'GET /cases/groups': 'viewer',
  'GET /cases.csv': 'reviewer',
  'GET /cases/:id': 'viewer',
  'POST /cases/:id/retry': 'reviewer',
  'POST /cases/:id/snooze': 'reviewer',
  'POST /cases/:id/ignore': 'reviewer',
  'POST /cases/:id/assign': 'reviewer',
  'POST /cases/:id/comment': 'reviewer',
  'POST /bulk': 'reviewer',
  'GET /bulk': 'viewer',
  'GET /bulk/:id': 'viewer',
  'POST /bulk/:id/start': 'reviewer',
  'POST /bulk/:id/stop': 'reviewer',

  'GET /employees': 'viewer',
  'GET /employees/:key': 'viewer',
  'POST /employees/:key/explain': 'reviewer',
  'POST /employees/:key/sync': 'reviewer',
  'POST /employees/:key/reveal': 'admin',

  'GET /departments': 'viewer',
  'GET /departments/run': 'operator',
  'POST /departments/run': 'operator',

  'GET /platform': 'viewer',
  'POST /platform/rate': 'operator',
  'POST /platform/rate/clear': 'operator',
  'POST /platform/token': 'operator',

  'GET /schedules': 'viewer',
  'POST /schedules/:job/run': 'operator',
  'POST /schedules/:job/pause': 'operator',
  'POST /schedules/:job/resume': 'operator',

  'GET /mapping': 'viewer',
  'POST /mapping/try': 'operator',
  'POST /mapping/dry-runs': 'operator',
  'POST /mapping/dry-runs/:id/cancel': 'operator',
  'GET /mapping/dry-runs': 'viewer',
  'GET /mapping/dry-runs/:id': 'viewer',

  'GET /money': 'viewer',
  'GET /money/refunds/:number': 'viewer',
  'GET /money/topups/:code': 'viewer',
  'POST /money/refunds/:number/settle': 'admin',
  'POST /money/refunds/:number/resolve': 'admin',
  'POST /money/topups/:code/resolve': 'admin',

  'GET /mirrors': 'viewer',
  'GET /mirrors/orders': 'viewer',
  'GET /mirrors/accounts': 'viewer',
  'GET /mirrors/taxpayers': 'viewer',
  'POST /mirrors/:mirror/read': 'operator',

  'GET /halts': 'viewer',
  'POST /halts/:scope/probe': 'operator',

  'GET /audit': 'admin',
  'GET /audit.csv': 'admin',

  'GET /settings': 'admin',
  'GET /doctor': 'admin',
  'POST /doctor': 'admin',

  'GET /me': 'viewer',
  'GET /openapi.json': 'viewer',
  'GET /api': 'viewer',
}
