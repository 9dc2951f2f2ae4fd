import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { ConfigError, type Environment, loadConfig } from '../../src/config.ts'
import { inLanguage } from '../../src/texts/failures.ts'
import type { Language } from '../../src/texts/texts.ts'

const PLATFORM: Environment = {
  DATABASE_URL: 'postgres://dirsync@db/dirsync',
  PLATFORM_BASE_URL: 'https://platform.example',
  PLATFORM_APP_ID: 'app',
  PLATFORM_APP_SECRET: 'secret',
}
const SHANGHAI = {
  name: 'shanghai',
  address: 'postgres://reader:pass@hr/hr',
  employees_sql: 'shanghai.sql',
  enterprise_codes: ['E1'],
}
const BEIJING = {
  name: 'beijing',
  address: 'mysql://reader:pass@hr/hr',
  employees_sql: '/mappings/beijing.sql',
  departments_sql: 'beijing-departments.sql',
  enterprise_codes: ['E2', ''],
}

/** A folder that goes with the test. */
function folder(): string {
  const made = mkdtempSync(join(tmpdir(), 'dirsync-sources-'))
  onTestFinished(() => rmSync(made, { recursive: true }))
  return made
}

function fileWith(content: unknown, place = folder()): string {
  const file = join(place, 'sources.json')
  writeFileSync(file, typeof content === 'string' ? content : JSON.stringify(content))
  return file
}

/** What is wrong with a file, after its name. */
function problemsOf(content: unknown, env: Environment = {}, language: Language = 'en'): string[] {
  const file = fileWith(content)
  try {
    loadConfig({ ...PLATFORM, HR_SOURCES: file, ...env })
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    const prefix = { en: 'HR_SOURCES holds "…" but ', 'zh-CN': 'HR_SOURCES 的值为 "…"，但' }[language]
    return error.problems.map(one => inLanguage(language, one).replace(file, '…').replace(prefix, ''))
  }
  return []
}

