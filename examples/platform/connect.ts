import { PlatformClient } from 'dirsync/platform'

const { PLATFORM_BASE_URL, PLATFORM_APP_ID, PLATFORM_APP_SECRET, PLATFORM_ENTERPRISE_CODE } = process.env

/**
 * A client for the application in the environment; by default, for `dirsync emulator --secret s3cret --seed
 * examples/hr/platform.json`.
 */
export function connect(): PlatformClient {
  return new PlatformClient({
    baseUrl: PLATFORM_BASE_URL ?? 'http://127.0.0.1:8090',
    appId: PLATFORM_APP_ID ?? 'demo-application',
    appSecret: PLATFORM_APP_SECRET ?? 's3cret',
  })
}

/** Group and operator accounts name the enterprise in every call; a single enterprise leaves it out. */
export const enterprise_code = PLATFORM_ENTERPRISE_CODE ?? 'E100'
