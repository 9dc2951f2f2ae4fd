import type { Command } from 'commander'
import { FailedError } from '../failure.ts'
import { coloured, pad, plain, print, printJson, terminalWidth, wrap } from '../output.ts'

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

/** One line of `dirsync doctor`. */
export interface Finding {
  check: string
  /** `warning`: it works, but somebody should know. */
  status: 'ok' | 'warning' | 'failed'
  what: string
  remedy?: string
}

export function ok(check: string, what: string): Finding {
  return { check, status: 'ok', what }
}

export function warning(check: string, what: string, remedy?: string): Finding {
  return { check, status: 'warning', what, ...(remedy ? { remedy } : {}) }
}

export function failed(check: string, what: string, remedy?: string): Finding {
  return { check, status: 'failed', what, ...(remedy ? { remedy } : {}) }
}

const LABELS = { ok: 'ok', warning: 'warn', failed: 'FAIL' }

/** One finding after the other, each with its remedy. */
function printFindings(findings: Finding[]): void {
  const width = Math.max(...findings.map(({ check }) => check.length))
  const indent = ' '.repeat(4 + 2 + width + 2)
  for (const { status, check, what, remedy } of findings) {
    const label = LABELS[status]
    const room = terminalWidth() - indent.length
    const [first = '', ...rest] = wrap(plain(what), room)
    print(`${coloured(label)}${' '.repeat(4 - label.length)}  ${pad(check, width)}  ${first}`)
    for (const line of rest) print(indent + line)
    if (remedy)
      for (const [i, line] of wrap(plain(remedy), room - 2).entries())
        print(`${indent}${i === 0 ? '→ ' : '  '}${line}`)
  }
}
