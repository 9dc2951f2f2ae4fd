import { examine } from '../../doctor/examine.ts'
import type { Finding } from '../../doctor/finding.ts'
import type { Services } from '../services.ts'

/** What the doctor found when somebody last asked. */
export interface Examination {
  at: Date
  by: string
  findings: Finding[]
  /** Whether it came to its end; else it was left after 30 s. */
  complete: boolean
}

/** How long somebody waits for the doctor: a database or a platform that does not answer takes the longest. */
const PATIENCE_MS = 30_000

/** Runs the checks of `dirsync doctor` with the settings of this process, and keeps what they found last. */
export class Doctor {
  readonly #services: Services
  #last: Examination | null = null
  #running: Promise<Examination> | undefined

  constructor(services: Services) {
    this.#services = services
  }

  /** Null: nobody has asked since this process began. */
  get last(): Examination | null {
    return this.#last
  }

  /** The checks never run twice at a time: a second caller gets the findings of the first. */
  run(by: string): Promise<Examination> {
    this.#running ??= this.#examine(by).finally(() => {
      this.#running = undefined
    })
    return this.#running
  }

  async #examine(by: string): Promise<Examination> {
    const { config, env, program, logger } = this.#services
    const patience = AbortSignal.timeout(PATIENCE_MS)
    // The log is not for findings: they are shown.
    const quiet = logger.child({}, { level: 'silent' })
    const examined = examine({ config, env, program, logger: quiet })
    const findings: Finding[] = []
    let complete = false
    const late = new Promise<'late'>(resolve => {
      patience.addEventListener('abort', () => resolve('late'), { once: true })
    })
    for (;;) {
      const next = await Promise.race([examined.next(), late])
      if (next === 'late') {
        // It ends and closes what it opened when the check that takes so long does.
        examined.return(undefined).catch(() => {})
        break
      }
      if (next.done) {
        complete = true
        break
      }
      findings.push(next.value)
    }
    this.#last = { at: new Date(), by, findings, complete }
    return this.#last
  }
}
