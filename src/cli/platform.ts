import type { Command } from 'commander'
import type { Operation } from '../platform/operation.ts'
import type { OperationName } from '../platform/operations/index.ts'
import { message } from '../texts/message.ts'
import { UsageError } from './failure.ts'
import { said } from './language.ts'
import { ASKED_BY_PERSON, lookUp } from './look-up.ts'
import { plain, print, printFacts, printJson } from './output.ts'

const HELP = new Set(['--help', '-h'])

/** `dirsync platform`: one call of any operation of the platform. */
export function platformCommand(program: Command): void {
  program
    .command('platform')
    .description('call one operation of the platform, and show its answer')
    .argument('[operation]', 'its path, such as employee/get')
    .argument('[fields...]', '--field value, for each field of the operation; --json')
    // The flags are the operation's own fields, so they are parsed here and not by commander.
    .helpOption(false)
    .allowUnknownOption()
    .passThroughOptions()
    .addHelpText(
      'after',
      `
Without an operation, lists them all; OPERATION --help lists its fields.
--json alone prints the answer, or the list, as one JSON document; --json FILE
reads the request from a file (- for standard input), whose fields the flags
override.
The answer is shown unmasked, as dirsync reads it: without fields that it does
not know, and with the times of orders in UTC. An operation that moves money
asks on a terminal first, and needs --yes elsewhere.

Examples:
  dirsync platform
  dirsync platform employee/get --help
  dirsync platform employee/get --userid e10172 --json
  dirsync platform enterprise/consume/list --time_start 2026-11-01 --page_size 5
  dirsync platform seller/v3/pay/syncRefund --json refund.json --yes`,
    )
    .action((name: string | undefined, rest: string[], _options, command: Command) =>
      platform(name, rest, command),
    )
}

async function platform(name: string | undefined, rest: string[], command: Command): Promise<void> {
  const { OPERATIONS } = await import('../platform/operations/index.ts')
  const names = Object.keys(OPERATIONS)
  if (name === '--json' && rest.length === 0) return printJson(names)
  if (name === undefined) {
    print(said(message('said.operations')), ...names.map(known => `  ${known}`), '')
    print(said(message('said.operation_fields')))
    return
  }
  if (HELP.has(name)) command.help()
  const operationName = name.replace(/^\/+/, '')
  if (!Object.hasOwn(OPERATIONS, operationName))
    throw new UsageError(message('said.no_such_operation', { text: JSON.stringify(name), names }))
  const operation = OPERATIONS[operationName as OperationName] as Operation
  const { operationHelp, readRequestFlags } = await import('./operation-fields.ts')
  if (rest.some(argument => HELP.has(argument))) {
    const lines = await operationHelp(operation)
    return rest.includes('--json') ? printJson({ help: lines.join('\n') }) : print(...lines)
  }
  const given = await readRequestFlags(operation, rest)
  // Operations that move money go through the journal.
  if (!operation.idempotent) {
    const { sendRefundRequest, sendTopUpRequest } = await import('./send-money.ts')
    await (operation.name === 'seller/v3/pay/syncRefund' ? sendRefundRequest(given) : sendTopUpRequest(given))
    return
  }
  const { found } = await lookUp(
    operation.name,
    {},
    (client, enterprise) =>
      client.call(
        operationName as OperationName,
        { ...('enterprise_code' in operation.request.shape ? enterprise : {}), ...given.request },
        ASKED_BY_PERSON,
      ),
    given.flagOf,
  )
  if (given.json) printJson(found)
  else printAnswer(found)
}

function printAnswer(data: unknown): void {
  if (data === null || data === '') print(said(message('said.ok_without_data')))
  else if (typeof data !== 'object') print(String(data))
  else if (Array.isArray(data)) printStructure(data)
  else {
    const fields = Object.entries(data).map(([field, value]): [string, unknown] => [
      field,
      value instanceof Date ? value.toISOString() : (value ?? '–'),
    ])
    printFacts(fields.map(([field, value]) => [field, typeof value === 'object' ? null : String(value)]))
    for (const [field, value] of fields)
      if (typeof value === 'object') {
        print(`  ${field}`)
        printStructure(value, 4)
      }
  }
}

/** Prints a list or an object as JSON, unwrapped, so that its indentation stays intact. */
function printStructure(value: unknown, indent = 2): void {
  for (const line of JSON.stringify(value, null, 2).split('\n')) print(' '.repeat(indent) + plain(line))
}
