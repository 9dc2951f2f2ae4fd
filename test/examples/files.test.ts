import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { expect, inject, onTestFinished, test } from 'vitest'
import { registerChild } from '../helpers/children.ts'
import { until } from '../helpers/company.ts'
import { freePort } from '../helpers/free-port.ts'
import { createTestDatabase } from '../helpers/postgres.ts'
import { temporaryFolder } from '../helpers/temporary-folder.ts'

const ROOT = join(import.meta.dirname, '../..')

interface Employee {
  userid: string
  name: string
  gender?: number
  level?: string
  entry_day?: string
}

test('the nine steps bring files to the platform, and half a file nowhere', async () => {
  await using own = await createTestDatabase()
  const folder = await temporaryFolder()
  const port = await freePort()
  const readme = await readFile(join(ROOT, 'examples/files/README.md'), 'utf8')
  const steps = readme.split(/^(?=\d+\. )/m).slice(1)
  expect(steps).toHaveLength(9)

  /** Types steps into a shell of their own, as they stand there but for ports and places of files. */
  const type = (...numbers: number[]) => {
    const typed = numbers
      .flatMap(number => [...(steps[number - 1] ?? '').matchAll(/```sh\n([\s\S]*?)```/g)])
      .map(([, commands]) => commands)
      .join('\n')
      .replaceAll('/tmp/', `${folder}/`)
      .replaceAll('8090', String(port))
    const child = spawn('bash', ['-euo', 'pipefail', '-c', typed], {
      cwd: ROOT,
      env: {
        PATH: `${join(ROOT, 'node_modules/.bin')}:${process.env.PATH}`,
        HOME: folder,
        DATABASE_URL: own.url,
        LANG: 'C.UTF-8',
      },
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true,
    })
    registerChild(inject('runFolder'), child)
    onTestFinished(() => {
      try {
        if (child.pid !== undefined) process.kill(-child.pid, 'SIGTERM')
      } catch {
        // it has ended
      }
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

  expect(await typedToEnd(2)).toContain('00001,甲子,男')
  type(3)
  await until(async () => (await employee('00001').catch(() => undefined)) ?? false)
  const looked = (await typedToEnd(4, 5, 6)).replace(/\s+/g, ' ')
  expect(looked).toMatch(/DuckDB \d+\.\d+\.\d+ answers/)
  expect(looked).toMatch(
    /the last complete delivery: departments\.csv \(4 rows, GB18030\), employees\.csv \(60 rows, GB18030\)/,
  )
  await typedToEnd(4, 7)
  expect(await employee('00001')).toMatchObject({
    name: '甲子',
    gender: 1,
    level: 'P1',
    entry_day: '2005-01-01',
  })
  expect(await typedToEnd(4, 8)).toContain('source_suspect')
  const { rows } = await own.pool.query(
    'select count(*)::int as leavers from dirsync.employee where not active',
  )
  expect(rows[0].leavers).toBe(1)
  await typedToEnd(4, 9)
  expect(await employee('00001')).toMatchObject({ name: '甲子，新' })
})
