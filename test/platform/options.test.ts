import { expect, test } from 'vitest'
import { type OperationName, PlatformClient, type PlatformClientOptions } from '../../src/platform/index.ts'

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

test('a signature algorithm that the platform does not offer is refused before anything is sent', () => {
  expect(withOptions({ signAlgorithm: 'md6' })).toThrow(RangeError)
})

test('a call of an operation that does not exist says so', async () => {
  await using client = withOptions({})()
  for (const name of ['nope', 'toString'])
    await expect(client.call(name as OperationName, {})).rejects.toThrow(
      new RangeError(`"${name}" is not an operation of the platform.`),
    )
})

test.each([
  'platform.example.com',
  'platform.example.com:443',
  'ftp://platform.example.com',
  'https://platform.example.com/?y=1',
  'https://platform.example.com/#y',
  'https://app:s3cret@platform.example.com',
])('the base address %s is refused before anything is sent', baseUrl => {
  expect(withOptions({ baseUrl })).toThrow(RangeError)
})
