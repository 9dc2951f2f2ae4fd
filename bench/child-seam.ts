import { annotate, traced, UNTRACED } from '../src/lib/tracing.ts'
import { answerParent } from './child.ts'
import type { SeamTask } from './traces.ts'

/** Share of the jobs that are made before the clock starts, so that the code is compiled. */
const WARM_UP = 0.2

// Does the steps of empty jobs, either through the tracing seam with tracing off, or without it. Answers with
// seconds.
answerParent<SeamTask, number>(async ({ jobs, seam }) => {
  const job = seam ? jobThroughSeam : bareJob
  const run = async (count: number) => {
    for (let i = 0; i < count; i += 1) await job()
  }
  await run(jobs * WARM_UP)
  const startedAt = performance.now()
  await run(jobs)
  return (performance.now() - startedAt) / 1000
})

const step = async () => {}

async function bareJob(): Promise<void> {
  await step()
  await step()
  await step()
  await step()
}

/** As many calls of the seam as a job with one query makes. */
function jobThroughSeam(): Promise<void> {
  return UNTRACED.trace('update-employee', { kind: 'consumer' }, async trace => {
    await traced('lock', step)
    await traced('claim', step)
    trace.cameUp(1, 'queue')
    trace.belongsTo('run 1')
    trace.annotate({ 'dirsync.priority': 5, 'dirsync.attempts': 0, 'dirsync.starts': 1, 'dirsync.run': 1 })
    await traced('read HR', step)
    UNTRACED.tell({ name: 'employee/get', kind: 'client', tookMs: 5, attributes: { code: '0', ms: 5 } })
    annotate({ n: 1 })
    await traced('settle', step)
    trace.annotate({ 'dirsync.outcome': 'in_sync' })
  })
}
