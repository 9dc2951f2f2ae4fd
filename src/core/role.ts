/** What a process of dirsync can be for; any number of them at once. */
export const ROLES = ['scheduler', 'worker', 'console', 'notifications'] as const
export type Role = (typeof ROLES)[number]
