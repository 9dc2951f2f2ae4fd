import { z } from 'zod'
import { SCOPES } from '../auth/scope.ts'
import { SESSION_SECONDS } from '../auth/sessions.ts'
import { ACCESS_ROLES } from '../auth/viewer.ts'
import { cursor, listOf, pageSize, plainText } from '../endpoint.ts'

/** Who may use the console and the API, as `/api/v1/access` answers it. */

export const RoleName = z
  .enum(ACCESS_ROLES)
  .describe('What they may do; each role may what those before it may')

export const UserRow = z.object({
  name: z.string(),
  source: z
    .enum(['password', 'oidc', 'key'])
    .describe(
      'How they sign in; key: with one-time keys, or with a one-time link until they choose a password',
    ),
  role: RoleName,
  created_at: z.date(),
  created_by: z.string(),
  disabled_at: z.date().nullable().describe('Since when they may not sign in'),
  last_sign_in_at: z.date().nullable(),
  notice_mail: z.string().nullable().describe('Where they are told of their cases'),
  notice_mention: z
    .string()
    .nullable()
    .describe('Whom a chat mentions to tell them, without a mail address: channel and id, as `ops:zhang`'),
  sessions: z.int().describe('Sessions that have not ended'),
})
export type UserRow = z.infer<typeof UserRow>
export const UserList = listOf(UserRow)

export const UserResult = UserRow.extend({
  link: z
    .object({
      created_at: z.date(),
      created_by: z.string(),
      expires_at: z.date().describe('When it ends, or has ended'),
      opened_at: z.date().nullable(),
    })
    .nullable()
    .describe('The latest one-time link; null: none was made'),
})
export type UserResult = z.infer<typeof UserResult>

export const TokenRow = z.object({
  id: z.int(),
  name: z.string(),
  role: RoleName,
  scopes: z
    .array(z.enum(SCOPES))
    .nullable()
    .describe('What it is limited to, beside its role; null: to nothing'),
  created_by: z.string(),
  created_at: z.date(),
  expires_at: z.date(),
  last_used_at: z.date().nullable().describe('To the minute'),
  revoked_at: z.date().nullable(),
})
export type TokenRow = z.infer<typeof TokenRow>
export const TokenList = listOf(TokenRow)

export const SessionRow = z.object({
  id: z.string(),
  user: z.string(),
  via: z
    .enum(Object.keys(SESSION_SECONDS) as (keyof typeof SESSION_SECONDS)[])
    .describe('How they signed in'),
  created_at: z.date(),
  last_seen_at: z.date().describe('To the minute'),
  expires_at: z.date(),
  address: z.string(),
  user_agent: z.string().describe('The browser, as it calls itself'),
})
export type SessionRow = z.infer<typeof SessionRow>
export const EndedSession = z.object({
  user: z.string(),
  ended: z.boolean().describe('false: it had ended already'),
})
export const SessionInput = z.object({
  user: plainText(100).optional().describe('Name of the user'),
  cursor,
  limit: pageSize,
})
export type SessionInput = z.infer<typeof SessionInput>
export const SessionList = listOf(SessionRow)

export const ProviderResult = z.object({
  issuer: z.string().nullable().describe('null: people sign in with passwords only'),
  claim: z.string().nullable().describe('The claim that gives the role'),
  roles: z.array(z.object({ value: z.string(), role: RoleName })).describe('The role by value of the claim'),
  lines: z
    .array(z.string())
    .describe('Lines for settings.env: the mapping as it is, or examples of what is not set'),
})
export type ProviderResult = z.infer<typeof ProviderResult>
