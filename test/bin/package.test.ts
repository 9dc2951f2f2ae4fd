import { execFile, spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { cp, mkdir, readFile, symlink } from 'node:fs/promises'
import { basename, delimiter, join } from 'node:path'
import { json } from 'node:stream/consumers'
import { promisify } from 'node:util'
import { beforeAll, expect, inject, test } from 'vitest'
import { registerChild } from '../helpers/children.ts'
import { temporaryFolder } from '../helpers/temporary-folder.ts'

/* The package as `npm pack` makes it, outside the checkout. */

const run = promisify(execFile)
const ROOT = join(import.meta.dirname, '../..')
const LEFT_BEHIND = new Set(['.git', '.dirsync', 'dist', 'node_modules', 'coverage'])

/** All that may be in the package. Source maps are wanted: a stack trace names lines of TypeScript. */
const WANTED = [
  /^(?:package\.json|LICENSE|(?:ARCHITECTURE|CHANGELOG|README|README\.zh-CN)\.md)$/,
  /^bin\/dirsync$/,
  /^dist\/(?:emulator|jobs|src)\/.+\.(?:js|js\.map|d\.ts)$/,
  /^dist\/src\/.+\.(?:css|sql|svg)$/,
  /^dist\/examples\/hr\/[\w-]+\.(?:json|md|sql)$/,
  /^dist\/package\.json$/,
  /^docs\/(?:decisions\/)?[\w.-]+\.md$/,
  /^docs\/images\/.+\.(?:gif|png)$/,
  /^examples\/.+\.(?:json|md|sql|ts)$/,
  /^ops\/.+\.(?:json|yaml|yml)$/,
]
/** What no file of it may say: a private key, or a token of npm, GitHub or a cloud. */
const SECRET =
  /-----BEGIN [A-Z ]*PRIVATE KEY-----\s+[A-Za-z0-9+/]{40}|\b(?:npm_|gh[pousr]_)[A-Za-z0-9]{36}|\bAKIA[A-Z0-9]{16}\b/

let home: string
let tarball: string
let copy: string
let packed: string[]
let env: Record<string, string>

beforeAll(async () => {
  home = await temporaryFolder()
  // Neither the Node.js of the checkout, nor what npm knows of this user.
  const path = (process.env.PATH ?? '').split(delimiter).filter(folder => !folder.startsWith(ROOT))
  env = { PATH: path.join(delimiter), HOME: home }
  // In a copy, as other tests use what the checkout has built.
  copy = join(home, 'checkout')
  await cp(ROOT, copy, { recursive: true, filter: path => !LEFT_BEHIND.has(basename(path)) })
  await symlink(join(ROOT, 'node_modules'), join(copy, 'node_modules'))
  const { stdout } = await run('npm', ['pack', '--silent', '--json'], { cwd: copy, env })
  const [{ filename, files }] = JSON.parse(stdout)
  tarball = join(copy, filename)
  packed = files.map((file: { path: string }) => file.path)
})

test('contains the compiled program with source maps and types, but not its sources, tests or benches', () => {
  for (const file of ['src/cli/main', 'jobs/index', 'emulator/emulator'])
    for (const ending of ['js', 'js.map', 'd.ts']) expect(packed).toContain(`dist/${file}.${ending}`)
  expect(
    packed.filter(path => /^(?:bench|emulator|jobs|src|test)\/|\.test\.(?!yml)|\.tsbuildinfo$/.test(path)),
  ).toEqual([])
})

test('contains what goes into Prometheus, Grafana and Kubernetes', () => {
  expect(packed).toEqual(
    expect.arrayContaining([
      'ops/prometheus/dirsync.rules.yml',
      'ops/grafana/dirsync-operations.json',
      'ops/kubernetes/dirsync.yaml',
    ]),
  )
})

test('contains no file of another kind, and no secret', async () => {
  expect(
    packed.filter(path => !WANTED.some(wanted => wanted.test(path)) || /biome|\.test\.(?!yml)/.test(path)),
  ).toEqual([])
  const told = await Promise.all(
    packed.map(async path => (SECRET.test(await readFile(join(copy, path), 'latin1')) ? [path] : [])),
  )
  expect(told.flat()).toEqual([])
})

test('installed in an empty folder, `npx dirsync start --once` makes the first sync', async () => {
  const folder = join(home, 'empty')
  await bringDependencies(folder)
  await run('npm', ['install', '--offline', tarball], { cwd: folder, env })
  const child = spawn('npx', ['dirsync', 'start', '--once', '--json'], {
    cwd: folder,
    env,
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  registerChild(inject('runFolder'), child)
  const { dead_letters } = JSON.parse(await readFile(join(ROOT, 'examples/hr/expected.json'), 'utf8'))
  expect(await json(child.stdout)).toMatchObject({ ok: true, employees: { updated: 44 }, dead_letters })
})

/** Copies the dependencies that `npm ci` installed in the checkout, so that npm needs no registry. */
async function bringDependencies(folder: string): Promise<void> {
  await mkdir(folder)
  const { packages } = JSON.parse(await readFile(join(ROOT, 'package-lock.json'), 'utf8'))
  const present = Object.keys(packages).filter(
    path => path.lastIndexOf('node_modules/') === 0 && !packages[path].dev && existsSync(join(ROOT, path)),
  )
  const copy = (how: string) =>
    run('cp', [how, '--parents', ...present, 'node_modules/.bin', folder], { cwd: ROOT })
  await copy('-al').catch(() => copy('-a')) // on another file system there are no links
}
