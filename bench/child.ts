import { fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { registerChild } from '../test/helpers/children.ts'

/** Calls per second, more than any machine makes. */
export const NO_LIMIT = 1_000_000

type Answer<Result> = { ready: true } | { result: Result } | { error: string }

/** A child that is prepared and waits for the start signal. */
interface ReadyChild<Result> {
  /** Gives the signal; resolves with the child's answer. */
  go(): Promise<Result>
}

/**
 * Runs one of this folder's `child-*.ts` in a process of its own and resolves with its answer.
 * @param runFolder where the process is registered, so that it ends with the run
 */
export async function askChild<Task extends object, Result>(
  runFolder: string,
  file: string,
  task: Task,
): Promise<Result> {
  const child = await readyChild<Task, Result>(runFolder, file, task)
  return await child.go()
}

/** Starts a child and waits until it has prepared itself, so that several can begin at the same time. */
export async function readyChild<Task extends object, Result>(
  runFolder: string,
  file: string,
  task: Task,
): Promise<ReadyChild<Result>> {
  const child = fork(join(import.meta.dirname, file), { execArgv: ['--disable-warning=ExperimentalWarning'] })
  registerChild(runFolder, child)
  const ready = Promise.withResolvers<void>()
  const result = Promise.withResolvers<Result>()
  result.promise.catch(() => {}) // one of the two reports it to the caller that waits
  const fail = (error: Error) => {
    ready.reject(error)
    result.reject(error)
  }
  child.on('message', (message: Answer<Result>) => {
    if ('ready' in message) ready.resolve()
    else if ('error' in message) fail(new Error(`${file}: ${message.error}`))
    else result.resolve(message.result)
  })
  child.once('error', fail)
  child.once('exit', code => fail(new Error(`${file} ended with ${code} and without an answer`)))
  child.send(task)
  await ready.promise
  return {
    go() {
      child.send('go')
      return result.promise
    },
  }
}

/** The child's side: carries out the task that it is sent, answers and ends. */
export function answerParent<Task, Result>(work: (task: Task) => Promise<Result>): void {
  answerWhenTold<Task, Result>(async task => () => work(task))
}

/** The child's side if several start together: prepares for the task that it is sent, and starts at the signal. */
export function answerWhenTold<Task, Result>(prepare: (task: Task) => Promise<() => Promise<Result>>): void {
  process.once('message', async (task: Task) => {
    const told = once(process, 'message')
    const answer = await prepare(task)
      .then(async work => {
        process.send?.({ ready: true })
        await told
        return await work()
      })
      .then(
        result => ({ result }),
        error => ({ error: String(error?.stack ?? error) }),
      )
    process.send?.(answer, () => process.disconnect())
  })
}
