/**
 * Splits a recorded actor into the name behind the database user, as in `dirsync (console:anna)`, and the way they came. Any
 * other actor, such as a psql user, is returned as recorded.
 */
export function personOf(actor: string): { name: string; via: string | null } {
  // A sign-in that failed has no person yet: `dirsync (console)`.
  const place = /\((console|oidc)\)$/.exec(actor)?.[1]
  const [, via = null, name = place ?? actor] =
    /\((console|api|cli):(?:token:)?(.+)\)$/.exec(actor) ??
    /^(console|api|cli):(?:token:)?(.+)$/.exec(actor) ??
    []
  return { name, via }
}
