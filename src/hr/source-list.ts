import { readFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { z } from 'zod'
import { inEnglish, type Message, message, saidBySchema, worded } from '../texts/message.ts'

/** An HR system as the settings describe it. */
export interface SourceSettings {
  /** Empty where there is only one. */
  name: string
  /** Address of its server; the scheme decides its kind. */
  address: string
  /** Files of its mappings. */
  employeesSql: string
  departmentsSql: string | null
  /** The enterprises that are its own; null: all. */
  codes: string[] | null
}

/** Errors in the file of HR_SOURCES: a sentence for each, with its place in the file. */
export class SourceListError extends Error {
  readonly problems: readonly Message[]

  constructor(problems: readonly Message[]) {
    super(problems.map(inEnglish).join('\n'))
    this.name = 'SourceListError'
    this.problems = problems
  }
}

/**
 * The sources in the file of HR_SOURCES; its paths are relative to it.
 * @param address checks an address like HR_DATABASE_URL
 * @throws SourceListError
 */
export function readSourceList(file: string, address: z.ZodType<string>): SourceSettings[] {
  const content = contentOf(file)
  const parsed = listOf(address).safeParse(jsonOf(content))
  if (!parsed.success) throw new SourceListError(parsed.error.issues.map(issue => problemOf(issue, content)))
  const beside = (path: string) => resolve(dirname(file), path)
  const problems: Message[] = []
  const sources = parsed.data.map((entry, i) => {
    const where = sourceAt(i, true, content)
    const found = entry.address ?? addressIn(beside(entry.address_file ?? ''), where, problems)
    const checked = address.safeParse(found)
    if (entry.address === undefined && found !== '' && !checked.success)
      problems.push(
        message('said.wanted_in_address_file', {
          place: where,
          wanted: saidBySchema(checked.error.issues[0]?.message ?? ''),
        }),
      )
    return {
      name: entry.name,
      address: found,
      employeesSql: beside(entry.employees_sql),
      departmentsSql: entry.departments_sql === undefined ? null : beside(entry.departments_sql),
      codes: entry.enterprise_codes,
    }
  })
  if (problems.length > 0) throw new SourceListError(problems)
  return sources
}

const path = z.string(worded('said.wanted_path')).min(1, worded('said.wanted_path'))

const listOf = (address: z.ZodType<string>) =>
  z
    .array(
      z
        .strictObject(
          {
            name: z
              .string(worded('said.wanted_name'))
              .regex(/^[a-z][a-z0-9-]{0,19}$/, worded('said.wanted_name_of_letters')),
            address: address.optional(),
            address_file: path.optional(),
            employees_sql: path,
            departments_sql: path.optional(),
            enterprise_codes: z
              .array(
                z
                  .string(worded('said.wanted_enterprise'))
                  .max(20, worded('said.wanted_at_most', { limit: 20 }))
                  // HR's codes are trimmed, and a halt of * means everything.
                  .refine(code => code === code.trim() && code !== '*', worded('said.wanted_enterprise')),
                worded('said.wanted_enterprises'),
              )
              .min(1, worded('said.wanted_an_enterprise')),
          },
          worded('said.wanted_source'),
        )
        .refine(({ address, address_file }) => (address === undefined) !== (address_file === undefined), {
          error: worded('said.wanted_either_address'),
        }),
      worded('said.wanted_sources'),
    )
    .min(1, worded('said.wanted_a_source'))
    .superRefine((sources, context) => {
      const names = new Map<string, number>()
      const owners = new Map<string, string>()
      for (const [i, { name, enterprise_codes }] of sources.entries()) {
        if (names.has(name))
          context.addIssue({
            code: 'custom',
            path: [i, 'name'],
            message: worded('said.wanted_other_name', { name }),
          })
        names.set(name, i)
        for (const [j, code] of enterprise_codes.entries()) {
          const owner = owners.get(code)
          if (owner !== undefined)
            context.addIssue({
              code: 'custom',
              path: [i, 'enterprise_codes', j],
              message:
                owner === name
                  ? worded('said.wanted_once', { code: JSON.stringify(code) })
                  : worded('said.wanted_one_owner', { code: JSON.stringify(code), owner }),
            })
          else owners.set(code, name)
        }
      }
    })

function contentOf(file: string): string {
  try {
    // Some editors write a byte order mark at the beginning, which is not JSON.
    return readFileSync(file, 'utf8').replace(/^\uFEFF/, '')
  } catch {
    throw new SourceListError([message('said.that_file_unreadable')])
  }
}

function addressIn(file: string, where: Message, problems: Message[]): string {
  try {
    const line = (contentOf(file).split('\n')[0] ?? '').trim()
    if (line === '') problems.push(message('said.address_file_empty', { place: where }))
    return line
  } catch {
    problems.push(message('said.address_file_unreadable', { place: where }))
    return ''
  }
}

function jsonOf(content: string): unknown {
  try {
    return JSON.parse(content)
  } catch {
    // The parser's message may quote the file, which holds passwords.
    const before = content.slice(0, mistakeIn(content)).split('\n')
    const place = { line: before.length, column: (before.at(-1) ?? '').length + 1 }
    throw new SourceListError([message('said.it_is_not_json', place)])
  }
}

/** Where a text stops being JSON: a valid prefix is one in which the parser finds an error only at its end. */
function mistakeIn(content: string): number {
  let [good, bad] = [0, content.length + 1]
  while (bad - good > 1) {
    const middle = Math.floor((good + bad) / 2)
    if (mayGoOn(content.slice(0, middle))) good = middle
    else bad = middle
  }
  return good
}

function mayGoOn(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch (error) {
    const [, position] = /at position (\d+)/.exec(String(error)) ?? []
    return position === undefined ? /end of JSON input/.test(String(error)) : Number(position) >= text.length
  }
}

function problemOf(issue: z.core.$ZodIssue, content: string): Message {
  const where = placeOf(issue.path, content)
  const inner = issue.code === 'invalid_union' ? issue.errors.flat()[0] : issue
  const wanted =
    inner?.code === 'unrecognized_keys'
      ? message('said.wanted_not', { names: inner.keys })
      : saidBySchema(inner?.message ?? issue.message)
  return where === null
    ? message('said.wanted_of_it', { wanted })
    : message('said.wanted_of', { what: where, wanted })
}

/** A place as people find it, such as `source 2 (beijing), enterprise_codes 1`. */
function placeOf([index, field, item]: readonly PropertyKey[], content: string): Message | null {
  if (typeof index !== 'number') return null
  const source = sourceAt(index, field !== 'name', content)
  if (field === undefined) return source
  const within = { source, key: String(field) }
  return typeof item === 'number'
    ? message('said.item_of_source', { ...within, number: item + 1 })
    : message('said.key_of_source', within)
}

/** @param byName by its name too, where it has one */
function sourceAt(index: number, byName: boolean, content: string): Message {
  const name: unknown = (JSON.parse(content) as { name?: unknown }[])[index]?.name
  const isShort = typeof name === 'string' && /^[\p{L}\p{Nd} ._-]{1,40}$/u.test(name)
  const number = index + 1
  return isShort && byName
    ? message('said.named_source', { number, name })
    : message('said.numbered_source', { number })
}
