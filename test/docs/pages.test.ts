import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import pg from 'pg'
import { beforeAll, describe, expect, test } from 'vitest'
import { monitoringPage } from '../../docs/metrics.ts'
import { alertsPage, runbookPage } from '../../docs/runbook.ts'
import { settingsPage } from '../../docs/settings.ts'
import { CRON_JOBS } from '../../jobs/index.ts'
import { settingName } from '../../jobs/scheduler.ts'
import { CHANNEL_PREFIX, CHANNEL_SETTINGS } from '../../src/alerts/channel-settings.ts'
import { RULE_NAMES } from '../../src/alerts/rule.ts'
import { hrServer } from '../../src/hr/servers.ts'
import { HrSource } from '../../src/hr/source.ts'
import { rolledBack } from '../../src/lib/database.ts'
import { createLogger } from '../../src/lib/logger.ts'
import { migrate } from '../../src/lib/migrate.ts'
import { type CatalogueEntry, PLATFORM_CODES } from '../../src/platform/codes.ts'
import { OPERATION_NAMES } from '../../src/platform/operation.ts'
import { OPERATIONS } from '../../src/platform/operations/index.ts'
import { RENAMED_SETTINGS, SETTINGS } from '../../src/settings/settings.ts'
import { CATALOGUES, LANGUAGES } from '../../src/texts/texts.ts'
import { dirsync } from '../cli/dirsync.ts'
import { sampleFile } from '../examples/sample.ts'
import { createTestDatabase } from '../helpers/postgres.ts'
import { loadDump, schemaOf } from '../sync/released/database.ts'
import { anchorsOf, blocksOf, PAGES, pageOf, proseOf, ROOT, spansOf, tableUnder } from './pages.ts'

const blocks = PAGES.flatMap(blocksOf)
const spans = PAGES.flatMap(spansOf)

test.each(LANGUAGES)('the runbook in %s is what `npm run docs:runbook` makes', language => {
  const { file, text } = runbookPage(language)
  expect(pageOf(file)).toBe(text)
  expect(anchorsOf(file)).toEqual(expect.arrayContaining([...RULE_NAMES]))
})

test('the table in docs/alerts.md is what `npm run docs:runbook` makes', () => {
  const { file, text } = alertsPage()
  expect(pageOf(file)).toBe(text)
  expect(tableUnder(text, 'Rules').map(([rule]) => rule)).toEqual(RULE_NAMES.map(name => `\`${name}\``))
})

test('the tables in docs/monitoring.md are what `npm run docs:metrics` makes', () => {
  const page = pageOf('docs/monitoring.md')
  expect(page).toBe(monitoringPage())
  expect(tableUnder(page, 'Metrics').length).toBeGreaterThan(40)
})

test('docs/alerts.md explains fields that its example of a message has', () => {
  const [example] = blocks.filter(({ page, language }) => page === 'docs/alerts.md' && language === 'json')
  const [alert] = JSON.parse(example?.text ?? '').data.alerts
  const explained = spansOf('docs/alerts.md').flatMap(span => /^alerts\[\]\.(\w+)$/.exec(span)?.[1] ?? [])
  expect(explained.length).toBeGreaterThan(3)
  expect(explained.filter(field => !(field in alert))).toEqual([])
})

test('a remedy in an example is one that the catalogue has', () => {
  const remedies = LANGUAGES.flatMap(language =>
    Object.entries(CATALOGUES[language]).flatMap(([key, text]) =>
      /^code\..*\.remedy$/.test(key) ? [text] : [],
    ),
  )
  const opening = (text: string) => text.slice(0, text.length / 4)
  const shown = blocks.flatMap(({ page, text }) => {
    const words = text.replace(/\s+/g, ' ')
    return remedies
      .filter(remedy => words.includes(opening(remedy)))
      .map(remedy => ({ page, remedy, isWhole: words.includes(remedy) }))
  })
  expect(shown.length).toBeGreaterThan(4)
  expect(shown.filter(({ isWhole }) => !isWhole)).toEqual([])
})

