import { createInterface } from 'node:readline/promises'
import type { ReadStream, WriteStream } from 'node:tty'
import { FailedError, UsageError } from './failure.ts'

/** Where a person is asked: the question goes to standard error, so that standard output keeps to the result. */
interface Terminal {
  input: NodeJS.ReadableStream & Partial<Pick<ReadStream, 'isTTY'>>
  output: NodeJS.WritableStream & Partial<Pick<WriteStream, 'isTTY'>>
}

const CONSOLE: Terminal = { input: process.stdin, output: process.stderr }

/**
 * Whether a person has to be asked before money moves.
 * @param what that which would be sent, for example `refund`
 * @throws UsageError where nobody can be asked and `--yes` was not given
 */
export function needsQuestion(what: string, yes: boolean, { input, output } = CONSOLE): boolean {
  if (yes) return false
  if (input.isTTY && output.isTTY) return true
  throw new UsageError(
    `this moves money, and there is no terminal to ask on: give --yes to send the ${what} without a question`,
  )
}

/**
 * Shows what would be sent and asks; anything but y or yes is a no, and so are Ctrl-C and the end of the input.
 * @param signal takes the question back, which is a no too
 * @throws FailedError when the answer is no
 */
export async function confirm(
  summary: string[],
  question: string,
  signal: AbortSignal,
  { input, output } = CONSOLE,
): Promise<void> {
  output.write(summary.map(line => `${line}\n`).join(''))
  const terminal = createInterface({ input, output, terminal: output.isTTY === true })
  const answer = await new Promise<string>(resolve => {
    terminal.once('SIGINT', () => resolve(''))
    terminal.once('close', () => resolve(''))
    terminal.question(`${question} [y/N] `, { signal }).then(resolve, () => resolve(''))
  })
  if (answer === '') output.write('\n')
  terminal.close()
  if (!/^y(?:es)?$/i.test(answer.trim())) throw new FailedError('nothing was sent')
}
