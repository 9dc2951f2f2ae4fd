import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { BareCaller, FORM } from './bare-call.ts'
import { answerParent } from './child.ts'
import type { NaiveTask } from './naive.ts'

const FIRST_WAIT_MS = 1000

// The obvious script: for every row of HR, query the platform and update what differs, for a number of employees at a
// time. After a 429, a caller waits as long as asked, or twice as long each time, and tries again.
answerParent<NaiveTask, number>(async task => {
  const caller = new BareCaller(task.platform, 1)
  await caller.createToken()
  const call = async (operation: string, params: Record<string, string>) => {
    for (let waitMs = FIRST_WAIT_MS; ; waitMs *= 2) {
      const { path, body } = caller.prepare(operation, params)
      const response = await fetch(task.platform.baseUrl + path, { method: 'POST', headers: FORM, body })
      if (response.status !== 429) {
        const answer = (await response.json()) as { code: number; data: Record<string, unknown> }
        if (answer.code !== 0) throw new Error(`${operation} was answered with ${answer.code}`)
        return answer.data
      }
      await response.text()
      const told = Number(response.headers.get('retry-after'))
      await sleep(told > 0 ? told * 1000 : waitMs)
    }
  }
  const client = new pg.Client({ connectionString: task.databaseUrl })
  await client.connect()
  const startedAt = performance.now()
  const { rows } = await client.query<{ userid: string; remark: string | null }>(
    'select staff_id as userid, note as remark from hr.employee order by staff_id limit $1',
    [task.employees],
  )
  await client.end()
  const left = rows.values()
  const workOff = async () => {
    for (const { userid, remark } of left) {
      const employee = await call('employee/get', { userid })
      if (employee.remark !== remark) await call('employee/update', { userid, remark: remark ?? '' })
    }
  }
  await Promise.all(Array.from({ length: task.concurrency }, workOff))
  const seconds = (performance.now() - startedAt) / 1000
  await caller.close()
  return seconds
})