describe('settings', () => {
  test('docs/settings.md is what `npm run docs:settings` makes', () => {
    expect(pageOf('docs/settings.md')).toBe(settingsPage())
  })

  test('no setting is named that there is not', () => {
    const channels = ['OPS', 'MAIL'].flatMap(name =>
      Object.keys(CHANNEL_SETTINGS).map(part => CHANNEL_PREFIX + name + part),
    )
    const known = new Set([
      ...Object.keys(RENAMED_SETTINGS),
      ...Object.keys(SETTINGS),
      ...CRON_JOBS.map(job => settingName(job.name)),
      ...channels,
    ])
    const prefixes =
      /^(DATABASE|REDIS|HR|PLATFORM|SELLER|WORKER|QUEUE|GATE|BREAKER|DEPARTMENT|CONSOLE|OIDC|PAYMENT|TAXPAYER|NOTIFICATION|LOG|SCHEDULE|ALERT|HEARTBEAT)_[A-Z_]+$/
    const unknown = spans
      .flatMap(span => span.split(/[=\s]/))
      .filter(word => prefixes.test(word))
      .filter(word => !known.has(word.replace(/_FILE$/, '')) && word !== 'SCHEDULE_')
    expect(unknown).toEqual([])
  })
})

describe('commands', () => {
  /** `dirsync a b --c` wherever it is typed or named: command words and options. */
  const calls = [...spans, ...blocks.flatMap(({ text }) => text.split('\n'))].flatMap(line =>
    [...line.matchAll(/(?:^|[(: ])dirsync (?!dirsync)([a-z][a-z-]*(?: [^|#)]*)?)/g)].map(([, rest = '']) =>
      rest.trim().split(/\s+/),
    ),
  )
  const help = async (...words: string[]) => {
    const { code, stdout } = await dirsync([...words, '--help'])
    return code === 0 ? stdout : ''
  }
  /** Commands whose first word names one of several. */
  const GROUPS = new Set([
    'alerts',
    'cases',
    'dead-letters',
    'hr',
    'orders',
    'refund',
    'tokens',
    'topup',
    'users',
  ])
  let commands: string[]
  beforeAll(async () => {
    commands = [...(await help()).matchAll(/^ {2}([a-z][a-z|-]+) /gm)]
      .flatMap(([, names = '']) => names.split('|'))
      .filter(name => name !== 'dirsync')
  })

  test('every command that exists is named', () => {
    const named = new Set(calls.map(([name = '']) => name))
    expect(commands.length).toBeGreaterThan(8)
    expect(commands.filter(name => name !== 'help' && !named.has(name))).toEqual([])
  })

  test('every command that is named exists, and every option', async () => {
    const pages = new Map<string, string>()
    for (const [name = '', ...words] of calls.filter(([name = '']) => commands.includes(name))) {
      const path = GROUPS.has(name) && words[0]?.match(/^[a-z]/) ? [name, words[0]] : [name]
      const options = words.filter(word => word.startsWith('--')).map(word => word.replace(/[=[].*/, ''))
      // The fields of an operation are the platform's, not ours.
      if (options.length === 0 || name === 'platform') continue
      const key = path.join(' ')
      if (!pages.has(key)) pages.set(key, await help(...path))
      for (const option of options) expect(`${key}: ${pages.get(key)}`).toContain(option)
    }
    expect(pages.size).toBeGreaterThan(8)
    const typed = blocks
      .flatMap(({ text }) => [...text.matchAll(/^(?:\$ )?npx dirsync ([a-z-]+)/gm)])
      .map(([, name = '']) => name)
    expect(typed.filter(name => !commands.includes(name))).toEqual([])
  })

  test('every script of npm that is named exists', () => {
    const { scripts } = JSON.parse(pageOf('package.json'))
    const named = [...spans, ...blocks.map(({ text }) => text)].flatMap(text =>
      [...text.matchAll(/npm run ([a-z:]+)/g)].map(([, name]) => name),
    )
    expect(named.length).toBeGreaterThan(5)
    expect(named.filter(name => !scripts[name as string])).toEqual([])
  })
})

describe('SQL', () => {
  const typed = blocks
    .filter(({ language }) => language === 'console')
    .flatMap(({ text }) => [...text.replace(/\n\w+-# /g, ' ').matchAll(/^\w+=[#>] (select .*);$/gm)])
    .map(([, statement = '']) => statement)
  const written = blocks
    .filter(({ language }) => language === 'sql')
    .flatMap(({ text }) => text.replace(/^--.*$/gm, '').split(';\n'))
    .filter(statement => /\bdirsync\./.test(statement))
  const named = spans.filter(span => /^select .*dirsync\./.test(span))

  test('every query on dirsync runs', async () => {
    await using database = await createTestDatabase({ migrated: true })
    expect(Math.min(typed.length, written.length, named.length)).toBeGreaterThan(4)
    for (const statement of [...typed, ...written, ...named])
      await expect(database.pool.query(`explain ${statement}`), statement).resolves.toBeDefined()
  })

  test('messages and remedies are selected in words', async () => {
    await using database = await createTestDatabase({ migrated: true })
    const selects = [...typed, ...written, ...named].filter(text => /^\s*select\b/.test(text))
    const isWords = /^(?:message|remedy|error)$/
    expect(selects.length).toBeGreaterThan(20)
    const stored: string[] = []
    for (const select of selects) {
      const { fields } = await database.pool.query(`select * from (${select}) as shown limit 0`)
      if (fields.some(({ name, dataTypeID }) => isWords.test(name) && dataTypeID === pg.types.builtins.JSONB))
        stored.push(select)
    }
    expect(stored).toEqual([])
  })

  test('the short mapping works on the sample', async () => {
    await using database = await createTestDatabase()
    await database.pool.query(await sampleFile('schema.sql'))
    await database.pool.query(await sampleFile('data.sql'))
    const mapping = blocks.find(({ language, text }) => language === 'sql' && text.includes('as userid'))
    await using opened = new AsyncDisposableStack()
    const logger = createLogger({ level: 'silent', pretty: false })
    const hr = opened.adopt(
      new HrSource({
        server: hrServer(database.url, logger),
        employeesSql: { file: 'README.md', sql: mapping?.text ?? '' },
        departmentsSql: null,
        defaultEnterpriseCode: '',
        logger,
      }),
      source => source.close(),
    )
    const { employees } = await hr.inspect()
    expect(employees.columns).toContain('updated_at')
    const { rows } = await database.pool.query(
      `select count(*)::int as rows, count(distinct userid)::int as people from (${mapping?.text}) m`,
    )
    expect(rows[0].rows).toBeGreaterThan(300)
    expect(rows[0].people).toBe(rows[0].rows)
  })

  test("the reader's role may read HR, and nothing else", () => {
    const plain = (sql: string) =>
      sql
        .replace(/^--.*$/gm, '')
        .replace(/password '[^']*'/, "password '…'")
        .trim()
    const roles = blocks.filter(({ text }) => text.includes('create role hr_reader'))
    expect(roles.map(({ page }) => page)).toEqual(['README.md', 'README.zh-CN.md', 'docs/mapping.md'])
    for (const { text } of roles) expect(plain(text)).toBe(plain(pageOf('compose/demo/hr-reader.sql')))
  })
})

describe('blocks that dump or restore', () => {
  const dumping = blocks.filter(
    ({ language, text }) => language === 'sh' && /exec .* pg_(?:dump|restore)/.test(text),
  )
  /** What the options of a program name, as in `-t refund -t topup`. */
  const given = (text: string, program: string, option: string) =>
    text
      .replaceAll('\\\n', '')
      .split('\n')
      .filter(line => line.includes(program))
      .flatMap(line => [...line.matchAll(new RegExp(` ${option} (?:'([^']+)'|(\\S+))`, 'g'))])
      .map(([, quoted, plain]) => quoted ?? plain ?? '')

  test('end at the first command that fails', () => {
    expect(dumping.length).toBeGreaterThan(2)
    for (const { text } of dumping) {
      expect(text).toMatch(/^\(set -eC?\n[\s\S]+\n\)\n$/)
      // The shell goes on after a failure in the middle of these.
      expect(text).not.toMatch(/&&|;(?! do | done)/)
    }
  })

  test('write to no file of a project but that of the one that the shell has chosen', () => {
    for (const { text } of dumping) expect(text).not.toMatch(/(?<!\{COMPOSE_ENV_FILES:-)\.env\b/)
  })

  test('wait for the PostgreSQL that they start', () => {
    const starting = dumping.filter(({ text }) => text.includes('up --detach postgres'))
    expect(starting).toHaveLength(1)
    for (const { text } of starting)
      expect(text).toMatch(
        /up --detach postgres\nuntil docker compose exec -T postgres pg_isready .*; done\n/,
      )
  })

  test('give psql statements that run', async () => {
    await using database = await createTestDatabase({ migrated: true })
    // Those that change tables fit those of the version before, as shown below.
    const statements = dumping
      .flatMap(({ text }) => given(text, ' psql ', '-c'))
      .filter(statement => !statement.startsWith('alter table'))
    expect(statements).toHaveLength(8)
    for (const statement of statements)
      await rolledBack(database.pool, async client => {
        await client.query('alter role dirsync_reviewer rename to dirsync_reviewer_of_others')
        await expect(client.query(statement), statement).resolves.toBeDefined()
      })
  })

  test('have the platform asked about everyone before a restored database is used, also that of 1.0.0', async () => {
    const [restoring = ''] = dumping.map(({ text }) => text).filter(text => text.includes('create role'))
    const [, told = ''] = /migrate\n([\s\S]+)docker compose up --detach\n\)\n$/.exec(restoring) ?? []
    await using database = await createTestDatabase()
    await loadDump(database.pool, '1.0.0')
    await migrate(database.pool)
    for (const statement of given(told, ' psql ', '-c')) await database.pool.query(statement)
    // What the start does.
    await database.pool.query('select dirsync.notice_restore()')
    const { rows } = await database.pool.query(
      `select (select count(*)::int from dirsync.employee where status = 'in_sync') as in_sync,
              (select count(*)::int from dirsync.sync_run where requested_by like '%(restore)') as runs`,
    )
    expect(rows).toEqual([{ in_sync: 0, runs: 1 }])
    // Nor are they asked about twice.
    await database.pool.query(`update dirsync.deployment set incarnation = '1'`)
    for (const statement of given(told, ' psql ', '-c')) await database.pool.query(statement)
    const noticed = await database.pool.query('select dirsync.notice_restore() as again')
    expect(noticed.rows).toEqual([{ again: false }])
  })

  test('carry over refunds and top-ups with all that is emptied with them', async () => {
    await using database = await createTestDatabase({ migrated: true })
    const [rollback = ''] = dumping.map(({ text }) => text).filter(text => text.includes('money.dump'))
    const [, emptied = ''] = /'truncate ([\w., ]+) cascade'/.exec(rollback) ?? []
    const { rows } = await database.pool.query<{ name: string }>(
      `with recursive emptied (id) as (
         select unnest($1::regclass[])
         union select conrelid from pg_constraint join emptied on confrelid = id where contype = 'f')
       select id::text as name from emptied`,
      [emptied.split(', ')],
    )
    const tables = rows.map(({ name }) => name).sort()
    expect(tables).toEqual(expect.arrayContaining(['dirsync.refund', 'dirsync.topup']))
    expect(given(rollback, 'pg_dump', '-t').sort()).toEqual(tables)
    const restored = given(rollback, 'pg_restore', '-t').map(name => `dirsync.${name}`)
    expect(restored).toEqual(expect.arrayContaining(tables))
  })

  test('carry over refunds and top-ups into the tables of the version before', async () => {
    const [rollback = ''] = dumping.map(({ text }) => text).filter(text => text.includes('money.dump'))
    const restoring = /pg_restore (?:.*\\\n)?.*<money\.dump/.exec(rollback)?.[0] ?? ''
    const [before = ''] = rollback.split(restoring)
    const after = rollback.slice(before.length + restoring.length)
    const tables = given(restoring, 'pg_restore', '-t')
    expect(tables).toEqual(['refund', 'topup', 'refused_notification'])
    await using now = await createTestDatabase()
    await loadDump(now.pool, '1.0.0')
    await migrate(now.pool)
    await now.pool.query(`
      update dirsync.refund set next_settle_at = now() where state = 'unknown';
      insert into dirsync.refund (outer_refund_no, outer_trade_no, refund_amount, refunded_before, state, requested_by)
      values ('R-3', 'T-3', 1, 0, 'requested', 'sample')`)
    await using then = await createTestDatabase()
    await loadDump(then.pool, '1.0.0')
    const schema = await schemaOf(then.pool)
    const nextMessage = async () => {
      const { rows } = await then.pool.query<{ id: string }>(
        `select nextval(pg_get_serial_sequence('dirsync.alert_message', 'id')) as id`,
      )
      return Number(rows[0]?.id)
    }
    const restored = await nextMessage()
    const change = async (text: string) => {
      for (const statement of given(text, ' psql ', '-c').filter(one => !one.startsWith('drop schema')))
        await then.pool.query(statement)
    }
    await change(before)
    for (const table of tables) {
      const { rows, fields } = await now.pool.query(`select * from dirsync.${table}`)
      expect(rows).not.toEqual([])
      // As pg_dump writes them: by the names of the columns.
      const names = fields.map(({ name }) => name).join(', ')
      await then.pool.query(
        `insert into dirsync.${table} (${names})
         select ${names} from jsonb_populate_recordset(null::dirsync.${table}, $1)`,
        [JSON.stringify(rows)],
      )
      expect((await then.pool.query(`select from dirsync.${table}`)).rowCount).toBe(rows.length)
    }
    await change(after)
    expect(await schemaOf(then.pool)).toEqual(schema)
    // With these, 1.0.0 would call refunds not carried out that this version keeps for a person.
    const { rows } = await then.pool.query(
      `select outer_refund_no as number, state, refunded_before, next_settle_at from dirsync.refund
       where state <> 'notified' order by 1`,
    )
    expect(rows).toEqual([
      { number: 'R-2', state: 'unknown', refunded_before: null, next_settle_at: null },
      { number: 'R-3', state: 'requested', refunded_before: null, next_settle_at: null },
    ])
    // Receivers of alerts ignore the number of a message that they have had since.
    expect(await nextMessage()).toBeGreaterThan(restored + 100_000)
  })
})

describe('links', () => {
  test.each(PAGES)('%s leads somewhere', page => {
    for (const [, link = ''] of proseOf(page).matchAll(/\]\(([^)]+)\)/g)) {
      if (/^https?:/.test(link)) continue
      const [path = '', anchor] = link.split('#')
      const target = path === '' ? page : relative(ROOT, join(ROOT, dirname(page), path))
      expect(existsSync(join(ROOT, target)), link).toBe(true)
      if (anchor) expect(anchorsOf(target), link).toContain(anchor)
    }
  })

  test('every page can be reached from the README', () => {
    const reached = new Set(['README.md'])
    for (const page of reached)
      for (const [, link = ''] of proseOf(page).matchAll(/\]\(([^)#]+)/g)) {
        const target = relative(ROOT, join(ROOT, dirname(page), link)).replace(/\/$/, '/README.md')
        for (const file of [target, join(target, 'README.md')]) if (PAGES.includes(file)) reached.add(file)
      }
    expect(PAGES.filter(page => !reached.has(page))).toEqual([])
  })
})

test('the unit of systemd starts a program that a checkout has, and again when its mapping was refused', () => {
  expect(blocks.filter(({ text }) => text.includes('RestartPreventExitStatus'))).toEqual([])
  const starts = blocks.flatMap(({ text }) =>
    [...text.matchAll(/^ExecStart=\/opt\/dirsync\/(\S+) start$/gm)].map(([, program = '']) => program),
  )
  expect(starts).toHaveLength(1)
  for (const program of starts) expect(existsSync(join(ROOT, program)), program).toBe(true)
})

describe('README.zh-CN.md says what README.md says', () => {
  const [english, chinese] = ['README.md', 'README.zh-CN.md'] as const
  /** What no translation changes, and of a link or picture where it leads. */
  const outlineOf = (file: string) => {
    const sections = proseOf(file).split(/^##? /m)
    return sections.map(section => ({
      pictures: [...section.matchAll(/(?:src|srcset)="([^"]+)"|!\[[^\]]*\]\(([^)]+)\)/g)].map(
        ([, a = '', b = '']) => (a || b).replace('-zh-CN', ''),
      ),
      links: [...section.matchAll(/(?<!!)\[[^\]]*\]\(([^)]+)\)/g)]
        .map(([, link = '']) =>
          link.replace(/^(?:README(?:\.zh-CN)?\.md|docs\/images\/overview(?:-zh-CN)?\.png)$/, 'its twin'),
        )
        .sort(),
      rows: section.split('\n').filter(line => line.startsWith('| ')).length,
      points: section.split('\n').filter(line => line.startsWith('- ')).length,
    }))
  }
  /** Commands, statements and what they print, without comments for people. */
  const codeOf = (file: string) =>
    blocksOf(file)
      .filter(({ language }) => language !== 'mermaid')
      .map(({ language, text }) => (language === 'sh' ? text.replace(/ +# .*$/gm, '') : text))

  test('section by section, with the same pictures, links, rows and points', () => {
    expect(outlineOf(chinese)).toEqual(outlineOf(english))
    expect(outlineOf(english).length).toBeGreaterThan(8)
  })

  test('with the same commands', () => {
    expect(codeOf(chinese)).toEqual(codeOf(english))
  })
})

test('docs/platform.md lists the operations, and those that take no enterprise code', () => {
  const page = pageOf('docs/platform.md')
  const rows = tableUnder(page, '4. Operations').filter(([section]) => /^4\./.test(section ?? ''))
  expect(rows.map(([, path]) => path)).toEqual(OPERATION_NAMES.map(name => `\`${name}\``))
  const without = OPERATION_NAMES.map(
    name => !Object.hasOwn(OPERATIONS[name].request.shape, 'enterprise_code'),
  )
  const [, named = ''] = /goes with every operation except ([^a-z]+(?:and [\d.]+)?) if/.exec(page) ?? []
  expect(named.match(/4\.\d+/g)).toEqual(rows.map(([section]) => section).filter((_, row) => without[row]))
})

test('docs/platform.md names the codes that say of a refund or top-up that it was not carried out', () => {
  const page = pageOf('docs/platform.md')
  const sections = new Map(tableUnder(page, '4. Operations').map(([section, path]) => [path, section]))
  const where = new Map(tableUnder(page, '7. Errors').map(([code, , where]) => [code, where]))
  const refusing = Object.entries<CatalogueEntry>(PLATFORM_CODES).flatMap(([code, { refuses = [] }]) =>
    refuses === 'all' ? [] : refuses.map(name => ({ code, section: sections.get(`\`${name}\``) })),
  )
  expect(refusing.length).toBeGreaterThan(0)
  for (const { code, section = '' } of refusing) expect(where.get(code)).toContain(section)
})

describe('the code cites what is there', () => {
  const sources = ['src', 'emulator', 'jobs', 'test', 'bench', 'examples']
    .flatMap(folder =>
      readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' }).map(name => join(folder, name)),
    )
    .filter(file => /\.(?:ts|sql)$/.test(file) && file !== 'test/docs/pages.test.ts')
    .map(file => ({ file, text: readFileSync(join(ROOT, file), 'utf8') }))

  test('a section is one of docs/platform.md', () => {
    const platform = pageOf('docs/platform.md')
    const sections = new Set(
      [...platform.matchAll(/^(?:#+|\|) (\d(?:\.\d+)?)\b/gm)].map(([, number]) => number),
    )
    const cited = sources.flatMap(({ file, text }) =>
      [...text.matchAll(/\bsection (\d(?:\.\d+)?)/g)].map(([, number]) => ({ file, number })),
    )
    expect(cited.length).toBeGreaterThan(30)
    expect(cited.filter(({ number }) => !sections.has(number))).toEqual([])
  })

  test('no document is cited that is not in the repository', () => {
    const strays = sources.filter(({ text }) => /\bDESIGN\b|platform-(?:spec|notes)/.test(text))
    expect(strays.map(({ file }) => file)).toEqual([])
  })
})
