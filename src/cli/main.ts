import { Command } from 'commander'
import { VERSION } from '../version.ts'
import { emulatorCommand } from './emulator.ts'
import { exitCodeOf, sentenceOf } from './failure.ts'
import { startCommand } from './start.ts'

const program = new Command('dirsync')
  .description('Keeps the employee directory of an enterprise-benefits platform in step with an HR database.')
  .version(VERSION)
  .showHelpAfterError('(run with --help for the usage)')
  .configureHelp({ sortSubcommands: false, showGlobalOptions: false })
  .exitOverride(error => {
    // Help and version are no failures; everything else that commander refuses is wrong usage.
    process.exit(error.exitCode === 0 ? 0 : 2)
  })

startCommand(program)
emulatorCommand(program)

try {
  await program.parseAsync()
} catch (error) {
  const sentence = sentenceOf(error)
  if (sentence) process.stderr.write(`dirsync: ${sentence}\n`)
  process.exitCode = exitCodeOf(error)
}
