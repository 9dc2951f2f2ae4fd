import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { DEFECTS } from './defects.ts'

test('each defect of a file is put back at one place, which is there', () => {
  const places = DEFECTS.flatMap(({ name, file, from }) =>
    file === undefined ? [] : [[name, readFileSync(`src/${file}`, 'utf8').split(from).length - 1]],
  )
  expect(places.length).toBeGreaterThan(30)
  expect(places.filter(([, times]) => times !== 1)).toEqual([])
})
