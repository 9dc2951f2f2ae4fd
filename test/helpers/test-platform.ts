import { startEmulator } from '../../emulator/emulator.ts'

/** A strict platform with one application, and the settings that name them. */
export async function testPlatform(seed: object) {
  const account = { appId: 'test-application', appSecret: 'test-secret' }
  const emulator = await startEmulator({ strict: true, ...account, seed })
  return {
    emulator,
    settings: {
      PLATFORM_BASE_URL: emulator.url,
      PLATFORM_APP_ID: account.appId,
      PLATFORM_APP_SECRET: account.appSecret,
    },
  }
}
