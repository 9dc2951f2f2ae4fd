import { createHash } from 'node:crypto'
import { parse } from 'node:querystring'
import type { SafeHtml } from '@remix-run/html-template'
import type { FastifyInstance, FastifyReply, FastifyRequest, FastifySchema } from 'fastify'
import { z } from 'zod'
import { csvLine } from '../lib/csv.ts'
import { storable } from '../lib/storable.ts'
import { type Message, message, saidBySchema } from '../texts/message.ts'
import type { NameIn, TextKey, TextValues } from '../texts/texts.ts'
import type { Ask } from './ask.ts'
import { ABOUT, SCOPES, scopesFor } from './auth/scope.ts'
import { ACCESS_ROLES, type AccessRole } from './auth/viewer.ts'
import type { ActionAnswer, IdempotencyKeys } from './idempotency.ts'
import { Problem, ProblemDocument, problemOf } from './problem.ts'
import type { Shown } from './shown.ts'
import { fromPath } from './ui/paths.ts'

/*
 * What can be seen and done is written once: a `read` or an `action` is a page (or a form) for people, a route of /api/v1 for
 * programs, and a command of the shell where `src/cli/` names it, with the same input, the same role and the same result.
 */

export const API = '/api/v1'

/** Whether the caller is a program rather than a page. */
export function isApi({ url }: Pick<FastifyRequest, 'url'>): boolean {
  return url === API || url.startsWith(`${API}/`) || url.startsWith(`${API}?`)
}

/** A page as a screen builds it; the frame is put around it. */
export interface Page {
  title: string
  body: SafeHtml
  /** It is reached from every page, and belongs to no screen. */
  isEverywhere?: true
}

/** An entry of the navigation: `nav.` and its name are a text of the catalogue. */
export type NavEntry = NameIn<'nav'>

/** The message on the page that follows an action: a text of the catalogue with plain values. */
export interface Notice {
  key: TextKey
  values?: TextValues
}

type Shape = z.ZodObject
/** No input. Unknown names in a query are ignored, since browsers and proxies add some. */
const NOTHING = z.object({})

export interface Input<Params extends Shape, Rest extends Shape> {
  params: z.output<Params>
  input: z.output<Rest>
}

export interface Described {
  /** `/cases/:id`; for programs below /api/v1. */
  path: string
  /** One sentence for the API's description, in English. */
  summary: string
  /** The screen that it belongs to: its entry of the navigation is current, and it is the heading in the API's description. */
  tag: NavEntry
  /** Who may call it: this role, and every role above it. */
  role: AccessRole
}

/** The same; the screen may be left out where the path begins with it. */
type Description = Omit<Described, 'path' | 'tag'> &
  ({ path: `/${NavEntry}` | `/${NavEntry}/${string}`; tag?: NavEntry } | { path: string; tag: NavEntry })

function described({ path, summary, role, tag = path.split('/')[1] as NavEntry }: Description): Described {
  return { path, summary, tag, role }
}

/**
 * Accepts everything, because `parser` parses the input of pages and programs alike; the schemas serve as
 * description.
 */
const PARSED = () => () => true

/** A page and an API route, ready to be registered. */
export interface Endpoint extends Described {
  method: 'GET' | 'POST'
  register(app: FastifyInstance, kit: Kit): void
}

/** What registering an endpoint needs from the application. */
export interface Kit {
  askOf(request: FastifyRequest): Ask
  /** The page of what a person sees. */
  pageOf(ask: Ask, shown: Shown): Page
  /** Puts the frame around a page and sends it. */
  send(
    request: FastifyRequest,
    reply: FastifyReply,
    ask: Ask,
    page: Page,
    current: NavEntry,
  ): Promise<FastifyReply>
  /** Stores a notice for the next page. */
  notify(reply: FastifyReply, notice: Notice): void
  keys: IdempotencyKeys
  /**
   * Lets a request wait without a place among those of its user. The signal aborts when the caller goes or the console closes.
   * @throws Problem `too_many` if too many of them wait already
   */
  aside(ask: Ask, reply: FastifyReply, wait: (gone: AbortSignal) => Promise<void>): Promise<void>
  /** @throws Problem `too_many` if the user looks beyond dirsync's own tables, or exports data, too often */
  look(ask: Ask, reply: FastifyReply): void
}

