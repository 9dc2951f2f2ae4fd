import { type SpawnSyncReturns, spawnSync } from 'node:child_process'
import { chmod, cp, mkdir, stat, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { temporaryFolder } from '../helpers/temporary-folder.ts'

const LAUNCHER = join(import.meta.dirname, '../../bin/dirsync')
const TOOLS = '/usr/bin:/bin'

/** An installation whose main program tells how it was run; `path` comes first on PATH. */
async function install(): Promise<{
  root: string
  path: string
  run(file?: string, env?: Record<string, string>): SpawnSyncReturns<string>
}> {
  const root = await temporaryFolder()
  const path = join(root, 'path')
  for (const folder of ['bin', 'src/cli', 'path', 'node_modules/.bin']) {
    await mkdir(join(root, folder), { recursive: true })
  }
  await cp(LAUNCHER, join(root, 'bin/dirsync'))
  await writeFile(join(root, 'package.json'), '{"type":"module"}')
  await writeFile(
    join(root, 'src/cli/main.ts'),
    'const told: object = { args: process.argv.slice(2), pid: process.pid, flags: process.execArgv }\nconsole.log(JSON.stringify(told))\n',
  )
  const run = (file = join(root, 'bin/dirsync'), env = {}) =>
    spawnSync(file, ['one', 'two words', ''], {
      encoding: 'utf8',
      env: { PATH: `${path}:${TOOLS}`, ...env },
      cwd: '/',
    })
  return { root, path, run }
}

async function program(file: string, script: string): Promise<void> {
  await writeFile(file, `#!/bin/sh\n${script}\n`)
  await chmod(file, 0o755)
}

test('it runs the Node.js that npm installed, in the same process, with the arguments as given', async () => {
  const { root, path, run } = await install()
  await program(join(path, 'node'), 'echo v20.1.0')
  await symlink(process.execPath, join(root, 'node_modules/.bin/node'))
  const { stdout, pid } = run()
  expect(JSON.parse(stdout)).toMatchObject({ args: ['one', 'two words', ''], pid })
})

test('it is found by a relative name whatever CDPATH says', async () => {
  const { root } = await install()
  await symlink(process.execPath, join(root, 'node_modules/.bin/node'))
  const decoy = join(root, 'decoy')
  await mkdir(join(decoy, 'bin'), { recursive: true })
  const { stdout, stderr } = spawnSync(join('bin', 'dirsync'), ['one'], {
    encoding: 'utf8',
    env: { PATH: TOOLS, CDPATH: decoy },
    cwd: root,
  })
  expect(stderr).toBe('')
  expect(JSON.parse(stdout).args).toEqual(['one'])
})

test('young objects get the room that V8 gives them on a large machine, unless NODE_OPTIONS says how much', async () => {
  const { root, run } = await install()
  await symlink(process.execPath, join(root, 'node_modules/.bin/node'))
  const flagsOf = (env = {}) => JSON.parse(run(undefined, env).stdout).flags
  expect(flagsOf()).toContain('--max-semi-space-size=16')
  expect(flagsOf({ NODE_OPTIONS: '--max-semi-space-size=2' })).toEqual([
    '--disable-warning=ExperimentalWarning',
  ])
})

test('it finds it without the link that npm 10 leaves out', async () => {
  const { root, path, run } = await install()
  await program(join(path, 'node'), 'echo v20.1.0')
  await mkdir(join(root, 'node_modules/node-linux-any/bin'), { recursive: true })
  await symlink(process.execPath, join(root, 'node_modules/node-linux-any/bin/node'))
  expect(run().status).toBe(0)
})

test('from its package it runs JavaScript, with the Node.js that npm put further up', async () => {
  const { root, path, run } = await install()
  const installed = join(root, 'node_modules/a/node_modules/dirsync')
  await program(join(path, 'node'), 'echo v20.1.0')
  await cp(LAUNCHER, join(installed, 'bin/dirsync'))
  await mkdir(join(installed, 'dist/src/cli'), { recursive: true })
  await writeFile(
    join(installed, 'dist/src/cli/main.js'),
    'console.log(process.argv[1], process.argv.length)',
  )
  const { status, stderr } = run(join(installed, 'bin/dirsync'))
  expect(status).toBe(2)
  expect(stderr).toBe(
    'dirsync needs Node.js 24 or newer (found: v20.1.0): install dirsync without --omit=optional, which brings it along, or install it.\n',
  )
  await symlink(process.execPath, join(root, 'node_modules/.bin/node'))
  expect(run(join(installed, 'bin/dirsync')).stdout).toBe(`${join(installed, 'dist/src/cli/main.js')} 5\n`)
})

test('it may be called by a link to a link', async () => {
  const { root, run } = await install()
  await symlink(process.execPath, join(root, 'node_modules/.bin/node'))
  await symlink('../bin/dirsync', join(root, 'path/first'))
  await symlink(join(root, 'path/first'), join(root, 'second'))
  expect(run(join(root, 'second')).status).toBe(0)
})

test('if the installed one does not run here, the one on PATH is used', async () => {
  const { root, path, run } = await install()
  await program(join(root, 'node_modules/.bin/node'), 'exit 126')
  await symlink(process.execPath, join(path, 'node'))
  expect(run().status).toBe(0)
})

test.each([
  ['echo v20.1.0', 'v20.1.0'],
  ['exit 127', 'none'],
])('with no other Node.js than %j it says what to do', async (script, found) => {
  const { root, path, run } = await install()
  await program(join(path, 'node'), script)
  const { status, stderr } = run()
  expect(status).toBe(2)
  expect(stderr).toBe(
    `dirsync needs Node.js 24 or newer (found: ${found}): run npm ci in ${root}, which brings it along, or install it.\n`,
  )
})

test('called by npx in a checkout, it leaves the built library as it is', async () => {
  const root = join(import.meta.dirname, '../..')
  const npm = (...args: string[]) => spawnSync('npm', args, { cwd: root, encoding: 'utf8' })
  expect(npm('run', 'prepare').status).toBe(0)
  const built = async () => (await stat(join(root, 'dist/src/platform/index.js'))).mtimeMs
  const before = await built()
  expect(npm('exec', '--', 'dirsync', '--version').stdout).toMatch(/^\d+\.\d+\.\d+\n$/)
  expect(await built()).toBe(before)
})
