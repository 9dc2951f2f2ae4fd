import { spawnSync } from 'node:child_process'
import { chmodSync, cpSync, existsSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseEnv } from 'node:util'
import pg from 'pg'
import { pino } from 'pino'
import { describe, expect, test } from 'vitest'
import { createPool } from '../../src/lib/database.ts'
import { migrate } from '../../src/lib/migrate.ts'
import { startEmbeddedPostgres } from '../../src/trial/postgres.ts'
import { temporaryFolder } from '../helpers/temporary-folder.ts'
import { ROOT, readComposeFile } from './compose-file.ts'
import { newDeployment } from './deployment.ts'

async function copyOfProject(): Promise<string> {
  const folder = await temporaryFolder()
  for (const part of ['compose/new-deployment', 'examples/hr/employees.sql', 'examples/hr/departments.sql'])
    cpSync(join(ROOT, part), join(folder, part))
  return folder
}

describe('compose/new-deployment', () => {
  test('makes passwords of its own that fit together, and says what is left to fill in', async () => {
    const folder = await copyOfProject()
    const said = newDeployment(folder, 'production')
    const secret = (name: string) =>
      readFileSync(join(folder, 'compose/production/secrets', name), 'utf8').trim()
    const password = secret('postgres_password')
    expect(password).toMatch(/^[0-9a-f]{48}$/)
    const owner = new URL(secret('database_url'))
    expect(owner.href).toBe(`postgres://dirsync:${owner.password}@postgres:5432/dirsync`)
    expect(owner.password).toMatch(/^[0-9a-f]{48}$/)
    expect(owner.password).not.toBe(password)
    expect(secret('postgres_owner.sql')).toContain(`password '${owner.password}'`)
    const redis = new URL(secret('redis_url')).password
    expect(redis).toMatch(/^[0-9a-f]{48}$/)
    expect(redis).not.toBe(password)
    expect(secret('redis_acl')).toContain(`user dirsync on >${redis} `)
    expect(secret('console_token')).toMatch(/^[0-9a-f]{48}$/)
    for (const name of ['hr_database_url', 'platform_app_secret']) {
      expect(secret(name)).toBe('')
      expect(said).toContain(`compose/production/secrets/${name}`)
    }
    expect(readFileSync(join(folder, '.env'), 'utf8')).toBe('DIRSYNC_DEPLOYMENT=production\n')
  })

  test("lets only the containers' users read the secrets on the host", async () => {
    const folder = await copyOfProject()
    newDeployment(folder, 'production')
    const mode = (path: string) => statSync(join(folder, 'compose/production', path)).mode & 0o777
    expect(mode('')).toBe(0o700)
    expect(mode('secrets/database_url')).toBe(0o644)
  })

  test('lets them read the mapping too, although the checkout is closed to everybody else', async () => {
    const folder = await copyOfProject()
    for (const file of ['employees.sql', 'departments.sql'])
      chmodSync(join(folder, 'examples/hr', file), 0o600)
    newDeployment(folder, 'production')
    for (const file of ['employees.sql', 'departments.sql'])
      expect(statSync(join(folder, 'compose/production/mapping', file)).mode & 0o777).toBe(0o644)
  })

  test('never overwrites a deployment or .env', async () => {
    const folder = await copyOfProject()
    writeFileSync(join(folder, '.env'), 'DIRSYNC_DEPLOYMENT=elsewhere\n')
    newDeployment(folder, 'production')
    expect(readFileSync(join(folder, '.env'), 'utf8')).toBe('DIRSYNC_DEPLOYMENT=elsewhere\n')
    const settings = readFileSync(join(folder, 'compose/production/secrets/database_url'), 'utf8')
    expect(() => newDeployment(folder, 'production')).toThrow(/exists/)
    expect(readFileSync(join(folder, 'compose/production/secrets/database_url'), 'utf8')).toBe(settings)
  })

  test('beside another one, says what that comes to, and what a project of its own needs', async () => {
    const folder = await copyOfProject()
    newDeployment(folder, 'production')
    const said = newDeployment(folder, 'staging')
    expect(said).toContain(
      'DIRSYNC_DEPLOYMENT=staging in it, this deployment starts in place of any that it names',
    )
    expect(said).toContain('--env-file compose/staging/project.env')
    expect(said).toMatch(/DIRSYNC_PORT=.*another port that is free/)
    expect(parseEnv(said.match(/(?:^ {2}\w+=.*\n)+/m)?.[0] ?? '')).toEqual({
      COMPOSE_PROJECT_NAME: 'dirsync-staging',
      COMPOSE_FILE: 'docker-compose.yml',
      DIRSYNC_DEPLOYMENT: 'staging',
      DIRSYNC_VERSION: 'staging',
      DIRSYNC_PORT: '8082',
    })
  })

  test.each(['', 'demo', '../elsewhere', 'Production', 'a b'])('refuses the name %j', async name => {
    const folder = await copyOfProject()
    expect(() => newDeployment(folder, name)).toThrow(/small letters/)
    expect(existsSync(join(folder, '.env'))).toBe(false)
  })
})

test("the role that owns dirsync's tables migrates, and cannot switch the audit off", async () => {
  // A server of its own, as the image makes one: roles belong to the whole server.
  const read = (secret: string) => readFileSync(join(ROOT, 'compose/demo/secrets', secret), 'utf8')
  const server = await startEmbeddedPostgres({ dataDir: join(await temporaryFolder(), 'data') })
  const admin = new pg.Client(server.url('postgres'))
  await admin.connect()
  await admin.query('create database dirsync')
  for (const statement of read('postgres_owner.sql').split(';')) await admin.query(statement)
  await admin.end()
  const url = new URL(read('database_url').trim())
  url.host = new URL(server.url('dirsync')).host
  const owner = createPool(url.href, { max: 1, name: 'test', logger: pino({ level: 'silent' }) })
  try {
    expect((await migrate(owner)).reviewerStatements).toEqual([])
    const refused = expect.objectContaining({ code: '42501' })
    await expect(owner.query('set session_replication_role = replica')).rejects.toEqual(refused)
    await expect(owner.query(`copy (select 1) to program 'true'`)).rejects.toEqual(refused)
  } finally {
    await owner.end()
    await server.stop()
  }
})

describe('the guard', () => {
  const { entrypoint = [], command = [] } = readComposeFile().services.guard ?? {}
  const guard = (deployment: string, host: string) => {
    const [program = '', ...args] = entrypoint.map(part => part.replaceAll('$$', '$'))
    return spawnSync(program, [...args, host, '0'], {
      env: { PATH: process.env.PATH, DIRSYNC_DEPLOYMENT: deployment },
      encoding: 'utf8',
    })
  }

  test('looks for the host that only the demo has, for a while', () => {
    expect(command).toEqual(['emulator', '30'])
  })

  test('lets the demo start where the demo is', () => {
    expect(guard('demo', 'localhost')).toMatchObject({ status: 0, stderr: '' })
  })

  test('stops a start without a deployment where the demo is not', () => {
    const { status, stderr } = guard('demo', 'nowhere.invalid')
    expect(status).toBe(2)
    expect(stderr).toMatch(/--env-file compose\/demo\.env up.*compose\/new-deployment production/)
  })

  test('does not concern a deployment of its own', () => {
    expect(guard('production', 'nowhere.invalid')).toMatchObject({ status: 0, stderr: '' })
  })
})
