import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { registerChild } from '../test/helpers/children.ts'
import type { QueuePlace } from './bare-queue.ts'
import { EMPLOYEES_SQL } from './people.ts'
import type { PlatformAccess } from './workshop.ts'

/** What the processes of a deployment share. */
export interface Deployment extends QueuePlace {
  platform: PlatformAccess
  /** The configured calls per second. */
  ratePerSecond: number
}

/** The settings of a deployment: no cron job except the sweep, and no run is ever held. */
export async function serviceEnvironment(
  runFolder: string,
  { databaseUrl, redisUrl, platform, ratePerSecond }: Deployment,
): Promise<Record<string, string | undefined>> {
  const mapping = join(runFolder, 'employees.sql')
  await writeFile(mapping, EMPLOYEES_SQL)
  const off = ['SYNC_CHANGES', 'FULL_RESYNC', 'DEPARTMENTS', 'OPENIDS', 'RETRY_DUE', 'PRUNE']
  return {
    PATH: process.env.PATH,
    DATABASE_URL: databaseUrl,
    ...(redisUrl === null ? {} : { REDIS_URL: redisUrl }),
    HR_DATABASE_URL: databaseUrl,
    HR_EMPLOYEES_SQL: mapping,
    PLATFORM_BASE_URL: platform.baseUrl,
    PLATFORM_APP_ID: platform.appId,
    PLATFORM_APP_SECRET: platform.appSecret,
    PLATFORM_RATE_LIMIT: String(ratePerSecond),
    BREAKER_EMPLOYEES: '10000000',
    LOG_LEVEL: 'warn',
    ...Object.fromEntries(off.map(job => [`SCHEDULE_${job}`, 'off'])),
  }
}

/**
 * Runs `dirsync start` once for each entry of `roles`, and resolves when all are up.
 * @param settings overrides
 */
export async function startService(
  runFolder: string,
  deployment: Deployment,
  roles: readonly string[],
  settings: Record<string, string> = {},
): Promise<{ pids: number[]; stop(): Promise<void> }> {
  const env = { ...(await serviceEnvironment(runFolder, deployment)), ...settings }
  const launcher = join(import.meta.dirname, '../bin/dirsync')
  const children = roles.map(role => {
    const child = spawn(launcher, ['start', '--roles', role], { env, stdio: ['ignore', 'pipe', 'pipe'] })
    registerChild(runFolder, child)
    return child
  })
  await Promise.all(
    children.map(
      child =>
        new Promise<void>((resolve, reject) => {
          let printed = ''
          const look = (chunk: Buffer) => {
            printed += chunk
            if (/"msg":"Running\./.test(printed)) resolve()
          }
          child.stdout.on('data', look)
          child.stderr.on('data', look)
          child.once('error', reject)
          child.once('exit', code => reject(new Error(`dirsync ended with ${code}: ${printed}`)))
        }),
    ),
  )
  return {
    pids: children.map(({ pid }) => pid as number),
    async stop() {
      const exits = children.map(child => once(child, 'exit'))
      for (const child of children) child.kill('SIGTERM')
      await Promise.all(exits)
    },
  }
}
