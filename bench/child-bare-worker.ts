import { BareCaller } from './bare-call.ts'
import { workBareQueue } from './bare-queue.ts'
import { answerParent } from './child.ts'
import type { WorkTask } from './worker.ts'

// A BullMQ worker with one signed call per job. Answers with the seconds from its start to the last answer.
answerParent<WorkTask, number>(async task => {
  const caller = new BareCaller(task.platform, task.concurrency)
  await caller.createToken()
  const { promise: finished, resolve: finish } = Promise.withResolvers<void>()
  let left = task.jobs
  const startedAt = performance.now()
  const worker = workBareQueue(
    task,
    async userid => {
      const employee = await caller.getEmployee(userid)
      if (employee.userid !== userid) throw new Error('the platform answered about another employee')
      left -= 1
      if (left === 0) finish()
    },
    task.concurrency,
  )
  await finished
  const seconds = (performance.now() - startedAt) / 1000
  await worker.close()
  await caller.close()
  return seconds
})
