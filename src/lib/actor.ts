/**
 * Splits a recorded actor into the name behind the database user, as in `dirsync (console:anna)`, and the way they came. Any
 * other actor, such as a psql user, is returned as recorded.
 */
export function personOf(actor: string): { name: string; via: string | null } {
  const [, via = null, name = actor] =
    /\((console|api|cli):(?:token:)?(.+)\)$/.exec(actor) ??
    /^(console|api|cli):(?:token:)?(.+)$/.exec(actor) ??
    []
  return { name, via }
}
