import { expect, test } from 'vitest'
// What a program that brings a token store or a pacer of its own has: nothing but the library's entry point.
import {
  CallsPausedError,
  LocalPacer,
  MemoryTokenStore,
  PacerClosedError,
  PlatformClient,
  type PlatformClientOptions,
  TokenFuseError,
} from '../../src/platform/index.ts'
import { duringTest } from '../helpers/during.ts'
import { FakePlatform } from './fake-platform.ts'

const platform = duringTest(FakePlatform.start)

async function failureWith(parts: Pick<PlatformClientOptions, 'pacer' | 'tokenStore'>): Promise<unknown> {
  await using client = new PlatformClient({ baseUrl: platform.url, appId: 'a', appSecret: 's', ...parts })
  return await client.employees.get({ userid: 'u1' }).catch(error => error)
}

const failing = (error: Error) => async (): Promise<never> => {
  throw error
}

const storeFailing = (error: Error) => Object.assign(new MemoryTokenStore(), { refresh: failing(error) })
const pacerFailing = (error: Error) => Object.assign(new LocalPacer(10), { acquire: failing(error) })

test('a token store says that its fuse has blown, and for how long', async () => {
  const cause = new TokenFuseError(60_000)
  expect(await failureWith({ tokenStore: storeFailing(cause) })).toMatchObject({
    kind: 'token_fuse',
    disposition: 'halt',
    retryAfterMs: 60_000,
    outcomeKnown: true,
    cause,
  })
})

test.each([
  ['paused', () => new CallsPausedError()],
  ['aborted', () => new PacerClosedError()],
  ['aborted', () => new Error('its database is away')],
])('a call is %s where the pacer raises the error', async (kind, errorOf) => {
  const cause = errorOf()
  expect(await failureWith({ pacer: pacerFailing(cause) })).toMatchObject({
    kind,
    disposition: 'wait',
    outcomeKnown: true,
    cause,
  })
  expect(platform.requests).toEqual([])
})

test('another error of a token store reaches the caller as it is, and nothing was sent', async () => {
  const error = new Error('its database is away')
  expect(await failureWith({ tokenStore: storeFailing(error) })).toBe(error)
  expect(platform.requests).toEqual([])
})
