/** What a token may be limited to, beside its role. */

/** The screens on which something can be done. Not `access`: a limited token could make itself one without limits. */
const ACTING = [
  'overview',
  'alerts',
  'runs',
  'cases',
  'employees',
  'departments',
  'platform',
  'schedules',
  'mapping',
  'money',
  'mirrors',
  'halts',
  'settings',
] as const
/** Those where a program can only look. */
const LOOKING = ['audit', 'access'] as const

type Acting = (typeof ACTING)[number]
type Looking = Acting | (typeof LOOKING)[number]

/** `read`: looks at everything; `cases`: looks at cases and decides about them; `cases:read`: looks at them. */
export type Scope = 'read' | Acting | `${Looking}:read`

export const SCOPES: readonly Scope[] = [
  'read',
  ...ACTING.flatMap(tag => [tag, `${tag}:read`] as const),
  ...LOOKING.map(tag => `${tag}:read` as const),
]

/**
 * The scopes of which a limited token needs one.
 * @param tag the screen of the operation
 * @param reads whether it is a GET
 * @returns empty: no limited token may do it
 */
export function scopesFor(tag: string, reads: boolean): readonly Scope[] {
  return SCOPES.filter(scope => scope === tag || (reads && (scope === 'read' || scope === `${tag}:read`)))
}

/** Any token may read about the API, such as whether it is still good. */
export const ABOUT = 'api'

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
