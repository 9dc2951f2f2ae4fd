import { appendFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { CallRecord } from '../../emulator/call-log.ts'
import { breachesAtRest, differing } from '../simulation/at-rest.ts'
import { FIELDS, type Person } from './company.ts'
import { GRACE_S, TREE, undueDeletions } from './departments.ts'
import { type Chaos, insist } from './disturbances.ts'
import { LIMIT, MERCHANTS } from './platform.ts'

/** Lets a deployment come to rest after chaos, and holds what it then is against what must hold. */

/** Halts, delays and retries of work are shorter than this by far. */
const RESTS_WITHIN_S = 300
/** A person looks at the cases this often in the end: one may wait for another. */
const RETRIES = 3

export interface Rest {
  /** Seconds from the end of the disturbances until nothing was left to do. */
  seconds: number
  isReached: boolean
  /** Cases that only a person or a slow probe ends. */
  retriedCases: number
  /** Employees who then differ on the platform, and have no case that says so. */
  unexplained: string[]
}

/** People set HR right, resume, and let dirsync do what it wants to: changes, without a comparison of everyone. */
export async function comeToRest(chaos: Chaos): Promise<Rest> {
  const { company, db, platform } = chaos
  const begun = performance.now()
  company.stopEditing()
  await insist(() => company.repair())
  await insist(() =>
    platform.plant('usual', [
      { operation: '*', rateLimit: { kind: 'sliding-log', limit: LIMIT, windowMs: 1000, scope: 'all' } },
    ]),
  )
  // What cron would request meanwhile would not be at rest.
  await insist(() =>
    db.query(`select dirsync.pause_schedule(job, 'the end of chaos') from dirsync.job_schedule
              where dirsync.pause_effect(job) <> 'refused' and job <> 'retry-due'`),
  )
  await insist(() => db.query('select dirsync.resume()'))
  // The next one by cron: what waits for a plan waits for it after a run that found HR doubled.
  await insist(() => db.query(`select dirsync.resync('changes')`))
  const resting = async () => {
    while (!(await isQuiet(chaos))) {
      if (performance.now() - begun > RESTS_WITHIN_S * 1000) return false
      await sleep(500)
    }
    return true
  }
  let isReached = await resting()
  // What was rejected stays as it is until HR has something else.
  const { rows: rejected } = await db.query<{ userid: string }>(
    `select userid from dirsync.employee where status = 'rejected'`,
  )
  await company.rename(rejected.map(({ userid }) => userid))
  await db.query(`select dirsync.resync('changes')`)
  isReached &&= await resting()
  const unexplained = isReached ? await withoutCase(chaos) : []
  // Some were deleted while HR opened them again, and people are sent to some that are closed.
  await platform.putBackDepartments(await company.neededDepartments())
  let retriedCases = 0
  for (let time = 1; time <= RETRIES && isReached; time++) {
    const { rows: cases } = await db.query<{ id: string }>(
      `select id from dirsync.dead_letter where state <> 'resolved' order by id`,
    )
    if (time === 1) retriedCases = cases.length
    for (const { id } of cases) await db.query('select dirsync.retry($1)', [id]).catch(() => {})
    isReached &&= await resting()
  }
  // What is closed is noticed first, and deleted once its time is over.
  for (const kind of ['departments', 'openids', 'departments', 'orders', 'accounts', 'taxpayers']) {
    await db.query('select dirsync.resync($1)', [kind])
    if (kind === 'openids') await sleep(GRACE_S * 1000)
    isReached &&= await resting()
  }
  return { seconds: (performance.now() - begun) / 1000, isReached, retriedCases, unexplained }
}

async function withoutCase({ company, platform, db }: Chaos): Promise<string[]> {
  const { rows } = await db.query<{ userid: string }>(
    `select distinct entity_key as userid from dirsync.dead_letter where state <> 'resolved'`,
  )
  const known = new Set(rows.map(({ userid }) => userid))
  const held = (await platform.employees()) as unknown as Map<string, Partial<Person>>
  return [...(await company.rows())].flatMap(([userid, row]) => {
    const differs = differing<Person>(row, held.get(userid) ?? {}, FIELDS)
    return differs && !known.has(userid)
      ? [`after the changes run ${userid} differs in ${differs} without a case`]
      : []
  })
}

/** As a person does. */
export async function approveHeld({ db }: Chaos): Promise<void> {
  const { rows } = await db.query<{ id: string }>(
    `select id from dirsync.sync_run where state = 'held' order by id`,
  )
  for (const { id } of rows) await db.query('select dirsync.approve($1)', [id]).catch(() => {})
}

/** Whether nothing is left to do. Approves what is held. */
async function isQuiet(chaos: Chaos): Promise<boolean> {
  const { rows } = await chaos.db.query<{ busy: boolean }>(
    `select exists (select from dirsync.pending) or exists (select from dirsync.sync_run where finished_at is null)
              or exists (select from dirsync.dead_letter where state = 'retrying') as busy`,
  )
  await approveHeld(chaos)
  return rows[0]?.busy === false
}

export interface Verdict {
  /** Employees whom the platform holds otherwise than HR. */
  lost: string[]
  /** Employees with two calls at once, and payments that were sent twice. */
  doubled: string[]
  /** Whatever else must not be. */
  wrong: string[]
}

export async function judge(chaos: Chaos, { unexplained }: Rest): Promise<Verdict> {
  const { company, platform, db, money, mirrored, processes } = chaos
  await platform.readCalls()
  const hr = await company.rows()
  const held = (await platform.employees()) as unknown as Map<string, Partial<Person>>
  const lost: string[] = []
  for (const [userid, row] of hr) {
    const differs = differing<Person>(row, held.get(userid) ?? {}, FIELDS)
    if (differs) lost.push(`${userid} differs from HR in ${differs}`)
  }
  const { overlappingUserids } = await platform.statistics()
  const ofMoney = await money.breaches(db)
  const isDoubled = (breach: string) => / sent \d+ times$/.test(breach)
  const atRest = await breachesAtRest<Person>(db, {
    hr,
    platform: held,
    fields: FIELDS,
    touched: new Set(),
    departments: { tree: TREE, hr: await company.departments(), platform: await platform.departments() },
    openids: { merchants: MERCHANTS, platform: await platform.openids() },
  })
  return {
    lost,
    doubled: [
      ...overlappingUserids.map(({ userid, concurrent }) => `${userid} had ${concurrent} calls at once`),
      ...ofMoney.filter(isDoubled),
    ],
    wrong: [
      ...unexplained,
      ...atRest,
      ...(await undueDeletions(chaos)),
      ...(await mirrored.breaches(db)),
      ...platform.calls.flatMap(call => neverHad(chaos, call)),
      ...ofMoney.filter(breach => !isDoubled(breach)),
      ...processes.flatMap(({ isOlder, deaths }) => (isOlder ? [] : deaths)),
      ...[...held.keys()].filter(userid => !hr.has(userid)).map(userid => `${userid} is not in HR`),
    ],
  }
}

/** Values in an update that HR has never had. */
function neverHad({ company }: Chaos, { operation, params, id }: CallRecord): string[] {
  if (operation !== 'employee/update') return []
  const userid = String(params.userid)
  return FIELDS.filter(
    field => params[field] !== undefined && !company.hasHad(userid, field, params[field]),
  ).map(
    field => `${userid} was sent ${field} ${JSON.stringify(params[field])} by call ${id}, which HR never had`,
  )
}

const EXPLAINED = 10
/** Kept as a whole, a file each. */
const TABLES = [
  ...['sync_run', 'planned_work', 'pending', 'employee', 'attempt'],
  ...['dead_letter', 'dead_letter_event', 'command', 'halt', 'refund'],
  ...['department', 'openid_binding', 'payment_order', 'limit_account', 'limit_sub_account', 'taxpayer'],
]
const LAST_CALLS = 40

/** Writes down all there is about the employees of a verdict. @returns the file */
export async function explain(chaos: Chaos, verdict: Verdict, folder: string): Promise<string> {
  for (const table of TABLES) {
    const { rows } = await chaos.db.query<{ row: string }>(
      `select to_json(t)::text as row from dirsync.${table} t`,
    )
    await writeFile(join(folder, `${table}.jsonl`), rows.map(({ row }) => `${row}\n`).join(''))
  }
  const file = join(folder, 'breaches.txt')
  const say = (text: string) => appendFileSync(file, `${text}\n`)
  const breaches = [...verdict.lost, ...verdict.doubled, ...verdict.wrong]
  for (const breach of breaches) say(breach)
  const userids = new Set(breaches.flatMap(breach => breach.match(/\be\d{4}\b/g) ?? []))
  const hr = await chaos.company.rows()
  const held = await chaos.platform.employees()
  for (const userid of [...userids].slice(0, EXPLAINED)) {
    say(`\n== ${userid}\nHR        ${JSON.stringify(hr.get(userid))}`)
    say(`platform  ${JSON.stringify(held.get(userid))}`)
    for (const [table, column] of [
      ['employee', 'userid'],
      ['pending', 'entity_key'],
      ['dead_letter', 'entity_key'],
    ]) {
      const { rows } = await chaos.db.query(`select * from dirsync.${table} where ${column} = $1`, [userid])
      for (const row of rows) say(`${table}  ${JSON.stringify(row)}`)
    }
    const { rows: attempts } = await chaos.db.query(
      `select * from (select id, run_id, execution, started_at, duration_ms, outcome, fields, platform_code, calls
                      from dirsync.attempt where entity_key = $1 order by id desc limit 40) a order by id`,
      [userid],
    )
    for (const row of attempts) say(`attempt  ${JSON.stringify(row)}`)
    const calls = chaos.platform.calls.filter(({ params }) => params.userid === userid)
    for (const call of calls.slice(-LAST_CALLS)) say(`call  ${JSON.stringify(call)}`)
  }
  return file
}