/** Reads that are audited: they change nothing, but ask the platform or HR, or export data. */
export type Look = 'explain' | 'ask_plan' | 'try_mapping' | 'ask_token' | 'doctor' | 'export'

/**
 * A read.
 * @param definition.query parsed from the address; every field has a default or is optional
 * @param definition.result the API's answer; fields that it does not name are left out
 * @param definition.costly it reads HR for whoever asks, so that it is limited as looks are
 * @param definition.waits what a program waits for before it is answered, for some seconds or until it has gone
 * @param definition.shown what a person sees of it, on a page and in the shell
 * @param definition.page a page drawn by hand instead, or a redirect to one; absent with `shown`, and for reads that only
 * programs and parts of pages use
 */
export function read<
  Result extends z.ZodType,
  Params extends Shape = typeof NOTHING,
  Query extends Shape = typeof NOTHING,
>(
  definition: Description & {
    params?: Params
    query?: Query
    result: Result
    costly?: true
    waits?(asked: Input<Params, Query>): ((gone: AbortSignal) => Promise<void>) | null
    run(ask: Ask, asked: Input<Params, Query>): Promise<z.output<Result>>
    shown?(ask: Ask, result: z.output<Result>, asked: Input<Params, Query>): Shown
    page?(ask: Ask, result: z.output<Result>, asked: Input<Params, Query>): Page | Next | Promise<Page | Next>
  },
): Endpoint & Pick<typeof definition, 'run' | 'result' | 'shown' | 'query'> {
  const { result, shown } = definition
  const about = described(definition)
  const { path, tag } = about
  const config = { access: about.role, tag }
  const { params, rest: query, askedOf } = parser(definition.params, definition.query, 'query')
  return {
    method: 'GET',
    ...about,
    run: definition.run,
    result,
    ...(shown ? { shown } : {}),
    ...(definition.query ? { query: definition.query } : {}),
    register(app, kit) {
      const schema = operation('GET', about, { params, querystring: query }, { 200: result })
      app.get(API + path, { schema, config, validatorCompiler: PARSED }, async (request, reply) => {
        const asked = askedOf(request)
        const ask = kit.askOf(request)
        if (definition.costly) kit.look(ask, reply)
        const wait = definition.waits?.(asked)
        if (wait) await kit.aside(ask, reply, wait)
        return reply.send(await definition.run(ask, asked))
      })
      const page: typeof definition.page =
        definition.page ?? (shown && ((ask, ...told) => kit.pageOf(ask, shown(ask, ...told))))
      if (!page) return
      app.get(path, { schema: { hide: true }, config }, async (request, reply) => {
        const ask = kit.askOf(request)
        const asked = askedOf(request)
        if (definition.costly) kit.look(ask, reply)
        const made = await page(ask, await definition.run(ask, asked), asked)
        return 'to' in made ? reply.redirect(made.to, 303) : kit.send(request, reply, ask, made, tag)
      })
    },
  }
}

/** What comes after an action. */
type NextOf<Result extends z.ZodType, Params extends Shape, Body extends Shape> = (
  ask: Ask,
  result: z.output<Result>,
  asked: Input<Params, Body>,
) => Next

/** Where the browser goes on after an action, and what it says there. */
export interface Next {
  to: string
  notice?: Notice
}

/**
 * An action. It is recorded before it takes effect: `run` goes through Commands, or records it itself.
 * @param definition.formerly its path in earlier versions, which still works
 * @param definition.bodyLimit bytes that its body may have; absent: that of every other request, see app.ts
 * @param definition.looks the audited read, for an action that changes nothing and goes through no Commands
 * @param definition.noted what is recorded of a look; absent: all that was asked
 * @param definition.costly it reads HR for whoever asks, so that it is limited as looks are; `run` records it
 * @param definition.starts what works on in the background, by its path: /api/v1 answers 202 with its Location
 * @param definition.creates what has come into being, by its path: /api/v1 answers 201 with its Location
 * @param definition.secret the answer holds a secret or personal data, or the input a password. It cannot be kept, so an Idempotency-Key is refused, as
 * it is for looks, which would only be repeated
 * @param definition.page shows the answer at once, instead of `next` (for actions that read much and change nothing)
 * @param definition.refused the form again, for invalid input of which more is shown; absent: the page that held it, see app.ts
 */
