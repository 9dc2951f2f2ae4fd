import { Loop, Loops } from '../lib/loop.ts'
import type { SessionLocks } from '../lib/session-locks.ts'
import { MIRRORS, type Mirror } from '../sync/mirror-kind.ts'
import { AccountReader } from './accounts.ts'
import { isWanted } from './mirror.ts'
import type { MirrorReader, MirrorWorkDependencies } from './mirror-reader.ts'
import { MirrorWork } from './mirror-work.ts'
import { OrderReader } from './orders.ts'
import { TaxpayerReader } from './taxpayers.ts'

/** How often to check for waiting runs. */
const POLL_MS = 500

interface MirrorRunnerOptions extends MirrorWorkDependencies {
  locks: SessionLocks
  /** Days of payment orders to read, today included. */
  orderDays: number
  taxpayerIdentifiers: string[]
}

/**
 * The worker role's loops for mirrors: they carry out runs, each mirror in one process at a time. When a process dies its lock
 * goes with it, and another one continues. They stop in the middle of a run, for the next one to continue there.
 */
export function mirrorRunner(options: MirrorRunnerOptions): Loops {
  const readers: Record<Mirror, MirrorReader> = {
    orders: new OrderReader(options.orderDays),
    accounts: new AccountReader(),
    taxpayers: new TaxpayerReader(options.taxpayerIdentifiers),
  }
  return new Loops(
    MIRRORS.map(
      mirror =>
        new Loop({
          step: stopping => carryOut(mirror, readers[mirror], options, stopping),
          pauseMs: POLL_MS,
          failed: error => options.logger.error({ error, mirror }, 'a mirror stopped; trying again'),
        }),
    ),
  )
}

async function carryOut(
  mirror: Mirror,
  reader: MirrorReader,
  options: MirrorRunnerOptions,
  stopping: AbortSignal,
): Promise<void> {
  const { pool, locks } = options
  if (!(await isWanted(pool, mirror))) return
  const lock = JSON.stringify(['dirsync', 'mirror', mirror])
  const signal = await locks.lock(lock, stopping)
  if (signal === null) return
  try {
    await new MirrorWork(mirror, reader, options).next(signal)
  } finally {
    // Not awaited: a process that ends releases its locks anyway.
    void locks.unlock(lock)
  }
}
