import { rmSync } from 'node:fs'
import { expect, test } from 'vitest'
import { ConsoleUnderTest, hrWith } from './console-under-test.ts'

const SELECT = 'select userid, name from public.staff'
let file = ''
const console = new ConsoleUnderTest(url => {
  const settings = hrWith(url, SELECT)
  file = settings.HR_EMPLOYEES_SQL ?? ''
  return settings
})
const preview = () => console.browse('operator', 'POST', '/mapping/dry-runs', '')

test('what a run would do is found out by the mapping in use', async () => {
  await console.pool.query('create table public.staff (userid text, name text)')
  expect((await console.browse('operator', 'GET', '/runs/new')).body).toContain('See first what it would do')
  expect((await console.browse('reviewer', 'GET', '/runs/new')).body).not.toContain('See first')
  expect((await preview()).headers.location).toMatch(/^\/mapping\/dry-runs\/\d+$/)
  const { rows } = await console.pool.query('select mapping, state from dirsync.dry_run')
  expect(rows).toEqual([{ mapping: SELECT, state: 'requested' }])
})

test('where the mapping in use cannot be read, its file is named', async () => {
  rmSync(file)
  const { statusCode, body } = await preview()
  expect(statusCode).toBe(422)
  expect(body).toContain(file)
})
