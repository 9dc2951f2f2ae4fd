import { type Examination, keepExamination } from '../../doctor/examination.ts'
import { examine } from '../../doctor/examine.ts'
import type { CheckResult } from '../../doctor/finding.ts'
import type { Services } from '../services.ts'

/** How long a user waits for the doctor. A database or platform that does not answer takes the longest. */
const PATIENCE_MS = 30_000

/** Runs the checks of `dirsync doctor` with the settings of this process, and keeps the findings. */
export class Doctor {
  readonly #services: Services
  #running: Promise<Examination> | undefined

  constructor(services: Services) {
    this.#services = services
  }

  /** Runs the checks. While they run, a second caller waits for the same findings. */
  run(by: string): Promise<Examination> {
    this.#running ??= this.#examine(by).finally(() => {
      this.#running = undefined
    })
    return this.#running
  }

  async #examine(by: string): Promise<Examination> {
    const { config, env, program, logger } = this.#services
    const patience = AbortSignal.timeout(PATIENCE_MS)
    // Findings are shown to the user, so they are not logged.
    const quiet = logger.child({}, { level: 'silent' })
    const examined = examine({ config, env, program, logger: quiet })
    const findings: CheckResult[] = []
    let complete = false
    const late = new Promise<'late'>(resolve => {
      patience.addEventListener('abort', () => resolve('late'), { once: true })
    })
    for (;;) {
      const next = await Promise.race([examined.next(), late])
      if (next === 'late') {
        // The generator ends, and closes what it opened, when the check that takes so long does.
        examined.return(undefined).catch(() => {})
        break
      }
      if (next.done) {
        complete = true
        break
      }
      findings.push(next.value)
    }
    const report = { at: new Date(), by, findings, complete }
    await keepExamination(this.#services.pool, report)
    return report
  }
}
