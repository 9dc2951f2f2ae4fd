import { appendFile, readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { basename, join } from 'node:path'
import { type Browser, type BrowserContext, chromium, type Locator, type Page } from 'playwright-core'
import { afterAll, expect, onTestFinished } from 'vitest'
import { loadConfig } from '../../../src/config.ts'
import { ACCESS_ROLES, type AccessRole } from '../../../src/console/auth/viewer.ts'
import { startService } from '../../../src/main.ts'
import type { Role } from '../../../src/sync/processes/process.ts'
import { duringFile } from '../../helpers/during.ts'
import { program } from '../../helpers/programs.ts'
import { PASSWORD, plantUser, silent } from '../console-under-test.ts'

/** @param options.keepsPages whether Back shows a page as it was left, as it does for people; Playwright turns that off */
export async function openBrowser(options: { keepsPages?: boolean } = {}): Promise<Browser> {
  return chromium.launch({
    executablePath: program('chromium'),
    args: ['--no-sandbox', '--disable-gpu'],
    ...(options.keepsPages ? { ignoreDefaultArgs: ['--disable-back-forward-cache'] } : {}),
  })
}

/** The whole service on a company or a deployment, with its console. */
export async function startConsoleService(
  settings: Record<string, string>,
  roles: readonly Role[] = ['scheduler', 'worker', 'console'],
  options: { schedule?: boolean; port?: number } = {},
): Promise<AsyncDisposable & { url: string; stop(): Promise<void> }> {
  const config = loadConfig({ ...settings, CONSOLE_PORT: String(options.port ?? 0) })
  const service = await startService({
    config,
    roles,
    logger: silent,
    schedule: options.schedule ?? false,
    env: settings,
  })
  if (!service.consoleUrl) throw new Error('the service has no console')
  for (const role of ACCESS_ROLES) await plantUser(service.pool, userOf(role), role)
  return { url: service.consoleUrl, stop: service.stop, [Symbol.asyncDispose]: service.stop }
}

/** A page that has not come to it by then will not. */
const TIMEOUT_MS = 30_000

export interface Visit {
  /** Null: not signed in. */
  role?: AccessRole | null
  language?: 'en-US' | 'zh-CN'
  width?: number
  height?: number
  javaScript?: boolean
}

/** What a visit from a phone is. */
export const PHONE = { width: 390, height: 800 } as const

/** A window, until the test ends, of a user who has signed in with a role, unless it is null. Errors in a page fail the test. */
export async function visit(browser: Browser, url: string, options: Visit = {}): Promise<Page> {
  const { role = 'admin', language = 'en-US', width = 1360, height = 900 } = options
  const context = await browser.newContext({
    baseURL: url,
    locale: language,
    timezoneId: 'Asia/Shanghai',
    colorScheme: 'light',
    viewport: { width, height },
    javaScriptEnabled: options.javaScript ?? true,
  })
  // Pages follow what happens: those of one test shall not follow the next one, nor ask a console that is stopped.
  onTestFinished(() => context.close())
  if (role !== null) await signIn(context, url, role)
  const page = await context.newPage()
  page.setDefaultTimeout(TIMEOUT_MS)
  page.on('pageerror', error => {
    throw error
  })
  page.on('console', message => {
    // A breach of the content security policy is told here, too. What an identity provider shows is its own affair.
    if (
      page.url().startsWith(url) &&
      message.type() === 'error' &&
      !/status of (4|5)\d\d/.test(message.text())
    )
      throw new Error(`${page.url()}: ${message.text()}`)
  })
  return page
}

/** The service of a company or a deployment with its console, and a browser, for all tests of a file. */
export function consoleInBrowser(
  place: { settings: Record<string, string> },
  { roles, ...options }: { roles?: readonly Role[]; schedule?: boolean } = {},
) {
  const service = duringFile(() => startConsoleService(place.settings, roles, options))
  const browser = duringFile(openBrowser)
  const newPage = (given?: Visit) => visit(browser, service.url, given)
  return {
    service,
    newPage,
    async open(path: string, given?: Visit): Promise<Page> {
      const page = await newPage(given)
      await page.goto(path)
      return page
    },
  }
}

export function userOf(role: AccessRole): string {
  return `test-${role}`
}
export { PASSWORD }

type Cookies = Awaited<ReturnType<BrowserContext['cookies']>>
const sessions = new Map<string, Cookies>()

/** Signs in as the user of a role, by the form as a browser sends it; once per console, as each try costs a sixth of a second. */
async function signIn(context: BrowserContext, url: string, role: AccessRole): Promise<void> {
  const id = `${url} ${role}`
  const known = sessions.get(id)
  if (known) return context.addCookies(known)
  const answer = await context.request.post(`${url}/sign-in`, {
    form: { name: userOf(role), password: PASSWORD },
    headers: { 'sec-fetch-site': 'same-origin' },
    maxRedirects: 0,
  })
  if (answer.status() !== 303) throw new Error(`signing in was answered ${answer.status()}`)
  sessions.set(id, await context.cookies())
}

const axe = readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
/** Those of axe's rules that are about colours. */
const COLOUR_RULES = ['color-contrast', 'link-in-text-block']

/** The console's languages, as browsers ask for them. */
export const LANGUAGES = ['en-US', 'zh-CN'] as const

/** Opens pages, and fails with what axe finds on them. */
export async function expectPagesAccessible(page: Page, paths: readonly string[]): Promise<void> {
  for (const path of paths) {
    await page.goto(path)
    await page.locator('h1').waitFor()
    await expectAccessible(page, path.slice(1).replace(/\W+/g, '-') || 'overview')
  }
}

/** Fails with what axe finds on the page as it is now: rule, place and help. The dark theme has other colours, and nothing else. */
export async function expectAccessible(page: Page, name?: string): Promise<void> {
  await page.evaluate(await axe)
  for (const theme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme: theme, reducedMotion: 'reduce' })
    const violations = await page.evaluate(
      async rules => {
        const { axe } = globalThis as unknown as {
          axe: {
            run(options: {
              runOnly?: readonly string[]
            }): Promise<{ violations: { id: string; help: string; nodes: { html: string }[] }[] }>
          }
        }
        const { violations } = await axe.run(rules ? { runOnly: rules } : {})
        return violations.map(
          ({ id, help, nodes }) => `${id}: ${help}: ${nodes.map(node => node.html).join(' | ')}`,
        )
      },
      theme === 'dark' && COLOUR_RULES,
    )
    const language = await page.evaluate<string>('document.documentElement.lang')
    const look = `${language} ${theme}`
    checked.set(look, (checked.get(look) ?? 0) + 1)
    found += violations.length
    expect(violations, theme).toEqual([])
    if (name) await screenshot(page, `${name}-${language}-${theme}`)
  }
}