export function action<
  Result extends z.ZodType,
  Params extends Shape = typeof NOTHING,
  Body extends Shape = typeof NOTHING,
>(
  definition: Description & {
    params?: Params
    body?: Body
    result: Result
    starts?(result: z.output<Result>, asked: Input<Params, Body>): string
    creates?(result: z.output<Result>, asked: Input<Params, Body>): string
    secret?: true
    formerly?: string
    bodyLimit?: number
    looks?: Look
    costly?: true
    noted?(asked: Input<Params, Body>): Record<string, unknown>
    run(ask: Ask, asked: Input<Params, Body>): Promise<z.output<Result>>
    refused?(ask: Ask, problem: Problem, asked: Input<Params, Body>): Page | Promise<Page>
  } & (
      | { next: NextOf<Result, Params, Body> }
      | { page(ask: Ask, result: z.output<Result>, asked: Input<Params, Body>): Page | Promise<Page> }
    ),
): Endpoint & Pick<typeof definition, 'run' | 'result'> & { next?: NextOf<Result, Params, Body> } {
  const { result, starts, creates, looks, bodyLimit } = definition
  const about = described(definition)
  const { path, tag } = about
  const route = { config: { access: about.role, tag }, ...(bodyLimit !== undefined && { bodyLimit }) }
  const { params, rest: body, askedOf } = parser(definition.params, definition.body, 'body')
  const status = starts ? 202 : creates ? 201 : 200
  const takesKeys = !looks && !definition.secret
  const isCostly = looks !== undefined || definition.costly
  const run: typeof definition.run = async (ask, asked) => {
    if (looks)
      await ask.commands.note(looks, definition.noted?.(asked) ?? { ...asked.params, ...asked.input })
    return definition.run(ask, asked)
  }
  return {
    method: 'POST',
    ...about,
    run,
    result,
    ...('next' in definition ? { next: definition.next } : {}),
    register(app, kit) {
      const input = {
        params,
        ...(definition.body ? { body } : {}),
        ...(takesKeys ? { headers: IDEMPOTENCY } : {}),
      }
      const schema = operation('POST', about, input, { [status]: result })
      const answer = async (request: FastifyRequest, reply: FastifyReply) => {
        const key = request.headers['idempotency-key']
        if (key !== undefined && !takesKeys) throw new Problem('key_refused')
        const ask = kit.askOf(request)
        const asked = askedOf(request)
        if (isCostly) kit.look(ask, reply)
        const work = async (): Promise<ActionAnswer> => {
          const done = await run(ask, asked)
          const place = (starts ?? creates)?.(done, asked)
          const body = JSON.stringify(z.encode(result, done))
          return { status, location: place === undefined ? null : API + place, body }
        }
        const once = {
          owner: ask.asker.actor,
          key: String(key),
          request: digest(`${path} ${JSON.stringify([asked.params, asked.input])}`),
        }
        const told = key === undefined ? await work() : await kit.keys.once(once, work)
        if (told.location !== null) reply.header('location', told.location)
        return reply.code(told.status).type('application/json').serializer(String).send(told.body)
      }
      const show = async (request: FastifyRequest, reply: FastifyReply) => {
        const ask = kit.askOf(request)
        const asked = askedOf(request)
        let done: z.output<Result>
        try {
          if (isCostly) kit.look(ask, reply)
          done = await run(ask, asked)
        } catch (error) {
          const problem = problemOf(error)
          if (problem.kind !== 'invalid' || !definition.refused) throw error
          reply.code(problem.status)
          return kit.send(request, reply, ask, await definition.refused(ask, problem, asked), tag)
        }
        if ('page' in definition)
          return kit.send(request, reply, ask, await definition.page(ask, done, asked), tag)
        const { to, notice } = definition.next(ask, done, asked)
        if (notice) kit.notify(reply, notice)
        return reply.redirect(to, 303)
      }
      const hidden = { schema: { hide: true }, ...route }
      app.post(API + path, { schema, ...route, validatorCompiler: PARSED }, answer)
      app.post(path, hidden, show)
      if (definition.formerly === undefined) return
      app.post(API + definition.formerly, hidden, answer)
      app.post(definition.formerly, hidden, show)
    },
  }
}

