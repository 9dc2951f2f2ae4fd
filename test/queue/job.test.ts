import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type DeliveredJob, formatJobKey, type JobKey, jobId, parseJobKey } from '../../src/queue/job.ts'

const text = fc.string({ unit: 'binary' })
const key: fc.Arbitrary<JobKey> = fc.record({ enterpriseCode: text, entityKey: text, detail: text })

test('a key comes back as it was, whatever is in it', () => {
  fc.assert(
    fc.property(key, given => {
      expect(parseJobKey(formatJobKey(given))).toEqual(given)
    }),
  )
})

test('different keys are different texts', () => {
  fc.assert(
    fc.property(key, key, (one, other) => {
      const same =
        one.enterpriseCode === other.enterpriseCode &&
        one.entityKey === other.entityKey &&
        one.detail === other.detail
      expect(formatJobKey(one) === formatJobKey(other)).toBe(same)
    }),
  )
  expect(formatJobKey({ enterpriseCode: 'a', entityKey: 'b', detail: '' })).not.toBe(
    formatJobKey({ enterpriseCode: '', entityKey: 'a', detail: 'b' }),
  )
})

test('more in the key than a key is left out of the text', () => {
  const fed = { enterpriseCode: 'C1', entityKey: 'e1', detail: '', priority: 3, operation: 'update-employee' }
  expect(formatJobKey(fed)).toBe('["C1","e1",""]')
})

test.each(['', 'e1', '{}', 'null', '[]', '["a","b"]', '["a","b",1]', '["a","b","c","d"]'])(
  'the text %j is refused',
  broken => {
    expect(() => parseJobKey(broken)).toThrow(SyntaxError)
  },
)

test('the same requests have the same id, and whatever differs makes another one', () => {
  const job = { name: 'update-employee', keys: ['["","e1",""]'], priority: 3 } as const
  const of = (differs: Partial<DeliveredJob>, ...requests: string[]) =>
    jobId({ ...job, keys: [...job.keys], ...differs }, requests)
  const ids = [
    of({}, '7'),
    of({ name: 'bind-openid' }, '7'),
    of({ keys: ['["","e2",""]'] }, '7'),
    of({ keys: ['["","e1",""]', '["","e2",""]'] }, '7', '7'),
    of({}, '8'),
    of({ priority: 1 }, '7'),
  ]
  expect(new Set(ids).size).toBe(ids.length)
  expect(of({}, '7')).toBe(ids[0])
  for (const id of ids) expect(id).toMatch(/^[\w-]{22}$/)
})
