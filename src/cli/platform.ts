import type { Command } from 'commander'
import type { Operation } from '../platform/operation.ts'
import type { OperationName } from '../platform/operations/index.ts'
import { openContext } from './context.ts'
import { FailedError, UsageError } from './failure.ts'
import type { OperationField } from './operation-fields.ts'
import { factLines, print, printFacts, printJson, printText } from './output.ts'

const HELP = new Set(['--help', '-h'])

/** `dirsync platform`: one call of any operation of the specification. */
export function platformCommand(program: Command): void {
  program
    .command('platform')
    .summary('call one operation of the platform')
    .description('call one operation of the platform, with what it answers as it is')
    .argument('[operation]', 'its path, such as employee/get')
    .argument('[fields...]', '--field value, for each field of the operation; --json')
    // The flags are the operation's own fields, so they are read here and not by commander.
    .helpOption(false)
    .allowUnknownOption()
    .passThroughOptions()
    .addHelpText(
      'after',
      `
Without an operation, lists them all; OPERATION --help lists its fields.
The answer is shown unmasked: it is what an operator asked for.

Examples:
  dirsync platform
  dirsync platform employee/get --help
  dirsync platform employee/get --userid e10172 --json
  dirsync platform employee/openid --userid e10172 --seller_appid mall0001`,
    )
    .action((name: string | undefined, rest: string[], _options, command: Command) =>
      platform(name, rest, command),
    )
}

async function platform(name: string | undefined, rest: string[], command: Command): Promise<void> {
  const { OPERATIONS } = await import('../platform/operations/index.ts')
  const names = Object.keys(OPERATIONS)
  if (name === undefined) {
    print('Operations:', ...names.map(known => `  ${known}`), '')
    print('Fields of one: dirsync platform OPERATION --help')
    return
  }
  if (HELP.has(name)) command.help()
  const operationName = name.replace(/^\/+/, '')
  if (!(operationName in OPERATIONS))
    throw new UsageError(`there is no operation ${JSON.stringify(name)}: there are ${names.join(', ')}`)
  const operation = OPERATIONS[operationName as OperationName] as Operation
  const { fieldsOf, rulesOf } = await import('./operation-fields.ts')
  const fields = fieldsOf(operation)
  if (rest.some(argument => HELP.has(argument))) return printHelp(operation.name, fields, rulesOf(operation))
  const { params, json } = readFlags(operation.name, fields, rest)
  await call(operationName as OperationName, fields, params, json)
}

function printHelp(name: string, fields: OperationField[], rules: string[]): void {
  print(`Usage: dirsync platform ${name} [--field value …] [--json]`, '')
  if (fields.length === 0) print('It takes no fields.')
  printFacts(fields.map(({ name, required, rule }) => [`--${name}`, required ? `required; ${rule}` : rule]))
  for (const rule of rules) print('', `It ${rule}.`)
  if (fields.some(field => field.name === 'enterprise_code'))
    print('', 'Without --enterprise_code, PLATFORM_ENTERPRISE_CODE is sent where it is set.')
}

/** Reads `--field value` and `--field=value`. */
function readFlags(
  operation: string,
  fields: OperationField[],
  args: string[],
): { params: Record<string, unknown>; json: boolean } {
  const params: Record<string, unknown> = {}
  let json = false
  const rest = [...args]
  for (let flag = rest.shift(); flag !== undefined; flag = rest.shift()) {
    if (flag === '--json') {
      json = true
      continue
    }
    const [, name = '', attached] = /^--([^=]+)(?:=(.*))?$/s.exec(flag) ?? []
    const field = fields.find(known => known.name === name)
    if (!field)
      throw new UsageError(
        `${JSON.stringify(flag)} is no field of ${operation}: there are ${fields.map(known => `--${known.name}`).join(', ') || 'none'}`,
      )
    if (name in params) throw new UsageError(`--${name} is given twice`)
    const value = attached ?? rest.shift()
    if (value === undefined) throw new UsageError(`--${name} needs a value`)
    params[name] = field.isJson ? parsed(name, value) : value
  }
  return { params, json }
}

function parsed(name: string, text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw new UsageError(`--${name} should be JSON text`, { cause })
  }
}

async function call(
  name: OperationName,
  fields: OperationField[],
  params: Record<string, unknown>,
  json: boolean,
): Promise<void> {
  const [{ PlatformError }, { verdictOf }] = await Promise.all([
    import('../platform/errors.ts'),
    import('../platform/error-catalogue.ts'),
  ])
  await using context = await openContext()
  const { PLATFORM_ENTERPRISE_CODE: enterprise } = context.config
  const takesEnterprise = enterprise !== '' && fields.some(field => field.name === 'enterprise_code')
  const client = await context.platform()
  try {
    const data = await client.call(
      name,
      { ...(takesEnterprise ? { enterprise_code: enterprise } : {}), ...params },
      { priority: 1 },
    )
    if (json) printJson(data)
    else printAnswer(data)
  } catch (error) {
    if (!(error instanceof PlatformError)) throw error
    if (error.problems)
      throw new UsageError(
        error.problems.map(({ field, rule }) => `${field === '' ? name : `--${field}`} ${rule}`).join('\n'),
      )
    const { category, meaning, remedy } = verdictOf(error)
    const facts = {
      operation: name,
      code: error.platformCode ?? error.code,
      category,
      meaning,
      remedy,
      message: error.platformMessage ?? null,
      http_status: error.httpStatus ?? null,
      trace_id: error.traceId ?? null,
      outcome_known: error.outcomeKnown,
    }
    if (json) printJson({ error: facts })
    const { http_status } = facts
    const lines = factLines([
      ['code', facts.code],
      ['meaning', meaning],
      ['remedy', remedy],
      ['message', facts.message],
      ['http', http_status === 200 ? null : http_status],
      ['trace', facts.trace_id],
      ['outcome', facts.outcome_known ? null : 'not known: query before doing it again'],
    ])
    throw new FailedError([`${name} failed`, ...lines].join('\n'))
  }
}

function printAnswer(data: unknown): void {
  if (data === null || data === '') print('OK, without any data.')
  else if (typeof data !== 'object') print(String(data))
  else if (Array.isArray(data)) printText(JSON.stringify(data, null, 2))
  else
    printFacts(
      Object.entries(data).map(([field, value]) => [
        field,
        value === null ? '–' : typeof value === 'object' ? JSON.stringify(value) : String(value),
      ]),
    )
}
