import type { Command } from 'commander'
import { loadConfig } from '../config.ts'
import { sourcesBeside } from '../connections.ts'
import { HrUnavailableError } from '../hr/errors.ts'
import { readMappingFile } from '../hr/mapping.ts'
import { connectClient } from '../hr/postgres/connection.ts'
import {
  carryOut,
  planInstallation,
  planRemoval,
  script,
  TriggerRefusedError,
  TriggerTableError,
  tableSql,
  tableWord,
  triggersOfSource,
} from '../hr/postgres/trigger.ts'
import { createLogger } from '../lib/logger.ts'
import { message, saidBy, says } from '../texts/message.ts'
import { FailedError, saidOf, UsageError } from './failure.ts'
import { hrCheckCommand } from './hr-check.ts'
import { hrInitCommand } from './hr-init.ts'
import { said, say } from './language.ts'
import { examples, print, printJson } from './output.ts'
import { checkSettings, openSettings } from './settings.ts'
import { oneSource } from './source.ts'

interface TriggerOptions {
  url?: string
  source?: string
  table?: string[]
  print?: true
  dryRun?: true
  json?: true
}

/** `dirsync hr`: the workbench for mappings, and the optional trigger in the HR database. */
export function hrCommand(program: Command): void {
  const command = program
    .command('hr')
    .description('check HR and its mapping, begin one, or install the optional trigger')
    .addHelpText(
      'after',
      `
Everything in dirsync only reads HR, but for install-trigger and
remove-trigger. These write to it, with the address of a user who may: --url,
or HR_DATABASE_URL. check and init need no other settings than those of HR.

Examples:
  dirsync hr init
  dirsync hr check
  dirsync hr install-trigger --print >trigger.sql
  dirsync hr install-trigger --url postgres://owner@hr.example/hr
  dirsync hr remove-trigger --url postgres://owner@hr.example/hr`,
    )

  hrInitCommand(command)
  hrCheckCommand(command)

  common(command.command('install-trigger'))
    .description('make the tables behind HR_EMPLOYEES_SQL notify dirsync of every change')
    .option('--table <schema.table...>', 'these tables, instead of those that the mapping reads')
    .addHelpText(
      'after',
      `
The user needs CREATE on the schema, and must own the tables or be allowed to
create triggers on them. A notification holds user ids and nothing else.

Examples:
  dirsync hr install-trigger --print
  dirsync hr install-trigger --url postgres://owner@hr.example/hr
  dirsync hr install-trigger --table hr.person hr.contact`,
    )
    .action(options => change(options, 'install'))

  common(command.command('remove-trigger'))
    .description('remove what install-trigger installed')
    .option('--table <schema.table...>', 'from these tables, instead of those that no other HR source reads')
    .addHelpText(
      'after',
      examples(
        'dirsync hr remove-trigger --print',
        'dirsync hr remove-trigger --url postgres://owner@hr.example/hr',
      ),
    )
    .action(options => change(options, 'remove'))
}

function common(command: Command): Command {
  return command
    .option('--url <url>', 'the HR database, as a user who may do this (default HR_DATABASE_URL)')
    .option('--source <name>', 'which of the HR systems of HR_SOURCES')
    .option('--print', 'print the statements, for a DBA to run, and change nothing')
    .option('--dry-run', 'the same as --print')
    .option('--json', 'print one JSON document')
}

async function change(options: TriggerOptions, what: 'install' | 'remove'): Promise<void> {
  const logger = createLogger({ level: 'warn' })
  await using settings = await openSettings(checkSettings(), loadConfig, logger)
  const source = oneSource(settings.config.sources, options.source)
  const { address, employeesSql: file } = source
  const url = options.url ?? address
  if (!/^postgres(?:ql)?:/.test(url)) throw new UsageError(message('said.trigger_only_postgres'))
  const client = await connectClient(url).catch(error => {
    throw options.url === undefined ? error : ofUrl(error)
  })
  try {
    const beside = sourcesBeside(source, settings.config)
    const isOurs = await triggersOfSource(source, beside)
    const named = options.table ?? null
    const { tables, kept, statements } =
      what === 'install'
        ? await planInstallation(
            client,
            { file, sql: await readMappingFile(file) },
            named,
            // Another source may have named a table that no mapping reads.
            table => isOurs(table) && (beside.length === 0 || table.isDisabled),
          )
        : await planRemoval(client, named, isOurs)
    const remark =
      what === 'remove' && kept.length > 0
        ? said(message('said.trigger_kept', { names: kept.map(tableWord) }))
        : null
    const isPrinted = options.print || options.dryRun
    if (!isPrinted) await carryOut(client, statements)
    if (options.json) return printJson({ tables, kept: kept.map(tableSql), statements, done: !isPrinted })
    if (isPrinted) {
      // A line break in the name of a table would end the comment.
      if (remark !== null) print(`-- ${remark.replaceAll(/\s+/g, ' ')}`)
      return print(...script(statements))
    }
    if (what === 'remove') {
      if (tables.length > 0 || kept.length === 0)
        print(say('shell.trigger_removed', { tables: tables.length }))
      if (remark !== null) print(remark)
      return
    }
    for (const { table, names } of tables)
      print(
        said(
          names ? message('said.trigger_names', { table, names }) : message('said.trigger_tells', { table }),
        ),
      )
    print(said(message('said.trigger_installed')))
  } catch (error) {
    if (error instanceof TriggerTableError) throw new UsageError(saidBy(error))
    if (error instanceof TriggerRefusedError) throw new FailedError(saidBy(error))
    throw error
  } finally {
    await client.end()
  }
}

/** A failure to connect, where the address is that of --url: it names the settings of HR. What is wrong with TLS names neither. */
function ofUrl(error: unknown): unknown {
  if (!(error instanceof HrUnavailableError) || says(error.said, 'said.hr_without_tls')) return error
  // Without a cause, the server was reached.
  if (error.cause === undefined) return error
  return new FailedError(message('said.url_unusable', { reason: saidOf(error.cause) }), { cause: error })
}
