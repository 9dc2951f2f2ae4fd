import { expect, test } from 'vitest'
import { describeBackends } from '../helpers/backends.ts'
import { type Company, createCompany, endOf, person, until } from '../helpers/company.ts'
import { type DirsyncProcess, spawnDirsync } from '../helpers/process.ts'
import { startRedis } from '../helpers/redis.ts'

const EMPLOYEES = 250
const KILLS = 6

/** Failures that HR data causes, planted by user id; each must end as one open case of its category. */
const PLANTED: Record<string, { category: string; sql: string }> = {
  e0200: { category: 'duplicate_mobile', sql: `mobile = '19900000201'` },
  e0202: { category: 'duplicate_email', sql: `email = 'e203@example.com'` },
  e0204: { category: 'missing_department', sql: `dept_code = 'NOWHERE', name = 'Moved to nowhere'` },
  e0206: { category: 'invalid_hr_row', sql: `mobile = 'none'` },
  e0208: { category: 'invalid_hr_row', sql: `name = repeat('x', 51)` },
  e0210: { category: 'left_hr', sql: `active = false` },
  e0212: { category: 'duplicate_mobile', sql: `mobile = '19900000213', name = 'Taker'` },
}
const ABSENT = ['gone1', 'gone2', 'gone3']

/** What HR wants of the fields that the platform tells, for every employee without a planted failure. */
async function desired(company: Company): Promise<Map<string, Record<string, unknown>>> {
  const { rows } = await company.hr.query(
    `select userid, name, mobile, email, dept_code, entry_day::text from person where userid <> all ($1) order by userid`,
    [[...Object.keys(PLANTED), ...ABSENT]],
  )
  return new Map(rows.map(row => [row.userid, row]))
}

async function plant(company: Company): Promise<void> {
  // Four of five employees differ: a name, a number, a department, a number that moves from one to the next.
  await company.hr.query(`update person set name = name || ' II' where right(userid, 1) in ('0', '5')`)
  await company.hr.query(
    `update person set entry_day = entry_day + 1, dept_code = 'D4' where right(userid, 1) in ('1', '6')`,
  )
  await company.hr.query(
    `update person set email = 'new-' || email where right(userid, 1) in ('2', '7') and userid < 'e0200'`,
  )
  await company.hr.query(
    `update person set mobile = '1991111' || right(userid, 4) where right(userid, 1) = '3' and userid < 'e0200'`,
  )
  await company.hr.query(
    `update person set mobile = '1990000' || lpad((substr(userid, 2)::int - 1)::text, 4, '0') where right(userid, 1) = '4' and userid < 'e0200'`,
  )
  for (const [userid, { sql }] of Object.entries(PLANTED))
    await company.hr.query(`update person set ${sql} where userid = $1`, [userid])
  for (const [i, userid] of ABSENT.entries())
    await company.hr.query(`insert into person select * from jsonb_populate_record(null::person, $1)`, [
      JSON.stringify({ ...person(900 + i), userid }),
    ])
}

describeBackends('with the queue in', {}, ({ kind }) => {
  test(`${EMPLOYEES} employees converge although workers are killed ${KILLS} times and the queue is wiped`, {
    timeout: 150_000,
  }, async () => {
    const redis = kind === 'redis' ? await startRedis() : null
    await using company = await createCompany({
      employees: EMPLOYEES,
      ...(redis ? { redisUrl: redis.url } : {}),
      settings: { PLATFORM_RATE_LIMIT: '120', WORKER_CONCURRENCY: '8' },
    })
    await plant(company)
    const start = (role: string) => spawnDirsync(['start', '--roles', role], { env: company.settings })
    const scheduler = start('scheduler')
    const workers: DirsyncProcess[] = [start('worker'), start('worker'), start('worker')]
    try {
      await Promise.all([scheduler, ...workers].map(child => child.waitForLine(/running/i)))
      const { rows } = await company.db.query(`select dirsync.resync('full') as id`)
      const settled = async () =>
        (await company.db.query('select count(*)::int as n from dirsync.attempt')).rows[0].n as number
      for (let kill = 1; kill <= KILLS; kill++) {
        const from = await settled()
        await until(async () => (await settled()) >= from + 20)
        const victim = kill % workers.length
        await workers[victim]?.kill('SIGKILL')
        workers[victim] = start('worker')
        if (kill === 3) {
          await redis?.flush()
          // HR goes on changing meanwhile, also for employees that were done already.
          await company.hr.query(
            `update person set name = 'Changed meanwhile' where userid between 'e0100' and 'e0119'`,
          )
          await company.db.query(`select dirsync.resync('changes')`)
        }
      }
      const run = await endOf(company.db, Number(rows[0].id))
      expect(run.state).toBe('done')
      await quiet(company)

      const platform = await company.onPlatform()
      for (const [userid, wanted] of await desired(company))
        expect(platform.get(userid)).toMatchObject(wanted)
      const { rows: open } = await company.db.query(
        `select entity_key, category from dirsync.dead_letter where state not in ('resolved', 'ignored') order by 1, 2`,
      )
      const expected = [
        ...Object.entries(PLANTED).map(([entity_key, { category }]) => ({ entity_key, category })),
        ...ABSENT.map(entity_key => ({ entity_key, category: 'not_on_platform' })),
      ]
      expect(open).toEqual(expected.sort((a, b) => a.entity_key.localeCompare(b.entity_key)))
      // What could be sent of a partly refused employee was sent.
      expect(platform.get('e0212')).toMatchObject({ name: 'Taker', mobile: '19900000212' })

      // And it stays so: asking the platform about everybody finds nothing to do.
      const again = await company.run('full')
      expect(again.result?.calls['employee/update'] ?? 0).toBe(0)
      expect(await company.control('GET', 'stats')).toMatchObject({ maxConcurrentPerUserid: 1 })

      const exits = await Promise.all([scheduler, ...workers].map(child => child.kill('SIGTERM')))
      expect(exits.map(exit => exit.code)).toEqual(exits.map(() => 0))
    } finally {
      await Promise.all([scheduler, ...workers].map(child => child.kill('SIGKILL')))
      await redis?.stop()
    }
  })
})

/** Waits until the outbox is empty and no case is due. */
async function quiet(company: Company): Promise<void> {
  await until(async () => {
    const { rows } = await company.db.query(
      `select (select count(*) from dirsync.pending) + (select count(*) from dirsync.dead_letter where next_retry_at <= now()
                and state not in ('resolved', 'ignored')) + (select count(*) from dirsync.sync_run where finished_at is null) = 0 as quiet`,
    )
    return rows[0].quiet
  })
}
