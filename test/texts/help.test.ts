import type { EventEmitter } from 'node:events'
import type { Command } from 'commander'
import { test } from 'vitest'
import { fieldsOf, remarksOn } from '../../src/cli/operation-fields.ts'
import { createProgram } from '../../src/cli/program.ts'
import type { Operation } from '../../src/platform/operation.ts'
import { OPERATIONS } from '../../src/platform/operations/index.ts'
import { help } from '../../src/texts/zh-CN/help.ts'
import { expectEachInChinese } from './chinese.ts'

/** What the help consists of in English, with the spaces of running text. */
function* textsOf(command: Command): Generator<string> {
  yield command.description()
  yield command.summary()
  const shown = command.createHelp()
  for (const { description } of [...shown.visibleOptions(command), ...command.registeredArguments])
    yield description
  let after = ''
  for (const listener of (command as unknown as EventEmitter).listeners('afterHelp'))
    listener({ error: false, command, write: (text: string) => (after += text) })
  for (const paragraph of after.trim().split('\n\n')) {
    const [title = '', ...lines] = paragraph.split('\n')
    if (!lines[0]?.startsWith('  ')) {
      yield paragraph
      continue
    }
    yield title
    for (const line of lines) {
      const [, example = line, does = ''] = /^(.*\S) {2,}(\S.*)$/.exec(line) ?? []
      // Words of the reader's own, other than names.
      for (const [, quoted = ''] of example.matchAll(/"([^"]* [a-z][^"]*|[a-z]+)"(?!:)/g)) yield quoted
      yield does
    }
  }
  for (const subcommand of shown.visibleCommands(command)) yield* textsOf(subcommand)
}

/** What stands around these, in commander's words and ours. */
const FRAME = ['Usage:', 'Options:', 'Arguments:', 'Commands:', 'choices:', 'default:']
const OF_OPERATIONS = ['required; ', 'It takes no fields.']
const REFUSED = ['For example:', '(run with --help for the usage)']

test('every text of the help has a Chinese one, and no Chinese one is there for nothing', async () => {
  const texts = new Set([...FRAME, ...OF_OPERATIONS, ...REFUSED])
  for (const command of (await createProgram([], null)).commands) {
    const [name = ''] = command.name().split('|')
    for (const text of textsOf(await createProgram([name], null)))
      texts.add(text.replaceAll(/\s+/g, ' ').trim())
  }
  for (const operation of Object.values<Operation>(OPERATIONS))
    for (const text of [...fieldsOf(operation).map(({ meaning }) => meaning), ...remarksOn(operation)])
      texts.add(text)
  expectEachInChinese(texts, help)
})
