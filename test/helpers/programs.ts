import { accessSync, constants } from 'node:fs'
import { basename, delimiter, join, relative } from 'node:path'
import type { TestModule } from 'vitest/node'

/*
 * Programs beside Node.js that some tests need. A test says so with its tag, a name below: `{ tags: 'NAME' }`, or `@module-tag NAME`
 * in a comment at the top of its file. A machine that lacks one leaves these tests out, and the end of the run says which.
 */

interface Needed {
  /** Debian's packages, as apt-get wants them. */
  packages: string
  /** Every one is needed; of a list, one of them. */
  programs: readonly (string | readonly string[])[]
  /** A setting that names a server in place of the program. */
  instead?: string
}

export const NEEDED = {
  redis: { packages: 'redis-server', programs: ['redis-server'], instead: 'TEST_REDIS_URL' },
  pgbouncer: { packages: 'pgbouncer', programs: ['pgbouncer'] },
  mariadb: { packages: 'mariadb-server', programs: ['mariadbd', 'mariadb-install-db', 'mariadb'] },
  chromium: {
    packages: 'chromium-headless-shell fonts-liberation',
    // The headless shell is Chromium without a window around the page: the same tests in two thirds of the time.
    programs: [['chromium-headless-shell', 'chromium', 'google-chrome']],
  },
  prometheus: { packages: 'prometheus', programs: ['prometheus', 'promtool'] },
  alertmanager: { packages: 'prometheus-alertmanager', programs: ['amtool'] },
  compose: { packages: 'docker-compose', programs: ['docker-compose'] },
  script: { packages: 'bsdutils', programs: ['script'] },
} satisfies Record<string, Needed>

/** The tag of tests that need a program. */
export type Tag = keyof typeof NEEDED

const TAGS = Object.keys(NEEDED) as Tag[]
const needed = (tag: Tag): Needed => NEEDED[tag]

/** Path of a program, by default the first of the tag's. @throws Error that says how to install it */
export function program(tag: Tag, name: string | readonly string[] = needed(tag).programs[0] ?? []): string {
  const found = find(name)
  if (found === null) throw new Error(`There is no ${[name].flat()[0]} on this machine: ${install([tag])}`)
  return found
}

/** What this machine lacks. */
export function missingPrograms(): Tag[] {
  return TAGS.filter(tag => {
    const { programs, instead } = needed(tag)
    return !(instead && process.env[instead]) && programs.some(name => find(name) === null)
  })
}

/** Whether a beforeAll can prepare for tests that have the tag, beside others. */
export const has = (tag: Tag) => !missingPrograms().includes(tag)

/** The command that installs them. */
export function install(tags: readonly Tag[]): string {
  return `apt-get install --no-install-recommends ${tags.map(tag => NEEDED[tag].packages).join(' ')}`
}

/** For vitest's configuration: the tests of a program that is missing are left out. */
export function programTags(): { name: Tag; description: string; skip?: true }[] {
  const missing = missingPrograms()
  return TAGS.map(name => ({
    name,
    description: install([name]),
    ...(missing.includes(name) && { skip: true as const }),
  }))
}

/** What a run left out, per program: how many tests, which files, and what installs it; empty when it left out nothing. */
export function leftOut(modules: readonly TestModule[], root: string): string {
  return missingPrograms()
    .flatMap(tag => {
      const files = modules
        .map(module => ({
          file: relative(root, module.moduleId),
          tests: [...module.children.allTests()].filter(({ tags }) => tags.includes(tag)).length,
        }))
        .filter(({ tests }) => tests > 0)
        .sort((a, b) => a.file.localeCompare(b.file))
      const tests = files.reduce((sum, file) => sum + file.tests, 0)
      if (tests === 0) return []
      return [
        `\nLeft out: ${plural(tests, 'test')} in ${plural(files.length, 'file')}, for want of ${tag}. ${install([tag])}\n`,
        ...files.map(({ file, tests }) => `  ${String(tests).padStart(4)}  ${file}\n`),
      ]
    })
    .join('')
}

const plural = (count: number, noun: string) => `${count} ${noun}${count === 1 ? '' : 's'}`

/** Searches PATH; and beside each `bin` there, where servers and Docker's plugins lie. */
function find(names: string | readonly string[]): string | null {
  const folders = (process.env.PATH ?? '')
    .split(delimiter)
    .filter(folder => folder !== '')
    .flatMap(folder => {
      const beside = basename(folder) === 'bin' ? ['sbin', 'libexec', 'libexec/docker/cli-plugins'] : []
      return [folder, ...beside.map(name => join(folder, '..', name))]
    })
  for (const name of [names].flat())
    for (const folder of folders) {
      const file = join(folder, name)
      try {
        accessSync(file, constants.X_OK)
        return file
      } catch {}
    }
  return null
}

// `.ci/run` installs what is missing.
if (import.meta.main)
  console.log(
    missingPrograms()
      .flatMap(tag => NEEDED[tag].packages.split(' '))
      .join(' '),
  )
