import { type NameIn, namesIn } from '../../texts/texts.ts'

/** What a token may be limited to, beside its role. */

type Entry = NameIn<'nav'>
/** Any token may read about the API, such as whether it is still good. */
export const ABOUT = 'api'
/** Without a scope: an account is a person's, and so no token's. */
type Unlimited = typeof ABOUT | 'account'
/** Where a limited token can only look: with `access` it could make itself one without limits. */
type Looking = 'audit' | 'access'

/** `read`: looks at everything; `cases`: looks at cases and decides about them; `cases:read`: looks at them. */
export type Scope = 'read' | Exclude<Entry, Unlimited | Looking> | `${Exclude<Entry, Unlimited>}:read`

/** In the order of the navigation. */
export const SCOPES: readonly Scope[] = ['read', ...namesIn('nav').flatMap(scopesOf)]

function scopesOf(entry: Entry): Scope[] {
  if (entry === ABOUT || entry === 'account') return []
  return entry === 'audit' || entry === 'access' ? [`${entry}:read`] : [entry, `${entry}:read`]
}

/**
 * The scopes of which a limited token needs one.
 * @param tag the screen of the operation
 * @param reads whether it is a GET
 * @returns empty: no limited token may do it
 */
export function scopesFor(tag: string, reads: boolean): readonly Scope[] {
  return SCOPES.filter(scope => scope === tag || (reads && (scope === 'read' || scope === `${tag}:read`)))
}

/**
 * Whether a token may make a request, as far as its limits go.
 * @param scopes undefined: it has no limits
 * @param tag the screen of the route; undefined: it belongs to none
 */
export function permits(
  scopes: readonly Scope[] | undefined,
  tag: string | undefined,
  reads: boolean,
): boolean {
  if (scopes === undefined || (reads && tag === ABOUT)) return true
  return scopesFor(tag ?? '', reads).some(scope => scopes.includes(scope))
}