const IDEMPOTENCY = z.object({
  'idempotency-key': z
    .string()
    .min(1)
    .max(200)
    .optional()
    .describe('Made by the caller. A repeated request with the same key gives the first answer, for a day.'),
})

/** For the name of a file: the day, in UTC. */
export const today = () => new Date().toISOString().slice(0, 10)

/** A table to download as CSV, line by line. /api/v1 serves the same file, so it has no separate twin. */
export function download<
  Column extends string,
  Params extends Shape = typeof NOTHING,
  Query extends Shape = typeof NOTHING,
>(
  definition: Description & {
    params?: Params
    query?: Query
    /** The file name for the browser. */
    fileName(asked: Input<Params, Query>): string
    columns(asked: Input<Params, Query>): readonly Column[]
    rows(ask: Ask, asked: Input<Params, Query>): AsyncIterable<Record<Column, unknown>>
  },
): Endpoint & Pick<typeof definition, 'query'> & { lines: LinesOf<Params, Query> } {
  const about = described(definition)
  const { path, tag } = about
  const config = { access: about.role, tag }
  const { params, rest: query, askedOf } = parser(definition.params, definition.query, 'query')
  const lines: LinesOf<Params, Query> = async (ask, asked) => {
    const rows = await begun(definition.rows(ask, asked))
    const filter = Object.keys(asked.input).length > 0 ? asked.input : null
    await ask.commands.note('export' satisfies Look, { file: definition.fileName(asked), filter })
    return csvLines(definition.columns(asked), rows)
  }
  return {
    method: 'GET',
    ...about,
    lines,
    ...(definition.query ? { query: definition.query } : {}),
    register(app, kit) {
      const handler = async (request: FastifyRequest, reply: FastifyReply) => {
        const asked = askedOf(request)
        const ask = kit.askOf(request)
        // A file is no page whose form can be shown again.
        if (ask.refused) throw new Problem('not_found')
        kit.look(ask, reply)
        const text = encoded(await lines(ask, asked))
        const disposition = `attachment; filename="${definition.fileName(asked)}"`
        reply.type('text/csv; charset=utf-8').header('content-disposition', disposition)
        return reply.send(ReadableStream.from(text))
      }
      const schema = operation('GET', about, { params, querystring: query }, { 200: CSV })
      app.get(API + path, { schema, config, validatorCompiler: PARSED }, handler)
      app.get(path, { schema: { hide: true }, config }, handler)
    },
  }
}

/** @throws what the file is refused for; otherwise it has been recorded, and can be sent */
type LinesOf<Params extends Shape, Query extends Shape> = (
  ask: Ask,
  asked: Input<Params, Query>,
) => Promise<AsyncIterable<string>>

/** Reads the first row, so that what prevents the reading is told before anything is sent. */
async function begun<Row>(rows: AsyncIterable<Row>): Promise<AsyncIterable<Row>> {
  const rest = rows[Symbol.asyncIterator]()
  const first = await rest.next()
  return (async function* () {
    if (first.done) return
    yield first.value
    yield* { [Symbol.asyncIterator]: () => rest }
  })()
}

async function* csvLines<Column extends string>(
  columns: readonly Column[],
  rows: AsyncIterable<Record<Column, unknown>>,
): AsyncGenerator<string> {
  yield csvLine(columns)
  for await (const row of rows) yield csvLine(columns.map(column => row[column]))
}

/** Collects lines into chunks of a size that is worth sending. */
async function* encoded(lines: AsyncIterable<string>): AsyncGenerator<Uint8Array> {
  const encoder = new TextEncoder()
  let text = '\ufeff' // so that spreadsheets recognise UTF-8
  for await (const line of lines) {
    text += `${line}\r\n`
    if (text.length < 16_384) continue
    yield encoder.encode(text)
    text = ''
  }
  yield encoder.encode(text)
}

