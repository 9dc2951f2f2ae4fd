import { expect, test } from 'vitest'
import { TokenBucket } from '../../src/lib/token-bucket.ts'

const passing = (bucket: TokenBucket, now: number) => {
  let count = 0
  while (bucket.take(now)) count += 1
  return count
}

test('a burst passes at once, then so many per second', () => {
  const bucket = new TokenBucket({ perSecond: 2, burst: 5 })
  expect(passing(bucket, 1_000_000)).toBe(5)
  expect(passing(bucket, 1_000_499)).toBe(0)
  expect(passing(bucket, 1_000_500)).toBe(1)
  expect(passing(bucket, 1_002_500)).toBe(4)
  expect(passing(bucket, 9_000_000)).toBe(5)
})

test('a clock that is set back neither adds nor blocks', () => {
  const bucket = new TokenBucket({ perSecond: 1, burst: 1 })
  expect(passing(bucket, 5_000_000)).toBe(1)
  expect(passing(bucket, 1_000_000)).toBe(0)
  expect(passing(bucket, 1_001_000)).toBe(1)
})
