import { join } from 'node:path'
import { defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'
import { common, tests } from '../../vitest.config.ts'
import { unitTests } from '../unit.ts'

/** The tests that hold a folder of src, where they are not those of its name alone. */
const HELD_BY: Record<string, string[]> = {
  directory: ['directory/*', 'sync/*'],
  money: ['money/*', 'console/{money,records,lists}'],
  pacing: ['pacing/*', 'sync/*'],
  platform: ['{platform,emulator,contract}/*'],
}
const folder = process.env.FOLDER
if (!folder) throw new Error('FOLDER says which folder of src is changed, such as FOLDER=money')

/** The first test that fails is enough, so the fast ones come first. */
class UnitTestsFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const unit = new Set(unitTests().map(file => join(import.meta.dirname, '..', file)))
    const rank = ({ moduleId }: TestSpecification) => (unit.has(moduleId) ? 0 : 1)
    return (await super.sort(files)).toSorted((a, b) => rank(a) - rank(b))
  }
}

export default defineConfig({
  test: {
    ...common,
    globalSetup: 'test/helpers/global-setup.ts',
    include: (HELD_BY[folder] ?? [`${folder}/**/*`]).map(held => `test/${held}.test.ts`),
    exclude: tests.exclude,
    isolate: false,
    sequence: { sequencer: UnitTestsFirst },
    // Changed code counts its way through every test, and one that waits in vain is to end.
    testTimeout: 60_000,
    expect: { poll: { timeout: 10_000, interval: 50 } },
  },
})
