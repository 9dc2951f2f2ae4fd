import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import { RULES, type RuleName, settingOf } from '../src/alerts/rule.ts'
import { ConfigError, type Environment, isEmbedded, loadConfig } from '../src/config.ts'
import { hrAddresses } from '../src/connections.ts'
import { ESSENTIAL, SETTINGS } from '../src/settings/settings.ts'
import { LEAST } from './helpers/least-settings.ts'
import { temporaryFolder } from './helpers/temporary-folder.ts'

/** The defaults of the rules of alerts. */
const FIGURES = Object.fromEntries(
  Object.entries(RULES).flatMap(([rule, { figure, second }]) => [
    [settingOf(rule as RuleName), figure.default],
    ...(second ? [[second.name, second.default]] : []),
  ]),
)

/** Sign-in through OIDC, which is set as a whole or not at all. */
const OIDC: Environment = {
  CONSOLE_URL: 'https://console.example',
  OIDC_ISSUER: 'https://login.example',
  OIDC_CLIENT_ID: 'dirsync',
  OIDC_CLIENT_SECRET: 'hush-hush',
  OIDC_ROLES: 'groups:admins=admin',
}

function complaintAbout(env: Environment): string {
  try {
    loadConfig({ ...LEAST, ...env })
  } catch (error) {
    expect(error).toBeInstanceOf(ConfigError)
    expect(error).toHaveProperty('code', 'CONFIG_INVALID')
    return (error as Error).message
  }
  throw new Error('the settings were accepted')
}

async function fileOf(text: string): Promise<string> {
  const file = join(await temporaryFolder(), 'setting')
  writeFileSync(file, text)
  return file
}

test('the least is enough: everything else has a default or is absent', () => {
  expect(loadConfig(LEAST)).toEqual({
    ...LEAST,
    REDIS_URL: null,
    HR_DEPARTMENTS_SQL: null,
    HR_POLL_SECONDS: 0,
    HR_ROW_LIMIT_KB: 1024,
    DRY_RUN_MEMORY_MB: 512,
    HR_FILES_COMPLETE: { restMs: 60_000 },
    HR_FILES_ENCODING: 'auto',
    HR_FILES_HEADINGS: new Map(),
    HR_FILES_KEEP: '.dirsync/hr-files',
    PLATFORM_SIGN_ALGORITHM: 'sha256',
    PLATFORM_ENTERPRISE_CODE: '',
    PLATFORM_RATE_LIMIT: 10,
    RATE_LIMITED_CODES: [],
    OPERATION_RATE_LIMITS: new Map(),
    REFUND_PRICE_DIFFERENCE: false,
    REFUND_LOST_AFTER_HOURS: 24,
    SELLER_APPIDS: [],
    WORKER_CONCURRENCY: 16,
    QUEUE_HIGH_WATER: 1000,
    GATE_MAX_FEWER_ROWS: 20,
    GATE_MAX_EMPTIED: 20,
    BREAKER_EMPLOYEES: 50,
    BREAKER_EMPLOYEES_PERCENT: 10,
    BREAKER_LEAVERS_PERCENT: 50,
    BREAKER_DEPARTMENTS: 3,
    BREAKER_DEPARTMENTS_PERCENT: 5,
    DEPARTMENT_GRACE_HOURS: 24,
    HR_READ_ALL_MINUTES: 60,
    CONSOLE_HOST: '127.0.0.1',
    CONSOLE_PORT: 8080,
    CONSOLE_TOKEN: null,
    CONSOLE_URL: null,
    CONSOLE_READ_ONLY: false,
    CONSOLE_NAMES: true,
    CONSOLE_PROXIES: [],
    OIDC_ISSUER: null,
    OIDC_CLIENT_ID: null,
    OIDC_CLIENT_SECRET: null,
    OIDC_ROLES: null,
    OIDC_SCOPES: 'openid profile email',
    MIRRORS: [],
    PAYMENT_ORDER_DAYS: 30,
    TAXPAYER_IDENTIFIERS: [],
    NOTIFICATION_URL: null,
    NOTIFICATION_HOST: '127.0.0.1',
    NOTIFICATION_PORT: 8081,
    ...FIGURES,
    ALERT_REPEAT_HOURS: 4,
    ALERT_MESSAGES_PER_HOUR: 20,
    HEARTBEAT_URL: null,
    DEPLOYMENT_NAME: null,
    DIRSYNC_LANG: 'en',
    LOG_LEVEL: 'info',
    OTEL_EXPORTER_OTLP_ENDPOINT: null,
    OTEL_EXPORTER_OTLP_HEADERS: null,
    OTEL_SERVICE_NAME: 'dirsync',
    OTEL_TRACES_SAMPLER_ARG: 1,
    HR_SOURCES: null,
    schedules: {},
    channels: [],
    sources: [
      {
        name: '',
        address: LEAST.HR_DATABASE_URL,
        employeesSql: 'employees.sql',
        departmentsSql: null,
        codes: null,
      },
    ],
    embedded: false,
  })
})

