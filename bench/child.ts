import { fork } from 'node:child_process'
import { join } from 'node:path'
import { registerChild } from '../test/helpers/children.ts'

type Answer<Result> = { result: Result } | { error: string }

/**
 * Runs one of this folder's `child-*.ts` in a process of its own and resolves with what it answers.
 * @param runFolder where the process is noted, so that it is ended with the run
 */
export async function askChild<Task extends object, Result>(
  runFolder: string,
  file: string,
  task: Task,
): Promise<Result> {
  const child = fork(join(import.meta.dirname, file), { execArgv: ['--disable-warning=ExperimentalWarning'] })
  registerChild(runFolder, child)
  return await new Promise<Result>((resolve, reject) => {
    let answer: Answer<Result> | undefined
    child.once('message', (message: Answer<Result>) => {
      answer = message
    })
    child.once('error', reject)
    child.once('exit', code => {
      if (answer === undefined) reject(new Error(`${file} ended with ${code} and without an answer`))
      else if ('error' in answer) reject(new Error(`${file}: ${answer.error}`))
      else resolve(answer.result)
    })
    child.send(task)
  })
}

/** The child's half: does the task it is sent, answers and ends. */
export function answerParent<Task, Result>(work: (task: Task) => Promise<Result>): void {
  process.once('message', async (task: Task) => {
    const answer = await work(task).then(
      result => ({ result }),
      error => ({ error: String(error?.stack ?? error) }),
    )
    process.send?.(answer, () => process.disconnect())
  })
}