/** Opens pages on a phone, where each must need no scrolling to the side. */
export async function expectPagesFitPhone(page: Page, paths: readonly string[]): Promise<void> {
  for (const path of paths) {
    await page.goto(path)
    await page.locator('h1').waitFor()
    await expectFitsPhone(page)
    await screenshot(page, `${path.slice(1).replace(/\W+/g, '-')}-phone`)
  }
}

export async function expectFitsPhone(page: Page): Promise<void> {
  const width = await page.evaluate('document.documentElement.scrollWidth')
  expect(width, page.url()).toBeLessThanOrEqual(PHONE.width)
}

/** More of them are on no page of a test. */
const MOST_STOPS = 300

/** Goes on with Tab until the element has the focus, as people do without a mouse. */
export async function tabTo(page: Page, element: Locator): Promise<void> {
  await element.waitFor()
  const hasFocus = (found: unknown) => (found as { matches(selector: string): boolean }).matches(':focus')
  for (let stops = 0; stops < MOST_STOPS; stops++) {
    await page.keyboard.press('Tab')
    if (await element.evaluate(hasFocus)) return
  }
  throw new Error(`Tab does not come to ${element}`)
}

/** Remembers that no other page was loaded since. */
export const mark = (page: Page) => page.evaluate(() => Object.assign(globalThis, { isSamePage: true }))
export const isSame = (page: Page) => page.evaluate(() => 'isSamePage' in globalThis)

/** Pages that this file had axe look at, by language and theme, and what it found on them. */
const checked = new Map<string, number>()
let found = 0

// To know how much was checked, name a file: each test file adds its line to it.
afterAll(async () => {
  const report = process.env.ACCESSIBILITY_REPORT
  if (!report || checked.size === 0) return
  const file = basename(expect.getState().testPath ?? '', '.test.ts')
  const pages = [...checked].sort().map(([look, count]) => `${look} ${count}`)
  await appendFile(report, `${file}: ${pages.join(', ')}; violations ${found}\n`)
})

/** The folder for screenshots; none are taken without it. */
export async function screenshot(page: Page, name: string): Promise<void> {
  const folder = process.env.SCREENSHOTS
  if (folder) await page.screenshot({ path: join(folder, `${name}.png`), fullPage: true })
}
