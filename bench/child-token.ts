import { flushCompileCache } from 'node:module'
import { loadConfig } from '../src/config.ts'
import { connectPlatform } from '../src/connections.ts'
import { createPool } from '../src/lib/database.ts'
import { createLogger } from '../src/lib/logger.ts'
import { LocalPacer } from '../src/platform/caller.ts'
import { PlatformClient } from '../src/platform/client.ts'
import type { TokenCall, TokenTask } from './tokens.ts'

let client: PlatformClient | undefined

/**
 * One process of a deployment as `src/connections.ts` composes it, or one that shares nothing with others. Makes the
 * requested number of concurrent calls, answers when all have succeeded, and runs until it is killed.
 */
process.on('message', async ({ task, userids }: TokenCall) => {
  client ??= connect(task)
  const { employees } = client
  try {
    await Promise.all(userids.map(userid => employees.get({ userid })))
    flushCompileCache() // otherwise a killed process leaves no compile cache to the next one
    process.send?.({})
  } catch (error) {
    process.send?.({ error: String(error) })
  }
})

function connect({ settings, shared }: TokenTask): PlatformClient {
  const config = loadConfig(settings)
  const logger = createLogger({ level: 'error', pretty: false })
  if (shared) {
    const pool = createPool(config.DATABASE_URL, { max: 4, name: 'bench', logger })
    return connectPlatform(config, pool, logger)
  }
  return new PlatformClient({
    baseUrl: config.PLATFORM_BASE_URL,
    appId: config.PLATFORM_APP_ID,
    appSecret: config.PLATFORM_APP_SECRET,
    pacer: new LocalPacer(Number(config.PLATFORM_RATE_LIMIT)),
  })
}
