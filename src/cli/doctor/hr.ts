import { type Config, ConfigError } from '../../config.ts'
import { connectHr } from '../../connections.ts'
import { isHeard } from '../../hr/change-listener.ts'
import { connectClient, textRows } from '../../hr/rows.ts'
import { type HrSource, HrUnavailableError, MappingError } from '../../hr/source.ts'
import { triggeredTables } from '../../hr/trigger.ts'
import type { Logger } from '../../lib/logger.ts'
import type { Deployment } from '../../sync/deployment.ts'
import { type Finding, failed, ok, warning } from './doctor.ts'

/**
 * The HR database and its mappings.
 * @param deployment null: nothing was started yet
 */
export async function examineHr(
  config: Config,
  deployment: Deployment | null,
  logger: Logger,
): Promise<Finding[]> {
  const access = await examineAccess(config)
  const answers = access.every(({ status }) => status !== 'failed')
  let hr: HrSource
  try {
    hr = await connectHr(config, logger)
  } catch (error) {
    if (!(error instanceof ConfigError) && !(error instanceof MappingError)) throw error
    return [...access, failed('mapping', error.message, 'Correct the file, or the setting that names it.')]
  }
  try {
    return answers
      ? [...access, ...(await examineMapping(hr)), ...(await examineTrigger(config, deployment))]
      : access
  } finally {
    await hr.close()
  }
}

async function examineAccess(config: Config): Promise<Finding[]> {
  try {
    const client = await connectClient(config.HR_DATABASE_URL)
    try {
      const [[version, readOnly] = []] = await textRows(
        client,
        `select current_setting('server_version'), current_setting('transaction_read_only')`,
      )
      const [[writable] = []] = await textRows(
        client,
        `select count(*) from pg_class c join pg_namespace n on n.oid = c.relnamespace
         where c.relkind in ('r', 'p') and n.nspname not in ('pg_catalog', 'information_schema') and n.nspname !~ '^pg_'
           and has_table_privilege(c.oid, 'insert, update, delete')`,
      )
      const answers = ok('hr', `PostgreSQL ${version} answers; sessions are read-only (${readOnly})`)
      if (config.embedded || writable === '0') return [answers]
      return [
        answers,
        warning(
          'hr',
          `the HR user may write to ${writable} tables, though dirsync never does`,
          'Give HR_DATABASE_URL a user that may only SELECT.',
        ),
      ]
    } finally {
      await client.end()
    }
  } catch (error) {
    if (!(error instanceof HrUnavailableError)) throw error
    return [failed('hr', error.message)]
  }
}

/** The optional trigger: whether it is there, and whether somebody listens. */
async function examineTrigger(config: Config, deployment: Deployment | null): Promise<Finding[]> {
  const client = await connectClient(config.HR_DATABASE_URL)
  try {
    const names = (await triggeredTables(client)).map(({ schema, name }) => `${schema}.${name}`).join(', ')
    if (names === '') return [ok('trigger', 'not installed: cron jobs find the changes of HR')]
    if (deployment && (await isHeard(client, deployment.id)))
      return [ok('trigger', `${names}: heard by a scheduler`)]
    return [
      warning(
        'trigger',
        `${names}: installed, and nobody listens`,
        'Start a scheduler; where one runs, HR_DATABASE_URL must not lead through a pooler or to a replica.',
      ),
    ]
  } catch (error) {
    return [warning('trigger', `not looked at: ${(error as Error).message}`)]
  } finally {
    await client.end()
  }
}

async function examineMapping(hr: HrSource): Promise<Finding[]> {
  try {
    const { employees, departments } = await hr.inspect()
    return [
      ok('mapping', `${employees.file}: ${employees.columns.join(', ')}`),
      departments
        ? ok('mapping', `${departments.file}: ${departments.columns.join(', ')}`)
        : ok('mapping', 'HR_DEPARTMENTS_SQL is not set: no department is ever deleted'),
    ]
  } catch (error) {
    if (!(error instanceof MappingError) && !(error instanceof HrUnavailableError)) throw error
    return [failed('mapping', error.message, 'Correct the mapping file.')]
  }
}
