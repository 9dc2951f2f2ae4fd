import { expect, test } from 'vitest'
import { loadConfig } from '../../src/config.ts'
import { examine } from '../../src/doctor/examine.ts'
import type { Finding } from '../../src/doctor/finding.ts'
import { createLogger } from '../../src/lib/logger.ts'
import { createDeployment } from '../helpers/deployment.ts'

const logger = createLogger({ level: 'silent', pretty: false })

async function findingsOf(settings: Record<string, string>): Promise<Finding[]> {
  const findings: Finding[] = []
  const examined = examine({ config: loadConfig(settings), env: settings, program: 'dirsync', logger })
  for await (const finding of examined) findings.push(finding)
  return findings
}

test('a process that holds its settings examines itself, finding by finding', async () => {
  await using deployment = await createDeployment()
  const findings = await findingsOf({ ...deployment.settings, PLATFORM_RATE_LIMT: '5' })
  // Nothing was ever started, so the queue has no tables yet.
  expect(findings.filter(({ status }) => status === 'failed').map(({ check }) => check)).toEqual(['queue'])
  expect(findings[0]).toMatchObject({ check: 'settings', what: 'complete' })
  expect(findings).toContainEqual(
    expect.objectContaining({ status: 'warning', remedy: 'Did you mean PLATFORM_RATE_LIMIT?' }),
  )
  expect(findings.map(({ check }) => check)).toEqual(
    expect.arrayContaining(['schedules', 'database', 'queue', 'hr', 'mapping', 'platform', 'credentials']),
  )
})

test('who has seen enough may leave: nothing stays open', async () => {
  await using deployment = await createDeployment()
  const { settings, own } = deployment
  for await (const { check } of examine({
    config: loadConfig(settings),
    env: settings,
    program: 'x',
    logger,
  }))
    if (check === 'account') break
  const { rows } = await own.pool.query<{ n: number }>(
    `select count(*)::int as n from pg_stat_activity
     where datname = current_database() and application_name = 'dirsync doctor'`,
  )
  expect(rows).toEqual([{ n: 0 }])
})
