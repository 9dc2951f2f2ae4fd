import { execFileSync } from 'node:child_process'
import { cpSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseEnv } from 'node:util'
import { describe, expect, test } from 'vitest'
import { parse, stringify } from 'yaml'
import { SETTINGS } from '../../src/settings/settings.ts'
import { blocksOf, PAGES, pageOf } from '../docs/pages.ts'
import { program } from '../helpers/programs.ts'
import { temporaryFolder } from '../helpers/temporary-folder.ts'
import {
  type ComposeFile,
  networksOf,
  ROOT,
  readComposeFile,
  type Service,
  secretsOf,
} from './compose-file.ts'
import { newDeployment } from './deployment.ts'

const file = readComposeFile()
const { services } = file
const secretSettings = Object.entries(SETTINGS)
  .filter(([, setting]) => 'secret' in setting)
  .map(([name]) => name)

const service = (name: string, of: ComposeFile = file) => of.services[name] as Service
const isOurs = ({ image }: Service) => image.startsWith('dirsync')
const demoSecrets = readdirSync(join(ROOT, 'compose/demo/secrets')).flatMap(name =>
  readFileSync(join(ROOT, 'compose/demo/secrets', name), 'utf8')
    .trim()
    .split('\n'),
)

/** What a container is given besides files. */
const givenTo = ({ environment = {}, command = [] }: Service) => JSON.stringify([environment, command])

/** Makes the demo's files readable, reaches nothing else, and ends: the only one that is root. */
const READABLE = { user: 'root', profiles: ['demo'], network_mode: 'none', restart: 'no' }

function expectLockedDown(container: Service): void {
  expect(container).toMatchObject({
    read_only: true,
    cap_drop: ['ALL'],
    security_opt: ['no-new-privileges:true'],
  })
  if (container.user === 'root') {
    expect(container).toMatchObject(READABLE)
    expect(container.cap_add).toEqual(['DAC_READ_SEARCH', 'FOWNER'])
  } else {
    expect(container.user).toMatch(/^(node|postgres|redis)$/)
    expect(container.cap_add).toBeUndefined()
  }
  expect(container.privileged).toBeUndefined()
  expect(container.tmpfs).toContain('/tmp')
  expect(container.logging?.options).toHaveProperty('max-size')
}

describe.each(Object.keys(services))('%s', name => {
  test('is no root, writes nowhere but to /tmp and volumes, and has no capability', () =>
    expectLockedDown(service(name)))

  test('gets its secrets as files and by no other way', () => {
    const { environment = {} } = service(name)
    for (const [variable, value] of Object.entries(environment)) {
      expect(secretSettings).not.toContain(variable)
      expect(variable).not.toMatch(/PASSWORD$|SECRET$|TOKEN$/)
      if (variable.endsWith('_FILE'))
        expect(secretsOf(service(name))).toContain(value.replace('/run/secrets/', ''))
    }
    for (const secret of secretsOf(service(name))) expect(file.secrets).toHaveProperty(secret)
    for (const value of demoSecrets) expect(givenTo(service(name))).not.toContain(value)
  })

  test('says whether it is healthy, or ends by itself', () => {
    const { healthcheck, restart } = service(name)
    if (restart === 'no') expect(healthcheck).toEqual({ disable: true })
    else expect(healthcheck?.test ?? (isOurs(service(name)) && readDockerHealthcheck())).toBeTruthy()
  })
})

const readDockerHealthcheck = () => /^HEALTHCHECK .*\n.*\/healthz/m.test(dockerfile)
const dockerfile = readFileSync(join(ROOT, 'Dockerfile'), 'utf8')

test('one service builds the image, every other one that uses it waits for that one or for nothing', () => {
  const building = Object.keys(services).filter(name => service(name).build)
  expect(building).toEqual(['migrate'])
  for (const [name, container] of Object.entries(services))
    if (isOurs(container) && !building.includes(name)) expect(container.pull_policy).toBe('never')
})

test('a new image replaces neither PostgreSQL nor Redis, nor what they wait for', () => {
  for (const name of ['postgres', 'redis'])
    for (const dependency of [name, ...Object.keys(service(name).depends_on ?? {})])
      expect(isOurs(service(dependency))).toBe(false)
})

