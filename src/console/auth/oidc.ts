import * as client from 'openid-client'
import type { Config } from '../../config.ts'
import type { Pool } from '../../lib/database.ts'
import type { Logger } from '../../lib/logger.ts'
import type { ClaimRoles } from '../../settings/kinds.ts'
import { hashOf, newSecret } from './secret.ts'
import { ACCESS_ROLES, type AccessRole } from './viewer.ts'

/**
 * Sign-in at an identity provider: OpenID Connect, code flow with PKCE, state and nonce. Identity and role are read
 * from the claims at each sign-in. Only the ID token is kept, for signing out at the provider.
 */

export interface OidcSettings {
  issuer: string
  clientId: string
  clientSecret: string
  roles: ClaimRoles
  scopes: string
}

/** The settings of the identity provider; null if none is configured. */
export function oidcSettings(
  config: Pick<
    Config,
    'OIDC_ISSUER' | 'OIDC_CLIENT_ID' | 'OIDC_CLIENT_SECRET' | 'OIDC_ROLES' | 'OIDC_SCOPES'
  >,
): OidcSettings | null {
  const { OIDC_ISSUER, OIDC_CLIENT_ID, OIDC_CLIENT_SECRET, OIDC_ROLES, OIDC_SCOPES } = config
  if (OIDC_ISSUER === null || OIDC_CLIENT_ID === null || OIDC_CLIENT_SECRET === null || OIDC_ROLES === null)
    return null
  return {
    issuer: OIDC_ISSUER,
    clientId: OIDC_CLIENT_ID,
    clientSecret: OIDC_CLIENT_SECRET,
    roles: OIDC_ROLES,
    scopes: OIDC_SCOPES,
  }
}

/** How long a person may take at the provider, in seconds. */
export const FLOW_SECONDS = 600
/** A provider that takes longer than this counts as unavailable. */
const PROVIDER_TIMEOUT_S = 5

/** A person who came back from the provider. */
export interface OidcPerson {
  /** OIDC_ISSUER. The ID token may name another one, as where one address serves many tenants. */
  provider: string
  issuer: string
  subject: string
  /** The name at the provider; it may be anything. */
  name: string
  /** Their e-mail address, if the provider has verified it. */
  mail: string | null
  /** The highest role that their claims give; null for none. */
  role: AccessRole | null
  idToken: string
}

/** A sign-in that did not work. */
export class OidcError extends Error {
  readonly code: 'away' | 'refused' | 'expired'

  constructor(code: OidcError['code'], message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'OidcError'
    this.code = code
  }
}

export class IdentityProvider {
  readonly #pool: Pool
  readonly #settings: OidcSettings
  readonly #publicUrl: string
  readonly #logger: Logger
  #discovered: Promise<client.Configuration> | undefined

  constructor(pool: Pool, settings: OidcSettings, publicUrl: string, logger: Logger) {
    this.#pool = pool
    this.#settings = settings
    this.#publicUrl = publicUrl
    this.#logger = logger
  }

