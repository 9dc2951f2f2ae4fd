import { readFile } from 'node:fs/promises'
import type { Emulator } from '../../emulator/emulator.ts'
import { loadSampleHr, SAMPLE } from '../../src/trial/environment.ts'
import { createTestDatabase, type TestDatabase } from './postgres.ts'
import { testPlatform } from './test-platform.ts'

/** The sample company as a real deployment: two databases, a platform, and the settings that name them. */
export interface Deployment extends AsyncDisposable {
  own: TestDatabase
  hr: TestDatabase
  emulator: Emulator
  /** Environment of a `dirsync` process. */
  settings: Record<string, string>
}

/** @param options.migrated false leaves dirsync's database empty */
export async function createDeployment(options: { migrated?: boolean } = {}): Promise<Deployment> {
  const [own, hr] = await Promise.all([
    createTestDatabase({ migrated: options.migrated ?? true }),
    createTestDatabase(),
  ])
  await loadSampleHr(hr.url)
  const { emulator, settings: platform } = await testPlatform(
    JSON.parse(await readFile(SAMPLE.platform, 'utf8')),
  )
  return {
    own,
    hr,
    emulator,
    settings: {
      DATABASE_URL: own.url,
      HR_DATABASE_URL: hr.url,
      HR_EMPLOYEES_SQL: SAMPLE.employeesSql,
      HR_DEPARTMENTS_SQL: SAMPLE.departmentsSql,
      ...platform,
      PLATFORM_RATE_LIMIT: '5000',
      SELLER_APPIDS: 'mall0001',
      CONSOLE_PORT: '0',
    },
    async [Symbol.asyncDispose]() {
      await emulator.close()
      await Promise.all([own.close(), hr.close()])
    },
  }
}
