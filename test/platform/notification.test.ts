import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { verifyNotification } from '../../src/platform/notification.ts'
import {
  APP_ID,
  APP_SECRET,
  encode,
  escapeLetters,
  type Fields,
  fieldsOf,
  flipped,
  NAMES,
  signed,
  without,
} from '../helpers/notification.ts'

const NOW = Date.parse('2026-11-21T12:00:00Z')
const FIELDS = fieldsOf(1, NOW)
const FORM = encode(signed(FIELDS))

const verify = (
  form: string | Uint8Array,
  signAlgorithm: 'sha256' | 'sha1' | 'sha512' = 'sha256',
  now = NOW,
) => verifyNotification(form, { appId: APP_ID, appSecret: APP_SECRET, signAlgorithm, now })
const verifyFields = (fields: Fields) => verify(encode(signed(fields)))
const refusal = (reason: string) => ({ ok: false, reason })

test('a notification is read from text and from bytes', () => {
  const { outer_trade_no, outer_refund_no, refund_amount, trade_no } = FIELDS
  const notification = { outer_trade_no, outer_refund_no, refund_amount, trade_no }
  expect(verify(FORM)).toEqual({ ok: true, notification })
  expect(verify(Buffer.from(FORM))).toEqual({ ok: true, notification })
})

test('the order of the fields does not matter', () => {
  const reversed = Object.fromEntries(Object.entries(signed(FIELDS)).reverse())
  expect(verify(encode(reversed)).ok).toBe(true)
})

test('no flipped bit passes, but for the case of percent escapes', () => {
  const decoded = new URLSearchParams(FORM).toString()
  const accepted = [...flipped(FORM)].filter(form => verify(form).ok)
  expect(accepted).toHaveLength(escapeLetters(FORM))
  expect(accepted.length).toBeGreaterThan(0)
  for (const form of accepted) expect(new URLSearchParams(form.toString()).toString()).toBe(decoded)
})

test('no byte may be missing or added', () => {
  for (let at = 0; at <= FORM.length; at++) {
    if (at < FORM.length) expect(verify(FORM.slice(0, at) + FORM.slice(at + 1)).ok).toBe(false)
    for (const extra of ['0', 'a', '&', '=', '+', '%', ' ', '\0'])
      expect(verify(FORM.slice(0, at) + extra + FORM.slice(at)).ok).toBe(false)
  }
})

test('a field that the platform adds may be empty: it is not signed, and says nothing', () => {
  const { ok } = verifyFields({ ...FIELDS, remark: '' })
  expect(ok).toBe(true)
  expect(verify(`${FORM}&remark=&note=`)).toEqual(verify(FORM))
  for (const more of ['remark', 'remark=&remark=', 'trade_no=', 'appsecret=', 'sign=', '=', 'remark=%'])
    expect(verify(`${FORM}&${more}`)).toEqual(refusal('malformed'))
})

test.each([-301, -300, -299, 0, 299, 300, 301])('a timestamp that is off by %i s', seconds => {
  const form = encode(signed(fieldsOf(1, NOW + seconds * 1000)))
  expect(verify(form).ok).toBe(Math.abs(seconds) <= 300)
  if (Math.abs(seconds) > 300) expect(verify(form)).toEqual(refusal('wrong_timestamp'))
})

test.each(['1.8e9', '0x6ba00000', '-1', '1790000000.0', '1790000000000', 'now', '١٢٣'])(
  'the timestamp %j is none',
  timestamp => {
    expect(verifyFields({ ...FIELDS, timestamp })).toEqual(refusal('malformed'))
  },
)

describe.each(NAMES)('the field %s', name => {
  const form = signed(FIELDS)
  const value = form[name] as string

  test('may not be missing, even from what is signed', () => {
    const rest = without(FIELDS, name)
    expect(verify(encode(without(signed(rest), name)))).toEqual(refusal('malformed'))
  })

  test.each(['', ' ', '\t', '\u00a0', '\ufeff'])('may not be %j', empty => {
    const fields = signed({ ...FIELDS, ...(name === 'sign' ? {} : { [name]: empty }) })
    expect(verify(encode(name === 'sign' ? { ...fields, sign: empty } : fields))).toEqual(
      refusal('malformed'),
    )
  })

  test.each([' %s', '%s ', '%s\n', '\ufeff%s'])('may not be padded as in %j', padding => {
    // What is signed is trimmed: the signature fits.
    expect(verify(encode({ ...form, [name]: padding.replace('%s', value) }))).toEqual(refusal('malformed'))
  })

  test('may not be repeated, whatever the value and the case of its name', () => {
    for (const other of [value, 'other', ''])
      for (const again of [name, name.toUpperCase(), `${name[0]?.toUpperCase()}${name.slice(1)}`]) {
        expect(verify(`${FORM}&${again}=${other}`)).toEqual(refusal('malformed'))
        expect(verify(`${again}=${other}&${FORM}`)).toEqual(refusal('malformed'))
        if (again !== name)
          expect(verify(encode({ ...signed({ ...FIELDS, [again]: other }) })).ok).toBe(false)
      }
  })

  test('may not be written in another case', () => {
    expect(verify(FORM.replace(`${name}=`, `${name.toUpperCase()}=`))).toEqual(refusal('malformed'))
  })
})

test.each([
  ['outer_trade_no', 'x'],
  ['outer_trade_no', 'x'.repeat(51)],
  ['outer_refund_no', 'x'],
  ['outer_refund_no', 'x'.repeat(51)],
  ['trade_no', 'x'.repeat(51)],
  ['refund_amount', '-1.00'],
  ['refund_amount', '1e3'],
  ['refund_amount', '1,00'],
  ['refund_amount', '.5'],
  ['refund_amount', '123456789.00'],
  ['refund_amount', 'NaN'],
  ['trade_no', 'a\u0000b'],
  ['trade_no', 'a\u0007b'],
  ['trade_no', 'a\u202eb'],
])('%s may not be %j, although it is signed', (name, value) => {
  expect(verifyFields({ ...FIELDS, [name]: value })).toEqual(refusal('malformed'))
})

