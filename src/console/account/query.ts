import { z } from 'zod'
import { SessionRow } from '../auth/sessions.ts'
import { ACCESS_ROLES } from '../auth/viewer.ts'

/** The answer of `/api/v1/account`. */
export const AccountResult = z.object({
  name: z.string(),
  role: z.enum(ACCESS_ROLES),
  source: z.enum(['password', 'oidc', 'key']).describe('How you sign in'),
  session: z.string().describe('The session of this request, one of `sessions`'),
  sessions: z.array(SessionRow).describe('Where you are signed in, the latest first'),
})
export type AccountResult = z.infer<typeof AccountResult>
