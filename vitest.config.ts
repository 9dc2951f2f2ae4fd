import { defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'
import { programTags } from './test/helpers/programs.ts'

/** The files that take longest lie here: they begin first, so that no long one is left alone at the end. */
const LONG = [
  'e2e/convergence',
  'sync/engine',
  'e2e/',
  'console/browser/',
  'trial/',
  'mirrors/',
  'examples/',
  'ops/',
  'bin/',
  'cli/',
  'queue/',
]

class LongFilesFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification) => {
      const place = LONG.findIndex(folder => moduleId.includes(`/test/${folder}`))
      return place < 0 ? LONG.length : place
    }
    return (await super.sort(files)).sort((a, b) => rank(a) - rank(b))
  }
}

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    globalSetup: 'test/helpers/global-setup.ts',
    setupFiles: 'test/helpers/each-file.ts',
    tags: programTags(),
    sequence: { sequencer: LongFilesFirst },
    pool: 'forks',
    maxWorkers: 4,
    testTimeout: 120_000,
    hookTimeout: 180_000,
    teardownTimeout: 30_000,
    // An event that comes costs no more for it.
    expect: { poll: { timeout: 60_000, interval: 50 } },
  },
})
