import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { temporaryFolder } from '../helpers/temporary-folder.ts'

const ROOT = join(import.meta.dirname, '../..')
const release = (...args: string[]) =>
  spawnSync(join(ROOT, '.ci/release'), args, { cwd: '/', encoding: 'utf8' })

test('a tag that does not match the version, or is not in the changelog, is not released', () => {
  const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
  expect(release('version', 'v99.0.0')).toMatchObject({
    status: 1,
    stderr: `package.json has version ${version}, and the tag is v99.0.0.\n`,
  })
  const isDescribed = readFileSync(join(ROOT, 'CHANGELOG.md'), 'utf8').includes(`\n## ${version}\n`)
  expect(release('version', `v${version}`).status).toBe(isDescribed ? 0 : 1)
})

test('without a step it lists the steps, and the workflow runs no others', () => {
  const { status, stderr } = release()
  expect(status).toBe(2)
  const workflow = parse(readFileSync(join(ROOT, '.github/workflows/release.yml'), 'utf8'))
  type Job = { steps: { run?: string }[] }
  const commands = Object.values(workflow.jobs as Record<string, Job>)
    .flatMap(({ steps }) => steps.flatMap(({ run }) => run ?? []))
    .map(command =>
      command
        .replace(/ \$\{\{.*\}\}/, '')
        .split(' ')
        .slice(0, 2)
        .join(' '),
    )
  expect(commands.filter(command => !stderr.includes(command))).toEqual(['.ci/run', 'npm ci'])
})

test('the SBOM names every package that is not only for development, and no other', async () => {
  const folder = await temporaryFolder()
  const { status, stderr } = release('sbom', folder)
  expect(status, stderr).toBe(0)
  const [file = ''] = readdirSync(folder)
  const sbom = JSON.parse(readFileSync(join(folder, file), 'utf8'))
  expect(sbom).toMatchObject({ bomFormat: 'CycloneDX', metadata: { component: { name: 'dirsync' } } })
  type Component = { name: string; version: string; purl: string }
  const named = (sbom.components as Component[]).map(({ name, version }) => `${name}@${version}`)
  const { packages } = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8'))
  const locked = Object.entries(packages as Record<string, { dev?: true; version: string }>)
    .filter(([path, { dev }]) => path !== '' && !dev)
    .map(([path, { version }]) => `${path.split('node_modules/').at(-1)}@${version}`)
  expect(named.toSorted()).toEqual([...new Set(locked)].toSorted())
})
