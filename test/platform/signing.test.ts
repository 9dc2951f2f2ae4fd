import { describe, expect, test } from 'vitest'
import { type SignAlgorithm, sign, signatureInput } from '../../src/platform/request.ts'

/*
 * Vectors computed outside of this project: the text in `input`, written by hand from the rules, was given to
 * `printf '%s' "$input" | openssl dgst -<algorithm> -hex`.
 */
const VECTORS = [
  {
    title: 'token creation: public parameters and the secret',
    input: 'appid=app-0001&appsecret=s3cret&grant_type=client_credential&timestamp=1700000000&version=1.0.0',
    parameters: {
      version: '1.0.0',
      timestamp: '1700000000',
      appid: 'app-0001',
      grant_type: 'client_credential',
    },
    hex: {
      sha256: '33376fe9ef9f7308b82854595cc7f4f9bd4afb9e1ec4c0401ad1511ece46e5e0',
      sha1: '5f10c3997d73615177ce469eacbc0c4078badf61',
      sha512:
        'f76c25df99370e7b8b0fca766820a8b45751174b739c5561c5545db747a119ff66acf20b586bf512a6cd79042a9eca10c2fd00290763f0bf02a413a4bb3c6e47',
    },
  },
  {
    title: 'values raw and trimmed, capitals first, UTF-8, empty and absent parameters left out',
    input:
      'Zeta=1&access_token=7f3b9c&appid=app-0001&appsecret=s3cret&grant_type=client_credential&remark=备注 乙&timestamp=1700000000&userid=a+b&c=d&version=1.0.0',
    parameters: {
      userid: 'a+b&c=d',
      remark: '  备注 乙\t',
      level: '',
      name: undefined,
      email: '   ',
      Zeta: '1',
      access_token: '7f3b9c',
      appid: 'app-0001',
      grant_type: 'client_credential',
      timestamp: '1700000000',
      version: '1.0.0',
    },
    hex: {
      sha256: '33525ee39a4165fbaa71870ad3df7522edba4ed51e930891f78c31316aa07208',
      sha1: '1c63f48696d1fafcae2ec67bc8d6296d274fd85b',
      sha512:
        '8c11a4a37229599e2db37b6dc8acb89413e66bac71031eac4f2e0aaeab4bf71be0dc203742234ad0e72d1df2c51ac752b8e96a92fbdb9aedc22d48fed6cbf58b',
    },
  },
  {
    title: 'a JSON body, byte for byte, as the parameter _body',
    input:
      '_body={"reason":"退款","refundAmount":12.50}&access_token=7f3b9c&appid=app-0001&appsecret=s3cret&enterprise_code=E1&timestamp=1700000000&version=1.0.0',
    parameters: {
      _body: '{"reason":"退款","refundAmount":12.50}',
      access_token: '7f3b9c',
      appid: 'app-0001',
      enterprise_code: 'E1',
      timestamp: '1700000000',
      version: '1.0.0',
    },
    hex: {
      sha256: '5f7d9fabe047a575a552b2a5dff705b105cf31f3a0b743ee0a16888f8d415b0a',
      sha1: 'dc944bccb4afbf61530f04070ad309f72c20272f',
      sha512:
        'b8593ef882a82091b4cc3dd39911fbc4edefb4e7a9701339946bc1e41f1f4fe9ad1726270813a54252fa3be083bc1141101c3b840f882610618a961c8c22d252',
    },
  },
]

describe.each(VECTORS)('$title', ({ input, parameters, hex }) => {
  test.each(Object.entries(hex))('%s', (algorithm, expected) => {
    expect(sign(parameters, 's3cret', algorithm as SignAlgorithm)).toBe(expected)
  })

  test('the text that is hashed', () => {
    const values = { ...parameters, appsecret: 's3cret' }
    expect(signatureInput(Object.keys(values).sort(), values)).toBe(input)
  })
})

test('another secret gives another signature', () => {
  expect(sign({ appid: 'a' }, 'one', 'sha256')).not.toBe(sign({ appid: 'a' }, 'two', 'sha256'))
})
