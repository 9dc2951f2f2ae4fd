import { spawn } from 'node:child_process'
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { type BrowserContext, chromium, type Page } from 'playwright-core'
import { createLogger } from '../src/lib/logger.ts'
import { openEmbedded } from '../src/trial/environment.ts'
import { program } from '../test/helpers/programs.ts'

/**
 * `npm run screenshots`: takes docs/images/*.png from the trial after its first sync, with a held run and decisions,
 * so that the pictures stay true. Needs Chromium.
 */

const IMAGES = join(import.meta.dirname, 'images')
const LAUNCHER = join(import.meta.dirname, '../bin/dirsync')
/** 70 people of the sample move to another department. */
const MOVE = `
  update hr.employment set unit_id = (select unit_id from hr.org_unit where company = 'E100' and code = 'D220')
  where ctid in (select e.ctid from hr.employment e join hr.org_unit u using (unit_id)
                 where u.company = 'E100' and u.code <> 'D220' and e.status = 'A' order by e.ctid limit 70)`
const SIZE = { width: 1280, height: 800 }

/** An image file, and the page in it. */
interface Picture {
  file: string
  path: string
  options?: { dark?: true; chinese?: true; phone?: true }
}

const folder = await mkdtemp(join(tmpdir(), 'dirsync-screenshots-'))
const service = spawn(LAUNCHER, ['start', '--fresh'], { cwd: folder, stdio: ['ignore', 'ignore', 'pipe'] })
try {
  const address = new URL(await lineOf(/(http:\/\/\S+\/sign-in\/key\?key=[\w-]+)/))
  console.error(`the console is at ${address.origin}`)
  const held = await holdARun()
  const browser = await chromium.launch({
    executablePath: program('chromium'),
    args: ['--no-sandbox'],
  })
  try {
    await mkdir(IMAGES, { recursive: true })
    const context = await browser.newContext({ viewport: SIZE, baseURL: address.origin, locale: 'en-GB' })
    await signIn(context, address)
    const pictures: Picture[] = [
      { file: 'overview', path: '/overview' },
      { file: 'overview-dark', path: '/overview', options: { dark: true } },
      { file: 'overview-chinese', path: '/overview', options: { chinese: true } },
      { file: 'cases', path: '/cases' },
      { file: 'case', path: '/cases?key=e10232' },
      { file: 'held-plan', path: `/runs/${held}/plan` },
      { file: 'employee', path: '/employees/E100~1e10232' },
      { file: 'cases-phone', path: '/cases', options: { phone: true } },
    ]
    for (const picture of pictures) await take(context, address.origin, picture)
  } finally {
    await browser.close()
  }
} finally {
  service.kill('SIGTERM')
  await new Promise(resolve => service.once('exit', resolve))
  await rm(folder, { recursive: true, force: true })
}

async function lineOf(pattern: RegExp): Promise<string> {
  let text = ''
  for await (const chunk of service.stderr ?? []) {
    text += chunk
    const found = pattern.exec(text)?.[1]
    if (found) {
      service.stderr?.resume()
      return found
    }
  }
  throw new Error(`the trial ended: ${text}`)
}

/** Moves 70 people to another department in HR, and waits until the run that finds them is held. */
async function holdARun(): Promise<number> {
  const logger = createLogger({ level: 'silent', pretty: false })
  const parts = await openEmbedded({ directory: join(folder, '.dirsync'), fresh: false, logger })
  const hr = new pg.Client({ connectionString: parts.settings.HR_DATABASE_URL })
  const own = new pg.Client({ connectionString: parts.settings.DATABASE_URL })
  try {
    await Promise.all([hr.connect(), own.connect()])
    await hr.query(MOVE)
    const { rows } = await own.query<{ id: string }>(`select dirsync.resync('changes') as id`)
    const id = Number(rows[0]?.id)
    for (;;) {
      const { rows: states } = await own.query<{ state: string }>(
        'select state from dirsync.sync_run where id = $1',
        [id],
      )
      if (states[0]?.state === 'held') return id
      await new Promise(resolve => setTimeout(resolve, 200))
    }
  } finally {
    await Promise.all([hr.end(), own.end()])
    await parts.close()
  }
}

async function signIn(context: BrowserContext, address: URL): Promise<void> {
  const page = await context.newPage()
  await page.goto(address.href)
  await page.locator('main form button').first().click()
  await page.waitForURL(/overview/)
  await page.close()
}

async function take(
  context: BrowserContext,
  origin: string,
  { file, path, options = {} }: Picture,
): Promise<void> {
  const page: Page = await context.newPage()
  await page.emulateMedia({ colorScheme: options.dark ? 'dark' : 'light' })
  await page.setViewportSize(options.phone ? { width: 390, height: 800 } : SIZE)
  if (options.chinese) await context.addCookies([{ name: 'dirsync_lang', value: 'zh-CN', url: origin }])
  await page.goto(path)
  // The list has one row only, so the picture shows the page behind it.
  if (file === 'case') await page.locator('tbody a[href^="/cases/"]').first().click()
  await page.locator('h1').waitFor()
  await page.waitForLoadState('networkidle').catch(() => undefined)
  await page.screenshot({ path: join(IMAGES, `${file}.png`) })
  if (options.chinese) await context.clearCookies({ name: 'dirsync_lang' })
  await page.close()
  console.error(`${file}.png`)
}
