import { allowInsecureRequests, discovery } from 'openid-client'
import type { Config } from '../config.ts'
import type { Pool } from '../lib/database.ts'
import { codeOf, sentenceOf } from '../lib/failure.ts'
import { isThisMachine } from '../lib/http-server.ts'
import { type CheckResult, failed, ok, warning } from './finding.ts'

/** How long to wait for the identity provider, in seconds. */
const PATIENCE_S = 5

type ConsoleSettings = Pick<
  Config,
  'CONSOLE_HOST' | 'CONSOLE_URL' | 'OIDC_ISSUER' | 'OIDC_CLIENT_ID' | 'embedded'
>

/** Who can sign in to the console, and whether passwords are encrypted on the way. */
export async function examineConsole(
  config: ConsoleSettings,
  pool: Pool,
  program: string,
): Promise<CheckResult[]> {
  return [
    await examineUsers(config, pool, program),
    ...(await examineProvider(config)),
    ...examineAddress(config),
  ]
}

async function examineUsers(
  { OIDC_ISSUER, embedded }: ConsoleSettings,
  pool: Pool,
  program: string,
): Promise<CheckResult> {
  const { rowCount } = await pool.query(
    `select from dirsync.console_user where source = 'password' and disabled_at is null limit 1`,
  )
  if (rowCount !== 0) return ok('console', 'people sign in with a password')
  if (OIDC_ISSUER !== null) return ok('console', 'people sign in at the identity provider alone')
  if (embedded) return ok('console', 'every start prints an address that signs in once')
  return warning(
    'console',
    'nobody can sign in to the console yet',
    `Add the first user with ${program} users add NAME --role admin.`,
  )
}

/** Whether the identity provider answers with its discovery document, and is the expected issuer. */
async function examineProvider({ OIDC_ISSUER, OIDC_CLIENT_ID }: ConsoleSettings): Promise<CheckResult[]> {
  if (OIDC_ISSUER === null || OIDC_CLIENT_ID === null) return []
  try {
    await discovery(new URL(OIDC_ISSUER), OIDC_CLIENT_ID, undefined, undefined, {
      timeout: PATIENCE_S,
      execute: OIDC_ISSUER.startsWith('http:') ? [allowInsecureRequests] : [],
    })
    return [ok('sign-in', `${OIDC_ISSUER} answers`)]
  } catch (error) {
    const reason = codeOf(error) || sentenceOf(error)
    return [
      failed(
        'sign-in',
        `the identity provider ${OIDC_ISSUER} gives no usable answer: ${reason}`,
        'Check OIDC_ISSUER and the network; users with a password can sign in meanwhile.',
      ),
    ]
  }
}

/** Findings about a console that other machines can reach without TLS. */
function examineAddress({ CONSOLE_HOST, CONSOLE_URL }: ConsoleSettings): CheckResult[] {
  const isPublic = !isThisMachine(CONSOLE_HOST)
  if (!isPublic || CONSOLE_URL === null || CONSOLE_URL.startsWith('https:')) return []
  if (isThisMachine(new URL(CONSOLE_URL).hostname)) return []
  return [
    warning(
      'console',
      `CONSOLE_URL is ${CONSOLE_URL}: passwords and sessions cross the network without TLS`,
      'Put a proxy with TLS in front, and set CONSOLE_URL to its https:// address.',
    ),
  ]
}
