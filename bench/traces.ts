import type { Logger } from 'pino'
import { askChild } from './child.ts'
import type { Benchmark } from './figure.ts'
import { describeWork, prepareWork } from './worker.ts'
import type { Workshop } from './workshop.ts'

/** The task of the process that measures the seam. */
export interface SeamTask {
  jobs: number
  /** False: the same steps without the seam. */
  seam: boolean
}

/** What the tracing seam costs a job while no collector is set, compared with the same steps without it. */
export function tracesOff(workshop: Workshop): Benchmark {
  const jobs = 200_000
  const microseconds = async (seam: boolean) =>
    ((await askChild<SeamTask, number>(workshop.folder, 'child-seam.ts', { jobs, seam })) / jobs) * 1e6
  return {
    name: 'traces-off',
    unit: 'µs/job',
    measures:
      'the steps of a job that do nothing, through the seam of tracing with every fact that a job tells it, no collector being set',
    against: 'the same steps without the seam',
    goal: { valueAtMost: 5 },
    prepare: async () => ({
      ours: () => microseconds(true),
      baseline: () => microseconds(false),
      close: async () => {},
    }),
  }
}

/** Throughput of a whole worker that sends every trace to a collector, compared with one without. */
export function tracesOn(
  kind: 'redis' | 'postgres',
  workshop: Workshop,
  jobs: number,
  logger: Logger,
): Benchmark {
  return {
    name: `traces-on-${kind}`,
    unit: 'jobs/s',
    measures: `${describeWork(jobs)}, every trace sent to a collector`,
    against: 'the same without a collector',
    goal: { atLeast: 0.85 },
    async prepare() {
      const work = await prepareWork(kind, workshop, jobs, logger)
      const collector = await workshop.server('collector.ts')
      return {
        async ours() {
          const rate = await work.rate({ collector })
          const bytes = Number(await (await fetch(collector)).text())
          if (bytes < 100 * jobs) throw new Error(`the collector got ${bytes} bytes of ${jobs} jobs`)
          return rate
        },
        baseline: () => work.rate(),
        close: async () => {},
      }
    },
  }
}
