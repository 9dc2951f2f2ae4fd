import { type Command, Option } from 'commander'
import { z } from 'zod'
import type { Ask } from '../console/ask.ts'
import { type Input, type Next, wantedBy } from '../console/endpoint.ts'
import { Marks } from '../console/marks.ts'
import { Problem } from '../console/problem.ts'
import type { Shown } from '../console/shown.ts'
import { ownZone } from '../lib/time-text.ts'
import { message, saidBySchema } from '../texts/message.ts'
import { translator } from '../texts/texts.ts'
import { limitOf, oneOf } from './arguments.ts'
import type { CommandContext } from './context.ts'
import { FailedError, UsageError } from './failure.ts'
import { say, shellLanguage } from './language.ts'
import { print, printJson } from './output.ts'
import { printScreen } from './shown.ts'

/* Endpoints of the console as commands: they run in this process, for the shell user. */

type Shape = z.ZodObject

/** What the console can show. */
interface Read<Result extends z.ZodType, Params extends Shape, Query extends Shape> {
  run(ask: Ask, asked: Input<Params, Query>): Promise<z.output<Result>>
  result: Result
  shown?(ask: Ask, result: z.output<Result>, asked: Input<Params, Query>): Shown
}

/** The shell user may do everything, as they have the settings with all secrets. */
export function shellAsk({ asker, commands, config }: CommandContext, language = shellLanguage()): Ask {
  return {
    language,
    t: translator(language),
    theme: 'auto',
    zone: ownZone(),
    viewer: { name: asker.actor, role: 'admin', via: 'shell' },
    session: null,
    // With port 0, as in the trial, only the listening process knows the address.
    origin:
      config.CONSOLE_URL ?? (config.CONSOLE_PORT === 0 ? '' : `http://127.0.0.1:${config.CONSOLE_PORT}`),
    asker,
    commands,
    url: '/',
    from: null,
    now: new Date(),
    marks: new Marks(),
    findsNames: false,
    readOnly: false,
    may: () => true,
  }
}

/** Runs an endpoint for the shell user. @throws UsageError, FailedError for what the console has an error page for */
export async function runEndpoint<Result, Asked>(
  context: CommandContext,
  endpoint: { run(ask: Ask, asked: Asked): Promise<Result> },
  asked: Asked,
  ask = shellAsk(context),
): Promise<Result> {
  try {
    return await endpoint.run(ask, asked)
  } catch (error) {
    if (!(error instanceof Problem)) throw error
    const { kind, message: words, said, titleKey } = error
    const what = words ? said : say(titleKey)
    const document = { code: kind, message: words || translator('en')(titleKey) }
    throw new (kind === 'invalid' ? UsageError : FailedError)(what, { cause: error, document })
  }
}

/**
 * Prints what a person sees of it, or with `--json` the answer of the API, which is English for programs.
 * @param options.part the list of the answer that the command is about
 */
export async function see<Result extends z.ZodType, Params extends Shape, Query extends Shape>(
  context: CommandContext,
  read: Read<Result, Params, Query>,
  asked: Input<Params, Query>,
  { json, part }: { json?: true; part?: keyof z.output<Result> & string },
): Promise<z.output<Result>> {
  const { cursor } = asked.input as { cursor?: string }
  const later = cursor === undefined ? {} : { url: `/?${new URLSearchParams({ cursor })}` }
  const ask = { ...shellAsk(context, json && 'en'), ...later }
  const result = await runEndpoint(context, read, asked, ask)
  if (json || !read.shown) {
    const answer = z.encode(read.result, result)
    printJson(part ? { items: (answer as Record<string, unknown>)[part], next: null } : answer)
  } else printScreen(read.shown(ask, result, asked), context.program)
  return result
}

/** The same of a list, with as many rows as are wanted. */
export async function seeList<Item, Result extends z.ZodType, Params extends Shape, Query extends Shape>(
  context: CommandContext,
  read: Read<Result, Params, Query>,
  { limit, ...input }: z.output<Query> & { limit: number },
  options: { json?: true },
  params = {} as z.output<Params>,
): Promise<void> {
  const run = async (ask: Ask, asked: Input<Params, Query>) => {
    type Page = z.output<Result> & { items: Item[]; next: string | null }
    const page = async (cursor: string | undefined, size: number) =>
      (await read.run(ask, {
        ...asked,
        input: { ...asked.input, cursor, limit: Math.min(size, MOST) },
      })) as Page
    const all = await page((input as { cursor?: string }).cursor, limit)
    while (all.next !== null && all.items.length < limit) {
      const { items, next } = await page(all.next, limit - all.items.length)
      all.items.push(...items)
      all.next = next
    }
    return all
  }
  await see(context, { ...read, run }, { params, input: input as z.output<Query> }, options)
}

