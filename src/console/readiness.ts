import { isReadOnly, type Pool } from '../lib/database.ts'
import { readOnlyTrouble } from '../lib/failure.ts'
import type { Logger } from '../lib/logger.ts'
import { missingMigrations } from '../lib/migrate.ts'
import { within } from '../lib/waiting.ts'
import { readHalts } from '../sync/outbox/halts.ts'
import { type Aside, type Misfit, OUTAGE } from '../sync/processes/process.ts'
import { inLanguage } from '../texts/failures.ts'
import { inEnglish } from '../texts/message.ts'

const TIMEOUT_MS = 2000

/** The stage of the process's life; it can work only while it is `running`. */
export type Phase = 'starting' | 'running' | 'stopping'

/** Something that the process cannot work without. It reveals no internals, because the probe is public. */
interface Missing {
  part: 'process' | 'database' | 'schema' | 'queue' | 'hr_sources' | 'platform'
  problem: string
  remedy: string
}

interface ReadinessReport {
  status: 'ready' | 'not_ready'
  missing: Missing[]
  /** Why no work is done although the process could do it. Halts do not make it unready. */
  halts: { scope: 'everything' | 'one enterprise'; category: string; since: Date; remedy: string }[]
}

/**
 * Finds out within 2 s whether this process can work, however the database and the queue fail. A change for the worse
 * or the better is logged once, with its cause.
 */
export class Readiness {
  phase: Phase = 'starting'
  readonly #pool: Pool
  readonly #checkQueue: (() => Promise<unknown>) | null
  readonly #misfit: () => Misfit
  readonly #logger: Logger
  #missing = ''
  #checking: Promise<ReadinessReport> | undefined

  /**
   * @param options.checkQueue rejects if the queue is down or refuses writes; null if the process works without it
   * @param options.misfit what this process leaves to others
   */
  constructor(options: {
    pool: Pool
    checkQueue: (() => Promise<unknown>) | null
    misfit: () => Misfit
    logger: Logger
  }) {
    this.#pool = options.pool
    this.#misfit = options.misfit
    this.#checkQueue = options.checkQueue
    this.#logger = options.logger
  }

  /** Concurrent probes share one check. */
  check(): Promise<ReadinessReport> {
    this.#checking ??= this.#check().finally(() => {
      this.#checking = undefined
    })
    return this.#checking
  }

  async #check(): Promise<ReadinessReport> {
    const missing: Missing[] = []
    const causes: string[] = []
    const miss = (problem: Missing) => (error: Error) => {
      missing.push(problem)
      causes.push(error.message)
    }
    let halts: ReadinessReport['halts'] = []
    if (this.phase !== 'running') missing.push(phaseProblem(this.phase))
    const { outdated, aside } = this.#misfit()
    if (outdated) missing.push(SOURCES_PROBLEM)
    await Promise.all([
      within(TIMEOUT_MS, this.#readDatabase()).then(found => {
        halts = found.halts
        if (found.takesNoWrites) missing.push(READ_ONLY_PROBLEM)
        if (found.lacking.length > 0) missing.push(schemaProblem(found.lacking))
      }, miss(DATABASE_PROBLEM)),
      this.#checkQueue && within(TIMEOUT_MS, this.#checkQueue()).catch(miss(QUEUE_PROBLEM)),
    ])
    const isOutage = halts.some(({ scope, category }) => scope === 'everything' && category === OUTAGE)
    if (aside === 'secret' || (aside && !isOutage)) missing.push(ASIDE_PROBLEMS[aside])
    this.#tell(missing, causes)
    return { status: missing.length === 0 ? 'ready' : 'not_ready', missing, halts }
  }

  async #readDatabase(): Promise<{
    takesNoWrites: boolean
    lacking: string[]
    halts: ReadinessReport['halts']
  }> {
    const takesNoWrites = await isReadOnly(this.#pool)
    const lacking = await missingMigrations(this.#pool)
    if (lacking.length > 0) return { takesNoWrites, lacking, halts: [] }
    const halts = (await readHalts(this.#pool)).map(({ scope, category, since, remedy }) => ({
      scope: scope === '*' ? ('everything' as const) : ('one enterprise' as const),
      category,
      since,
      remedy: inLanguage('en', remedy),
    }))
    return { takesNoWrites, lacking, halts }
  }

  #tell(missing: Missing[], causes: string[]): void {
    // Starting and stopping are not logged as changes.
    if (this.phase !== 'running') return
    const parts = missing.map(({ part }) => part)
    const now = parts.join()
    if (now === this.#missing) return
    this.#missing = now
    if (now === '') this.#logger.info('ready again')
    else this.#logger.warn({ missing: parts, causes }, 'not ready: this process cannot work')
  }
}

const DATABASE_PROBLEM: Missing = {
  part: 'database',
  problem: `PostgreSQL cannot be reached, or does not answer within ${TIMEOUT_MS / 1000} s`,
  remedy: 'Check that PostgreSQL runs and that DATABASE_URL is right. `dirsync doctor` says more.',
}

const READ_ONLY_PROBLEM: Missing = {
  part: 'database',
  problem: inEnglish(readOnlyTrouble().what),
  remedy: inEnglish(readOnlyTrouble().remedy),
}

const QUEUE_PROBLEM: Missing = {
  part: 'queue',
  problem: `the queue cannot be reached, refuses writes, or does not answer within ${TIMEOUT_MS / 1000} s`,
  remedy:
    'Check that Redis runs, has memory and disk left, and that REDIS_URL is right. Without REDIS_URL, check PostgreSQL and DATABASE_URL.',
}

const SOURCES_PROBLEM: Missing = {
  part: 'hr_sources',
  problem:
    'another process was started later with other HR sources, so this one does nothing for those that differ',
  remedy: 'Give both the same HR_SOURCES, and restart this one.',
}

const ASIDE_PROBLEMS: Record<Aside, Missing> = {
  secret: {
    part: 'platform',
    problem:
      'the platform refuses the application secret of this process, so it leaves all work to others, which have another one',
    remedy:
      'Give all processes the same PLATFORM_APP_SECRET and PLATFORM_SIGN_ALGORITHM, and restart this one.',
  },
  unreachable: {
    part: 'platform',
    problem: 'this process cannot reach the platform, so it leaves all work to others',
    remedy:
      'Check the network, a firewall or a list of permitted addresses. It works again by itself once the platform answers.',
  },
}

function schemaProblem(lacking: string[]): Missing {
  return {
    part: 'schema',
    problem: `the database lacks ${lacking.join(', ')}`,
    remedy: 'Run `dirsync migrate`.',
  }
}

function phaseProblem(phase: Exclude<Phase, 'running'>): Missing {
  return {
    part: 'process',
    problem: `this process is ${phase}`,
    remedy: phase === 'starting' ? 'Wait until it has started.' : 'Start it again if you still need it.',
  }
}
