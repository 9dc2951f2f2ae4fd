import { onTestFinished } from 'vitest'
import { CronScheduler } from '../../jobs/scheduler.ts'
import { deregister, heartbeat } from '../../src/sync/processes/process.ts'

const BEAT_MS = 5000

/** A scheduler whose process is registered, and lives until it leaves or the test ends. */
export class LivingScheduler extends CronScheduler {
  readonly #beat: () => Promise<unknown>
  readonly #gone: () => Promise<void>
  #timer: NodeJS.Timeout | undefined

  constructor(options: ConstructorParameters<typeof CronScheduler>[0]) {
    super(options)
    const me = { id: options.processId, host: 'here', pid: 1, roles: ['scheduler'], version: '1' }
    this.#beat = () => heartbeat(options.pool, { ...me, pacer: null })
    this.#gone = () => deregister(options.pool, options.processId)
  }

  override async start(): Promise<void> {
    await this.#beat()
    this.#timer = setInterval(() => void this.#beat().catch(() => undefined), BEAT_MS)
    onTestFinished(() => clearInterval(this.#timer))
    await super.start()
  }

  /** Ends its process in order. */
  async leave(): Promise<void> {
    await this.stop()
    clearInterval(this.#timer)
    await this.#gone()
  }
}
