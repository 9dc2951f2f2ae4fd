import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createConnection } from 'mysql2/promise'
import type { Logger } from 'pino'
import { acknowledgeAll, seedOf } from './company.ts'
import type { Figure, RunBenchmark } from './figure.ts'
import { MYSQL_EMPLOYEES_SQL } from './people.ts'
import { prepareMysql } from './plan-mysql.ts'
import { openHr } from './planned-database.ts'
import { at, EMPLOYEES, latencies, RATE_PER_SECOND } from './trigger-latency.ts'
import type { Workshop } from './workshop.ts'

/** With the column of the time of the last change. */
const SQL = MYSQL_EMPLOYEES_SQL.replace('as userid,', 'as userid, e.changed_at as updated_at,')
const ROUNDS = 2

/** Like `trigger-latency`, with HR in a MariaDB that is polled every second. */
export function pollLatency(workshop: Workshop, logger: Logger): RunBenchmark {
  return {
    name: 'poll-latency',
    measures: `median of ${ROUNDS * 20} single changes of HR in a MariaDB, ${EMPLOYEES.toLocaleString('en')} employees, idle system, HR_POLL_SECONDS=1 and no cron job: from the UPDATE to the arrival of employee/update at the platform`,
    against: 'the same service without HR_POLL_SECONDS, with SCHEDULE_SYNC_CHANGES at every second',
    async run(_parts, report) {
      const { hr, url: databaseUrl } = await prepareMysql(workshop, EMPLOYEES, logger, SQL)
      const people = await acknowledgeAll(databaseUrl, logger, openHr(hr, logger, SQL))
      const platform = await workshop.emulator(seedOf(people))
      const deployment = { databaseUrl, redisUrl: null, platform, ratePerSecond: RATE_PER_SECOND }
      const mapping = join(workshop.folder, 'mysql-employees.sql')
      await writeFile(mapping, SQL)
      const settings = { HR_DATABASE_URL: hr, HR_EMPLOYEES_SQL: mapping }
      const admin = await createConnection(hr)
      const change = async (userid: string, note: string) => {
        await admin.query('update employee set note = ? where staff_id = ?', [note, userid])
      }
      const [polled, scheduled]: [number[], number[]] = [[], []]
      const measure = (more: Record<string, string>) =>
        latencies(workshop.folder, deployment, change, { ...settings, ...more })
      for (let round = 0; round < ROUNDS; round += 1) {
        scheduled.push(...(await measure({ SCHEDULE_SYNC_CHANGES: '* * * * * *' })))
        polled.push(...(await measure({ HR_POLL_SECONDS: '1' })))
      }
      await admin.end()
      for (const [side, all] of Object.entries({ polled, scheduled }))
        report(
          `${side} p50 ${at(all, 0.5)} ms, p95 ${at(all, 0.95)} ms, worst ${at(all, 1)} ms, ${all.length} changes`,
        )
      const figure: Figure = {
        name: 'poll-latency',
        value: at(polled, 0.5),
        unit: 'ms',
        baseline: at(scheduled, 0.5),
        goal: { valueAtMost: 2000 },
      }
      return [figure]
    },
  }
}
