import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'

/** Licences under which a package may be shipped with dirsync, and what they ask of us. */
const ALLOWED: Record<string, string> = {
  MIT: 'the notice goes along',
  'MIT-0': 'nothing',
  ISC: 'the notice goes along',
  '0BSD': 'nothing',
  'BSD-0-Clause': 'nothing; htmx.org spells 0BSD so',
  'BSD-3-Clause': 'the notice goes along; no advertising with names',
  'Apache-2.0': 'licence and NOTICE go along',
  'BlueOak-1.0.0': 'the licence or a link goes along',
}

interface Locked {
  dev?: true
  integrity?: string
  license?: string
}

const LOCK = readFileSync(join(import.meta.dirname, '../package-lock.json'), 'utf8')
const shipped = Object.entries(JSON.parse(LOCK).packages as Record<string, Locked>).filter(
  ([path, { dev }]) => path !== '' && !dev,
)

test('every package that is shipped has a licence that is allowed', () => {
  expect(
    shipped
      .filter(([, { license = '' }]) => !Object.hasOwn(ALLOWED, license))
      .map(([path, { license }]) => `${path}: ${license}`),
  ).toEqual([])
})

test('every package that is shipped is locked by its content', () => {
  expect(
    shipped.filter(([, { integrity }]) => !integrity?.startsWith('sha512-')).map(([path]) => path),
  ).toEqual([])
})

test('every allowed licence is one that a package has', () => {
  const present = new Set(shipped.map(([, { license }]) => license))
  expect(Object.keys(ALLOWED).filter(licence => !present.has(licence))).toEqual([])
})