test.each(['0.01', '1', '1.5', '99999999.99', '12.5000'])(
  'the amount %s is one, kept as it was sent',
  amount => {
    expect(verifyFields({ ...FIELDS, refund_amount: amount })).toMatchObject({
      notification: { refund_amount: amount },
    })
  },
)

test('another application, secret or algorithm is refused', () => {
  expect(verifyFields({ ...FIELDS, appid: 'test0002' })).toEqual(refusal('wrong_application'))
  expect(verify(encode(signed(FIELDS, { secret: 'another' })))).toEqual(refusal('wrong_signature'))
  for (const algorithm of ['sha1', 'sha512', 'md5', 'sha3-256'])
    expect(verify(encode(signed(FIELDS, { algorithm })))).toEqual(refusal('wrong_signature'))
})

test.each(['sha256', 'sha1', 'sha512'] as const)('where %s is set, it alone is accepted', algorithm => {
  for (const used of ['sha256', 'sha1', 'sha512'])
    expect(verify(encode(signed(FIELDS, { algorithm: used })), algorithm).ok).toBe(used === algorithm)
})

test.each([
  (sign: string) => sign.toUpperCase(),
  (sign: string) => sign.slice(1),
  (sign: string) => `${sign}0`,
  (sign: string) => sign.repeat(2),
  () => '0'.repeat(64),
  () => 'é'.repeat(64),
])('a signature of another shape (%#) is refused', alter => {
  const fields = signed(FIELDS)
  expect(verify(encode({ ...fields, sign: alter(fields.sign as string) }))).toEqual(
    refusal('wrong_signature'),
  )
})

test('a further field passes when it is signed, and only then', () => {
  expect(verifyFields({ ...FIELDS, currency: '人民币 CNY' }).ok).toBe(true)
  expect(verifyFields({ ...FIELDS, constructor: 'x', hasOwnProperty: 'y' }).ok).toBe(true)
  expect(verify(`${FORM}&currency=CNY`)).toEqual(refusal('wrong_signature'))
  expect(verify(`${FORM}&constructor=x`)).toEqual(refusal('wrong_signature'))
})

test.each(['appsecret=x', 'AppSecret=x', `appsecret=${APP_SECRET}`, 'note', '=x', '=', '', '%20=x'])(
  'what no signature would cover does not pass: &%s',
  addition => {
    expect(verify(`${FORM}&${addition}`)).toEqual(refusal('malformed'))
    expect(verify(`${addition}&${FORM}`)).toEqual(refusal('malformed'))
  },
)

test.each(['__proto__', '_body', '__proto__[appid]', 'a.b', 'a b', 'ä', '0'])(
  'no field is called %s',
  name => {
    expect(verify(encode(signed(Object.fromEntries([...Object.entries(FIELDS), [name, 'x']]))))).toEqual(
      refusal('malformed'),
    )
  },
)

test('a signed text cannot be read as other fields', () => {
  const genuine = signed({ ...FIELDS, z1: 'a', z2: 'b' })
  const shifted = { ...FIELDS, z1: 'a&z2=b', sign: genuine.sign as string }
  expect(signed(shifted).sign).toBe(genuine.sign)
  expect(verify(encode(genuine)).ok).toBe(true)
  expect(verify(encode(shifted))).toEqual(refusal('malformed'))
})

test.each(['%', '%2', '%zz', '%c3%28', '%ed%a0%80', '%c0%80', '%ff', '\u00e9', '\u4e2d', ' ', '\r\n', '\0'])(
  'the value %j is no form encoding of UTF-8',
  value => {
    for (const form of [Buffer.from(`${FORM}&note=${value}`), Buffer.from(`${FORM}&${value}=note`, 'latin1')])
      expect(verify(form)).toEqual(refusal('malformed'))
  },
)

test('more than 16 fields or 8 KiB are refused, and no quantity takes long', () => {
  const extras = (count: number) =>
    Object.fromEntries(Array.from({ length: count }, (_, i) => [`field_${i}`, 'x']))
  expect(verifyFields({ ...FIELDS, ...extras(9) }).ok).toBe(true)
  expect(verifyFields({ ...FIELDS, ...extras(10) })).toEqual(refusal('malformed'))
  expect(verifyFields({ ...FIELDS, note: 'x'.repeat(7000) }).ok).toBe(true)
  expect(verifyFields({ ...FIELDS, note: 'x'.repeat(8192) })).toEqual(refusal('malformed'))
  const start = performance.now()
  for (const junk of ['&', '=', '%', 'a=b&', '%25', '+'])
    expect(verify(junk.repeat(1_000_000 / junk.length))).toEqual(refusal('malformed'))
  // With anything that grows with the square of the length it would take hours.
  expect(performance.now() - start).toBeLessThan(30_000)
})

test('whatever comes, it is refused and nothing is thrown', () => {
  fc.assert(
    fc.property(fc.oneof(fc.string({ unit: 'binary' }), fc.uint8Array({ maxLength: 500 })), form => {
      expect(verify(form)).toEqual(refusal('malformed'))
    }),
  )
  fc.assert(
    fc.property(fc.dictionary(fc.constantFrom(...NAMES, 'note'), fc.string()), fields => {
      const saysNothing = Object.entries(fields).every(([name, value]) => name === 'note' && value === '')
      expect(verify(encode({ ...signed(FIELDS), ...fields })).ok).toBe(saysNothing)
    }),
  )
})