test('every service has a memory limit', () => {
  const unlimited = Object.keys(services).filter(name => !service(name).mem_limit)
  expect(unlimited).toEqual([])
})

test('git ignores an override of the operator', () => {
  expect(readFileSync(join(ROOT, '.gitignore'), 'utf8').split('\n')).toContain('docker-compose.override.yml')
})

test('dirsync and its workers get every secret setting as a file, but for those that only some have', () => {
  const onlySome = ['OIDC_CLIENT_SECRET', 'OTEL_EXPORTER_OTLP_HEADERS', 'HEARTBEAT_URL']
  const everywhere = secretSettings.filter(setting => !onlySome.includes(setting))
  for (const name of ['dirsync', 'worker', 'notifications', 'migrate'])
    expect(Object.keys(service(name).environment ?? {})).toEqual(
      expect.arrayContaining(everywhere.map(setting => `${setting}_FILE`)),
    )
})

test('workers can be scaled: no port, no name, nothing of their own on the host', () => {
  const { ports, container_name, command } = service('worker')
  expect({ ports, container_name }).toEqual({ ports: undefined, container_name: undefined })
  expect(command).toEqual(['start', '--roles', 'worker,console'])
})

test('every variable that .env may hold stands in docs/compose.md, the number of workers among them', () => {
  const text = readFileSync(join(ROOT, 'docker-compose.yml'), 'utf8')
  const variables = new Set(Array.from(text.matchAll(/\$\{(\w+):-/g), ([, name]) => name))
  expect(variables).toContain('DIRSYNC_WORKERS')
  const page = readFileSync(join(ROOT, 'docs/compose.md'), 'utf8')
  for (const name of variables) expect(page).toContain(`| \`${name}\` `)
})

test('only the console and the receiver of notifications are published, and on the loopback address alone', () => {
  const published = Object.entries(services).filter(([, { ports }]) => ports)
  expect(published.map(([name]) => name)).toEqual(['dirsync', 'notifications'])
  expect(service('dirsync').ports).toEqual([expect.stringMatching(/^127\.0\.0\.1:.*:8080$/)])
  expect(service('notifications').ports).toEqual([expect.stringMatching(/^127\.0\.0\.1:.*:8081$/)])
})

test('the receiver of notifications is off unless asked for, and does nothing else', () => {
  const { profiles, command } = service('notifications')
  expect(profiles).toEqual(['notifications'])
  expect(command).toEqual(['start', '--roles', 'notifications,console'])
  expect(dockerfile).toMatch(/^ +NOTIFICATION_HOST=0\.0\.0\.0(?: \\)?$/m)
})

test('the schema is up to date and the stores are healthy before anything works', () => {
  for (const name of ['dirsync', 'worker', 'notifications'])
    expect(service(name).depends_on).toEqual({
      migrate: { condition: 'service_completed_successfully' },
      postgres: { condition: 'service_healthy' },
      redis: { condition: 'service_healthy' },
    })
  expect(service('migrate').depends_on).toEqual({
    postgres: { condition: 'service_healthy' },
    redis: { condition: 'service_healthy' },
  })
  for (const name of ['postgres', 'redis'])
    expect(service(name).depends_on).toEqual({ guard: { condition: 'service_completed_successfully' } })
})

test('a stop leaves time for the jobs in hand, and for PostgreSQL', () => {
  for (const name of ['dirsync', 'worker', 'notifications'])
    expect(service(name).stop_grace_period).toBe('15s')
  expect(service('postgres').stop_grace_period).toBe('60s')
})

test('Redis keeps what it has: append-only file, no eviction, a volume', () => {
  const command = service('redis').command?.join(' ')
  expect(command).toContain('--appendonly yes')
  expect(command).toContain('--maxmemory-policy noeviction')
  expect(service('redis').volumes).toEqual(['redis:/data'])
})

test('the databases are cut off from the outside', () => {
  expect(file.networks.backend).toEqual({ internal: true })
  for (const name of ['postgres', 'redis']) expect(networksOf(service(name))).toEqual(['backend'])
})

test('nothing outside the demo depends on it', () => {
  const demo = Object.keys(services).filter(name => service(name).profiles?.includes('demo'))
  expect(demo).toEqual(['readable', 'emulator', 'hr'])
  for (const { depends_on = {}, profiles } of Object.values(services))
    if (!profiles?.includes('demo'))
      expect(Object.keys(depends_on).filter(name => demo.includes(name))).toEqual([])
})

test("the demo's settings are settings, and none is a secret", () => {
  const settings = parseEnv(readFileSync(join(ROOT, 'compose/demo/settings.env'), 'utf8'))
  const wrong = Object.keys(settings).filter(
    name => !name.startsWith('SCHEDULE_') && (!(name in SETTINGS) || secretSettings.includes(name)),
  )
  expect(wrong).toEqual([])
})

test("the demo's data is removed by its project, which has no deployment of one's own in it", () => {
  const project = parseEnv(readFileSync(join(ROOT, 'compose/demo.env'), 'utf8'))
  expect(project).toEqual({
    COMPOSE_PROJECT_NAME: 'dirsync-demo',
    COMPOSE_FILE: 'docker-compose.yml',
    COMPOSE_PROFILES: 'demo',
    DIRSYNC_DEPLOYMENT: 'demo',
    DIRSYNC_VERSION: 'demo',
  })
  // The checklist is walked through in a project of its own.
  const pages = PAGES.filter(page => page !== 'docs/compose-checklist.md' && page !== 'CHANGELOG.md')
  const removing = pages.flatMap(page =>
    pageOf(page)
      .split('\n')
      .filter(line => /\bdown\b.*(--volumes|-v)\b/.test(line)),
  )
  expect(removing).toHaveLength(3)
  for (const line of removing) expect(line).toContain('docker compose --env-file compose/demo.env down')
})

test('a start that a page shows builds the image of the demo and of further deployments, and never replaces that of the first', () => {
  const starts = ['README.md', 'README.zh-CN.md', 'docs/compose.md']
    .flatMap(blocksOf)
    .filter(({ text }) => !text.includes('docker compose build'))
    .flatMap(({ text }) =>
      text.split('\n').filter(line => /^docker compose .*\bup (?!.*--no-deps)/.test(line)),
    )
  expect(starts).toHaveLength(6)
  for (const line of starts) expect(line.includes(' up --build ')).toBe(line.includes('--env-file'))
})

describe('an override that a page shows', () => {
  const overrides = ['docs/compose.md', 'docs/hr-files.md']
    .flatMap(blocksOf)
    .flatMap(({ language, text }) =>
      language === 'yaml' ? [{ text, override: parse(text) as Partial<ComposeFile> }] : [],
    )
  const partsOf = (part: 'services' | 'networks' | 'secrets' | 'volumes', override: Partial<ComposeFile>) =>
    Object.keys({ ...file[part], ...override[part] })

  test.each(overrides)('changes what there is, and declares what it adds: %j', ({ override }) => {
    const { services: changed = {}, networks = {}, ...declared } = override
    expect(Object.keys({ ...changed, ...networks })).not.toEqual([])
    expect(Object.keys(services)).toEqual(expect.arrayContaining(Object.keys(changed)))
    expect(Object.keys(file.networks)).toEqual(expect.arrayContaining(Object.keys(networks)))
    const others = Object.keys(declared).filter(key => !key.startsWith('x-'))
    expect(['secrets', 'volumes']).toEqual(expect.arrayContaining(others))
    for (const container of Object.values(changed)) {
      const mounted = (container.volumes ?? []).map(volume => String(volume).split(':', 1).join())
      expect(partsOf('volumes', override)).toEqual(
        expect.arrayContaining(mounted.filter(from => !from.startsWith('/'))),
      )
      expect(partsOf('secrets', override)).toEqual(expect.arrayContaining(secretsOf(container)))
    }
  })

  test('of several HR systems takes the single address from every service that has it', () => {
    const [several] = overrides.filter(({ text }) => text.includes('several HR systems'))
    const single = Object.entries(services).flatMap(([name, { environment = {} }]) => {
      const given = { ...environment, ...several?.override.services?.[name]?.environment }
      return 'HR_DATABASE_URL_FILE' in environment ? [{ name, address: given.HR_DATABASE_URL_FILE }] : []
    })
    expect(single.map(({ name }) => name)).toEqual(['dirsync', 'worker', 'notifications', 'migrate'])
    for (const { address } of single) expect(address).toBe('')
  })

  test('gives every role what it gives to one', () => {
    const ofRoles = overrides.flatMap(({ override: { services: changed = {} } }) =>
      changed.dirsync ? [changed] : [],
    )
    expect(ofRoles.length).toBeGreaterThan(2)
    for (const { dirsync, worker, notifications } of ofRoles)
      expect({ worker, notifications }).toEqual({ worker: dirsync, notifications: dirsync })
  })
})

describe('as Compose reads it', { tags: 'compose' }, () => {
  test('the demo is everything, with nothing prepared', () => {
    const demo = resolveComposeFile({ envFile: 'compose/demo.env' })
    // The older Compose shows the services of every profile.
    const wanted = Object.keys(services).filter(name => name !== 'notifications')
    expect(Object.keys(demo.services)).toEqual(expect.arrayContaining(wanted))
    for (const container of Object.values(demo.services)) expectLockedDown(container)
    for (const { file: path } of Object.values(demo.secrets))
      expect(readFileSync(path, 'utf8').trim()).not.toBe('')
    expect(service('dirsync', demo).environment).toMatchObject({
      PLATFORM_BASE_URL: 'http://emulator:8090',
      SCHEDULE_SYNC_CHANGES: '*/15 * * * * *',
    })
  })

  test("an override is for a deployment of one's own, not for the demo", async () => {
    const folder = await copyOfProject()
    newDeployment(folder, 'production')
    const environment = { HEARTBEAT_URL_FILE: '/run/secrets/heartbeat_url' }
    writeFileSync(
      join(folder, 'docker-compose.override.yml'),
      stringify({ services: { dirsync: { environment } } }),
    )
    expect(service('dirsync', resolveComposeFile({ folder })).environment).toMatchObject(environment)
    const demo = resolveComposeFile({ folder, envFile: 'compose/demo.env' })
    expect(service('dirsync', demo).environment).not.toHaveProperty('HEARTBEAT_URL_FILE')
  })

  test('a deployment of its own takes nothing from the demo', async () => {
    const folder = await copyOfProject()
    newDeployment(folder, 'production')
    const own = resolveComposeFile({ folder })
    // The older Compose shows the services of every profile.
    const started = Object.fromEntries(Object.entries(own.services).filter(([, { profiles }]) => !profiles))
    expect(Object.keys(started)).toEqual(expect.arrayContaining(['dirsync', 'worker', 'postgres', 'redis']))
    for (const [name, { file: path }] of Object.entries(own.secrets))
      if (!name.startsWith('demo_')) expect(path).toContain('compose/production/secrets/')
    expect(service('dirsync', own).environment).toMatchObject({
      HR_EMPLOYEES_SQL: '/mapping/employees.sql',
      DATABASE_URL_FILE: '/run/secrets/database_url',
    })
    // The guard knows the name of the demo's host, to look for it.
    const { guard, ...others } = started
    expect(guard?.environment).toEqual({ DIRSYNC_DEPLOYMENT: 'production' })
    expect(JSON.stringify(others)).not.toMatch(/compose\/demo|emulator/)
    expect(service('postgres', own).environment?.PGDATA).toMatch(/\/production$/)
  })
})

/** What Compose reads of a fresh checkout. */
async function copyOfProject(): Promise<string> {
  const folder = await temporaryFolder()
  for (const part of ['docker-compose.yml', 'compose', 'examples', 'Dockerfile'])
    cpSync(join(ROOT, part), join(folder, part), { recursive: true })
  return folder
}

/** The compose file as Compose understands it: `docker-compose [--env-file …] config`. */
function resolveComposeFile(options: { folder?: string; envFile?: string }): ComposeFile {
  const given = options.envFile ? ['--env-file', options.envFile] : []
  const text = execFileSync(program('compose'), [...given, 'config'], {
    cwd: options.folder ?? ROOT,
    // No variable of this machine decides: DIRSYNC_DEPLOYMENT comes from .env, or is the default.
    env: { PATH: process.env.PATH, HOME: process.env.HOME },
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  return parse(text) as ComposeFile
}
