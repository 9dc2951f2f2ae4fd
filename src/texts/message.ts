import { saidTexts } from './en/said.ts'

/**
 * What dirsync says to people, as data: the name of a sentence and what it names. It is made where it arises, stored like that,
 * and put into words only when it is read, in the reader's language. Words of others (the platform's, PostgreSQL's, a person's)
 * are values. Nothing in the code reads words: it asks for keys and values.
 *
 * Folders below this one in the table of ARCHITECTURE.md import this file alone of `src/texts`.
 */
export interface Message {
  readonly key: MessageKey
  readonly values?: Readonly<Record<string, MessageValue>>
}

/** A message, or several that follow one another. */
export type Said = Message | readonly Said[]

/** In a list, names are set apart by commas and messages by semicolons. */
export type MessageValue = string | number | Said | readonly string[]

export type SaidKey = keyof typeof saidTexts

/** A sentence of dirsync's own, one of the platform's catalogue, or the name of a value. */
export type MessageKey =
  | SaidKey
  | `${'code' | 'circumstance'}.${string}.${'meaning' | 'remedy' | 'remedy_beside_hr'}`
  | `${'field' | 'payment_order_status'}.${string}`

/** The names between braces in a sentence. */
type Named<Text> = Text extends `${string}{${infer Name}}${infer Rest}` ? Name | Named<Rest> : never

type ValuesOf<Key extends SaidKey> =
  Named<(typeof saidTexts)[Key]> extends infer Name extends string
    ? [Name] extends [never]
      ? []
      : [values: Readonly<Record<Name, MessageValue>>]
    : never

/** A message, with a value for everything that its sentence names. */
export function message<Key extends SaidKey>(key: Key, ...[values]: ValuesOf<Key>): Message {
  return values === undefined ? { key } : { key, values }
}

/** A message as the error of a schema, which can only be a text: {@link saidBySchema} reads it. */
export function worded<Key extends SaidKey>(key: Key, ...values: ValuesOf<Key>): string {
  return JSON.stringify(message(key, ...values))
}

/** What the error of a schema says; the library's own are in its words. */
export function saidBySchema(error: string): Message {
  return error.startsWith('{"key":') ? JSON.parse(error) : inWords(error)
}

/** Words of others, or of an earlier version, as they are. */
export function inWords(words: string): Message {
  return message('said.words', { words })
}

/** An error for people: its message in English, for logs, and as data for everything that is shown. */
export class SaidError extends Error {
  readonly said: Said

  constructor(what: Said, options?: ErrorOptions) {
    super(inEnglish(what), options)
    this.said = what
  }
}

/** One that programs tell from others by its code. */
export class CodedError<Code extends string> extends SaidError {
  readonly code: Code

  constructor(code: Code, what: Said, options?: ErrorOptions) {
    super(what, options)
    this.name = new.target.name
    this.code = code
  }
}

/** What an error says; one that knows nothing of messages says its own words. */
export function saidBy(error: unknown): Said {
  if (error instanceof Error && 'said' in error) return error.said as Said
  return inWords(error instanceof Error ? error.message : String(error))
}

/** The messages of which `what` consists, those among its values included. */
export function* messagesIn(what: Said): Generator<Message> {
  if (isList(what)) {
    for (const one of what) yield* messagesIn(one)
    return
  }
  yield what
  for (const value of Object.values(what.values ?? {})) if (isSaid(value)) yield* messagesIn(value)
}

/** Whether a sentence is among those of `what`. */
export function says(what: Said | null, key: MessageKey): boolean {
  return what !== null && [...messagesIn(what)].some(one => one.key === key)
}

/** The sentence that a message begins with: a case quotes the platform's words beside it. */
export function saysFirst(what: Said | null): string | undefined {
  if (what === null) return undefined
  const [first] = messagesIn(what)
  return first?.key
}

/** A message with other values: `change` is given each message of which it consists. */
export function changed(what: Said, change: (one: Message) => Message): Said {
  if (isList(what)) return what.map(one => changed(one, change))
  const { values = {}, ...rest } = change(what)
  const inner = Object.entries(values).map(([name, value]) => [
    name,
    isSaid(value) ? changed(value, change) : value,
  ])
  return { ...rest, values: Object.fromEntries(inner) }
}

/** Whether a value is a message, or a list of messages, rather than a text or a list of names. */
export function isSaid(value: unknown): value is Said {
  if (Array.isArray(value)) return value.length > 0 && value.every(isSaid)
  if (!isObject(value)) return false
  const { key, values = {}, ...rest } = value
  return (
    typeof key === 'string' &&
    /^(?:said|code|circumstance|doctor|field|payment_order_status)\./.test(key) &&
    isObject(values) &&
    Object.keys(rest).length === 0
  )
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** A message as a parameter of a statement: an array would be taken for one of PostgreSQL's. */
export function toStore(what: Said | null | undefined): string | null {
  return what ? JSON.stringify(what) : null
}

/** How messages are put into words in a language. `src/texts/failures.ts` has those of people. */
export interface Speech {
  /** The sentence of a key, with names in braces; undefined: this version does not know it. */
  sentence(key: MessageKey): string | undefined
  /** A plain value as readers call it. */
  named(parameter: string, value: string): string
  /** What stands between two sentences, two messages of a list, two names. */
  between: { sentences: string; messages: string; names: string }
}

/** Puts messages into words. dirsync.in_language does the same in SQL, held to this by a test. */
export function rendered(what: Said, speech: Speech): string {
  if (isList(what))
    return what
      .filter(one => !isList(one) || one.length > 0)
      .map(one => rendered(one, speech))
      .join(speech.between.sentences)
  const { key, values = {} } = what
  const sentence = speech.sentence(key) ?? (values.words === undefined ? key : '{words}')
  return sentence.replace(/\{(\w+)\}/g, (_, name: string) => valueText(name, values[name] ?? '', speech))
}

function valueText(name: string, value: MessageValue, speech: Speech): string {
  if (!Array.isArray(value))
    return isSaid(value) ? rendered(value, speech) : speech.named(name, String(value))
  if (value.every(isSaid)) return value.map(each => rendered(each, speech)).join(speech.between.messages)
  return value.map(each => speech.named(name, String(each))).join(speech.between.names)
}

function isList(what: Said): what is readonly Said[] {
  return Array.isArray(what)
}

/** A message in English, where no reader has chosen a language: in logs, and in the words of errors. */
export function inEnglish(what: Said): string {
  return rendered(what, ENGLISH)
}

const ENGLISH: Speech = {
  sentence: key => (saidTexts as Record<string, string>)[key],
  named: (_, value) => value,
  between: { sentences: ' ', messages: '; ', names: ', ' },
}
