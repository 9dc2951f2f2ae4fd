/** Wrong use of a command: one sentence, exit 2. */
export class UsageError extends Error {
  readonly exitCode = 2
}

/** The command did its part, but what was asked for failed or is held: one sentence (already printed when empty), exit 1. */
export class FailedError extends Error {
  readonly exitCode = 1
}

/** Codes of errors that stand for a wrong argument, setting or mapping. */
const WRONG_USE = new Set([
  'ACCOUNT_OTHER',
  'CONFIG_INVALID',
  'DATABASE_POOLED',
  'COMMAND_INVALID',
  'MAPPING_FILE',
  'MAPPING_STATEMENT',
  'MAPPING_SQL',
  'MAPPING_COLUMNS',
  'MAPPING_MISSING',
])

/** The exit code of a command that ended with this error: 2 for wrong usage or a wrong setting, else 1. */
export function exitCodeOf(error: unknown): number {
  if (error instanceof UsageError || error instanceof FailedError) return error.exitCode
  return WRONG_USE.has(codeOf(error)) ? 2 : 1
}

/** What a person is told: one sentence, and the cause where it adds one; several wrong settings are a line each. */
export function sentenceOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  if (codeOf(error) === 'EADDRINUSE') return portTaken(error)
  // A connection refused on both address families is an AggregateError without a message.
  const message =
    error.message ||
    (error instanceof AggregateError ? error.errors.map(sentenceOf).join('; ') : '') ||
    (error instanceof FailedError ? '' : error.name)
  const cause = error.cause instanceof Error ? sentenceOf(error.cause) : ''
  return cause === '' || message.includes(cause) ? message : `${message} (${cause})`
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : ''
}

function portTaken(error: Error): string {
  const { address, port } = error as Error & { address?: string; port?: number }
  return `port ${port} on ${address} is taken, perhaps by another dirsync: choose another one (CONSOLE_PORT for the console, --port for the emulator), or leave the console out with --roles scheduler,worker`
}

/** Resolves with the name of the first signal that asks the process to stop; a second one ends it at once. */
export function stopSignal(): Promise<NodeJS.Signals> {
  return new Promise(resolve => {
    const stop = (signal: NodeJS.Signals) => {
      for (const name of ['SIGINT', 'SIGTERM'] as const) {
        process.off(name, stop)
        process.once(name, () => process.exit(1))
      }
      resolve(signal)
    }
    process.on('SIGINT', stop)
    process.on('SIGTERM', stop)
  })
}
