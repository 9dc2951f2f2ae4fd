import { allowInsecureRequests, discovery } from 'openid-client'
import type { Config } from '../config.ts'
import type { Pool } from '../lib/database.ts'
import { codeOf, sentenceOf } from '../lib/failure.ts'
import { isThisMachine } from '../lib/http-server.ts'
import { message } from '../texts/message.ts'
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
  if (rowCount !== 0) return ok('console', message('doctor.by_password'))
  if (OIDC_ISSUER !== null) return ok('console', message('doctor.by_provider'))
  if (embedded) return ok('console', message('doctor.by_key'))
  return warning(
    'console',
    message('doctor.nobody_signs_in'),
    message('doctor.add_user', { command: program }),
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
    return [ok('sign-in', message('doctor.answers', { name: OIDC_ISSUER }))]
  } catch (error) {
    const reason = codeOf(error) || sentenceOf(error)
    return [
      failed(
        'sign-in',
        message('doctor.provider_silent', { address: OIDC_ISSUER, reason }),
        message('doctor.check_provider'),
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
    warning('console', message('doctor.without_tls', { address: CONSOLE_URL }), message('doctor.with_tls')),
  ]
}
