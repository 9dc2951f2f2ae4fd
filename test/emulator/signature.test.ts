import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type SignAlgorithm, sameSignature, signature } from '../../emulator/authentication.ts'
import { readParameters } from '../../emulator/parameters.ts'
import { APP_ID, APP_SECRET, PlatformUnderTest } from './platform-under-test.ts'

// The digests below were made with sha1sum, sha256sum and sha512sum from the text beside them.
const SHA1 = '8740925b1e5c1fc7b39ee83d52c315e84d30fe85'
const SHA256 = 'f054d3f89ce1486c67c4ab82d06c2987dc96c70a85d71512a3c92088eddd0d86'
const SHA512 =
  'ba022aff7b1e3abfe8ad1117e61a8f8b3684b9254da312f63a050a3f2b837dd67d2b0cc0d5cf786a03986a3377decd1fc188595afcbb8540ad5396798af3a5ca'

describe('the signature of a set of parameters', () => {
  // Alpha=first&appid=app0…abc&appsecret=Secret-of-the-Application&name=Zoë 王&timestamp=1700000000&userid=u 1&version=1.0.0
  const parameters = new Map([
    ['version', '1.0.0'],
    ['userid', 'u 1'],
    ['name', 'Zoë 王'],
    ['remark', ''],
    ['timestamp', '1700000000'],
    ['sign', 'left out'],
    ['appid', APP_ID],
    ['Alpha', 'first'],
  ])

  test.each([
    ['sha1', SHA1],
    ['sha256', SHA256],
    ['sha512', SHA512],
  ] as [SignAlgorithm, string][])('is the known one with %s', (algorithm, expected) => {
    expect(signature(parameters, APP_SECRET, algorithm)).toBe(expected)
  })

  test('sorts names by code units, not by characters', () => {
    const names = new Map([
      ['～', '4'],
      ['😀', '3'],
      ['b', '2'],
    ])
    expect(signature(names, APP_SECRET, 'sha256')).toBe(
      'fb8fa6a8de9650d658968a8c3d61ee7b557749e21c65e24db6f50998cbbf1e03',
    )
  })

  test('cannot have its secret replaced by a parameter', () => {
    const forged = new Map(parameters).set('appsecret', 'known to the forger')
    expect(signature(forged, APP_SECRET, 'sha256')).toBe(SHA256)
  })

  test('covers the text of a JSON body, byte for byte, as _body', () => {
    const body = '{"reason":"a b"}'
    const queryText = `appid=${APP_ID}&timestamp=1700000000&sign=x`
    const call = { queryText, contentType: 'application/json', body: Buffer.from(body) }
    const { signed, given } = readParameters('json', call, true)
    expect(signature(signed, APP_SECRET, 'sha256')).toBe(
      'f98642513cedc382293a2ebb3f006267d901b4ee3447aae603b0c7bd2c293290',
    )
    expect(given.get('reason')).toBe('a b')
    expect(given.has('_body')).toBe(false)
  })

  test('is compared as a whole', () => {
    expect(sameSignature(SHA256, SHA256)).toBe(true)
    expect(sameSignature(SHA256.slice(0, -1), SHA256)).toBe(false)
    expect(sameSignature(SHA256.replace('f', 'e'), SHA256)).toBe(false)
    expect(sameSignature('', SHA256)).toBe(false)
  })
})

// appid=app0…abc&appsecret=Secret-of-the-Application&grant_type=client_credential&timestamp=1700000000&version=1.0.0
const TOKEN_CALL: Record<SignAlgorithm, string> = {
  sha1: '72910d891399f534eb9670a02c744ec7a5c4d4ab',
  sha256: 'cb9be2ee938a6df34874ac43dfdee789de2000bb39e5532f4e03df92834db411',
  sha512:
    'ac8b0a227093cc631a590960312f1f06223331a16671dd0f6a841aa637ef802699ba441f9302e14132871d9b4e9b495ca50a8e71f7259d3c331ca131d1641639',
}

describe.each(Object.keys(TOKEN_CALL) as SignAlgorithm[])('over HTTP with %s', algorithm => {
  let platform: PlatformUnderTest
  const query = { appid: APP_ID, grant_type: 'client_credential', timestamp: '1700000000', version: '1.0.0' }

  beforeAll(async () => {
    platform = await PlatformUnderTest.start({ signAlgorithm: algorithm })
    await platform.moveClock(1_700_000_000 - Math.floor(Date.now() / 1000))
  })
  afterAll(() => platform[Symbol.asyncDispose]())

  test('the known signature is accepted', async () => {
    const answer = await platform.send('token/create', { ...query, sign: TOKEN_CALL[algorithm] }, {})
    expect(answer).toMatchObject({ status: 200, code: 0, msg: 'OK' })
  })

  test('those of the other algorithms, and capitals, get 1000210003', async () => {
    const others = Object.values(TOKEN_CALL).filter(sign => sign !== TOKEN_CALL[algorithm])
    for (const sign of [...others, TOKEN_CALL[algorithm].toUpperCase()]) {
      const answer = await platform.send('token/create', { ...query, sign }, {})
      expect(answer).toMatchObject({ status: 200, code: 1000210003, data: null })
    }
  })
})