describe('HR_SOURCES', () => {
  test.each<[string, (json: string) => Environment]>([
    ['in place of its path', json => ({ HR_SOURCES: json })],
    ['in place of the path of a file with its path', json => ({ HR_SOURCES_FILE: json })],
    ['in a file that should have its path', json => ({ HR_SOURCES_FILE: fileWith(json) })],
  ])('the JSON %s is not shown', (_, envOf) => {
    const json = '[{"name": "a", "address": "postgres://u:hush-hush@hr/hr"}]'
    const load = () => loadConfig({ ...PLATFORM, ...envOf(json) })
    expect(load).toThrow('holds (secret) but that file cannot be read')
    expect(load).not.toThrow('hush')
  })

  test('names HR systems, each with files beside it and enterprises of its own', () => {
    const place = folder()
    const file = fileWith([SHANGHAI, BEIJING], place)
    expect(loadConfig({ ...PLATFORM, HR_SOURCES: file }).sources).toEqual([
      {
        name: 'shanghai',
        address: 'postgres://reader:pass@hr/hr',
        employeesSql: join(place, 'shanghai.sql'),
        departmentsSql: null,
        codes: ['E1'],
      },
      {
        name: 'beijing',
        address: 'mysql://reader:pass@hr/hr',
        employeesSql: '/mappings/beijing.sql',
        departmentsSql: join(place, 'beijing-departments.sql'),
        codes: ['E2', ''],
      },
    ])
  })

  test('an address may stand in a file of its own, whose first line counts', () => {
    const place = folder()
    writeFileSync(join(place, 'address'), 'postgres://reader:pass@hr/hr\nrotated in May\n')
    const { address: _, ...rest } = SHANGHAI
    const file = fileWith([{ ...rest, address_file: 'address' }], place)
    expect(loadConfig({ ...PLATFORM, HR_SOURCES: file }).sources).toMatchObject([
      { address: SHANGHAI.address },
    ])
  })

  test('a mark of the encoding at its beginning is no mistake', () => {
    expect(problemsOf(`\uFEFF${JSON.stringify([SHANGHAI])}`)).toEqual([])
  })

  test.each([' E1', '*'])('%j is no enterprise code', code => {
    expect(problemsOf([{ ...SHANGHAI, enterprise_codes: ['E2', code] }])).toEqual([
      'source 1 (shanghai), enterprise_codes 2 should be an enterprise code',
    ])
  })

  test('its own name may stand in a file', () => {
    const place = folder()
    writeFileSync(join(place, 'name'), `${fileWith([SHANGHAI], place)}\n`)
    const { sources } = loadConfig({ ...PLATFORM, HR_SOURCES_FILE: join(place, 'name') })
    expect(sources).toMatchObject([{ name: 'shanghai' }])
  })

  test('the example of a group is such a file', () => {
    const { sources } = loadConfig({ ...PLATFORM, HR_SOURCES: 'examples/group/sources.json' })
    expect(sources.map(({ name, codes }) => [name, codes])).toEqual([
      ['shanghai', ['E100', 'E200']],
      ['beijing', ['E300']],
    ])
    for (const { employeesSql, departmentsSql } of sources)
      expect([employeesSql, departmentsSql].map(file => existsSync(file ?? ''))).toEqual([true, true])
  })

  test('tells of its places in Chinese', () => {
    const told = (...sources: unknown[]) => problemsOf(sources, {}, 'zh-CN')
    expect(told({ ...SHANGHAI, name: 'Shanghai' }, 'beijing')).toEqual([
      '数据源 1 的 name 应为不超过 20 个字符的名称，由小写字母、数字和连字符组成，以字母开头',
      '数据源 2 应为对象，含 name、address 或 address_file、employees_sql 和 enterprise_codes',
    ])
    expect(told(SHANGHAI, { ...BEIJING, enterprise_codes: ['E2', 'E2'] })).toEqual([
      '第 2 个数据源 beijing 的第 2 个 enterprise_codes "E2" 出现了两次',
    ])
    const { address: _, ...elsewhere } = { ...SHANGHAI, address_file: 'missing' }
    expect(told(elsewhere)).toEqual(['第 1 个数据源 shanghai：address_file 无法读取'])
  })

  const { address: _address, ...ADDRESSLESS } = SHANGHAI
  test.each<[string, unknown, string[]]>([
    ['no JSON', '[\n  {"name": shanghai}\n]', ['it is not JSON: line 2, column 12']],
    ['a comma too many', '[{"name": "a",}]', ['it is not JSON: line 1, column 15']],
    ['a text without an end', '[{"name": "a', ['it is not JSON: line 1, column 13']],
    ['no list', { shanghai: SHANGHAI }, ['it should hold a list of sources']],
    ['no sources', [], ['it should name at least one source']],
    [
      'no object',
      ['shanghai'],
      ['source 1 should be an object with name, address or address_file, employees_sql and enterprise_codes'],
    ],
    [
      'a name with capitals',
      [{ ...SHANGHAI, name: 'Shanghai' }],
      [
        'source 1, name should be a name of at most 20 small letters, digits and hyphens that begins with a letter',
      ],
    ],
    [
      'a name of two lines',
      [{ ...ADDRESSLESS, name: 'a\nb' }],
      [
        'source 1, name should be a name of at most 20 small letters, digits and hyphens that begins with a letter',
        'source 1 should have either address or address_file',
      ],
    ],
    [
      'a name twice',
      [SHANGHAI, { ...BEIJING, name: 'shanghai' }],
      ['source 2, name shanghai is the name of another source'],
    ],
    ['no address', [ADDRESSLESS], ['source 1 (shanghai) should have either address or address_file']],
    [
      'two addresses',
      [{ ...SHANGHAI, address_file: 'x' }],
      ['source 1 (shanghai) should have either address or address_file'],
    ],
    [
      'an address of nothing known',
      [{ ...SHANGHAI, address: 'oracle://reader:s3cret@hr/hr' }],
      [expect.stringMatching(/^source 1 \(shanghai\), address should be an address beginning with postgres/)],
    ],
    [
      'an address file that is not there',
      [{ ...ADDRESSLESS, address_file: 'nowhere' }],
      ['source 1 (shanghai): its address_file cannot be read'],
    ],
    [
      'no mapping, and a word misspelt',
      [{ ...SHANGHAI, employees_sql: undefined, employee_sql: 'x' }],
      [
        'source 1 (shanghai), employees_sql should be the path of a file',
        'source 1 (shanghai) should not have employee_sql',
      ],
    ],
    [
      'no enterprises',
      [{ ...SHANGHAI, enterprise_codes: [] }],
      [
        'source 1 (shanghai), enterprise_codes should have at least one enterprise code; "" is that of a single enterprise',
      ],
    ],
    [
      'an enterprise of two sources',
      [SHANGHAI, { ...BEIJING, enterprise_codes: ['E2', 'E1'] }],
      ['source 2 (beijing), enterprise_codes 2 "E1" is that of shanghai, and each enterprise has one source'],
    ],
    [
      'an enterprise code that is too long',
      [{ ...SHANGHAI, enterprise_codes: ['E'.repeat(21)] }],
      ['source 1 (shanghai), enterprise_codes 1 should have at most 20 characters'],
    ],
  ])('is refused for %s, with the place', (_, content, problems) => {
    expect(problemsOf(content)).toEqual(problems)
  })

  test('beside settings of a single HR system it is refused', () => {
    expect(problemsOf([SHANGHAI], { HR_DATABASE_URL: 'postgres://hr/hr', HR_DEPARTMENTS_SQL: 'x' })).toEqual([
      'HR_DATABASE_URL is set beside HR_SOURCES, which names the HR systems: unset one',
      'HR_DEPARTMENTS_SQL is set beside HR_SOURCES, which names the HR systems: unset one',
    ])
    expect(problemsOf([SHANGHAI], { HR_DATABASE_URL_FILE: '/run/secrets/hr_database_url' })).toEqual([
      'HR_DATABASE_URL_FILE is set beside HR_SOURCES, which names the HR systems: unset one',
    ])
  })

  test('a file that is not there is named, and no message has a password', () => {
    expect(() => loadConfig({ ...PLATFORM, HR_SOURCES: '/nowhere.json' })).toThrow(
      'HR_SOURCES holds "/nowhere.json" but that file cannot be read',
    )
    const secret = [
      { ...SHANGHAI, address: 'mysql://reader:s3cret@hr' },
      { ...BEIJING, name: 7 },
    ]
    expect(problemsOf(secret).join()).not.toContain('s3cret')
    expect(problemsOf('[{"address": "postgres://reader:s3cret@hr/hr"').join()).not.toContain('s3cret')
  })
})
