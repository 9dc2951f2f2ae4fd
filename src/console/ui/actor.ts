/**
 * Who asked, for people: `dirsync (console:anna)`, as the database has it, is `anna (console)`; who asked by psql is the database
 * user.
 */
export function actorText(actor: string): string {
  const match =
    /\((console|api|cli):(?:token:)?(.+)\)$/.exec(actor) ?? /^(console|api|cli):(?:token:)?(.+)$/.exec(actor)
  return match ? `${match[2]} (${match[1]})` : actor
}
