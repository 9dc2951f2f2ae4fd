import { expect, test } from 'vitest'
import { problemOf } from '../../src/console/problem.ts'

const coded = (code: string) => Object.assign(new Error(`something with ${code}`), { code })

test.each([
  'ECONNREFUSED',
  'ECONNRESET',
  'ETIMEDOUT',
  'EPIPE',
  'ENOTFOUND', // its container is stopped, and its name is gone
  'EAI_AGAIN', // and so is the server of names
  'EHOSTUNREACH', // its host is down
  'ENETUNREACH',
  '08006',
  '53300', // too many connections
  '57P01', // it is shut down
  '57P03', // it starts
  '57014', // too slow
  '25006', // another server has become the one that is written to
  '40P01', // ended to break a deadlock
])('%s means that the database is away for now', code => {
  expect(problemOf(coded(code))).toMatchObject({ kind: 'database', status: 503 })
})

test.each(['42P01', '23505', 'ERR_INVALID_ARG_TYPE', 'EACCES'])('%s is our own mistake', code => {
  expect(problemOf(coded(code))).toMatchObject({ kind: 'internal', status: 500 })
})
