import type { Command } from 'commander'
import { FailedError } from '../failure.ts'
import { printJson } from '../output.ts'
import { printFindings } from './print-findings.ts'

/** `dirsync doctor`: everything that has to be right, one line each. */
export function doctorCommand(program: Command): void {
  program
    .command('doctor')
    .summary('check everything that has to be right')
    .description('check settings, databases, queue, mapping, clock and credentials')
    .option('--json', 'print one JSON document')
    .addHelpText(
      'after',
      `
One line per check: ok, warn (works, but read it) or FAIL, with what to do.
Exit 1 when something fails.
Nothing is changed, except that an access token is created where there is none.
Where the platform refuses the application (1000210003), the other signature
algorithms are tried, once each, and the one that it accepts is told.

Examples:
  dirsync doctor
  docker compose run --rm dirsync doctor`,
    )
    .action(doctor)
}

async function doctor(options: { json?: true }): Promise<void> {
  const { examine } = await import('./examination.ts')
  const findings = await examine()
  const isWell = findings.every(({ status }) => status !== 'failed')
  if (options.json) printJson({ ok: isWell, findings })
  else printFindings(findings)
  if (!isWell) throw new FailedError('')
}
