import { afterAll, beforeAll, expect, test } from 'vitest'
import { IdempotencyKeys } from '../../src/console/idempotency.ts'
import { Problem } from '../../src/console/problem.ts'
import { CommandError } from '../../src/sync/runs/commands.ts'
import { inWords } from '../../src/texts/message.ts'
import { createTestDatabase, type TestDatabase } from '../helpers/postgres.ts'

let database: TestDatabase
let keys: IdempotencyKeys
beforeAll(async () => {
  database = await createTestDatabase({ migrated: true })
  keys = new IdempotencyKeys(database.pool)
})
afterAll(() => database.close())

const answerOf = (body: string) => ({ status: 202, location: '/api/v1/runs/1', body })

/** Work that counts how often it is done. */
function counted(work: () => string) {
  let times = 0
  return {
    work: async () => {
      times += 1
      return answerOf(work())
    },
    times: () => times,
  }
}

const request = (key: string, owner = 'anna') => ({ owner, key, request: 'POST /runs' })

test('a repeated request gives the first answer and starts nothing', async () => {
  const { work, times } = counted(() => `"${times()}"`)
  expect(await keys.once(request('a'), work)).toEqual(answerOf('"1"'))
  expect(await keys.once(request('a'), work)).toEqual(answerOf('"1"'))
  expect(await keys.once(request('a', 'bert'), work)).toEqual(answerOf('"2"'))
  await expect(keys.once({ ...request('a'), request: 'POST /pause' }, work)).rejects.toThrow(
    'another request',
  )
  expect(times()).toBe(2)
})

test('of requests that come at the same time one starts something, and the others are told so', async () => {
  const begun = Promise.withResolvers<void>()
  const ends = Promise.withResolvers<void>()
  let times = 0
  const work = async () => {
    times += 1
    begun.resolve()
    await ends.promise
    return answerOf('1')
  }
  const asked = Array.from({ length: 10 }, () => keys.once(request('together'), work))
  const settled = Promise.allSettled(asked)
  await begun.promise
  // All but the one that works are answered while it does.
  const others = Promise.withResolvers<void>()
  let refused = 0
  for (const one of asked)
    one.catch(() => {
      refused += 1
      if (refused === 9) others.resolve()
    })
  await others.promise
  ends.resolve()
  const outcomes = (await settled).map(outcome =>
    outcome.status === 'fulfilled' ? outcome.value.body : (outcome.reason as Problem).kind,
  )
  expect(outcomes.sort()).toEqual(['1', ...Array.from({ length: 9 }, () => 'key_in_use')])
  expect(await keys.once(request('together'), work)).toEqual(answerOf('1'))
  expect(times).toBe(1)
})

test.each([
  ['refused', new CommandError('COMMAND_CONFLICT', inWords('it was changed meanwhile'))],
  ['wrong', new Problem('invalid', 'no such kind')],
])('the key of what was %s is free again', async (name, error) => {
  const { work, times } = counted(() => {
    if (times() === 1) throw error
    return '1'
  })
  await expect(keys.once(request(name), work)).rejects.toBe(error)
  expect(await keys.once(request(name), work)).toEqual(answerOf('1'))
})

test.each([
  ['a connection that was lost while it committed', new Error('Connection terminated unexpectedly')],
  ['a statement that was given up', Object.assign(new Error('no answer'), { code: 'STATEMENT_TIMEOUT' })],
  ['an answer that could not be written down', new TypeError('not serialisable')],
])('after %s, whose effect is unknown, the key starts nothing again', async (name, error) => {
  const { work, times } = counted(() => {
    throw error
  })
  await expect(keys.once(request(name), work)).rejects.toBe(error)
  await expect(keys.once(request(name), work)).rejects.toMatchObject({ kind: 'key_in_use' })
  expect(times()).toBe(1)
})

test('an answer that cannot be stored is remembered as given', async () => {
  const { work, times } = counted(() => 'x')
  const broken = new IdempotencyKeys(
    new Proxy(database.pool, {
      get(pool, name) {
        const value: unknown = Reflect.get(pool, name)
        if (name !== 'query') return typeof value === 'function' ? value.bind(pool) : value
        return (text: string, values: unknown[]) =>
          text.startsWith('update')
            ? Promise.reject(new Error('Connection terminated unexpectedly'))
            : pool.query(text, values)
      },
    }),
  )
  await expect(broken.once(request('lost'), work)).rejects.toThrow('Connection terminated')
  await expect(keys.once(request('lost'), work)).rejects.toMatchObject({ kind: 'key_in_use' })
  expect(times()).toBe(1)
})

test.each([[''], ['x'.repeat(201)], ['k'.repeat(8000)]])(
  'the key "%.5s…" is refused in a sentence',
  async key => {
    const { work, times } = counted(() => '1')
    await expect(keys.once(request(key), work)).rejects.toMatchObject({ kind: 'invalid' })
    expect(times()).toBe(0)
  },
)
