import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { pino } from 'pino'
import { removeSpilled } from '../../hr/files/duckdb.ts'
import { hrServer } from '../../hr/servers.ts'
import { HrSource, type HrSourceSettings } from '../../hr/source.ts'
import type { SourceScope } from '../../hr/sources.ts'
import { createPool } from '../../lib/database.ts'
import { message } from '../../texts/message.ts'
import type { RunLimits } from '../runs/safety.ts'
import { carryOutDryRun, type Mistake, mistakeOf } from './dry-run-reading.ts'

/**
 * The process that reads HR for a dry run. A SELECT under test may return rows that exceed any memory, or an answer that breaks
 * a driver: only this process can end by it. The file is both: its starter, and its program.
 */

/** The process's input. It comes as a message, since it holds passwords. */
export interface DryRunTask {
  databaseUrl: string
  id: number
  sql: string
  source: SourceScope
  hr: HrSourceSettings
  limits: RunLimits
}

/** Time to stop its statements on HR's server. */
const STOP_MS = 3000
/** Megabytes that V8 reserves for code. The system counts them, though hardly any are used. */
const SET_ASIDE = 512
/** The heap's share of the memory; buffers, and DuckDB, have the rest. */
const HEAP = 0.7

/**
 * Runs a dry run in a child process.
 * @param memoryMb hard limit of the process's memory
 * @param signal ends it
 * @returns what was wrong; null without a mistake
 */
export async function readInChild(
  task: DryRunTask,
  memoryMb: number,
  signal: AbortSignal,
): Promise<Mistake | null> {
  signal.throwIfAborted()
  const node = [
    process.execPath,
    '--disable-warning=ExperimentalWarning',
    `--max-old-space-size=${Math.floor(memoryMb * HEAP)}`,
  ]
  // The system's limit counts buffers as well, which the heap's own limit does not.
  const limited = `ulimit -d ${(memoryMb + SET_ASIDE) * 1024}; exec "$0" "$@"`
  const child = spawn('/bin/sh', ['-c', limited, ...node, import.meta.filename, ARGUMENT], {
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    serialization: 'advanced',
  })
  const ended = once(child, 'exit') as Promise<[code: number | null, signal: NodeJS.Signals | null]>
  let found: { mistake: Mistake | null } | undefined
  child.on('message', message => {
    found = message as { mistake: Mistake | null }
  })
  using _stopping = stopsWith(child, signal)
  child.send(task, () => {}) // one that is gone by now has ended
  const [code, killedBy] = await ended
  if (found) return found.mistake
  if (child.pid) await removeSpilled(task.hr.server.files.keep, child.pid)
  const reason = killedBy ?? `code ${code}`
  return {
    message: message('said.dry_run_died', { reason, limit: memoryMb }),
    place: null,
    isOurs: true,
  }
}

/** Asks the process to stop when the signal aborts, and kills it if it does not. */
function stopsWith(child: ChildProcess, signal: AbortSignal): Disposable {
  let timer: NodeJS.Timeout | undefined
  const stop = () => {
    child.send('stop', () => {})
    timer = setTimeout(() => child.kill('SIGKILL'), STOP_MS)
  }
  if (signal.aborted) stop()
  else signal.addEventListener('abort', stop)
  return {
    [Symbol.dispose]() {
      signal.removeEventListener('abort', stop)
      clearTimeout(timer)
    },
  }
}

// The process itself

const ARGUMENT = 'read-for-dry-run'

if (process.argv[2] === ARGUMENT && process.argv[1] === import.meta.filename) await serve()

async function serve(): Promise<void> {
  const stop = new AbortController()
  process.once('disconnect', () => process.exit(1)) // its parent is gone
  const [task] = (await once(process, 'message')) as [DryRunTask]
  process.on('message', () => stop.abort())
  const mistake = await read(task, stop.signal)
  // Out of memory, nothing can be expected of the process: it exits as if it had been unable to report.
  if (mistake?.isOutOfMemory) process.exit(1)
  process.send?.({ mistake }, () => process.exit(0))
}

async function read(task: DryRunTask, stop: AbortSignal): Promise<Mistake | null> {
  const logger = pino({ level: 'silent' })
  const { server, ...mappings } = task.hr
  try {
    await using opened = new AsyncDisposableStack()
    const pool = createPool(task.databaseUrl, { max: 3, name: 'dry run', logger })
    opened.defer(() => pool.end())
    const hr = opened.adopt(
      new HrSource({
        server: hrServer(server.url, logger, server.files, server.rowLimit),
        ...mappings,
        logger,
      }),
      source => source.close(),
    )
    return await carryOutDryRun({ pool, source: { ...task.source, hr }, limits: task.limits }, task, stop)
  } catch (error) {
    return mistakeOf(error)
  }
}
