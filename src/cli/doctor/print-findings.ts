import { coloured } from '../colours.ts'
import { pad, plain, terminalWidth, wrap } from '../layout.ts'
import { print } from '../output.ts'
import type { Finding } from './finding.ts'

const LABELS = { ok: 'ok', warning: 'warn', failed: 'FAIL' }

/** One finding after the other, each with its remedy. */
export function printFindings(findings: Finding[]): void {
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
