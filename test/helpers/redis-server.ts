import { spawn } from 'node:child_process'
import { mkdtemp } from 'node:fs/promises'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { killChild, untilReady } from './children.ts'
import { freePort } from './free-port.ts'
import { program } from './programs.ts'

/** A Redis of its own process, with append-only file, so that it can be killed and started again. */
export interface RedisServer {
  readonly url: string
  /** Where it keeps what it has. */
  folder: string
  /** Forgets everything, as a wiped Redis does. */
  flush(): Promise<void>
  /** Kills the process (`kill -9`) and starts it again on the same port with what it had on disk. */
  restart(): Promise<void>
  /** Kills the process. Idempotent. */
  stop(): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}

/** Starts redis-server on a free port of 127.0.0.1. */
export async function launchRedis(options: { runFolder: string; databases?: number }): Promise<RedisServer> {
  const folder = await mkdtemp(join(options.runFolder, 'redis-'))
  const port = await freePort()
  const url = `redis://127.0.0.1:${port}`

  const start = async () => {
    const child = spawn(
      program('redis'),
      [
        ...['--port', String(port), '--bind', '127.0.0.1', '--dir', folder, '--save', ''],
        ...['--appendonly', 'yes', '--appendfsync', 'no', '--maxmemory-policy', 'noeviction'],
        ...['--databases', String(options.databases ?? 16)],
      ],
      { stdio: ['ignore', 'pipe', 'pipe'], cwd: folder },
    )
    await untilReady(options.runFolder, child, 'Ready to accept connections')
    return child
  }

  let child = await start()
  const stop = () => killChild(child)
  return {
    url,
    folder,
    async flush() {
      const client = new Redis(url, { maxRetriesPerRequest: 1 })
      client.on('error', () => {}) // the command fails, too
      try {
        await client.flushall()
      } finally {
        client.disconnect()
      }
    },
    async restart() {
      await stop()
      child = await start()
    },
    stop,
    [Symbol.asyncDispose]: stop,
  }
}
