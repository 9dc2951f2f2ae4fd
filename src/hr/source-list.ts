import { readFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { z } from 'zod'

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
  readonly problems: readonly string[]

  constructor(problems: readonly string[]) {
    super(problems.join('\n'))
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
  const content = contentOf(file, 'that file')
  const parsed = listOf(address).safeParse(jsonOf(content))
  if (!parsed.success) throw new SourceListError(parsed.error.issues.map(issue => problemOf(issue, content)))
  const beside = (path: string) => resolve(dirname(file), path)
  const problems: string[] = []
  const sources = parsed.data.map((entry, i) => {
    const where = placeOf([i], content)
    const found = entry.address ?? addressIn(beside(entry.address_file ?? ''), where, problems)
    const checked = address.safeParse(found)
    if (entry.address === undefined && found !== '' && !checked.success)
      problems.push(`${where}: the address in address_file ${checked.error.issues[0]?.message}`)
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

const path = z.string('should be the path of a file').min(1, 'should be the path of a file')

const listOf = (address: z.ZodType<string>) =>
  z
    .array(
      z
        .strictObject(
          {
            name: z
              .string('should be a name, such as "shanghai"')
              .regex(
                /^[a-z][a-z0-9-]{0,19}$/,
                'should be a name of at most 20 small letters, digits and hyphens that begins with a letter',
              ),
            address: address.optional(),
            address_file: path.optional(),
            employees_sql: path,
            departments_sql: path.optional(),
            enterprise_codes: z
              .array(
                z
                  .string('should be an enterprise code')
                  .max(20, 'should have at most 20 characters')
                  // HR's codes are trimmed, and a halt of * means everything.
                  .refine(code => code === code.trim() && code !== '*', 'should be an enterprise code'),
                'should be a list of enterprise codes, such as ["E1"]',
              )
              .min(1, 'should have at least one enterprise code; "" is that of a single enterprise'),
          },
          'should be an object with name, address or address_file, employees_sql and enterprise_codes',
        )
        .refine(({ address, address_file }) => (address === undefined) !== (address_file === undefined), {
          error: 'should have either address or address_file',
        }),
      'should hold a list of sources',
    )
    .min(1, 'should name at least one source')
    .superRefine((sources, context) => {
      const names = new Map<string, number>()
      const owners = new Map<string, string>()
      for (const [i, { name, enterprise_codes }] of sources.entries()) {
        if (names.has(name))
          context.addIssue({
            code: 'custom',
            path: [i, 'name'],
            message: `${name} is the name of another source`,
          })
        names.set(name, i)
        for (const [j, code] of enterprise_codes.entries()) {
          const owner = owners.get(code)
          if (owner !== undefined)
            context.addIssue({
              code: 'custom',
              path: [i, 'enterprise_codes', j],
              message: `${JSON.stringify(code)} is ${owner === name ? 'named twice' : `that of ${owner}, and each enterprise has one source`}`,
            })
          else owners.set(code, name)
        }
      }
    })

function contentOf(file: string, what: string): string {
  try {
    // Some editors write a byte order mark at the beginning, which is not JSON.
    return readFileSync(file, 'utf8').replace(/^\uFEFF/, '')
  } catch {
    throw new SourceListError([`${what} cannot be read`])
  }
}

function addressIn(file: string, where: string, problems: string[]): string {
  try {
    const line = (contentOf(file, '').split('\n')[0] ?? '').trim()
    if (line === '') problems.push(`${where}: its address_file is empty`)
    return line
  } catch {
    problems.push(`${where}: its address_file cannot be read`)
    return ''
  }
}

function jsonOf(content: string): unknown {
  try {
    return JSON.parse(content)
  } catch {
    // The parser's message may quote the file, which holds passwords.
    const before = content.slice(0, mistakeIn(content)).split('\n')
    throw new SourceListError([
      `it is not JSON: line ${before.length}, column ${(before.at(-1) ?? '').length + 1}`,
    ])
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

function problemOf(issue: z.core.$ZodIssue, content: string): string {
  const where = placeOf(issue.path, content)
  const inner = issue.code === 'invalid_union' ? issue.errors.flat()[0] : issue
  const message =
    inner?.code === 'unrecognized_keys'
      ? `should not have ${inner.keys.join(', ')}`
      : (inner?.message ?? issue.message)
  return where === '' ? `it ${message}` : `${where} ${message}`
}

/** A place as people find it, such as `source 2 (beijing), enterprise_codes 1`. */
function placeOf(place: readonly PropertyKey[], content: string): string {
  const [index, field, item] = place
  if (typeof index !== 'number') return ''
  const name: unknown = (JSON.parse(content) as { name?: unknown }[])[index]?.name
  const shown = typeof name === 'string' && field !== 'name' ? ` (${name})` : ''
  const parts = [`source ${index + 1}${shown}`]
  if (field !== undefined)
    parts.push(typeof item === 'number' ? `${String(field)} ${item + 1}` : String(field))
  return parts.join(', ')
}
