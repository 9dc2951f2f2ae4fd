/** Wrong use of a command: one sentence, exit 2. */
export class UsageError extends Error {
  readonly exitCode = 2
}

/** What was asked for failed or is held: one sentence, exit 1. The message is empty where it is already printed. */
export class FailedError extends Error {
  readonly exitCode = 1
}

/** Codes of errors that mean a wrong argument, setting or mapping. */
const WRONG_USE = new Set([
  'ACCESS_INVALID',
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

/** The exit code for this error: 2 for wrong usage or a wrong setting, else 1. */
export function exitCodeOf(error: unknown): number {
  if (error instanceof UsageError || error instanceof FailedError) return error.exitCode
  return WRONG_USE.has(codeOf(error)) ? 2 : 1
}

/** The error in one sentence, with its cause where that adds something. Several wrong settings are a line each. */
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
  return `port ${port} on ${address} is taken, perhaps by another dirsync: choose another one (CONSOLE_PORT for the console, --port for the emulator), or run without the console: --roles scheduler,worker`
}

const STOP_SIGNALS = ['SIGINT', 'SIGTERM'] as const

/** Resolves at the first signal that asks the process to stop; a second one ends it at once. */
export function stopSignal(): Promise<void> {
  return new Promise(resolve => {
    const stop = () => {
      for (const signal of STOP_SIGNALS) process.off(signal, stop).once(signal, () => process.exit(1))
      resolve()
    }
    for (const signal of STOP_SIGNALS) process.on(signal, stop)
  })
}
