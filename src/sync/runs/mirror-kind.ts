/** The mirrors: payment orders, limit accounts, taxpayers. Also the kinds of their runs. */
export const MIRRORS = ['orders', 'accounts', 'taxpayers'] as const
export type Mirror = (typeof MIRRORS)[number]

/** The operation under which a mirror's attempts and cases are stored. */
export type MirrorOperation = `mirror-${Mirror}`

export function mirrorOperation(mirror: Mirror): MirrorOperation {
  return `mirror-${mirror}`
}

/** The mirror of an operation; null for another job's. */
export function mirrorOf(operation: string): Mirror | null {
  return MIRRORS.find(mirror => mirrorOperation(mirror) === operation) ?? null
}

/**
 * The enterprise codes to read. Where there are any, calls without one are refused, so the empty one is for a lone enterprise.
 */
export function enterprisesToAsk(codes: readonly string[]): string[] {
  const named = codes.filter(code => code !== '')
  return named.length > 0 ? named : ['']
}
