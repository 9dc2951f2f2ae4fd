import { expect, test } from 'vitest'
import { describeBackends } from '../helpers/backends.ts'
import { createCompany, until } from '../helpers/company.ts'
import { spawnDirsync } from '../helpers/process.ts'

const EMPLOYEES = 2000
/** Calls per second. */
const RATE = 100
/** Named one after the other, among the last that the full run would come to. */
const NAMED = ['e1995', 'e1996', 'e1997', 'e1998', 'e1999']

interface Call {
  id: number
  operation: string
  params: { userid?: string }
}

describeBackends('with the queue in', {}, ({ redis }) => {
  test('whoever is named overtakes a full run: no more calls come first than one second permits', {
    timeout: 90_000,
  }, async () => {
    const redisUrl = await redis()
    await using company = await createCompany({
      employees: EMPLOYEES,
      ...(redisUrl === undefined ? {} : { redisUrl }),
      settings: { PLATFORM_RATE_LIMIT: String(RATE), SCHEDULE_SYNC_CHANGES: 'off' },
    })
    await using scheduler = spawnDirsync(['start', '--roles', 'scheduler'], { env: company.settings })
    await using worker = spawnDirsync(['start', '--roles', 'worker'], { env: company.settings })
    await using another = spawnDirsync(['start', '--roles', 'worker'], { env: company.settings })
    await Promise.all([scheduler, worker, another].map(service => service.waitForLine(/Running\./)))
    await company.db.query(`select dirsync.resync('full')`)

    let last = 0
    const callsSince = async (id: number) => {
      const { calls } = await company.control<{ calls: Call[] }>('GET', `calls?since=${id}&limit=10000`)
      last = calls.at(-1)?.id ?? last
      return calls
    }
    const before: number[] = []
    for (const userid of NAMED) {
      await callsSince(last)
      await until(async () => (await callsSince(last)).length > 0)
      const asked = last
      await company.db.query(`select dirsync.resync('employee', $1)`, [userid])
      before.push(
        await until(async () => {
          const ahead = (await callsSince(asked)).findIndex(call => call.params.userid === userid)
          return ahead >= 0 && ahead
        }),
      )
    }
    const { rows } = await company.db.query(`select count(*)::int as left from dirsync.pending`)
    expect(rows[0].left).toBeGreaterThan(EMPLOYEES / 4)
    // The median, for the machine may have been busy with something else at one of them.
    expect(before.sort((a, b) => a - b)[2], before.join(', ')).toBeLessThanOrEqual(RATE)
    expect(before.at(-1)).toBeLessThanOrEqual(3 * RATE)
  })
})
