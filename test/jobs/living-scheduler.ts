import { onTestFinished } from 'vitest'
import { CronScheduler } from '../../jobs/scheduler.ts'
import { heartbeat } from '../../src/sync/processes/process.ts'

const BEAT_MS = 5000

/** A scheduler whose process is registered, and lives until the test ends. */
export class LivingScheduler extends CronScheduler {
  readonly #beat: () => Promise<unknown>

  constructor(options: ConstructorParameters<typeof CronScheduler>[0]) {
    super(options)
    const me = { id: options.processId, host: 'here', pid: 1, roles: ['scheduler'], version: '1' }
    this.#beat = () => heartbeat(options.pool, { ...me, pacer: null })
  }

  override async start(): Promise<void> {
    await this.#beat()
    const timer = setInterval(() => void this.#beat().catch(() => undefined), BEAT_MS)
    onTestFinished(() => clearInterval(timer))
    await super.start()
  }
}
