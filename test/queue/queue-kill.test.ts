import { type ChildProcess, fork } from 'node:child_process'
import { on, once } from 'node:events'
import { join } from 'node:path'
import { expect, inject, test } from 'vitest'
import { describeBackends } from '../helpers/backends.ts'
import { registerChild } from '../helpers/children.ts'
import { STORES, type TestStore } from './backends.ts'
import { newKey, openQueue, recordLog, silent, untilEmpty, update } from './queue-helpers.ts'
import { Recorder } from './recorder.ts'

/**
 * Starts a process that claims jobs and never ends them, and waits until it holds so many.
 * @param clockOffMs by how much its clock is ahead
 */
async function startProcess(
  store: TestStore,
  jobs: number,
  clockOffMs = 0,
): Promise<{ child: ChildProcess; held: string[] }> {
  const file = join(import.meta.dirname, 'fixtures/worker-process.ts')
  const child = fork(file, [JSON.stringify(store.options()), String(jobs), String(clockOffMs)])
  registerChild(inject('runFolder'), child)
  const held: string[] = []
  for await (const [key] of on(child, 'message')) {
    held.push(key)
    if (held.length === jobs) break
  }
  return { child, held }
}

async function kill(child: ChildProcess): Promise<void> {
  child.kill('SIGKILL')
  await once(child, 'exit')
}

// The locks of the killed process must expire, so these run at once; the time-out is what is promised.
describeBackends(
  'after kill -9 of a process the queue in',
  { timeout: 25_000, concurrent: true },
  ({ kind }) => {
    const { openOwn } = STORES[kind]

    test('runs its jobs, once each although they were added again meanwhile, and logs them in one line', async () => {
      await using store = await openOwn()
      await using queue = await openQueue(store)
      const keys = Array.from({ length: 8 }, newKey)
      const jobs = keys.map((key, index) => update(key, 1 + index))
      await queue.add(jobs)
      const { child, held } = await startProcess(store, 5)
      const again = held.slice(0, 2)
      await queue.add(again.map(key => update(key)))
      await kill(child)

      const { logger, lines } = recordLog()
      const recorder = new Recorder('held')
      const worker = queue.work(recorder.handler, { concurrency: 20, logger })
      await recorder.execution(3) // the ones that waited
      await recorder.execution(8) // and the ones that were held
      expect(recorder.keys.toSorted()).toEqual(keys.toSorted())
      await queue.add(held.map(key => update(key))) // active again
      expect(recorder.started.length).toBe(8)
      for (const execution of recorder.started.slice()) execution.end()
      await untilEmpty(queue)
      await queue.add(held.map(key => update(key)))
      for (let count = 9; count <= 13; count += 1) (await recorder.execution(count)).end()
      await untilEmpty(queue)
      expect(recorder.keys.slice(8).toSorted()).toEqual(held.toSorted())
      await worker.close(1_000)
      const told = lines.filter(({ msg }) => msg.includes('vanished')) as { jobs?: string[] }[]
      const ids = jobs.filter(({ keys: [key = ''] }) => held.includes(key)).map(({ id }) => id)
      expect(told.map(({ jobs: taken }) => taken?.toSorted())).toEqual([ids.toSorted()])
    })

    test.each([3, -3])('runs its jobs although its clock was off by %i hours', async hours => {
      await using store = await openOwn()
      await using queue = await openQueue(store)
      await queue.add([update('a')])
      const { child } = await startProcess(store, 1, hours * 3_600_000)
      await kill(child)

      const recorder = new Recorder('held')
      const worker = queue.work(recorder.handler, { concurrency: 20, logger: silent })
      ;(await recorder.execution(1)).end()
      await untilEmpty(queue)
      await worker.close(1_000)
    })

    test('an add after the kill and before the recovery does not double the job', async () => {
      await using store = await openOwn()
      await using queue = await openQueue(store)
      await queue.add([update('a')])
      const { child } = await startProcess(store, 1)
      await kill(child)
      await queue.add([update('a'), update('b')])

      const recorder = new Recorder('held')
      const worker = queue.work(recorder.handler, { concurrency: 20, logger: silent })
      ;(await recorder.execution(1)).end()
      const recovered = await recorder.execution(2)
      expect(recorder.keys).toEqual(['b', 'a'])
      recovered.end()
      await untilEmpty(queue)
      await queue.add([update('a')])
      ;(await recorder.execution(3)).end()
      await untilEmpty(queue)
      expect(recorder.keys).toEqual(['b', 'a', 'a'])
      expect(recorder.mostRunning).toBe(1)
      await worker.close(1_000)
    })
  },
)
