import type { Logger } from 'pino'
import { MysqlServer } from './mysql/server.ts'
import { PostgresServer } from './postgres/server.ts'
import type { HrServer } from './server.ts'

/** The HR server that an address leads to: its scheme says of which kind it is. Nothing is connected yet. */
export function hrServer(url: string, logger: Logger): HrServer {
  const log = logger.child({ component: 'hr' })
  const scheme = url.slice(0, url.indexOf(':'))
  switch (scheme) {
    case 'postgres':
    case 'postgresql':
      return new PostgresServer(url, log)
    case 'mysql':
    case 'mariadb':
      return new MysqlServer(url, log)
    default:
      throw new Error(`HR cannot be read from an address that begins with ${scheme}:`)
  }
}
