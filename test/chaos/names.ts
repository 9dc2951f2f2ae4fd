/** The lock of an employee, as `lockName` of `src/sync/outbox/outbox.ts` names it. */
export function lockKeyOf(userid: string): string {
  return JSON.stringify(['dirsync', 'employee', '', userid])
}
