// @module-tag mariadb

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { expect, inject, onTestFinished, test } from 'vitest'
import { registerChild } from '../helpers/children.ts'
import { until } from '../helpers/company.ts'
import { freePort } from '../helpers/free-port.ts'
import { startMariadb } from '../helpers/mariadb.ts'
import { createTestDatabase } from '../helpers/postgres.ts'
import { temporaryFolder } from '../helpers/temporary-folder.ts'

const ROOT = join(import.meta.dirname, '../..')

/** What each step of the README types, by its number. */
async function stepsOfReadme(): Promise<Map<number, string>> {
  const readme = await readFile(join(ROOT, 'examples/mysql/README.md'), 'utf8')
  const steps = readme.split(/^(?=\d+\. )/m).slice(1)
  return new Map(
    steps.map(step => [
      Number.parseInt(step, 10),
      [...step.matchAll(/```sh\n([\s\S]*?)```/g)].map(([, typed]) => typed).join('\n'),
    ]),
  )
}

interface Employee {
  userid: string
  name: string
  gender?: number
  level?: string
  birth_day?: string
  entry_day?: string
}

// Nine commands one after the other, each of which takes long on a busy machine.
test('the ten steps bring a company from MariaDB to the platform', { timeout: 300_000 }, async () => {
  await using server = await startMariadb()
  await using own = await createTestDatabase()
  const folder = await temporaryFolder()
  const port = await freePort()
  const steps = await stepsOfReadme()
  expect([...steps.keys()]).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10])

  const env: NodeJS.ProcessEnv = {
    PATH: `${join(ROOT, 'node_modules/.bin')}:${process.env.PATH}`,
    HOME: folder,
    MYSQL_HOST: '127.0.0.1',
    MYSQL_TCP_PORT: new URL(server.url('x')).port,
    DATABASE_URL: own.url,
    LANG: 'C.UTF-8',
  }
  /** Types steps into a shell of their own, as they stand there but for addresses, ports and places of files. */
  const type = (...numbers: number[]) => {
    const typed = numbers.map(number => steps.get(number)?.replaceAll('/tmp/', `${folder}/`)).join('\n')
    // npx would look for what has to be compiled at every command: test/bin/dirsync.test.ts shows that it runs the same.
    const script = typed.replaceAll('8090', String(port)).replaceAll('npx dirsync', join(ROOT, 'bin/dirsync'))
    const child = spawn('bash', ['-euo', 'pipefail', '-c', script], {
      cwd: ROOT,
      env,
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true,
    })
    registerChild(inject('runFolder'), child)
    onTestFinished(() => {
      if (child.pid !== undefined) endGroup(child.pid)
    })
    return child
  }
  const typedToEnd = async (...numbers: number[]) => {
    const child = type(...numbers)
    const printed = Promise.all([text(child.stdout), text(child.stderr)])
    const [code] = await once(child, 'close')
    const [out, err] = await printed
    expect(code, `${out}\n${err}`).toBe(0)
    return out
  }
  const employee = async (userid: string) => {
    const response = await fetch(`http://127.0.0.1:${port}/_emulator/state?userid=${userid}`)
    const { employees } = (await response.json()) as { employees: Employee[] }
    return employees[0]
  }

  expect(await typedToEnd(2, 3)).toContain('10010')
  type(4)
  await until(async () => (await employee('10001').catch(() => undefined)) ?? false)
  const looked = await typedToEnd(5, 6, 7)
  expect(looked).toMatch(/(?:MariaDB|MySQL) \d+\.\d+\.\d+ answers/)
  expect(await employee('10001')).not.toHaveProperty('entry_day', '2005-04-01')
  await typedToEnd(5, 8)
  expect(await employee('10001')).toMatchObject({
    gender: 1,
    level: 'Manager',
    birth_day: '1970-02-21',
    entry_day: '2005-04-01',
  })
  const { name } = (await employee('10001')) ?? {}
  expect(await typedToEnd(5, 9)).toContain('10001')
  const { name: changed } = (await employee('10001')) ?? {}
  expect(changed).toBe(`${name?.split(' ')[0]} Rosba`)

  // Nothing else sends what changes.
  env.SCHEDULE_SYNC_CHANGES = 'off'
  type(5, 10)
  /** The last run that came of looking for newer rows. */
  const polled = async () => {
    const { rows } = await own.pool.query<{ id: number }>(
      `select id::int from dirsync.sync_run where requested_by = 'poller' and state = 'done' order by id desc limit 1`,
    )
    return rows[0]?.id ?? 0
  }
  await until(async () => (await polled()) > 0)
  const sql = "update employees set last_name = 'Rosba' where emp_no = 10002"
  const change = spawn('mariadb', ['-u', 'root', 'company', '-e', sql], { env })
  expect(await once(change, 'close')).toEqual([0, null])
  await until(async () => (await employee('10002'))?.name.endsWith(' Rosba') ?? false)
})

function endGroup(pid: number): void {
  try {
    process.kill(-pid, 'SIGTERM')
  } catch {
    // it has ended
  }
}
