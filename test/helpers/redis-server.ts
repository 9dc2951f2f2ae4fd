import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { access, constants, mkdtemp } from 'node:fs/promises'
import { delimiter, join } from 'node:path'
import { Redis } from 'ioredis'
import { registerChild } from './children.ts'
import { freePort } from './free-port.ts'

/** A Redis of its own process, with append-only file, so that it can be killed and started again. */
export interface RedisServer {
  readonly url: string
  /** Forgets everything, as a wiped Redis does. */
  flush(): Promise<void>
  /** Kills the process (`kill -9`) and starts it again on the same port with what it had on disk. */
  restart(): Promise<void>
  /** Kills the process. Idempotent. */
  stop(): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}

/** Path of the redis-server program, or null. */
export async function findRedisServer(): Promise<string | null> {
  const folders = [
    ...(process.env.PATH ?? '').split(delimiter),
    '/usr/bin',
    '/usr/local/bin',
    '/opt/homebrew/bin',
  ]
  for (const folder of folders) {
    const program = join(folder, 'redis-server')
    const isThere = await access(program, constants.X_OK).then(
      () => true,
      () => false,
    )
    if (isThere) return program
  }
  return null
}

/** Starts redis-server on a free port of 127.0.0.1. */
export async function launchRedis(options: { runFolder: string; databases?: number }): Promise<RedisServer> {
  const program = await findRedisServer()
  if (!program) throw new Error('There is no redis-server on this machine: guard the test with hasRedis.')
  const folder = await mkdtemp(join(options.runFolder, 'redis-'))
  const port = await freePort()
  const url = `redis://127.0.0.1:${port}`

  const start = async () => {
    const child = spawn(
      program,
      [
        ...['--port', String(port), '--bind', '127.0.0.1', '--dir', folder, '--save', ''],
        ...['--appendonly', 'yes', '--appendfsync', 'no', '--maxmemory-policy', 'noeviction'],
        ...['--databases', String(options.databases ?? 16)],
      ],
      { stdio: ['ignore', 'pipe', 'pipe'], cwd: folder },
    )
    registerChild(options.runFolder, child)
    let output = ''
    const ready = new Promise<void>((resolve, reject) => {
      const take = (chunk: Buffer) => {
        output += chunk
        if (output.includes('Ready to accept connections')) resolve()
      }
      child.stdout.on('data', take)
      child.stderr.on('data', take)
      child.once('exit', code => reject(new Error(`redis-server ended with ${code}: ${output}`)))
    })
    await ready
    return child
  }

  let child = await start()
  const stop = async () => {
    if (child.exitCode !== null || child.signalCode !== null) return
    const exited = once(child, 'exit')
    child.kill('SIGKILL')
    await exited
  }
  return {
    url,
    async flush() {
      const client = new Redis(url, { maxRetriesPerRequest: 1 })
      await client.flushall()
      await client.quit()
    },
    async restart() {
      await stop()
      child = await start()
    },
    stop,
    [Symbol.asyncDispose]: stop,
  }
}
