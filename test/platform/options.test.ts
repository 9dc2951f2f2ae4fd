import { expect, test } from 'vitest'
import { PlatformClient, type PlatformClientOptions } from '../../src/platform/index.ts'

const withOptions = (options: Partial<Record<keyof PlatformClientOptions, unknown>>) => () =>
  new PlatformClient({
    baseUrl: 'https://platform.example.com',
    appId: 'a',
    appSecret: 's3cret',
    ...(options as Partial<PlatformClientOptions>),
  })

test.each([0, -1, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 31])(
  'a time limit of %s ms, which no timer can hold, is refused before anything is sent',
  timeoutMs => {
    expect(withOptions({ timeoutMs })).toThrow(RangeError)
  },
)

test('the longest time limit that a timer holds is accepted', async () => {
  await using client = withOptions({ timeoutMs: 2 ** 31 - 1 })()
  expect(client).toBeInstanceOf(PlatformClient)
})
