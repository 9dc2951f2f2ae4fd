import { execFile } from 'node:child_process'
import { mkdtemp, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { Locator, Page } from 'playwright-core'
import {
  holdARun,
  openTrialConsole,
  partIsSent,
  planIsRead,
  runUntil,
  type TrialConsole,
} from './trial-console.ts'

/**
 * `npm run animations`: takes docs/images/*.gif from the trial: what an operator does, from the finding to the end. Needs Chromium
 * and ffmpeg.
 */

const IMAGES = join(import.meta.dirname, 'images')
const SIZE = { width: 1120, height: 700 }
const MOST_BYTES = 3_000_000

/** A page being filmed: pictures of it, and how long each stands. */
class Film {
  readonly #page: Page
  readonly #folder: string
  readonly #frames: { file: string; seconds: number }[] = []

  constructor(page: Page, folder: string) {
    this.#page = page
    this.#folder = folder
  }

  /** Shows the page for some seconds, with a caption below it. */
  async show(seconds: number, caption: string): Promise<void> {
    await this.#page.evaluate(captioned(caption))
    await this.#take(seconds)
  }

  /** Moves a pointer to an element and clicks it. */
  async click(target: Locator, caption: string): Promise<void> {
    await target.scrollIntoViewIfNeeded()
    const box = await target.boundingBox()
    if (box === null) throw new Error('what is to be clicked is not on the page')
    const to = { x: box.x + Math.min(box.width / 2, 120), y: box.y + box.height / 2 }
    await this.#page.evaluate(captioned(caption))
    await this.#page.evaluate(pointedAt(to))
    await this.#take(1)
    await target.click()
    await this.#page.waitForLoadState('networkidle').catch(() => undefined)
  }

  /** Writes the film as a GIF with the colours that it needs. */
  async write(file: string): Promise<void> {
    const list = this.#frames.map(frame => `file '${frame.file}'\nduration ${frame.seconds}`)
    const last = this.#frames.at(-1)
    await writeFile(join(this.#folder, 'frames'), [...list, `file '${last?.file}'`].join('\n'))
    await promisify(execFile)(
      'ffmpeg',
      [
        ...['-y', '-loglevel', 'error', '-f', 'concat', '-safe', '0', '-i', 'frames'],
        ...['-vf', 'split[a][b];[a]palettegen=max_colors=96:stats_mode=full[p];[b][p]paletteuse=dither=none'],
        ...['-fps_mode', 'vfr', file],
      ],
      { cwd: this.#folder },
    )
    const { size } = await stat(file)
    const seconds = this.#frames.reduce((sum, frame) => sum + frame.seconds, 0)
    console.error(`${file}: ${seconds.toFixed(1)} s, ${(size / 1e6).toFixed(2)} MB`)
    if (size > MOST_BYTES) throw new Error(`${file} is larger than ${MOST_BYTES / 1e6} MB`)
  }

  async #take(seconds: number): Promise<void> {
    const file = join(this.#folder, `${this.#frames.length}.png`)
    await this.#page.screenshot({ path: file })
    this.#frames.push({ file, seconds })
  }
}

// In the page

const BAR =
  'position: fixed; inset: auto 0 0 0; padding: 14px 24px; background: #12302c; color: #fff; font: 600 19px system-ui, sans-serif; z-index: 9999'
const RING =
  'position: fixed; width: 26px; height: 26px; border-radius: 50%; border: 3px solid #c2410c; background: rgb(194 65 12 / 25%); z-index: 9999'

function captioned(text: string): string {
  return `document.getElementById('pointer')?.remove(); ${drawn('caption', BAR)}.textContent = ${JSON.stringify(text)}`
}

function pointedAt({ x, y }: { x: number; y: number }): string {
  return drawn('pointer', `${RING}; left: ${x - 13}px; top: ${y - 13}px`)
}

/** The script that puts an element on the page, with its style, which the page's policy allows to scripts alone. */
function drawn(id: string, style: string): string {
  return `(() => {
    const element = document.getElementById('${id}') ?? document.createElement('div')
    element.id = '${id}'
    element.style.cssText = ${JSON.stringify(style)}
    document.body.append(element)
    return element
  })()`
}

// The films

/** A duplicate mobile number: its case, its holder, HR is mended, the case closes by itself. */
async function duplicateMobile(film: Film, page: Page, { hr, own }: TrialConsole): Promise<void> {
  await page.goto('/cases?categories=duplicate_mobile')
  await film.show(2, 'The platform has refused a mobile number. Who is it about?')
  await film.click(page.locator('tbody a[href^="/cases/"]').first(), 'One case per person and field')
  await film.show(4, 'What happened, what to do, and who has the number. Everything else of her was sent.')
  await film.click(
    page.locator('a[href^="/employees/"]', { hasText: 'e10236' }).first(),
    'Her number is held by a colleague',
  )
  await film.show(3, 'HR gives the same number to both: one of the rows is wrong')
  await page.goBack()
  await hr.query(
    `update hr.contact set value = '10000010999'
     where kind = 'mobile' and person_id = (select person_id from hr.person where staff_id = 'e10232')`,
  )
  await film.show(2.5, 'HR corrects it. Nothing is to be done here …')
  await runUntil(own, ['done'])
  await page.locator('h1 ~ .state, .head .state').filter({ hasText: 'resolved' }).first().waitFor()
  await film.show(6.5, '… the next run sends the number, and the case is resolved')
}

/** 70 people are moved and two renamed: the run is held, a part of it approved and sent, the rest stays held. */
async function heldRun(film: Film, page: Page, trial: TrialConsole): Promise<void> {
  const run = await holdARun(trial)
  await planIsRead(trial.own, run)
  await page.goto('/overview')
  await film.show(3, '70 people are moved in HR at once, and two renamed: the run is held, nothing is sent')
  await page.goto(`/runs/${run}/plan`)
  await film.show(4, 'Why it is held, and what would change: by field, reason and department')
  await page
    .getByRole('checkbox', { name: /^Tick / })
    .first()
    .scrollIntoViewIfNeeded()
  await film.show(4, 'Person by person, old → new. What is unlike the rest comes first: two new names')
  await page.goto(`/runs/${run}/plan?field=dept_code`)
  const approve = page.getByRole('button', { name: /^Approve \d+ rows of this filter/ })
  await film.click(approve, 'The move is right: all of it is approved …')
  await page.getByText(/rows are approved and sent/).waitFor()
  await film.show(4, '… and sent, while the two names stay held for another look')
  await partIsSent(trial.own, run)
  await page.goto(`/runs/${run}/plan`)
  await film.show(4, 'What was decided, by whom, and what came of it stays with the plan')
}

const FILMS = { 'duplicate-mobile': duplicateMobile, 'held-run': heldRun }

await using trial = await openTrialConsole({ ...SIZE, scale: 1 })
for (const [name, play] of Object.entries(FILMS)) {
  const folder = await mkdtemp(join(tmpdir(), 'dirsync-film-'))
  const page = await trial.context.newPage()
  try {
    const film = new Film(page, folder)
    await play(film, page, trial)
    await film.write(join(IMAGES, `${name}.gif`))
  } finally {
    await page.close()
    await rm(folder, { recursive: true })
  }
}
