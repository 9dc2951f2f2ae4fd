import type { Logger } from 'pino'
import { FilesServer } from './files/server.ts'
import { FILES_DEFAULTS, type FilesSettings } from './files/settings.ts'
import { MysqlServer } from './mysql/server.ts'
import { PostgresServer } from './postgres/server.ts'
import type { HrServer } from './server.ts'

/**
 * The HR server that an address leads to: its scheme says of which kind it is. Nothing is connected yet.
 * @param files how files are read, where HR is in files
 */
export function hrServer(url: string, logger: Logger, files: FilesSettings = FILES_DEFAULTS): HrServer {
  const log = logger.child({ component: 'hr' })
  const scheme = url.slice(0, url.indexOf(':'))
  switch (scheme) {
    case 'postgres':
    case 'postgresql':
      return new PostgresServer(url, log)
    case 'mysql':
    case 'mariadb':
      return new MysqlServer(url, log)
    case 'files':
      return new FilesServer(url, files, log)
    default:
      throw new Error(`HR cannot be read from an address that begins with ${scheme}:`)
  }
}
