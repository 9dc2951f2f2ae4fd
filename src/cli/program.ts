import { stripVTControlCharacters } from 'node:util'
import { Command, CommanderError } from 'commander'
import { VERSION } from '../version.ts'
import { accountsCommand } from './accounts.ts'
import { deadLettersCommand } from './dead-letters.ts'
import { decideCommands } from './decide.ts'
import { doctorCommand } from './doctor/doctor.ts'
import { employeeCommand } from './employee.ts'
import { emulatorCommand } from './emulator.ts'
import { exitCodeOf, sentenceOf } from './failure.ts'
import { hrCommand } from './hr.ts'
import { migrateCommand } from './migrate.ts'
import { ordersCommand } from './orders.ts'
import { planCommand } from './plan.ts'
import { platformCommand } from './platform.ts'
import { refundCommand } from './refund.ts'
import { resyncCommand } from './resync.ts'
import { runsCommand } from './runs.ts'
import { startCommand } from './start.ts'
import { statusCommand } from './status.ts'
import { switchAccountCommand } from './switch-account.ts'
import { taxpayersCommand } from './taxpayers.ts'
import { topUpCommand } from './top-up.ts'

/**
 * Runs one command, such as `['status', '--json']`.
 * @returns the exit code; what failed has been told on standard error
 */
export async function runProgram(args: string[]): Promise<number> {
  try {
    await createProgram().parseAsync(args, { from: 'user' })
    return 0
  } catch (error) {
    // Help and version are no failures; everything else that commander refuses, in its own words, is wrong usage.
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2
    tell(sentenceOf(error))
    return exitCodeOf(error)
  }
}

function tell(sentence: string): void {
  if (!sentence) return
  const [first = '', ...rest] = sentence.split('\n')
  // Several wrong settings are a line each; what belongs to the first line is indented.
  const lines = [`dirsync: ${first}`, ...rest.map(line => (line.startsWith(' ') ? line : `dirsync: ${line}`))]
  const text = `${lines.join('\n')}\n`
  // Colours are chosen for standard output, which may be a terminal while this is a file.
  process.stderr.write(process.stderr.isTTY ? text : stripVTControlCharacters(text))
}

function createProgram(): Command {
  const program = new Command('dirsync')
    .description(
      'Keeps the employee directory of an enterprise-benefits platform in step with an HR database.',
    )
    .version(VERSION)
    .showHelpAfterError('(run with --help for the usage)')
    .configureHelp({ sortSubcommands: false, showGlobalOptions: false })
    .enablePositionalOptions()
    .addHelpText(
      'after',
      `
Examples:
  dirsync start --once                     sync everything once, and end
  dirsync resync --employee e10172 --wait  sync one employee now
  dirsync dead-letters list                see what failed
  dirsync doctor                           see what is wrong with the settings

Exit codes: 0 done, 1 failed or held, 2 wrong usage or setting.`,
    )
    .exitOverride()

  startCommand(program)
  migrateCommand(program)
  planCommand(program)
  resyncCommand(program)
  statusCommand(program)
  runsCommand(program)
  employeeCommand(program)
  decideCommands(program)
  deadLettersCommand(program)
  ordersCommand(program)
  accountsCommand(program)
  taxpayersCommand(program)
  refundCommand(program)
  topUpCommand(program)
  platformCommand(program)
  doctorCommand(program)
  hrCommand(program)
  switchAccountCommand(program)
  emulatorCommand(program)
  return program
}
