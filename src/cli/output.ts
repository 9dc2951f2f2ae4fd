import { colours } from './colours.ts'
import { pad, plain, terminalWidth, widthOf, wrap } from './layout.ts'

/** Prints one JSON document: on one line for machines, indented on a terminal. */
export function printJson(document: unknown): void {
  process.stdout.write(`${JSON.stringify(document, null, process.stdout.isTTY ? 2 : undefined)}\n`)
}

/** Prints lines. */
export function print(...lines: string[]): void {
  process.stdout.write(lines.map(line => `${line}\n`).join(''))
}

/** Prints the title of a section, with a blank line above. */
export function printTitle(title: string): void {
  print('', colours.bold(title))
}

type Fact = [name: string, value: string | number | null | undefined]

/** Facts under each other, their values aligned and wrapped; those without a value are left out. */
export function factLines(facts: Fact[]): string[] {
  const present = facts.filter(([, value]) => value !== null && value !== undefined && value !== '')
  const width = Math.max(...present.map(([name]) => widthOf(name)), 0)
  return present.flatMap(([name, value]) =>
    wrap(plain(String(value)), terminalWidth() - width - 4).map(
      (text, i) => `  ${i === 0 ? colours.dim(pad(name, width)) : ' '.repeat(width)}  ${text}`,
    ),
  )
}

/** Prints facts, see {@link factLines}. */
export function printFacts(facts: Fact[]): void {
  print(...factLines(facts))
}

/** Prints a text wrapped and indented. */
export function printText(text: string, indent = 2): void {
  for (const line of wrap(plain(text), terminalWidth() - indent)) print(' '.repeat(indent) + line)
}

/** Prints what to do, after an arrow. */
export function printArrow(text: string, indent = 2): void {
  const lines = wrap(plain(text), terminalWidth() - indent - 2)
  for (const [i, line] of lines.entries()) print(`${' '.repeat(indent)}${i === 0 ? '→' : ' '} ${line}`)
}

/** `3 departments`, `1 department`. */
export function counted(count: number, noun: string): string {
  return `${count.toLocaleString('en')} ${noun}${count === 1 ? '' : 's'}`
}

/** An identifier as words: `awaiting_activation` becomes `awaiting activation`. */
export function words(identifier: string): string {
  return identifier.replaceAll('_', ' ')
}
