import { hash, randomUUID } from 'node:crypto'
import { Writable } from 'node:stream'
import { type Logger, pino } from 'pino'
import { expect, vi } from 'vitest'
import { createQueueBackend, type QueueBackend } from '../../src/queue/backend.ts'
import type { QueuedJob } from '../../src/queue/job.ts'
import type { TestStore } from './backends.ts'

export const silent = pino({ level: 'silent' })

/** Opens the queue of a store, prepared unless the store may be away. */
export async function openQueue(
  store: TestStore,
  options: { url?: string; logger?: Logger; prepared?: boolean } = {},
): Promise<QueueBackend & AsyncDisposable> {
  const queue = createQueueBackend({ ...store.options(options.url), logger: options.logger ?? silent })
  if (options.prepared !== false) await queue.prepare()
  return Object.assign(queue, { [Symbol.asyncDispose]: () => queue.close() })
}

/** A key as the engine writes it. */
export const newKey = () => JSON.stringify(['', randomUUID()])

/** The same key and request have the same id, as with the engine's jobs. */
export const update = (key: string, priority = 5, request = 1): QueuedJob => ({
  id: hash('sha256', `${request} ${key}`, 'base64url'),
  name: 'update-employee',
  keys: [key],
  priority,
})

/** For `vi.waitFor`, whose own patience is a second: an event that comes costs no more for it. */
export const PATIENTLY = { timeout: 60_000, interval: 50 }

/** Waits until every job has ended. */
export async function untilEmpty(queue: QueueBackend): Promise<void> {
  const empty = { waiting: 0, active: 0, total: 0 }
  await vi.waitFor(async () => expect(await queue.counts()).toEqual(empty), PATIENTLY)
}

/** A logger whose lines the test reads. */
export function recordLog(): { logger: Logger; lines: { level: number; msg: string }[] } {
  const lines: { level: number; msg: string }[] = []
  const write = (line: Buffer, _encoding: string, done: () => void) => {
    lines.push(JSON.parse(String(line)))
    done()
  }
  return { logger: pino(new Writable({ write })), lines }
}
