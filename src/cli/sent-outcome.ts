import { FailedError } from './failure.ts'
import { factLines, print, printJson } from './output.ts'

/** What became of something that moves money, as the journal tells it. */
interface SentOutcome {
  /** `refund` or `top-up`. */
  what: string
  number: string
  state: 'accepted' | 'rejected' | 'unknown'
  facts: Parameters<typeof factLines>[0]
  /** What `--json` prints. */
  document: Record<string, unknown>
  /** What to do where nobody knows whether it was carried out: in words, and as a command. */
  remedy: string
  command: string
}

/**
 * Prints the outcome.
 * @throws FailedError unless it is accepted
 */
export function tellOutcome(outcome: SentOutcome, json: boolean): void {
  const { what, number, state, facts, document, remedy, command } = outcome
  if (json) printJson(document)
  const lines = factLines(facts)
  if (state === 'unknown')
    throw new FailedError(
      [
        `it is unknown whether ${what} ${number} was carried out: do not send it again, under whatever number`,
        ...lines,
        `  → ${remedy}:`,
        `    ${command}`,
      ].join('\n'),
    )
  if (state === 'rejected') throw new FailedError([`${what} ${number} is rejected`, ...lines].join('\n'))
  if (!json) print(`${what === 'refund' ? 'Refund' : 'Top-up'} ${number} is accepted.`, ...lines)
}
