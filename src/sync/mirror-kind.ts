/** What can be mirrored: payment orders, limit accounts, taxpayers. Also the kinds of the runs that do it. */
export const MIRRORS = ['orders', 'accounts', 'taxpayers'] as const
export type Mirror = (typeof MIRRORS)[number]

/** The operation under which a mirror's attempts and cases are kept. */
export type MirrorOperation = `mirror-${Mirror}`

export function mirrorOperation(mirror: Mirror): MirrorOperation {
  return `mirror-${mirror}`
}

/** The mirror of an operation; null when it is another job's. */
export function mirrorOf(operation: string): Mirror | null {
  return MIRRORS.find(mirror => mirrorOperation(mirror) === operation) ?? null
}

/**
 * The enterprise codes to ask for. Where there are any, calls without one are refused, so the empty one is for a single
 * enterprise alone.
 */
export function enterprisesToAsk(codes: readonly string[]): string[] {
  const named = codes.filter(code => code !== '')
  return named.length > 0 ? named : ['']
}
