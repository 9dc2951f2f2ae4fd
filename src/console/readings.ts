import type { Asker, Commands } from '../sync/runs/commands.ts'

/** How often one kind of reading by one person is recorded. */
const RECORDED_MS = 60 * 60_000
/** How many kinds are remembered; beyond that, the oldest is forgotten and recorded anew. */
const MOST = 2000

/** Records what people read of personal data: each kind once an hour and person, so that the audit stays readable. */
export class Readings {
  readonly #now: () => number
  /** When each was last recorded, and how often it was read since. */
  readonly #recorded = new Map<string, { at: number; more: number }>()

  constructor(now = () => performance.now()) {
    this.#now = now
  }

  /**
   * Records the reading, unless it was within the hour; a row says how many more there were since the one before.
   * @throws if it cannot be recorded
   */
  async record(
    ask: { asker: Asker; commands: Pick<Commands, 'note'> },
    name: string,
    values: Record<string, unknown>,
  ): Promise<void> {
    const { actor, address } = ask.asker
    const reading = JSON.stringify([name, values, actor, address])
    const known = this.#recorded.get(reading)
    const now = this.#now()
    if (known && now - known.at < RECORDED_MS) {
      known.more += 1
      return
    }
    await ask.commands.note(name, { ...values, ...(known?.more ? { more_before: known.more } : {}) })
    this.#recorded.delete(reading)
    this.#recorded.set(reading, { at: now, more: 0 })
    const [oldest] = this.#recorded.keys()
    if (this.#recorded.size > MOST && oldest !== undefined) this.#recorded.delete(oldest)
  }
}
