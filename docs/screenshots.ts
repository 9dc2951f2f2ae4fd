import { execFile } from 'node:child_process'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { BrowserContext } from 'playwright-core'
import { holdARun, openTrialConsole, planIsRead } from './trial-console.ts'

/**
 * `npm run screenshots`: takes docs/images/*.png from the trial after its first sync, with a held run and decisions,
 * so that the pictures stay true. Needs Chromium and a Chinese font.
 */

const IMAGES = join(import.meta.dirname, 'images')
const SIZE = { width: 1280, height: 800 }

/** An image file, and the page in it, in English and Chinese; `both`: in light and dark. */
interface Picture {
  file: string
  path: string
  both?: true
}

const { stdout: fonts } = await promisify(execFile)('fc-list', [':lang=zh-cn'])
if (fonts === '') throw new Error('there is no Chinese font: apt-get install fonts-noto-cjk')
await using trial = await openTrialConsole({ ...SIZE, scale: 2 })
const held = await holdARun(trial)
await planIsRead(trial.own, held)
await mkdir(IMAGES, { recursive: true })
const pictures: Picture[] = [
  { file: 'case', path: '/cases?key=e10232', both: true },
  { file: 'held-plan', path: `/runs/${held}/plan`, both: true },
  { file: 'employee', path: '/employees/E100~1e10232', both: true },
  { file: 'overview', path: '/overview' },
]
// As a deployment looks that is in use.
await trial.own.query(`insert into dirsync.setup (ended_by) values ('local') on conflict do nothing`)
for (const language of ['en', 'zh-CN'] as const) {
  const context = language === 'en' ? trial.context : await trial.contextIn(language)
  for (const picture of pictures) {
    await take(context, picture, language, 'light')
    if (picture.both) await take(context, picture, language, 'dark')
  }
}

async function take(
  context: BrowserContext,
  { file, path }: Picture,
  language: 'en' | 'zh-CN',
  colorScheme: 'light' | 'dark',
): Promise<void> {
  const page = await context.newPage()
  await page.emulateMedia({ colorScheme })
  await page.goto(path)
  // The list has one row only, so the picture shows the page behind it.
  if (/[?]key=/.test(path)) await page.locator('tbody a[href^="/cases/"]').first().click()
  await page.locator('h1').waitFor()
  await page.waitForLoadState('networkidle').catch(() => undefined)
  const name = `${file}${language === 'en' ? '' : `-${language}`}${colorScheme === 'dark' ? '-dark' : ''}.png`
  await page.screenshot({ path: join(IMAGES, name) })
  await page.close()
  console.error(name)
}
