import { z } from 'zod'
import { SessionRow } from '../auth/sessions.ts'
import { TokenRow } from '../auth/tokens.ts'
import { comparableName, UserRow } from '../auth/users.ts'
import { RoleName } from '../auth/viewer.ts'
import { cursor, listOf, pageSize, plainText } from '../endpoint.ts'

/** Who may use the console and the API, as `/api/v1/access` answers it. */

/** Users and tokens may be as of a backup then. */
const restored = {
  restored_at: z
    .date()
    .nullable()
    .describe(
      'When the database was seen, within 30 days, to be restored or taken over by a replica: what was disabled or revoked between the backup and then may be good again',
    ),
}

export const UserList = listOf(UserRow).extend(restored)
export type UserList = z.infer<typeof UserList>

export const UserResult = UserRow.extend({
  link: z
    .object({
      created_at: z.date(),
      created_by: z.string(),
      expires_at: z.date().describe('When it ends, or has ended'),
      opened_at: z.date().nullable(),
    })
    .nullable()
    .describe('The latest one-time link, or key of `local`; null: none was made'),
  tokens: z.array(TokenRow).describe('Good tokens that they added, or that were added with these'),
})
export type UserResult = z.infer<typeof UserResult>

export const TokenList = listOf(TokenRow).extend(restored)
export type TokenList = z.infer<typeof TokenList>

export const EndedSession = z.object({
  user: z.string(),
  ended: z.boolean().describe('false: it had ended already'),
})
export const SessionInput = z.object({
  user: plainText(100).transform(comparableName).optional(),
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