/** Rows that one page may have. */
const MOST = 200

/** Does something, and prints what the next page of the console would say, or with `--json` the answer of the API. */
export async function act<Result extends z.ZodType, Params extends Shape, Body extends Shape>(
  context: CommandContext,
  action: {
    run(ask: Ask, asked: Input<Params, Body>): Promise<z.output<Result>>
    result: Result
    next?(ask: Ask, result: z.output<Result>, asked: Input<Params, Body>): Next
  },
  asked: Input<Params, Body>,
  { json }: { json?: true },
): Promise<z.output<Result>> {
  const ask = shellAsk(context, json && 'en')
  const result = await runEndpoint(context, action, asked, ask)
  const notice = action.next?.(ask, result, asked).notice
  if (json || !notice) printJson(z.encode(action.result, result))
  else print(say(notice.key, notice.values))
  return result
}

/** The lines of a file to download, with as many rows as are wanted. For other programs, they are in English. */
export async function printLines<Params extends Shape, Query extends Shape>(
  context: CommandContext,
  { lines: run }: { lines(ask: Ask, asked: Input<Params, Query>): Promise<AsyncIterable<string>> },
  asked: Input<Params, Query>,
  limit = Number.POSITIVE_INFINITY,
): Promise<void> {
  // The first line has the names of the columns.
  let rows = -1
  for await (const line of await runEndpoint(context, { run }, asked, shellAsk(context, 'en'))) {
    print(line)
    rows += 1
    if (rows >= limit) return
  }
}

// Options

/**
 * Adds an option for each field of a query, `--limit` and `--json`.
 * @param names of fields whose options are called otherwise
 * @returns gives the query that the options make
 */
export function withQuery<Query extends Shape>(
  command: Command,
  query: Query,
  { limit = 50, names = {} }: { limit?: number; names?: Record<string, string> } = {},
): (options: Record<string, unknown>) => z.output<Query> & { limit: number } {
  const fields = Object.keys(query.shape).filter(field => field !== 'limit')
  const optionOf = (field: string) =>
    names[field] ?? field.replace(/_./g, ([, letter = '']) => letter.toUpperCase())
  for (const field of fields) {
    const schema = query.shape[field] as z.ZodType
    const flag = flagOf(optionOf(field))
    const inner = schema instanceof z.ZodOptional ? (schema.unwrap() as z.ZodType) : schema
    const does = (schema.description ?? inner.description ?? '').replace(/^./, letter => letter.toLowerCase())
    const option = new Option(`--${flag} <${flag.includes('-') ? 'value' : flag}>`, does)
    if (does === '' && inner instanceof z.ZodEnum) option.choices(inner.options.map(String))
    command.addOption(option.argParser(text => parsedOption(flag, inner, text)))
  }
  command
    .option('--limit <n>', 'how many to list', limitOf, limit)
    .option('--json', 'print one JSON document')
  return options =>
    ({
      ...Object.fromEntries(
        fields.map(field => [field, options[optionOf(field)]]).filter(([, value]) => value !== undefined),
      ),
      limit: options.limit,
    }) as z.output<Query> & { limit: number }
}

const flagOf = (name: string) => name.replace(/[A-Z]/g, capital => `-${capital.toLowerCase()}`)

/** @throws UsageError that says what the option takes */
function parsedOption(flag: string, schema: z.ZodType, text: string): unknown {
  const { success, data, error } = schema.safeParse(text)
  if (success) return data
  const [issue] = error.issues
  if (issue?.code === 'invalid_value') oneOf(flag, issue.values.map(String))(text)
  const name = `--${flag}`
  const own = saidBySchema(issue?.message ?? '')
  const wanted = own.key === 'said.words' && issue ? wantedBy(issue) : own
  throw new UsageError(
    wanted
      ? message('said.option_value', { name, held: JSON.stringify(text), wanted })
      : message('said.no_form', { name }),
  )
}
