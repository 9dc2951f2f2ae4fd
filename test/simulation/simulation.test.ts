import { join } from 'node:path'
import { expect, inject, test } from 'vitest'
import { spawnScript } from '../helpers/process.ts'

/** Orders of events, chosen by seed, in processes of their own: the schedule stands between all of them and PostgreSQL. */
async function simulate(...args: string[]): Promise<{ code: number | null; stdout: string; stderr: string }> {
  const main = join(import.meta.dirname, 'main.ts')
  await using child = spawnScript(main, ['--server', inject('postgresUrl'), ...args])
  const { code } = await child.exited
  return { code, stdout: child.stdout, stderr: child.stderr }
}

/** Half a minute of work for two cores that do nothing else. */
const timeout = 600_000

test('no order of events breaks a law', { timeout }, async () => {
  const { code, stdout, stderr } = await simulate('--seeds', '60')
  expect({ code, stderr, stdout }).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/^60 seeds .*: 0 broke/m),
  })
})

// One of each part: a model that lets nothing happen in it finds no breach either.
test.each(['sends-any-row', 'deletes-parent-first', 'unknown-is-failed', 'no-list-is-empty'])(
  'an order that breaks a law is found: %s',
  { timeout },
  async defect => {
    const { code, stdout } = await simulate('--seeds', '300', '--defect', defect)
    expect({ code, stdout }).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(new RegExp(`^${defect} +seed \\d+`, 'm')),
    })
  },
)
