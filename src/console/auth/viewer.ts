import { z } from 'zod'
import type { Scope } from './scope.ts'

/** Roles, lowest first; each includes the permissions of those before it. */
export const ACCESS_ROLES = ['viewer', 'reviewer', 'operator', 'admin'] as const
export type AccessRole = (typeof ACCESS_ROLES)[number]

export const RoleName = z
  .enum(ACCESS_ROLES)
  .describe('What they may do; each role may what those before it may')

/** Whether `role` includes the permissions of `needed`. */
export function mayAs(role: AccessRole, needed: AccessRole): boolean {
  return ACCESS_ROLES.indexOf(role) >= ACCESS_ROLES.indexOf(needed)
}

/** How a caller was identified; the shell's user by the settings. */
export const WAYS_IN = ['password', 'oidc', 'key', 'token', 'shell'] as const

/** A signed-in user, a token of the API, or the user of the shell. */
export interface Viewer {
  /** The name in the audit. */
  name: string
  role: AccessRole
  via: (typeof WAYS_IN)[number]
  /** What a token is limited to, beside its role; absent: to nothing. See scope.ts. */
  scopes?: readonly Scope[]
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Who may call the route; `open`: also those who have not signed in. The console does not start without it. */
    access?: AccessRole | 'open'
    /** The screen that it belongs to, for tokens that are limited to some. */
    tag?: string
    /** An event stream, with a limit of its own. */
    streams?: true
  }
  interface FastifySchema {
    /** The same, in the API's description. */
    'x-role'?: AccessRole
    /** The scopes of which a limited token needs one. */
    'x-scopes'?: readonly Scope[]
  }
}

/** Of routes that need no signing in. */
export const OPEN = { access: 'open' } as const