const CSV = { description: 'CSV in UTF-8', content: { 'text/csv': { schema: z.string() } } }
const REFUSED = {
  description: 'Refused, and why',
  content: { 'application/problem+json': { schema: ProblemDocument } },
}

/** An operation of /api/v1 in the API's description. */
export function operation(
  method: string,
  { path, summary, tag, role }: Described,
  input: Pick<FastifySchema, 'params' | 'querystring' | 'body' | 'headers'>,
  response: Record<string, unknown>,
): FastifySchema {
  const scopes = tag === ABOUT && method === 'GET' ? SCOPES : scopesFor(tag, method === 'GET')
  const higher = role === ACCESS_ROLES.at(-1) ? '' : ' or a higher one'
  return {
    summary,
    description: `Takes the role ${role}${higher}. Scopes of limited tokens: ${scopes.join(', ') || 'none'}.`,
    tags: [tag],
    'x-role': role,
    'x-scopes': scopes,
    security: [{ token: [role] }],
    operationId: operationId(method, path),
    ...input,
    response: { ...response, '4xx': REFUSED, '5xx': REFUSED },
  }
}

/** Parses the input of an endpoint: path parameters, and the query or form. */
function parser<Params extends Shape = typeof NOTHING, Rest extends Shape = typeof NOTHING>(
  params = NOTHING as unknown as Params,
  rest = NOTHING as unknown as Rest,
  where: 'query' | 'body',
) {
  const askedOf = (request: FastifyRequest): Input<Params, Rest> => ({
    params: parsed(params, keysOf(request.params), 'not_found'),
    // The API rejects unknown names, because a misspelt filter would match everything. Page addresses may carry names
    // that others add.
    input: parsed(
      where === 'body' || isApi(request) ? rest.strict() : rest.strip(),
      withoutEmpty(request[where] ?? {}),
    ) as z.output<Rest>,
  })
  return { params, rest, askedOf }
}

/** The parts of an address as the keys that they stand for. */
function keysOf(params: unknown): Record<string, string> {
  return Object.fromEntries(
    Object.entries(Object(params)).map(([name, part]) => [name, fromPath(String(part))]),
  )
}

/** @throws Problem that names what is wrong */
function parsed<Schema extends z.ZodType>(
  schema: Schema,
  given: unknown,
  kind: 'invalid' | 'not_found' = 'invalid',
): z.output<Schema> {
  const result = schema.safeParse(given, { reportInput: true })
  // PostgreSQL cannot store U+0000, and no person types it.
  if (result.success) return storable(result.data)
  // An address with an impossible number is simply not found.
  if (kind === 'not_found') throw new Problem('not_found')
  const { issues } = result.error
  const errors = issues.flatMap(issue => {
    const code = isMissing(issue) ? 'missing' : issue.code
    const error = { path: issue.path, code, said: problemIn(issue) }
    if (issue.code !== 'unrecognized_keys') return [error]
    return issue.keys.map(key => ({
      ...error,
      path: [...issue.path, key],
      said: unknownHere([key]),
    }))
  })
  throw new Problem('invalid', message('said.problems', { problems: issues.map(problemIn) }), { errors })
}

function unknownHere(names: readonly string[]): Message {
  return message('said.unknown_here', { names: names.map(name => `“${name}”`) })
}

/** Whether there is no value at all, of whichever kind it should be. */
function isMissing({ code, input }: z.core.$ZodIssue): boolean {
  return input === undefined && /^invalid_(type|value|union)$/.test(code)
}

/** What is wrong with a value. */
function problemIn(issue: z.core.$ZodIssue): Message {
  // Only a body can be something else than an object.
  const name = issue.path.join('.') || message('said.the_body')
  const at = (wanted: Message) =>
    issue.path.length === 0 ? wanted : message('said.wrong_at', { name, wanted })
  // A schema's own message is kept; the library's are in English alone.
  const own = saidBySchema(issue.message)
  if (own.key !== 'said.words') return at(own)
  if (isMissing(issue)) return message('said.is_missing', { name })
  if (issue.code === 'unrecognized_keys') return at(unknownHere(issue.keys))
  const wanted = wantedBy(issue)
  return wanted ? message('said.wanted_of', { what: name, wanted }) : message('said.no_form', { name })
}

