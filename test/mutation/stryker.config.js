/**
 * Stryker changes the code of one folder of src in one place at a time, and the tests that reach the place run, on real servers:
 * `FOLDER=money npx stryker run test/mutation/stryker.config.js`. docs/reliability.md says how it is installed, and what came of it.
 */
export default {
  testRunner: 'vitest',
  vitest: { configFile: 'test/mutation/vitest.config.ts', related: false, pool: 'forks' },
  mutate: [`src/${process.env.FOLDER}/**/*.ts`],
  ignoreStatic: true,
  coverageAnalysis: 'perTest',
  // What waits for an event that a change keeps from coming waits as long as this.
  timeoutMS: 15_000,
  dryRunTimeoutMinutes: 15,
  tsconfigFile: 'none',
  reporters: ['clear-text', 'json', 'progress-append-only'],
  tempDirName: '.dirsync/mutation',
  jsonReporter: { fileName: `.dirsync/mutation-${process.env.FOLDER}.json` },
}
