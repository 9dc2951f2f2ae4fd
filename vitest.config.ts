import { defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'
import { programTags } from './test/helpers/programs.ts'

/**
 * Tests that one does not wait for: whole deployments whose processes are killed, lose their databases or are looked at from
 * outside; examples, packages and pictures of the repository; walks through the console by a browser; what waits for cut-offs;
 * those that start many processes, or many engines that read HR's files or mappings; what every kind of HR server must do;
 * what asks each page, field, or figure the same in turn.
 */
const LONG = [
  'test/hostile/{canaries,event-streams,money-canaries,slow-callers}.test.ts',
  'test/{bin,compose,console/browser,e2e,examples,ops,trial}/**/*.test.ts',
  'test/{alerts/kill,alerts/lost-process,console/auth/{password,slowing},helpers/programs,jobs/operated-service}.test.ts',
  'test/{mirrors/kill,queue/queue-kill,queue/queue-outage,queue/topologies,sync/account-probe,sync/plan-beside-workers}.test.ts',
  'test/cli/{access,account,alerts,chinese,doctor,hr-check,hr-init,look-up,money,pooler,runs,sample}.test.ts',
  'test/sync/{deliveries,dry-run,fail-over,field-blocks,fields,interrupted-upgrade,mapping,passed-plan,restored}.test.ts',
  'test/hr/{{files,mysql,postgres}/contract,files/deliveries,mysql/connection,postgres/attacks,postgres/server}.test.ts',
  'test/{alerts/healthy,console/access,console/client,console/hostile,console/reads,console/stored-plan,doctor/console}.test.ts',
  'test/mirrors/{failures,mirrors}.test.ts',
]

/**
 * Those that have the machine to themselves, and each a process of its own: they use all of it themselves, hold us to seconds
 * that are promised, or take away what other tests need.
 */
const ALONE = ['test/{pacing/rate-learner,simulation/simulation}.test.ts']
const LONG_ALONE = ['test/{e2e/outage,e2e/stop,queue/queue-kill,unit}.test.ts']

/** Those that take or wait longest: they begin first, so that no long one is left alone at the end. */
const FIRST = [
  ...['e2e/', 'ops/', 'sync/', 'pacing/', 'alerts/', 'console/'],
  ...['hr/', 'jobs/', 'mirrors/', 'cli/', 'queue/'],
]

class LongFilesFirst extends BaseSequencer {
  /** Neighbours, which take alike long, go to different shards. */
  override async shard(files: TestSpecification[]): Promise<TestSpecification[]> {
    const { index, count } = this.ctx.config.shard ?? { index: 1, count: 1 }
    return files
      .toSorted((a, b) => (a.moduleId < b.moduleId ? -1 : 1))
      .filter((_, place) => place % count === index - 1)
  }

  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification) => {
      const place = FIRST.findIndex(folder => moduleId.includes(`/test/${folder}`))
      return place < 0 ? FIRST.length : place
    }
    return (await super.sort(files)).sort((a, b) => rank(a) - rank(b))
  }
}

export const common = {
  setupFiles: 'test/helpers/each-file.ts',
  tags: programTags(),
  pool: 'forks',
  testTimeout: 120_000,
  hookTimeout: 180_000,
  teardownTimeout: 30_000,
  // An event that comes costs no more for it.
  expect: { poll: { timeout: 60_000, interval: 50 } },
} as const

export const tests = {
  ...common,
  name: 'tests',
  include: ['test/**/*.test.ts'],
  exclude: [...LONG, ...LONG_ALONE, ...ALONE],
  // A process runs file after file, and reads what they import only once: this halves the time.
  isolate: false,
  // Half of the time they wait for what happens.
  maxWorkers: 5,
}

export default defineConfig({
  test: {
    globalSetup: 'test/helpers/global-setup.ts',
    tags: common.tags,
    sequence: { sequencer: LongFilesFirst },
    projects: [
      { test: tests },
      {
        test: {
          ...common,
          name: 'long',
          include: LONG,
          exclude: LONG_ALONE,
          isolate: false,
          maxWorkers: 4,
          sequence: { groupOrder: 2 },
        },
      },
      // After the others, one file after the other.
      ...[
        { name: 'alone', include: ALONE, sequence: { groupOrder: 1 } },
        { name: 'long-alone', include: LONG_ALONE, sequence: { groupOrder: 3 } },
      ].map(alone => ({ test: { ...common, ...alone, maxWorkers: 1 } })),
    ],
  },
})