/** What a value should be that a schema of the library refuses; null if that cannot be told. */
export function wantedBy(issue: z.core.$ZodIssue): Message | null {
  switch (issue.code) {
    case 'invalid_type':
      return ofType(issue.expected)
    case 'invalid_value': {
      const names = issue.values.map(String)
      return message(names.length > 1 ? 'said.wanted_one_of' : 'said.wanted_exactly', { names })
    }
    case 'too_small': {
      const limit = String(issue.minimum)
      if (!issue.inclusive) return message('said.wanted_above', { limit })
      return message(sizesOf(issue.origin).least, { limit })
    }
    case 'too_big': {
      const limit = String(issue.maximum)
      if (!issue.inclusive) return message('said.wanted_below', { limit })
      return message(sizesOf(issue.origin).most, { limit })
    }
    default:
      return null
  }
}

/** What is said of a size that is out of its bounds. */
function sizesOf(origin: string) {
  switch (origin) {
    case 'string':
      return { least: 'said.wanted_at_least', most: 'said.wanted_at_most' } as const
    case 'array':
      return { least: 'said.wanted_least_entries', most: 'said.wanted_most_entries' } as const
    default:
      return { least: 'said.wanted_least', most: 'said.wanted_most' } as const
  }
}

function ofType(expected: string): Message {
  if (expected === 'int') return message('said.wanted_integer')
  if (expected === 'number') return message('said.wanted_number')
  return message(/^[aeiou]/.test(expected) ? 'said.wanted_type_an' : 'said.wanted_type', { type: expected })
}

/** Forms send empty fields as empty strings; treat them as absent. */
function withoutEmpty(given: unknown): unknown {
  if (typeof given !== 'object' || given === null || Array.isArray(given)) return given
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== ''))
}

/** `POST /cases/:id/retry` → `postCasesIdRetry`. */
function operationId(method: string, path: string): string {
  const words = path.split(/[^a-zA-Z0-9]+/).filter(Boolean)
  return method.toLowerCase() + words.map(word => word.charAt(0).toUpperCase() + word.slice(1)).join('')
}

function digest(text: string): string {
  return createHash('sha256').update(text).digest('base64url')
}

// Schemas that several screens use

/** One or several values of a form field or a query parameter of that name. */
export const oneOrMore = <Item extends z.ZodType>(item: Item, most?: number) =>
  z.preprocess(
    value => (value === undefined || Array.isArray(value) ? value : [value]),
    most === undefined ? z.array(item) : z.array(item).max(most),
  )

/** The fields of a query string within an input, read as that of an address is: a name that comes several times has a list. */
export const queryFields = (text: string) => parse(text.replace(/^\?/, ''))

/** Text that a person types. PostgreSQL cannot store a NUL. */
export const plainText = (most: number) =>
  z
    .string()
    .max(most)
    .transform(text => text.replaceAll('\0', '').trim())

/** Why a person decides something. */
export const reason = z.string().trim().min(1).max(500).describe('Why; kept in the audit')

/** The id of a row, in an address. */
export const rowNumber = z.coerce.number().int().positive().max(Number.MAX_SAFE_INTEGER)

/** The position in a list, opaque to everyone but the list that issued it. */
export const cursor = z
  .string()
  .max(500)
  .optional()
  .describe('The value `next` of the page before; absent: the first page')

/** Rows per query of an export. */
export const EXPORTED_AT_ONCE = 1000

export const pageSize = z.coerce.number().int().min(1).max(200).default(50).describe('Rows per page')

/** Which page of a list is asked for. */
export const PAGE = { cursor, limit: pageSize }
export type PageInput = z.output<z.ZodObject<typeof PAGE>>

/** A page of a list, and the cursor of the next one; null on the last page. */
export function listOf<Item extends z.ZodType>(item: Item) {
  return z.object({
    items: z.array(item),
    next: z.string().nullable().describe('The `cursor` of the next page; null: this is the last one'),
  })
}
