import { setTimeout as delay } from 'node:timers/promises'
import { SingleBar } from 'cli-progress'
import type { Pool } from '../lib/database.ts'
import { io } from '../lib/io.ts'
import { runTimeLeft, type TimeLeft } from '../sync/health/time-left.ts'
import { type Halt, readHalts } from '../sync/outbox/halts.ts'
import { isUnderWay, type RunProgress, runProgress } from '../sync/runs/run.ts'
import type { Said } from '../texts/message.ts'
import { named, say } from './language.ts'
import { pad } from './output.ts'
import { figuredTimeLeft, shortTimeLeft } from './time-left.ts'

const POLL_MS = 100
/** How often to estimate the remaining time. */
const ESTIMATE_MS = 1000
/** After how many polls to check that processes are still running that would do the work. */
const CHECK_EVERY = 20
/** How long the database may be away, for example to restart. The work goes on by itself when it is back. */
const AWAY_MS = 60_000

/** How a run ended, or why it cannot go on. */
export interface RunEnd extends RunProgress {
  /** What to do about what its message says, where a halt of everything stopped it. */
  remedy?: Said
}

/**
 * Whether a halt of everything stands. One that was there before is given its try first: planning reads HR, and a process that
 * starts asks the platform. A pause is for a person to end.
 */
function stands({ category }: Halt, state: RunProgress['state'], isAccountTried: boolean): boolean {
  if (category === 'hr_unavailable') return state === 'running'
  return isAccountTried || category === 'paused'
}

/**
 * Follows a run until it ends, is held, or everything is halted.
 * @param options.check called now and then; throws if no process is left to do the work
 * @returns null if it was told to stop
 */
export async function followRun(options: {
  pool: Pool
  id: number
  label: string
  quiet: boolean
  stopped: Promise<void>
  /** Resolves when the process that does the work has asked whether the platform accepts it; default: long ago. */
  accountTried?: Promise<void>
  check?: () => Promise<void>
}): Promise<RunEnd | null> {
  const { pool, id } = options
  const progress = createProgress(options.label, options.quiet)
  let stopping = false
  void options.stopped.then(() => {
    stopping = true
  })
  let isAccountTried = options.accountTried === undefined
  void options.accountTried?.then(() => {
    isAccountTried = true
  })
  let lastAnswer = performance.now()
  let left: TimeLeft | null = null
  let nextEstimate = 0
  try {
    for (let turn = 1; !stopping; turn += 1) {
      let now: RunProgress | null
      try {
        now = await runProgress(pool, id)
      } catch (error) {
        if (performance.now() - lastAnswer > AWAY_MS) throw error
        await delay(POLL_MS)
        continue
      }
      lastAnswer = performance.now()
      if (!now) throw new Error(`run ${id} is gone`)
      if (!now.cancelled) progress.show(now, now.left > 0 ? left : null)
      if (!isUnderWay(now.state)) return now
      // Known before the halts are read: a halt that is still there then has outlived its try.
      const isTried = isAccountTried
      const everything = (await readHalts(pool).catch(() => [])).find(
        halt => halt.scope === '*' && stands(halt, now.state, isTried),
      )
      if (everything) return { ...now, message: everything.message, remedy: everything.remedy }
      if (turn % CHECK_EVERY === 0) await options.check?.()
      if (performance.now() >= nextEstimate && now.state === 'running') {
        nextEstimate = performance.now() + ESTIMATE_MS
        left = await runTimeLeft(pool, id).catch(() => null)
      }
      await delay(POLL_MS)
    }
    return null
  } finally {
    progress.end()
  }
}

/** What a person sees while a run goes on. */
export interface Progress {
  show(progress: Pick<RunProgress, 'state' | 'planned' | 'left'>, timeLeft?: TimeLeft | null): void
  end(): void
}

/** Cases that waited for what a run has changed join it: more may be left than was planned. */
function counted({ state, planned, left }: Parameters<Progress['show']>[0]) {
  const total = Math.max(planned, left)
  return { state, total, done: total - left }
}

/** A bar on a terminal, a line per tenth elsewhere, nothing if quiet. */
export function createProgress(label: string, quiet: boolean): Progress {
  if (quiet) return { show() {}, end() {} }
  return io().stderr.isTTY ? bar(label) : lines(label)
}

function bar(label: string): Progress {
  const bar = new SingleBar({
    format: `  ${pad(label, 12)} {bar} {value}/{total}  {state}`,
    barCompleteChar: '█',
    barIncompleteChar: '░',
    barsize: 32,
    hideCursor: true,
    emptyOnZero: true,
    stream: io().stderr,
  })
  bar.start(0, 0, { state: named('run_state', 'planning') })
  return {
    show(progress, timeLeft) {
      const { total, done, state } = counted(progress)
      bar.setTotal(total)
      bar.update(done, {
        state: timeLeft && state === 'running' ? shortTimeLeft(timeLeft) : named('run_state', state),
      })
    },
    end: () => bar.stop(),
  }
}

function lines(label: string): Progress {
  let shown = -1
  return {
    show(progress, timeLeft) {
      const { total, done, state } = counted(progress)
      if (state !== 'running' && state !== 'done') return
      const tenth = total === 0 ? 10 : Math.floor((10 * done) / total)
      if (tenth === shown) return
      shown = tenth
      const ends = timeLeft && state === 'running' ? `  ${figuredTimeLeft(timeLeft)}` : ''
      io().stderr.write(`  ${pad(label, 12)} ${done}/${total}${ends}\n`)
    },
    end() {},
  }
}

/** Rows between two lines, without a terminal. */
const ROWS_PER_LINE = 100_000

/** Counts up to an unknown total: in place on a terminal, a line now and then elsewhere, nothing if quiet. */
export function createCounter(label: string, quiet: boolean): { show(rows: number): void; end(): void } {
  if (quiet) return { show() {}, end() {} }
  const isTerminal = io().stderr.isTTY
  let shown = 0
  let told = Number.NEGATIVE_INFINITY
  const text = (rows: number) => `  ${pad(label, 12)} ${say('hr_check.rows_of', { rows })}`
  return {
    show(rows) {
      const isDue = isTerminal ? performance.now() - told >= POLL_MS : rows - shown >= ROWS_PER_LINE
      if (!isDue) return
      told = performance.now()
      shown = rows
      io().stderr.write(isTerminal ? `\r${text(rows)}` : `${text(rows)}\n`)
    },
    end() {
      // The counter is not part of the answer.
      if (isTerminal && shown > 0) io().stderr.write('\r\u001b[K')
    },
  }
}
