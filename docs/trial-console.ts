import { execFile, spawn } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import pg from 'pg'
import { type Browser, type BrowserContext, chromium } from 'playwright-core'
import { program } from '../test/helpers/programs.ts'

/* The trial after its first sync, in a browser: what the pictures and animations of the documents are taken from. */

const LAUNCHER = join(import.meta.dirname, '../bin/dirsync')

export interface TrialConsole extends AsyncDisposable {
  readonly browser: Browser
  /** Signed in as an administrator. */
  readonly context: BrowserContext
  /** The same for a reader of another language. */
  contextIn(locale: string): Promise<BrowserContext>
  /** HR, which the trial itself can only read. */
  readonly hr: pg.Client
  readonly own: pg.Client
}

/** @throws Error if Chromium is missing, or the trial does not start */
export async function openTrialConsole(options: {
  width: number
  height: number
  scale: number
}): Promise<TrialConsole> {
  await using opened = new AsyncDisposableStack()
  const folder = await mkdtemp(join(tmpdir(), 'dirsync-pictures-'))
  opened.defer(() => rm(folder, { recursive: true, force: true }))
  const service = spawn(LAUNCHER, ['start', '--fresh'], { cwd: folder, stdio: ['ignore', 'ignore', 'pipe'] })
  opened.defer(async () => {
    const ended = new Promise(resolve => service.once('exit', resolve))
    service.kill('SIGTERM')
    await ended
  })
  const origin = await lineOf(service.stderr, /"msg":"Console: (http:\/\/[\w.:]+)/)
  const { stdout } = await promisify(execFile)(LAUNCHER, ['users', 'link', '--json'], { cwd: folder })
  const { pathname, search } = new URL(JSON.parse(stdout).url, origin)
  const secretOf = (name: string) => readFile(join(folder, '.dirsync/postgres', name), 'utf8')
  const [password, port] = await Promise.all([secretOf('password'), secretOf('port')])
  const connect = async (database: string) => {
    const client = new pg.Client(
      `postgres://postgres:${password.trim()}@127.0.0.1:${port.trim()}/${database}`,
    )
    await client.connect()
    return opened.adopt(client, client => client.end())
  }
  const [hr, own] = [await connect('hr'), await connect('dirsync')]
  const browser = opened.adopt(
    await chromium.launch({ executablePath: program('chromium'), args: ['--no-sandbox'] }),
    browser => browser.close(),
  )
  const { width, height, scale } = options
  const settings = { viewport: { width, height }, deviceScaleFactor: scale, baseURL: origin }
  const context = await browser.newContext({ ...settings, locale: 'en-GB' })
  const page = await context.newPage()
  await page.goto(pathname + search)
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
  await page.waitForURL(/overview/)
  await page.close()
  const stack = opened.move()
  const contextIn = async (locale: string) =>
    browser.newContext({ ...settings, locale, storageState: await context.storageState() })
  return { browser, context, contextIn, hr, own, [Symbol.asyncDispose]: () => stack.disposeAsync() }
}

async function lineOf(
  output: AsyncIterable<unknown> & { resume(): unknown },
  pattern: RegExp,
): Promise<string> {
  let text = ''
  for await (const chunk of output) {
    text += chunk
    const found = pattern.exec(text)?.[1]
    if (found === undefined) continue
    output.resume()
    return found
  }
  throw new Error(`the trial ended: ${text}`)
}

/** 70 people of the sample move to another department, and two get another name. */
const MOVE = `
  with moved as (
    update hr.employment set unit_id = (select unit_id from hr.org_unit where company = 'E100' and code = 'D220')
    where ctid in (select e.ctid from hr.employment e join hr.org_unit u using (unit_id)
                   where u.company = 'E100' and u.code <> 'D220' and e.status = 'A' order by e.ctid limit 70)
    returning person_id
  )
  update hr.person set family_name = 'Arbor'
  where person_id in (select person_id from hr.employment e join hr.org_unit u using (unit_id)
                      where u.company = 'E100' and u.code <> 'D220' and e.status = 'A'
                        and person_id not in (select person_id from moved) order by person_id limit 2)`

/** Moves them, and waits until the run that finds them is held. @returns its number */
export async function holdARun({ hr, own }: TrialConsole): Promise<number> {
  await hr.query(MOVE)
  return await runUntil(own, ['held'])
}

/** Resolves once HR has been read for the figures of a held plan. */
export function planIsRead(own: pg.Client, run: number): Promise<void> {
  return isTrue(
    own,
    `select exists (select from dirsync.plan_reading where run_id = $1 and state = 'done')`,
    run,
  )
}

/** Resolves once nothing of the approved parts of a plan is left to send. */
export function partIsSent(own: pg.Client, run: number): Promise<void> {
  return isTrue(
    own,
    `select not exists (select from dirsync.sync_run where part_of = $1 and finished_at is null)`,
    run,
  )
}

async function isTrue(own: pg.Client, statement: string, run: number): Promise<void> {
  for (;;) {
    const { rows } = await own.query<boolean[]>({ text: statement, values: [run], rowMode: 'array' })
    if (rows[0]?.[0]) return
    await new Promise(resolve => setTimeout(resolve, 200))
  }
}

/** Looks for changes in HR, and waits until that run is in one of the states. @returns its number */
export async function runUntil(own: pg.Client, states: readonly string[]): Promise<number> {
  const { rows } = await own.query<{ id: string }>(`select dirsync.resync('changes') as id`)
  const id = Number(rows[0]?.id)
  for (;;) {
    const { rows: runs } = await own.query<{ state: string }>(
      'select state from dirsync.sync_run where id = $1',
      [id],
    )
    if (states.includes(runs[0]?.state ?? '')) return id
    await new Promise(resolve => setTimeout(resolve, 200))
  }
}
