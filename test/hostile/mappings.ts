import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import fc from 'fast-check'
import { pino } from 'pino'
import { ConfigError, loadHr } from '../../src/config.ts'
import { MappingError } from '../../src/hr/errors.ts'
import { readMappingFile } from '../../src/hr/mapping.ts'
import { hrServer } from '../../src/hr/servers.ts'
import { singleSelect } from '../../src/hr/statement.ts'
import { inEnglish } from '../../src/texts/message.ts'
import { SAMPLE } from '../../src/trial/environment.ts'
import { temporaryFolder } from '../helpers/temporary-folder.ts'
import { interruptibly, type Kind, must } from './kind.ts'
import { SECRET } from './settings.ts'
import { damaged, jsonValue, text } from './texts.ts'

/*
 * The files of a mapping: the SELECT for each kind of server, and the list of several HR systems, damaged in every way. They are read as
 * what they say, or refused in a sentence.
 */

interface Files {
  kind: 'select' | 'sources'
  bytes: Buffer
}

const QUOTES = [
  "'",
  '"',
  '`',
  '$$',
  '$a$',
  "e'\\'",
  '--',
  '#',
  '/*',
  '*/',
  '/*!',
  ';',
  '(',
  ')',
  '\n',
  '\r',
  '\0',
  '\u2028',
]
const sql = fc
  .array(
    fc.oneof(
      fc.constantFrom('select id as userid', ', nick as name', ' from staff', ' where x = 1', ...QUOTES),
      text(2000, true),
      fc.tuple(fc.constantFrom(...QUOTES), fc.nat(100_000)).map(([quote, times]) => quote.repeat(times)),
    ),
    { maxLength: 6 },
  )
  .map(pieces => Buffer.from(`select id as userid ${pieces.join('')}`))
const path = fc.constantFrom('a.sql', '', '../x', '/', '\0', 'x'.repeat(5000))
const source = fc.record(
  {
    name: fc.oneof(fc.constantFrom('a', 'b', 'A', ''), text(30)),
    address: fc.constantFrom(
      `postgres://u:${SECRET}@h/d`,
      `mysql://u:${SECRET}%zz@h`,
      `x://${SECRET}`,
      'files:/d',
      '',
    ),
    address_file: path,
    employees_sql: path,
    departments_sql: path,
    enterprise_codes: fc.array(fc.oneof(fc.constantFrom('E1', 'E2', '', '*', ' E1'), text(30)), {
      maxLength: 4,
    }),
  },
  { requiredKeys: ['name', 'employees_sql'] },
)
const sources = fc.oneof(
  { weight: 4, arbitrary: fc.array(source, { maxLength: 4 }).map(list => JSON.stringify(list, null, 2)) },
  {
    weight: 1,
    arbitrary: jsonValue(['name', 'address', 'employees_sql', 'enterprise_codes'], 200).map(
      value => JSON.stringify(value) ?? '',
    ),
  },
  { weight: 1, arbitrary: fc.nat(50_000).map(depth => '['.repeat(depth)) },
)

export const mappings: Kind<Files> = {
  name: 'mappings',
  what: 'mapping files and lists of HR systems, damaged in every way',
  share: 150,
  few: 300,
  inputs: fc.oneof(
    fc.record({ kind: fc.constant('select' as const), bytes: damaged(sql) }),
    fc.record({
      kind: fc.constant('sources' as const),
      bytes: damaged(sources.map(list => Buffer.from(list))),
    }),
  ),
  async open() {
    const file = join(await temporaryFolder(), 'file')
    await readFile(SAMPLE.employeesSql)
    return {
      async meet({ kind, bytes }) {
        await writeFile(file, bytes)
        return kind === 'select' ? readSelect(file) : interruptibly(() => readSources(file))
      },
      async [Symbol.asyncDispose]() {},
    }
  },
}

const logger = pino({ level: 'silent' })
const DIALECTS = ['postgres://h/d', 'mysql://h/d', 'files:/d'].map(url => hrServer(url, logger).dialect)

async function readSelect(file: string): Promise<string> {
  try {
    const sql = await readMappingFile(file)
    const selects = interruptibly(() => DIALECTS.map(dialect => singleSelect({ file, sql }, dialect)))
    must(
      selects.every(select => sql.includes(select) && select.trim() !== ''),
      'what is sent is not in the file',
    )
    return 'a SELECT'
  } catch (error) {
    if (!(error instanceof MappingError)) throw error
    const { line, column } = error.place ?? { line: 1, column: 1 }
    must(
      line > 0 && (column ?? 1) > 0 && error.message.length > file.length,
      `it says nothing: ${error.message}`,
    )
    return error.code
  }
}

function readSources(file: string): string {
  try {
    const { sources } = loadHr({ HR_SOURCES: file })
    must(
      sources.length > 0 && new Set(sources.map(({ name }) => name)).size === sources.length,
      'sources share a name',
    )
    const codes = sources.flatMap(({ codes }) => codes ?? [])
    must(new Set(codes).size === codes.length, 'an enterprise has two sources')
    return 'sources'
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    for (const problem of error.problems.map(inEnglish)) {
      must(
        problem.includes('HR_SOURCES') && !problem.includes('\n'),
        `no sentence that names the setting: ${problem}`,
      )
      must(!problem.includes(SECRET), `a password is shown: ${problem}`)
    }
    return 'refused'
  }
}
