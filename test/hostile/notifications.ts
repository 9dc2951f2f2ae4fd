import fc from 'fast-check'
import { MAX_FORM_BYTES, verifyNotification } from '../../src/platform/notification.ts'
import { APP_ID, APP_SECRET, encode, type Fields, signed } from '../helpers/notification.ts'
import { interruptibly, type Kind, must } from './kind.ts'
import { text } from './texts.ts'

/*
 * Notifications of refunds, as the whole world may send them: forms that nobody signed, signed ones that were altered on the way, and
 * signed ones with values that are none.
 */

export interface Notified {
  fields: Fields
  /** What becomes of the signed form. */
  alter: (form: string) => string
  isAltered: boolean
}

export const NOW = 1_770_000_000_000
const value = (likely: string) => fc.oneof({ weight: 6, arbitrary: fc.constant(likely) }, text(9000))
const fields = fc
  .record({
    appid: value(APP_ID),
    outer_trade_no: value('mall0001T1'),
    outer_refund_no: value('mall0001R1'),
    refund_amount: fc.oneof(
      value('1.00'),
      fc.constantFrom('1e3', '-1', '0x1', '１', '1.', '.5', '99999999999'),
    ),
    trade_no: value('T1'),
    timestamp: fc.oneof(
      { weight: 4, arbitrary: value(String(NOW / 1000)) },
      fc.constantFrom('0', '-1', '1e9', '9999999999'),
    ),
  })
  .chain(known =>
    fc
      .dictionary(
        fc.constantFrom('appsecret', 'AppSecret', 'extra', '__proto__', 'sign', 'x[]', 'Trade_No'),
        text(100),
        { maxKeys: 1 },
      )
      .map(more => ({ ...known, ...more }) as Fields),
  )
const change = fc.oneof(
  { weight: 3, arbitrary: fc.constant(null) },
  fc.tuple(fc.nat(600), fc.nat(3), text(60)),
)

export const notified = fc.record({ fields, change }).map(
  ({ fields, change }): Notified => ({
    fields,
    isAltered: change !== null,
    alter: form => {
      if (change === null) return form
      const [at, length, more] = change
      return `${form.slice(0, at % (form.length + 1))}${more}${form.slice((at % (form.length + 1)) + length)}`
    },
  }),
)

export const notifications: Kind<Notified> = {
  name: 'notifications',
  what: 'notifications of refunds, altered, unsigned, or signed with odd values',
  share: 250,
  few: 500,
  inputs: notified,
  async open() {
    return { meet: input => interruptibly(() => meet(input)), async [Symbol.asyncDispose]() {} }
  },
}

function meet({ fields, alter, isAltered }: Notified): string {
  const form = encode(signed(fields))
  const sent = alter(form)
  const known = { appId: APP_ID, appSecret: APP_SECRET, signAlgorithm: 'sha256', now: NOW } as const
  const verified = verifyNotification(Buffer.from(sent), known)
  if (!verified.ok) return verified.reason
  const { notification } = verified
  must(sent.length <= MAX_FORM_BYTES, 'a form without end is read')
  must(fields.appid === APP_ID, "another application's is taken")
  must(/^\d{1,8}(\.\d{1,8})?$/.test(notification.refund_amount), 'an amount is none')
  must(JSON.stringify(notification).isWellFormed(), 'half a character gets in')
  for (const name of ['outer_trade_no', 'outer_refund_no', 'refund_amount', 'trade_no'] as const)
    must(notification[name] === fields[name], `${name} is not what was signed`)
  return isAltered ? 'taken, as what was altered means the same' : 'taken'
}
