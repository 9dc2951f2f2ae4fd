import { examine } from '../../doctor/examine.ts'
import type { CheckResult } from '../../doctor/finding.ts'
import type { Pool } from '../../lib/database.ts'
import type { Services } from '../services.ts'

/** The findings of the doctor's latest examination. */
export interface DoctorReport {
  at: Date
  by: string
  findings: CheckResult[]
  /** Whether all checks ran; false if it was stopped after 30 s. */
  complete: boolean
}

/** How long a user waits for the doctor. A database or platform that does not answer takes the longest. */
const PATIENCE_MS = 30_000

/** The latest examination, by whichever process of the console; null if there was none. */
export async function latestExamination(db: Pool): Promise<DoctorReport | null> {
  const { rows } = await db.query<DoctorReport>('select at, by, complete, findings from dirsync.examination')
  return rows[0] ?? null
}

/** Runs the checks of `dirsync doctor` with the settings of this process, and keeps the findings. */
export class Doctor {
  readonly #services: Services
  #running: Promise<DoctorReport> | undefined

  constructor(services: Services) {
    this.#services = services
  }

  /** Runs the checks. While they run, a second caller waits for the same findings. */
  run(by: string): Promise<DoctorReport> {
    this.#running ??= this.#examine(by).finally(() => {
      this.#running = undefined
    })
    return this.#running
  }

  async #examine(by: string): Promise<DoctorReport> {
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
    await this.#services.pool.query(
      `insert into dirsync.examination (at, by, complete, findings) values ($1, $2, $3, $4)
       on conflict (single) do update
       set at = excluded.at, by = excluded.by, complete = excluded.complete, findings = excluded.findings`,
      [report.at, by, complete, JSON.stringify(findings)],
    )
    return report
  }
}
