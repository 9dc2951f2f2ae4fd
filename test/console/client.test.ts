import { execFile } from 'node:child_process'
import { copyFile, mkdir, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, inject, test } from 'vitest'
import { until } from '../helpers/company.ts'
import { ConsoleUnderTest } from './console-under-test.ts'

const console = new ConsoleUnderTest()
const run = promisify(execFile)
const here = (path: string) => fileURLToPath(new URL(path, import.meta.url))

test('a client generated from the description is typed, and does what it is asked to', async () => {
  const folder = join(inject('runFolder'), 'client')
  await mkdir(folder)
  await symlink(here('../../node_modules'), join(folder, 'node_modules'))
  const description = (await console.ask('viewer', 'GET', '/api/v1/openapi.json')).body
  await writeFile(join(folder, 'openapi.json'), description)
  await run(process.execPath, [here('client/generate.ts'), 'openapi.json', 'dirsync.d.ts'], { cwd: folder })
  await copyFile(here('client/scenario.ts'), join(folder, 'scenario.ts'))
  await writeFile(join(folder, 'package.json'), '{ "type": "module" }')
  const options =
    '--noEmit --strict --target es2024 --lib es2024,dom,dom.asynciterable --module nodenext --types node'
  const tsc = join(folder, 'node_modules/typescript/bin/tsc')
  await run(process.execPath, [tsc, ...options.split(' '), 'scenario.ts'], { cwd: folder }).catch(
    ({ stdout }) => expect(stdout).toBe(''),
  )

  await console.pool.query(
    `insert into dirsync.dead_letter (entity, entity_key, operation, category, message, remedy, state)
     values ('employee', 'e1', 'update-employee', 'duplicate_mobile', '[]', '[]', 'open')`,
  )
  const url = await console.app.listen({ host: '127.0.0.1', port: 0 })
  const finished = run(process.execPath, ['scenario.ts', url, await console.tokenOf('operator')], {
    cwd: folder,
  })
  const end = `update dirsync.sync_run set state = 'done', finished_at = now() where state = 'requested'`
  await until(async () => (await console.pool.query(end)).rowCount === 1)
  const told = JSON.parse((await finished).stdout)
  expect(told).toEqual({
    category: 'duplicate_mobile',
    status: 202,
    location: expect.stringMatching(/^\/api\/v1\/runs\/\d+$/),
    isOneRun: true,
    state: 'done',
    seen: expect.arrayContaining(['run.requested', 'run.done']),
    problem: '/problems/not_found',
  })
})
