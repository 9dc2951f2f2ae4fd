import { spawn } from 'node:child_process'
import { chmod, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { inject } from 'vitest'
import { killChild, untilReady } from './children.ts'
import { freePort } from './free-port.ts'
import { program } from './programs.ts'
import { temporaryFolder } from './temporary-folder.ts'

/** Starts pgbouncer before the run's PostgreSQL, on a free port of 127.0.0.1; it ends with the file, or by `await using`. */
export async function startPgbouncer(options: {
  mode: 'transaction' | 'session'
}): Promise<AsyncDisposable & { urlOf(database: string): string }> {
  const folder = await temporaryFolder()
  const port = await freePort()
  const server = new URL(inject('postgresUrl'))
  const [user, password] = [server.username, server.password].map(decodeURIComponent)
  const settings = join(folder, 'pgbouncer.ini')
  await writeFile(
    settings,
    `[databases]
* = host=${server.hostname} port=${server.port || 5432} user=${user} ${password ? `password=${password}` : ''}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = any
pool_mode = ${options.mode}
max_client_conn = 200
default_pool_size = 60
tcp_keepidle = 5
tcp_keepintvl = 5
tcp_keepcnt = 2
tcp_user_timeout = 15000
`,
  )
  await Promise.all([chmod(folder, 0o755), chmod(settings, 0o644)])
  // It refuses to run as root.
  const asOther = process.getuid?.() === 0 ? ['-u', 'nobody'] : []
  const child = spawn(program('pgbouncer'), [...asOther, settings], { stdio: ['ignore', 'ignore', 'pipe'] })
  await untilReady(inject('runFolder'), child, 'process up')
  return {
    urlOf: database => `postgres://${user}@127.0.0.1:${port}/${database}`,
    [Symbol.asyncDispose]: () => killChild(child),
  }
}
