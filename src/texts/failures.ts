import { en } from './sections.ts'
import { isTextKey, type Language, type TextKey, type TextValues, textOr, translator } from './texts.ts'

/**
 * What the database says about failures, halts and runs, in the language of the reader. It is stored in English, in sentences
 * that the catalogue has (`code.…`, `circumstance.…`, `said.…`, and `doctor.…` for what doctor finds): they are recognised one after the other, with what they name.
 * From the first sentence on that the catalogue does not have, the text stays as it was stored: it may be the platform's own
 * words, or those of an earlier version. Nothing is guessed.
 */

/** Columns of a case, a halt, or a row of `failed_syncs`. */
export interface FailureRow {
  category: string
  message: string
  remedy: string
}

export interface FailureTexts {
  category: string
  message: string
  remedy: string
}

/** What a reviewer reads of a failure, in a language. In English, message and remedy are as they were stored. */
export function failureTexts(language: Language, row: FailureRow): FailureTexts {
  const category = textOr(language, `category.${row.category}`, row.category)
  if (language === 'en') return { category, message: row.message, remedy: row.remedy }
  const message = inLanguage(language, row.message)
  return {
    category,
    // Of a message that is not known at all, the category says at least what it is about.
    message:
      message === row.message
        ? translator(language)('failure.unlisted', { category, message: row.message })
        : message,
    remedy: inLanguage(language, row.remedy),
  }
}

/** Why a run was held, was found suspicious or failed, in a language; null where it has no message. */
export function runMessage(language: Language, { message }: { message: string | null }): string | null {
  return message === null ? null : inLanguage(language, message)
}

/** A stored text in a language, as far as the catalogue has its sentences. */
export function inLanguage(language: Language, text: string): string {
  if (language === 'en') return text
  let said = ''
  let rest = text
  for (;;) {
    const found = recognise(rest)
    if (!found) return said + rest
    said += translator(language)(found.key, named(language, found.values))
    rest = rest.slice(found.length)
    const between = SEPARATORS.find(([separator]) => rest.startsWith(separator))
    if (!between || rest === between[0]) return said + (rest === '.' ? '。' : rest)
    said += between[1]
    rest = rest.slice(between[0].length)
  }
}

/** What stands between two sentences or parts of one, here and in Chinese. */
const SEPARATORS = [
  ['; ', '；'],
  [', ', '，'],
  ['. ', '。'],
  [': ', '：'],
  [' ', ''],
] as const

/** How a sentence of the catalogue is found in a text. */
interface Sentence {
  key: TextKey
  /** What stands before the first parameter. */
  prefix: string
  /** The longest part without a parameter: a text that lacks it cannot hold the sentence. */
  literal: string
  /** A regular expression, which PostgreSQL understands too, for a text that begins with the sentence. */
  pattern: string
  /** The names of the pattern's groups, in their order, after the first group, which is the sentence. */
  parameters: string[]
}

/** What a parameter looks like, where it is not just any text. */
const FORMS: Record<string, string> = {
  case: String.raw`\d+?`,
  category: '[a-z_]+?',
  count: String.raw`\d+?`,
  field: '[a-z_]+?',
  columns: '[a-z_, ]+?',
  holder: String.raw`\S+?`,
  kind: '[a-z]+?',
  limit: String.raw`\d+?`,
  operation: '[A-Za-z0-9/]+?',
  rows: String.raw`\d+?`,
  run: String.raw`\d+?`,
  userid: String.raw`\S+?`,
  // Somebody's own words go to the end of the text.
  words: '.+',
}

/** The sentences that a stored text may hold, in the order in which they are looked for: those that say most go first. */
export const SENTENCES: readonly Sentence[] = Object.entries(en)
  .filter(([key]) => /^(?:code|circumstance|doctor|said)\./.test(key))
  .map(([key, template]) => ({ key: key as TextKey, template: template.replaceAll(/'([{}])'/g, '\0$1') }))
  .map(({ key, template }) => {
    const parts = template.split(/(?<!\0)\{(\w+)\}/).map(part => part.replaceAll('\0', ''))
    const literals = parts.filter((_, i) => i % 2 === 0)
    const parameters = parts.filter((_, i) => i % 2 === 1)
    const body = parts.map((part, i) => (i % 2 === 0 ? escaped(part) : `(${FORMS[part] ?? '.+?'})`)).join('')
    return {
      key,
      prefix: literals[0] ?? '',
      literal: literals.reduce((longest, part) => (part.length > longest.length ? part : longest), ''),
      pattern: `^(${body})${endOf(template)}`,
      parameters,
      weight: literals.join('').length,
    }
  })
  .sort((a, b) => b.weight - a.weight || (a.key < b.key ? -1 : 1))
  .map(({ weight: _, ...sentence }) => sentence)

/** What follows a sentence: the end of the text, or another one. */
function endOf(template: string): string {
  if (template.endsWith('{words}')) return '$'
  return template.endsWith('.') ? '(?=$| )' : String.raw`(?=$|[;,.:] |\.$)`
}

function escaped(text: string): string {
  return text.replaceAll(/[\\^$.*+?()[\]{}|]/g, String.raw`\$&`)
}

const expressions = SENTENCES.map(({ pattern }) => new RegExp(pattern, 's'))

/** The sentence that the text begins with. */
function recognise(text: string): { key: TextKey; values: Record<string, string>; length: number } | null {
  for (const [i, { key, literal, parameters }] of SENTENCES.entries()) {
    if (!text.includes(literal)) continue
    const match = expressions[i]?.exec(text)
    if (!match) continue
    const values = Object.fromEntries(parameters.map((name, j) => [name, match[j + 2] ?? '']))
    return { key, values, length: match[1]?.length ?? 0 }
  }
  return null
}

/** Values that the catalogue has names for are said by these. */
function named(language: Language, values: Record<string, string>): TextValues {
  return Object.fromEntries(
    Object.entries(values).map(([name, value]) => [name, nameOf(language, name, value)]),
  )
}

function nameOf(language: Language, parameter: string, value: string): string {
  if (parameter === 'field') return textOr(language, `field.${value}`, value)
  if (parameter === 'columns')
    return value
      .split(', ')
      .map(column => textOr(language, `field.${column}`, column))
      .join('、')
  if (parameter === 'category') return textOr(language, `category.${value}`, value)
  if (parameter === 'kind') return textOr(language, `run_kind.${value}`, value)
  if (parameter === 'operation') return textOr(language, `call.${value}`, value)
  if (parameter === 'role') return textOr(language, `process_role.${value}`, value)
  if (parameter === 'what') return textOr(language, FIELDS_BY_NAME.get(value) ?? '', value)
  return value
}

/** Where a sentence has a field by its English name. */
const FIELDS_BY_NAME = new Map(
  Object.entries(en)
    .filter(([key]) => key.startsWith('field.') && isTextKey(key))
    .map(([key, name]) => [name as string, key]),
)