  /**
   * Begins a sign-in.
   * @returns the provider's address to go to, and a secret for a cookie, so that only this browser can complete it
   * @throws OidcError
   */
  async begin(returnTo: string): Promise<{ url: string; secret: string }> {
    const configuration = await this.#configuration()
    const secret = newSecret()
    const [state, nonce, verifier] = [
      client.randomState(),
      client.randomNonce(),
      client.randomPKCECodeVerifier(),
    ]
    const url = client.buildAuthorizationUrl(configuration, {
      redirect_uri: `${this.#publicUrl}/sign-in/oidc/callback`,
      scope: this.#settings.scopes,
      response_type: 'code',
      code_challenge: await client.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
      state,
      nonce,
    })
    await this.#pool.query(
      `with over as (
         delete from dirsync.sign_in_flow
         where hash = any (array(select hash from dirsync.sign_in_flow where expires_at < now() limit 5))
       )
       insert into dirsync.sign_in_flow (hash, state, nonce, code_verifier, return_to, expires_at)
       values ($1, $2, $3, $4, $5, now() + $6 * interval '1 second')`,
      [hashOf(secret), state, nonce, verifier, returnTo, FLOW_SECONDS],
    )
    return { url: url.href, secret }
  }

  /**
   * Completes a sign-in, with the address to which the provider sent the browser back.
   * @param path with its query
   * @param secret the cookie; null if the browser has none
   * @throws OidcError
   */
  async finish(path: string, secret: string | null): Promise<{ person: OidcPerson; returnTo: string }> {
    // Deleted before anything else, so that the address cannot be used a second time.
    const { rows } = await this.#pool.query<{
      state: string
      nonce: string
      code_verifier: string
      return_to: string
    }>(
      `delete from dirsync.sign_in_flow where hash = $1 and expires_at > now()
       returning state, nonce, code_verifier, return_to`,
      [hashOf(secret ?? '')],
    )
    const [flow] = rows
    if (!flow) throw new OidcError('expired', 'no such sign-in is under way')
    const configuration = await this.#configuration()
    try {
      const tokens = await client.authorizationCodeGrant(configuration, new URL(path, this.#publicUrl), {
        expectedState: flow.state,
        expectedNonce: flow.nonce,
        pkceCodeVerifier: flow.code_verifier,
        idTokenExpected: true,
      })
      return { person: await this.#personOf(configuration, tokens), returnTo: flow.return_to }
    } catch (error) {
      throw failureOf(error)
    }
  }

  /** The provider's address for signing out; null if it has none or does not answer. */
  async signOutUrl(idToken: string): Promise<string | null> {
    try {
      const configuration = await this.#configuration()
      if (!configuration.serverMetadata().end_session_endpoint) return null
      return client.buildEndSessionUrl(configuration, {
        id_token_hint: idToken,
        post_logout_redirect_uri: `${this.#publicUrl}/sign-in`,
      }).href
    } catch (error) {
      this.#logger.warn({ error: refusalReason(error) }, 'signed out here, but not at the identity provider')
      return null
    }
  }

  async #personOf(
    configuration: client.Configuration,
    tokens: client.TokenEndpointResponse & client.TokenEndpointResponseHelpers,
  ): Promise<OidcPerson> {
    const claims = tokens.claims()
    if (!claims || !tokens.id_token) throw new OidcError('refused', 'no ID token')
    let all: Record<string, unknown> = claims
    const { claim, roles } = this.#settings.roles
    // Many providers send groups, and some the name too, only in answer to a userinfo request.
    const isComplete = valuesOf(all, claim) !== null && nameOf(all) !== claims.sub
    if (!isComplete && configuration.serverMetadata().userinfo_endpoint)
      all = { ...(await client.fetchUserInfo(configuration, tokens.access_token, claims.sub)), ...all }
    const given = new Set((valuesOf(all, claim) ?? []).map(value => roles.get(value)))
    return {
      provider: this.#settings.issuer,
      issuer: claims.iss,
      subject: claims.sub,
      name: nameOf(all),
      mail: valuesOf(all, 'email')?.[0] ?? null,
      role: ACCESS_ROLES.findLast(role => given.has(role)) ?? null,
      idToken: tokens.id_token,
    }
  }

  /** The provider's discovery document, fetched when first needed, and again after a failure. */
  async #configuration(): Promise<client.Configuration> {
    const { issuer, clientId, clientSecret } = this.#settings
    this.#discovered ??= client.discovery(new URL(issuer), clientId, undefined, withSecret(clientSecret), {
      timeout: PROVIDER_TIMEOUT_S,
      // The ID token's signature is verified, although it comes directly from the provider over TLS.
      execute: [
        client.enableNonRepudiationChecks,
        ...(issuer.startsWith('http:') ? [client.allowInsecureRequests] : []),
      ],
    })
    try {
      return await this.#discovered
    } catch (error) {
      this.#discovered = undefined
      this.#logger.warn({ error: refusalReason(error) }, 'the identity provider does not tell what it can do')
      throw new OidcError('away', 'the identity provider does not answer', { cause: error })
    }
  }
}

/**
 * Client authentication: the secret goes in the body if the provider supports that, else in the header, which every
 * provider must support.
 */
function withSecret(secret: string): client.ClientAuth {
  const [post, basic] = [client.ClientSecretPost(secret), client.ClientSecretBasic(secret)]
  return (server, ...request) => {
    const takesPost = server.token_endpoint_auth_methods_supported?.includes('client_secret_post')
    return takesPost ? post(server, ...request) : basic(server, ...request)
  }
}

/**
 * The values of a claim, which may be a single text or nested in another claim; null if it is absent. An e-mail
 * address that the provider has not verified counts as absent: people may type any address there.
 */
export function valuesOf(claims: Record<string, unknown>, claim: string): string[] | null {
  if (claim === 'email' && claims.email_verified !== true) return null
  let value: unknown = claims[claim]
  if (value === undefined)
    value = claim
      .split('.')
      .reduce<unknown>(
        (inner, name) =>
          typeof inner === 'object' && inner !== null && Object.hasOwn(inner, name)
            ? (inner as Record<string, unknown>)[name]
            : undefined,
        claims,
      )
  if (typeof value === 'string') return [value]
  return Array.isArray(value) ? value.filter(item => typeof item === 'string') : null
}

function nameOf(claims: Record<string, unknown>): string {
  const { preferred_username, sub } = claims
  return [preferred_username, valuesOf(claims, 'email')?.[0], sub].find(
    name => typeof name === 'string' && name !== '',
  ) as string
}

function failureOf(error: unknown): OidcError {
  if (error instanceof OidcError) return error
  return isAway(error)
    ? new OidcError('away', 'the identity provider does not answer', { cause: error })
    : new OidcError('refused', refusalReason(error), { cause: error })
}

/** Whether the provider cannot be reached or fails itself. */
function isAway(error: unknown): boolean {
  if (!(error instanceof Error)) return error instanceof Response && error.status >= 500
  if ('status' in error && typeof error.status === 'number' && error.status >= 500) return true
  return (
    /^(?:TimeoutError|AbortError)$/.test(error.name) ||
    error.message === 'fetch failed' ||
    isAway(error.cause)
  )
}

/** The reason in one word without personal data: an OAuth error such as access_denied, or the library's code. */
export function refusalReason(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown'
  const { error: oauth, code } = error as Error & { error?: unknown; code?: unknown }
  if (typeof oauth === 'string' && /^\w{1,60}$/.test(oauth)) return oauth
  if (error instanceof OidcError && error.code === 'refused') return error.message
  if (typeof code === 'string') return code
  return error.cause instanceof Error ? refusalReason(error.cause) : error.name
}
