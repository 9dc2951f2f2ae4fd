import { readFile } from 'node:fs/promises'
import { type Emulator, startEmulator } from '../../emulator/emulator.ts'
import { loadSampleHr, SAMPLE } from '../../src/trial/environment.ts'
import { createTestDatabase, type TestDatabase } from './postgres.ts'

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
  const emulator = await startEmulator({
    strict: true,
    appId: 'test-application',
    appSecret: 'test-secret',
    seed: JSON.parse(await readFile(SAMPLE.platform, 'utf8')),
  })
  return {
    own,
    hr,
    emulator,
    settings: {
      DATABASE_URL: own.url,
      HR_DATABASE_URL: hr.url,
      HR_EMPLOYEES_SQL: SAMPLE.employeesSql,
      HR_DEPARTMENTS_SQL: SAMPLE.departmentsSql,
      PLATFORM_BASE_URL: emulator.url,
      PLATFORM_APP_ID: 'test-application',
      PLATFORM_APP_SECRET: 'test-secret',
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
