import { createInterface, type Interface } from 'node:readline'
import { io } from '../lib/io.ts'
import { FailedError } from './failure.ts'
import { say } from './language.ts'
import { colours, print, printText } from './output.ts'

/** What an answer comes to, or why it cannot be. */
type Understood<Answer> = { answer: Answer } | { problem: string }

/**
 * Asks one question after the other, on a terminal or of lines that come through a pipe, or takes what stands in brackets
 * for the answer to each.
 */
export class Questions implements Disposable {
  readonly #takesGuesses: boolean
  #lines: Interface | undefined
  #answers: AsyncIterator<string> | undefined

  constructor(takesGuesses: boolean) {
    this.#takesGuesses = takesGuesses
  }

  /**
   * Asks until the answer is understood.
   * @param guess taken for an empty line; null: there is none, and the answer has to be typed
   * @throws FailedError at the end of the input, or where there is nothing to be guessed and nobody to be asked
   */
  async ask<Answer>(
    question: string,
    guess: string | null,
    understand: (text: string) => Understood<Answer> | Promise<Understood<Answer>>,
  ): Promise<Answer> {
    for (;;) {
      io().stdout.write(`${question}${guess === null ? '' : colours.dim(` [${guess}]`)}: `)
      const text = (await this.#next()).trim() || guess || ''
      const understood = await understand(text)
      if ('answer' in understood) return understood.answer
      if (this.#takesGuesses) throw new FailedError(`${understood.problem} ${say('hr_init.unguessable')}`)
      printText(understood.problem)
    }
  }

  /** Whether anybody is asked. */
  get isAsking(): boolean {
    return !this.#takesGuesses
  }

  /** Ends the question under way, too. */
  [Symbol.dispose](): void {
    this.#lines?.close()
  }

  async #next(): Promise<string> {
    if (this.#takesGuesses) {
      print('')
      return ''
    }
    if (!this.#answers) {
      this.#lines = createInterface({ input: io().stdin })
      this.#answers = this.#lines[Symbol.asyncIterator]()
    }
    const { value, done } = await this.#answers.next()
    if (done) {
      print('')
      throw new FailedError(say('hr_init.ended'))
    }
    // What was typed at a terminal stands there already.
    if (!io().stdin.isTTY) print(value)
    return value
  }
}
