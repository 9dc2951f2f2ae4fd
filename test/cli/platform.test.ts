import { expect, test } from 'vitest'
import { createDeployment } from '../helpers/deployment.ts'
import { duringFile } from '../helpers/during.ts'
import { dirsync as run } from './dirsync.ts'

const deployment = duringFile(createDeployment)

const dirsync = (...args: string[]) => run(args, deployment.settings)

test('shows the answer as it is', async () => {
  const answer = await dirsync(
    'platform',
    'employee/get',
    '--userid',
    'e10172',
    '--enterprise_code=E100',
    '--json',
  )
  expect(answer.code).toBe(0)
  expect(answer.json()).toMatchObject({ userid: 'e10172', corp_code: 'W10172' })
  const table = await dirsync('platform', '/employee/get', '--userid', 'e10172', '--enterprise_code', 'E100')
  expect(table.stdout).toMatch(/^ {2}userid +e10172$/m)
})

test('an error comes with code, meaning, remedy and trace id', async () => {
  const args = ['platform', 'employee/get', '--userid', 'nobody', '--enterprise_code', 'E100']
  const failed = await dirsync(...args)
  expect(failed).toMatchObject({ code: 1, stdout: '' })
  expect(failed.stderr).toMatch(
    /employee\/get failed\n +code +1000220096\n +meaning [\s\S]+remedy [\s\S]+trace +\w+/,
  )
  const remedy = 'Correct the user id, or add the employee on the platform.'
  expect(failed.stderr).toContain(remedy)
  expect((await dirsync(...args, '--json')).json()).toMatchObject({
    error: { code: 1000220096, category: 'not_on_platform', remedy, trace_id: expect.any(String) },
  })
})

test('a department that the platform does not have needs no deletion', async () => {
  const args = ['platform', 'department/delete', '--dept_code', 'nope', '--enterprise_code', 'E100']
  const remedy = 'Nothing to do: the goal is reached.'
  expect((await dirsync(...args)).stderr).toContain(remedy)
  expect((await dirsync(...args, '--json')).json()).toMatchObject({ error: { code: 1000220010, remedy } })
})

test('a field that breaks a rule is refused before anything is sent', async () => {
  const refused = await dirsync(
    'platform',
    'employee/openid',
    '--userid',
    'e10172',
    '--seller_appid',
    'much-too-long',
  )
  expect(refused.code).toBe(2)
  expect(refused.stderr).toMatch(/^dirsync: --seller_appid must have at most 8 characters/)
})