test('every example is a value that is accepted', () => {
  // HR_SOURCES stands in place of others, and names a file that is read.
  const examples = Object.entries(SETTINGS)
    .filter(([name]) => name !== 'HR_SOURCES')
    .map(([name, { example }]) => [name, example])
  expect(() => loadConfig(Object.fromEntries(examples))).not.toThrow()
})

test('no secret has a default', () => {
  const secrets = Object.entries(SETTINGS).filter(([, setting]) => 'secret' in setting)
  expect(secrets.map(([name]) => name)).toContain('PLATFORM_APP_SECRET')
  for (const [, setting] of secrets) expect(setting).not.toHaveProperty('default')
})

describe('what is missing', () => {
  test('is named, all of it at once', () => {
    expect(() => loadConfig({})).toThrow(`missing settings: ${ESSENTIAL.join(', ')} (`)
    expect(complaintAbout({ PLATFORM_APP_ID: undefined, HR_EMPLOYEES_SQL: '' })).toMatch(
      /^missing settings: HR_EMPLOYEES_SQL, PLATFORM_APP_ID \(/,
    )
  })

  test.each(ESSENTIAL)('%s may not be blank', name => {
    expect(complaintAbout({ [name]: '  ' })).toMatch(new RegExp(`^missing settings: ${name} \\(`))
  })
})

describe('a wrong value is one sentence: the variable, what it holds and what it should hold', () => {
  const POSTGRES = 'should be an address beginning with postgres:// or postgresql://'
  const HR = `${POSTGRES} or mysql:// or mariadb:// or files:/`
  test.each([
    ['DATABASE_URL', 'dirsync:pass@db', POSTGRES],
    ['DATABASE_URL', 'mysql://dirsync:pass@db/x', POSTGRES],
    ['DATABASE_URL', 'postgres:pass', POSTGRES],
    ['HR_DATABASE_URL', 'pass', HR],
    ['HR_DATABASE_URL', 'mysql://u:pass@hr', 'should end with the name of one database'],
    ['HR_DATABASE_URL', 'mariadb://:pass@hr/hr', 'should name a user'],
    [
      'HR_DATABASE_URL',
      'mysql://u:pass@hr/hr?ssl=pass',
      'should have no parameter ssl; there are ssl-mode, ssl-ca, ssl-cert, ssl-key',
    ],
    [
      'HR_DATABASE_URL',
      'mysql://u:pass@hr/hr?ssl-mode=preferred',
      'should have one of disabled, required, verify-ca, verify-identity as ssl-mode',
    ],
    [
      'HR_DATABASE_URL',
      'mysql://u:pass@hr/hr?ssl-mode=required&ssl-ca=/ca.pem',
      'should have ssl-mode=verify-ca or verify-identity with ssl-ca',
    ],
    ['HR_DATABASE_URL', 'files:pass', HR],
    ['HR_DATABASE_URL', 'files://pass/hr', 'should name a folder by its whole path, as in files:/srv/hr'],
    ['HR_DATABASE_URL', 'files:/', 'should name a folder by its whole path, as in files:/srv/hr'],
    [
      'HR_DATABASE_URL',
      'files:/pass?x',
      'should have ?, # and % of the path percent-encoded, and no parameters',
    ],
    [
      'HR_DATABASE_URL',
      'files:/pass/50%',
      'should have ?, # and % of the path percent-encoded, and no parameters',
    ],
    [
      'REDIS_URL',
      'localhost:pass',
      'should be redis://host:6379, redis+sentinel://host:26379,host:26379/master or redis+cluster://host:6379,host:6379, or the same with rediss',
    ],
    ...['pass word', 'pass\tword', 'pass\u3000word', '密pass'].map(token => [
      'CONSOLE_TOKEN',
      token,
      'should have only ASCII letters, digits and signs, and no blanks: it is sent in a header',
    ]),
  ])('%s=%s, which is a secret and not shown', (name, value, wanted) => {
    const complaint = complaintAbout({ [name]: value })
    expect(complaint).toBe(`${name} holds (secret) but ${wanted}`)
    expect(complaint).not.toContain('pass')
  })

  test.each(['12?s3cret', '12/?s3cret', '12/s3cret', 's3cret%', '%ffs3cret'])(
    'a MySQL password of %s is not shown as a parameter, or in an error of its own',
    password => {
      expect(complaintAbout({ HR_DATABASE_URL: `mysql://u:${password}@hr/hr` })).toBe(
        'HR_DATABASE_URL holds (secret) but should have special characters of its password percent-encoded',
      )
    },
  )

  test.each([
    ['PLATFORM_BASE_URL', 'should have no user, password or parameters'],
    ['OIDC_ISSUER', 'should begin with https://, unless it is on this machine'],
    [
      'PLATFORM_BASE_URL',
      'should have no user, password or parameters',
      'https://host.example/?key=hush-hush',
    ],
    [
      'CONSOLE_URL',
      'should be an address beginning with https:// or http://',
      'http://u:hush/hush@host.example',
    ],
  ])('%s with a password, which is not shown', (name, wanted, value = 'http://u:hush-hush@host.example') => {
    expect(complaintAbout({ [name]: value })).toBe(`${name} holds (secret) but ${wanted}`)
  })

  test.each(['https:/u:hush@host', 'u:hush@host', 'https:/host/?key=hush', 'host?key=hush'])(
    'a password in what is no address is not shown: %s',
    held => {
      expect(complaintAbout({ PLATFORM_BASE_URL: held })).toBe(
        'PLATFORM_BASE_URL holds (secret) but should be an address beginning with http:// or https://',
      )
    },
  )

  test.each([
    ['PLATFORM_BASE_URL', 'platform.example', 'should be an address beginning with http:// or https://'],
    ['PLATFORM_BASE_URL', 'ftp://platform', 'should be an address beginning with http:// or https://'],
    ['HR_FILES_COMPLETE', '60', 'should be a time such as 60s or 5m, or marker: and the name of a file'],
    [
      'HR_FILES_COMPLETE',
      'marker:../x',
      'should be a time such as 60s or 5m, or marker: and the name of a file',
    ],
    [
      'HR_FILES_HEADINGS',
      'staff',
      'should be names of tables with a row each, such as staff=3, staff_Sheet2=2',
    ],
    [
      'HR_FILES_HEADINGS',
      'staff=3；dept=2',
      'should be names of tables with a row each, such as staff=3, staff_Sheet2=2',
    ],
    ['HR_FILES_ENCODING', 'big5', 'should be one of auto, utf-8, gb18030, utf-16le, utf-16be'],
    ['PLATFORM_APP_ID', 'x'.repeat(33), 'should have at most 32 characters'],
    ['PLATFORM_SIGN_ALGORITHM', 'md5', 'should be one of sha256, sha1, sha512'],
    ['REFUND_PRICE_DIFFERENCE', 'yes', 'should be one of true, false'],
    // Shorter than a request may be on its way.
    ['REFUND_LOST_AFTER_HOURS', '0.1', 'should be between 0.2 and 8760'],
    ['PLATFORM_ENTERPRISE_CODE', 'x'.repeat(21), 'should have at most 20 characters'],
    ['PLATFORM_RATE_LIMIT', 'fast', 'should be a number, or auto'],
    ['PLATFORM_RATE_LIMIT', '-1', 'should be between 0.01 and 100000, or auto'],
    ['PLATFORM_RATE_LIMIT', '1e3', 'should be a number, or auto'],
    ['PLATFORM_RATE_LIMIT', 'NaN', 'should be a number, or auto'],
    ['PLATFORM_RATE_LIMIT', '0', 'should be between 0.01 and 100000, or auto'],
    ['RATE_LIMITED_CODES', '1002,many', 'should be whole numbers, separated by commas'],
    ['OPERATION_RATE_LIMITS', 'employee/get=fast', 'employee/get should be a number'],
    ['OPERATION_RATE_LIMITS', 'employee/get=0', 'employee/get should be between 0.01 and 100000'],
    [
      'SELLER_APPIDS',
      'a,123456789',
      'should be application ids of at most 8 characters, separated by commas',
    ],
    ['WORKER_CONCURRENCY', '0', 'should be between 1 and 1000'],
    ['WORKER_CONCURRENCY', '2.5', 'should be a whole number'],
    ['QUEUE_HIGH_WATER', '1000.5', 'should be a whole number'],
    ['QUEUE_HIGH_WATER', '100001', 'should be between 1 and 100000'],
    ['QUEUE_HIGH_WATER', '0.5', 'should be between 1 and 100000'],
    ['GATE_MAX_FEWER_ROWS', '101', 'should be between 0 and 100'],
    ['GATE_MAX_EMPTIED', '20%', 'should be a number'],
    ['BREAKER_LEAVERS_PERCENT', '-3', 'should be between 0 and 100'],
    ['BREAKER_EMPLOYEES', '50.5', 'should be a whole number'],
    ['BREAKER_EMPLOYEES_PERCENT', '1000', 'should be between 0 and 100'],
    ['BREAKER_LEAVERS_PERCENT', 'half', 'should be a number'],
    ['BREAKER_DEPARTMENTS', 'three', 'should be a number'],
    ['BREAKER_DEPARTMENTS_PERCENT', ',5', 'should be a number'],
    ['DEPARTMENT_GRACE_HOURS', '9000', 'should be between 0 and 8760'],
    ['MIRRORS', 'orders,refunds', 'should be some of orders, accounts, taxpayers, separated by commas'],
    ['PAYMENT_ORDER_DAYS', '0', 'should be between 1 and 366'],
    [
      'TAXPAYER_IDENTIFIERS',
      'x'.repeat(46),
      'should be identification numbers of at most 45 characters, separated by commas',
    ],
    [
      'TAXPAYER_IDENTIFIERS',
      '91000000SAMPLE0001，91000000SAMPLE0002',
      'should be identification numbers of at most 45 characters, separated by commas',
    ],
    [
      'TAXPAYER_IDENTIFIERS',
      '91000000SAMPLE0001;91000000SAMPLE0002',
      'should be identification numbers of at most 45 characters, separated by commas',
    ],
    ['NOTIFICATION_URL', 'hr.example.com/refunds', 'should be an address beginning with http:// or https://'],
    ['NOTIFICATION_PORT', '65536', 'should be between 0 and 65535'],
    ['HR_READ_ALL_MINUTES', '20000', 'should be between 0 and 10080'],
    ['CONSOLE_PORT', '65536', 'should be between 0 and 65535'],
    ['CONSOLE_PORT', '80.5', 'should be a whole number'],
    ['CONSOLE_URL', 'console.example', 'should be an address beginning with https:// or http://'],
    ['CONSOLE_URL', 'https://console.example/dirsync', 'should have no path'],
    ['CONSOLE_URL', 'https://console.example?x', 'should have no path'],
    ['CONSOLE_READ_ONLY', 'yes', 'should be one of true, false'],
    ['OIDC_ISSUER', 'login.example', 'should be an address beginning with https:// or http://'],
    ['OIDC_ISSUER', 'http://login.example', 'should begin with https://, unless it is on this machine'],
    ['OIDC_ISSUER', 'http://localhost.example', 'should begin with https://, unless it is on this machine'],
    ['OIDC_SCOPES', 'profile email', 'should have openid among its scopes'],
    ['DEPLOYMENT_NAME', 'x'.repeat(41), 'should be at most 40 characters on one line'],
    ['DIRSYNC_LANG', 'fr', 'should be en or zh-CN'],
    ['LOG_LEVEL', 'verbose', 'should be one of trace, debug, info, warn, error, silent'],
    [
      'OTEL_EXPORTER_OTLP_ENDPOINT',
      'collector:4317',
      'should be an address beginning with http:// or https://',
    ],
    ['OTEL_TRACES_SAMPLER_ARG', '1.5', 'should be between 0 and 1'],
  ])('%s=%s', (name, value, wanted) => {
    expect(complaintAbout({ [name]: value })).toBe(`${name} holds ${JSON.stringify(value)} but ${wanted}`)
  })

  test.each(['proxy', '10.0.0.0/33', '10.0.0.0/8/8', '10.0.0.1/', '::1/129'])('CONSOLE_PROXIES=%s', range => {
    expect(complaintAbout({ CONSOLE_PROXIES: `127.0.0.1,${range}` })).toMatch(
      /but should be addresses or ranges such as 10\.0\.0\.0\/8, separated by commas$/,
    )
  })

  test.each([
    'groups',
    'groups:',
    'groups:hr',
    'groups:hr=boss',
    'groups:=admin',
    ':hr=admin',
    'groups:hr=admin,',
    'groups:admins=admin，hr=viewer',
    'groups:admins=admin; hr=viewer',
    'groups:admins=admin hr=viewer',
  ])('OIDC_ROLES=%s', roles => {
    expect(complaintAbout({ OIDC_ROLES: roles })).toMatch(
      /but should be claim:value=role,…, with the roles viewer, reviewer, operator, admin$/,
    )
  })

  test.each(['t0ken', '=t0ken', 'key=%zz', 'key=a%0Ab', 'a b=t0ken', 'key=t0ken,'])(
    'OTEL_EXPORTER_OTLP_HEADERS=%s, which is a secret and not shown',
    headers => {
      expect(complaintAbout({ OTEL_EXPORTER_OTLP_HEADERS: headers })).toBe(
        'OTEL_EXPORTER_OTLP_HEADERS holds (secret) but should be name=value,…, with values percent-encoded',
      )
    },
  )

  test('and every wrong setting gets its own', () => {
    const lines = complaintAbout({ CONSOLE_PORT: 'x', LOG_LEVEL: 'x', DATABASE_URL: 'x' }).split('\n')
    expect(lines.map(line => line.split(' ')[0]).sort()).toEqual([
      'CONSOLE_PORT',
      'DATABASE_URL',
      'LOG_LEVEL',
    ])
  })
})

describe('values are read as they are meant', () => {
  test.each([
    ['PLATFORM_BASE_URL', 'https://platform.example/api//', 'https://platform.example/api'],
    ['PLATFORM_BASE_URL', 'https://Platform.Example:443/Api', 'https://platform.example/Api'],
    ['PLATFORM_APP_SECRET', ' s p\n', 's p'],
    ['PLATFORM_RATE_LIMIT', '0.5', 0.5],
    ['PLATFORM_RATE_LIMIT', 'auto', 'auto'],
    ['RATE_LIMITED_CODES', '1000210099, 1000210098', [1_000_210_099, 1_000_210_098]],
    [
      'OPERATION_RATE_LIMITS',
      'employee/get=20, employee/update = 0.5',
      new Map([
        ['employee/get', 20],
        ['employee/update', 0.5],
      ]),
    ],
    ['REDIS_URL', '', null],
    ['REDIS_URL', 'rediss://cache', 'rediss://cache'],
    ['REDIS_URL', 'redis+sentinel://a:1,b:2/main', 'redis+sentinel://a:1,b:2/main'],
    ['SELLER_APPIDS', ' 20000001, 20000002,,20000001 ', ['20000001', '20000002']],
    ['SELLER_APPIDS', 'a,mall-01', ['a', 'mall-01']],
    ['MIRRORS', 'taxpayers, orders,', ['taxpayers', 'orders']],
    ['CONSOLE_PORT', '0', 0],
    ['CONSOLE_URL', 'https://Console.Example:443/', 'https://console.example'],
    ['CONSOLE_READ_ONLY', 'true', true],
    ['CONSOLE_PROXIES', '10.0.0.1, fd00::/8,172.16.0.0/12', ['10.0.0.1', 'fd00::/8', '172.16.0.0/12']],
    ['DIRSYNC_LANG', 'zh_CN.UTF-8', 'zh-CN'],
    ['DIRSYNC_LANG', 'zh-Hans', 'zh-CN'],
    ['DIRSYNC_LANG', 'C.UTF-8', 'en'],
    ['DIRSYNC_LANG', 'en_GB', 'en'],
    ['LOG_LEVEL', '', 'info'],
    [
      'OTEL_EXPORTER_OTLP_HEADERS',
      'authorization=Bearer%20t0ken, x-tenant = a=b',
      new Map([
        ['authorization', 'Bearer t0ken'],
        ['x-tenant', 'a=b'],
      ]),
    ],
  ] as const)('%s=%j is %j', (name, value, read) => {
    expect(loadConfig({ ...LEAST, [name]: value })[name]).toEqual(read)
  })
})

describe('sign-in through OIDC', () => {
  test.each(Object.keys(OIDC))('needs %s', name => {
    expect(complaintAbout({ ...OIDC, [name]: undefined })).toBe(
      `missing settings: ${name} (sign-in through OIDC needs them; without it, unset every OIDC_… setting)`,
    )
  })

  test.each([
    ['groups:a=admin, b = reviewer', 'groups', { a: 'admin', b: 'reviewer' }],
    ['realm_access.roles:hr=viewer', 'realm_access.roles', { hr: 'viewer' }],
    ['https://example.com/groups:hr=viewer', 'https://example.com/groups', { hr: 'viewer' }],
    ['groups:CN=admins;OU=it=admin', 'groups', { 'CN=admins;OU=it': 'admin' }],
    ['groups:urn:hr:a=b=operator', 'groups', { 'urn:hr:a=b': 'operator' }],
  ])('reads the roles %j', (text, claim, roles) => {
    const read = loadConfig({ ...LEAST, ...OIDC, OIDC_ROLES: text }).OIDC_ROLES
    expect(read).toEqual({ claim, roles: new Map(Object.entries(roles)) })
  })
})

describe('NAME_FILE', () => {
  // HR_SOURCES stands in place of others: test/hr/source-list.test.ts.
  test.each(Object.keys(SETTINGS).filter(name => name !== 'HR_SOURCES'))(
    '%s may stand in a file, whose first line counts',
    async name => {
      const value = (SETTINGS as Record<string, { example: string }>)[name]?.example as string
      const file = await fileOf(` ${value} \nsecond line\n`)
      const env = name.startsWith('OIDC_') ? { ...LEAST, ...OIDC } : LEAST
      const inFile = loadConfig({ ...env, [name]: undefined, [`${name}_FILE`]: file })
      expect(inFile).toEqual(loadConfig({ ...env, [name]: value }))
    },
  )

  test('the variable itself goes before its file', async () => {
    const file = await fileOf('from the file')
    const env = { ...LEAST, PLATFORM_APP_SECRET: 'from the variable', PLATFORM_APP_SECRET_FILE: file }
    expect(loadConfig(env).PLATFORM_APP_SECRET).toBe('from the variable')
  })

  test('one that cannot be read is named, and so is an empty one', async () => {
    const folder = await temporaryFolder()
    const missing = join(folder, 'missing')
    const directory = join(folder, 'directory')
    mkdirSync(directory)
    for (const file of [missing, directory])
      expect(complaintAbout({ REDIS_URL_FILE: file })).toBe(
        `REDIS_URL_FILE holds ${JSON.stringify(file)} but that file cannot be read`,
      )
    const empty = await fileOf('\nsecond line')
    expect(complaintAbout({ REDIS_URL_FILE: empty })).toBe(
      `REDIS_URL_FILE holds ${JSON.stringify(empty)} but that file is empty`,
    )
  })

  test('for a required setting counts as missing while it is empty, and all errors are reported at once', async () => {
    const empty = await fileOf('\n')
    const complaint = complaintAbout({
      HR_DATABASE_URL: undefined,
      HR_DATABASE_URL_FILE: empty,
      PLATFORM_BASE_URL: undefined,
      PLATFORM_APP_SECRET: undefined,
      PLATFORM_APP_SECRET_FILE: empty,
      CONSOLE_TOKEN_FILE: '/nowhere/token',
      PLATFORM_RATE_LIMIT: 'fast',
    })
    expect(complaint.split('\n')).toEqual([
      `missing settings: HR_DATABASE_URL (${empty} is empty), PLATFORM_BASE_URL, PLATFORM_APP_SECRET (${empty} is empty)`,
      'CONSOLE_TOKEN_FILE holds "/nowhere/token" but that file cannot be read',
      'PLATFORM_RATE_LIMIT holds "fast" but should be a number, or auto',
    ])
  })

  test.each([
    ['PLATFORM_APP_SECRET', 'hush-hush'],
    ['HR_DATABASE_URL', 'postgres://u:hush-hush@hr/hr'],
    ['ALERT_CHANNEL_OPS', 'https://hooks.example.com/hush-hush'],
  ])('a secret in place of the path of its file is not shown: %s', (name, secret) => {
    const complaint = complaintAbout({ [name]: undefined, [`${name}_FILE`]: secret })
    expect(complaint).toBe(`${name}_FILE holds (secret) but that file cannot be read`)
  })

  test('the content of a secret file is not shown', async () => {
    const file = await fileOf('mysql://dirsync:pass@db')
    const complaint = complaintAbout({ DATABASE_URL: undefined, DATABASE_URL_FILE: file })
    expect(complaint).toMatch(/^DATABASE_URL holds \(secret\) but should be/)
    expect(complaint).not.toContain('pass')
  })
})

describe('everything runs embedded', () => {
  test('when none of the three addresses is set', () => {
    expect(isEmbedded({})).toBe(true)
    expect(isEmbedded({ DATABASE_URL: ' ', HR_DATABASE_URL: '', LOG_LEVEL: 'debug' })).toBe(true)
  })

  test.each(['DATABASE_URL', 'HR_DATABASE_URL', 'PLATFORM_BASE_URL'])('but not with %s', name => {
    expect(isEmbedded({ [name]: LEAST[name] })).toBe(false)
    expect(isEmbedded({ [`${name}_FILE`]: '/run/secrets/x' })).toBe(false)
  })
})

describe('TZ', () => {
  const zone = process.env.TZ
  const startedIn = (TZ: string) => {
    process.env.TZ = TZ
    return { TZ }
  }
  afterEach(() => {
    if (zone === undefined) delete process.env.TZ
    else process.env.TZ = zone
  })

  test.each([
    'Asia/Beijing',
    'Beijing',
    'asia/shanghai',
    'UTC+8',
    'GMT+8',
    'CST-8',
    'CST',
    '+08:00',
    '/etc/localtime',
  ])('%s is not the zone of a clock', name => {
    expect(complaintAbout(startedIn(name))).toBe(
      `TZ holds ${JSON.stringify(name)} but should be a time zone such as Asia/Shanghai`,
    )
  })

  test.each(['Asia/Shanghai', ':Asia/Shanghai', 'PRC', 'Europe/London', 'America/New_York', 'UTC', ''])(
    '"%s" is',
    name => {
      expect(loadConfig({ ...LEAST, ...startedIn(name) })).toMatchObject({ PLATFORM_APP_ID: 'app' })
    },
  )
})

test('schedules come by job name', () => {
  const env = { ...LEAST, SCHEDULE_SYNC_CHANGES: ' */2 * * * * ', SCHEDULE_PRUNE: 'off', SCHEDULE_SWEEP: '' }
  expect(loadConfig(env).schedules).toEqual({ 'sync-changes': '*/2 * * * *', prune: 'off' })
})

test.each([
  ['postgres://reader:secret@hr.example/company', 'hr.example:5432/company'],
  ['postgresql://reader@hr.example:5432/company?sslmode=require', 'hr.example:5432/company'],
  ['postgres://reader@[::1]:6432/company', '[::1]:6432/company'],
  ['mariadb://reader@hr.example/company', 'hr.example:3306/company'],
  ['files:///deliveries', '/deliveries'],
])('HR at %s is known to other processes as %s', (address, place) => {
  expect(hrAddresses(loadConfig({ ...LEAST, HR_DATABASE_URL: address }))).toEqual({ '': place })
})
