import type { CallRecord } from '../emulator/call-log.ts'
import { askChild } from './child.ts'
import { watchCalls } from './emulator-log.ts'
import type { PlatformAccess, Workshop } from './workshop.ts'

const CONCURRENCY = 32

/** The task of the naive script's process. */
export interface NaiveTask {
  databaseUrl: string
  platform: PlatformAccess
  /** How many employees of HR, the first ones by key. */
  employees: number
  concurrency: number
}

/** The naive script in one line. */
export const NAIVE = `a script that asks the platform about every employee and updates what differs: ${CONCURRENCY} employees at a time with fetch, waiting after a 429 as long as Retry-After says`

/** Runs the naive script. Resolves with its duration and the calls that the emulator saw. */
export async function runNaive(
  workshop: Workshop,
  task: Omit<NaiveTask, 'concurrency'>,
): Promise<{ seconds: number; calls: CallRecord[] }> {
  const watched = await watchCalls(task.platform)
  const whole = { ...task, concurrency: CONCURRENCY }
  const seconds = await askChild<NaiveTask, number>(workshop.folder, 'child-naive.ts', whole)
  const calls = (await watched.all()).filter(({ operation }) => !operation.startsWith('token/'))
  return { seconds, calls }
}

export function isRejected({ end }: CallRecord): boolean {
  return end === 'rate-limited'
}
