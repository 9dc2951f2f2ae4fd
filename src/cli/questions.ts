import { createInterface, type Interface } from 'node:readline'
import { io } from '../lib/io.ts'
import { FailedError } from './failure.ts'
import { say } from './language.ts'
import { colours, print, printText } from './output.ts'

/** A parsed answer, or why it is not acceptable. */
type Understood<Answer> = { answer: Answer } | { problem: string }

/**
 * Asks one question after the other, on a terminal or from lines of a pipe, or takes the default in brackets for
 * each.
 */
export class Questions implements Disposable {
  readonly #takesGuesses: boolean
  #lines: Interface | undefined
  #answers: AsyncIterator<string> | undefined

  constructor(takesGuesses: boolean) {
    this.#takesGuesses = takesGuesses
  }

  /**
   * Asks until the answer is valid.
   * @param guess the default, taken for an empty line; null if an answer has to be typed
   * @throws FailedError at the end of the input, or without a default if no questions can be asked
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

  /** Whether questions are asked at all. */
  get isAsking(): boolean {
    return !this.#takesGuesses
  }

  /** Also cancels a question that is being asked. */
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
    // At a terminal, what was typed is already visible.
    if (!io().stdin.isTTY) print(value)
    return value
  }
}
