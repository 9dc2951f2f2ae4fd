import type { Logger } from 'pino'
import { FilesServer } from './files/server.ts'
import { FILES_DEFAULTS, type FilesSettings } from './files/settings.ts'
import { MysqlServer } from './mysql/server.ts'
import { PostgresServer } from './postgres/server.ts'
import { ROW_LIMIT } from './scan.ts'
import type { HrServer } from './server.ts'

/**
 * The HR server of an address, whose scheme decides its kind. Not connected yet.
 * @param files how files are read, for HR in files
 * @param rowLimit the longest row that is read, in bytes
 */
export function hrServer(
  url: string,
  logger: Logger,
  files: FilesSettings = FILES_DEFAULTS,
  rowLimit = ROW_LIMIT,
): HrServer {
  const log = logger.child({ component: 'hr' })
  const settings = { url, files, rowLimit }
  const scheme = url.slice(0, url.indexOf(':'))
  switch (scheme) {
    case 'postgres':
    case 'postgresql':
      return new PostgresServer(settings, log)
    case 'mysql':
    case 'mariadb':
      return new MysqlServer(settings, log)
    case 'files':
      return new FilesServer(settings, log)
    default:
      throw new Error(`HR cannot be read from an address that begins with ${scheme}:`)
  }
}
