import type { Language } from '../../texts/texts.ts'

/** What somebody may do, from the least to the most; each may do what those before it may. */
export const ACCESS_ROLES = ['viewer', 'reviewer', 'operator', 'admin'] as const
export type AccessRole = (typeof ACCESS_ROLES)[number]

/** Whether a role may do what takes another one. */
export function mayAs(role: AccessRole, needed: AccessRole): boolean {
  return ACCESS_ROLES.indexOf(role) >= ACCESS_ROLES.indexOf(needed)
}

/** Somebody who is signed in, or a token of the API. */
export interface Viewer {
  /** As the audit names them. */
  name: string
  role: AccessRole
  via: 'password' | 'oidc' | 'key' | 'token'
  /** The language that they chose; absent or null: as their browser asks. */
  language?: Language | null
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Who may call the route; `open`: also those who have not signed in. The console does not start without it. */
    access?: AccessRole | 'open'
  }
  interface FastifySchema {
    /** The same, in the API's description. */
    'x-role'?: AccessRole
  }
}

/** Of routes that need no signing in. */
export const OPEN = { access: 'open' } as const
