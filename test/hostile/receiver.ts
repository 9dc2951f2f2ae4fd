import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import { expect } from 'vitest'
import { APP_ID, encode, type Fields, signed } from '../helpers/notification.ts'
import { createTestDatabase, type TestDatabase } from '../helpers/postgres.ts'
import { expectStillWorks, FORM_TYPE, openReceiver, type TestReceiver } from '../money/receiver-under-test.ts'
import { type Kind, must } from './kind.ts'
import { NOW, notified } from './notifications.ts'
import { damages } from './texts.ts'
import { type Carriage, carriage, exchange, isPlain } from './wire.ts'

/*
 * The receiver of notifications on its port, with its journal in PostgreSQL: what the whole world may send to it, at the pace it likes.
 */

interface Posted {
  fields: Fields
  /** Whether the form is as it was signed. */
  isAsSigned: boolean
  form: Buffer
  path: string
  carriage: Carriage
}

const PATH = '/notifications/refund'
/** The refund that the journal knows. */
const KNOWN = { outer_refund_no: 'mall0001R1', outer_trade_no: 'mall0001T1', refund_amount: '1.00' }
const GENUINE = { appid: APP_ID, trade_no: 'T1', timestamp: String(NOW / 1000), ...KNOWN }
const TIMEOUT_MS = 200
/** It looks for slow senders now and then, and the machine may be busy. */
const PATIENCE_MS = 10_000
const SENDINGS = 3

const form = fc
  .tuple(
    fc.oneof(
      { weight: 2, arbitrary: notified },
      fc.constant({ fields: GENUINE, alter: (form: string) => form }),
    ),
    fc.oneof(
      { weight: 6, arbitrary: fc.constant((bytes: Buffer) => bytes) },
      { weight: 3, arbitrary: damages },
      fc.nat(1_000_000).map(more => (bytes: Buffer) => Buffer.concat([bytes, Buffer.alloc(more, '&a=b')])),
    ),
  )
  .map(([{ fields, alter }, damage]) => {
    const asSigned = encode(signed(fields))
    const form = damage(Buffer.from(alter(asSigned)))
    return { fields, form, isAsSigned: form.equals(Buffer.from(asSigned)) }
  })

const inputs = fc
  .record({
    form,
    path: fc.oneof(
      { weight: 20, arbitrary: fc.constant(PATH) },
      fc.constantFrom(
        ...[
          '/',
          '/healthz',
          `${PATH}/`,
          `${PATH}?x=1`,
          `/${PATH}`,
          '/notifications/%72efund',
          '/%zz',
          '*',
          '',
        ],
        ...[`${PATH}#x`, 'http://elsewhere/notifications/refund', '/__proto__', `/${'x'.repeat(20_000)}`],
      ),
    ),
    carriage,
  })
  .map(({ form, ...rest }): Posted => ({ ...form, ...rest }))

export const receiver: Kind<Posted> = {
  name: 'notifications-http',
  what: 'notifications of refunds over HTTP, to the receiver and its journal',
  share: 60,
  few: 300,
  inputs,
  open: () => Receiver.open(),
}

class Receiver {
  readonly #database: TestDatabase
  readonly #receiver: TestReceiver

  private constructor(database: TestDatabase, receiver: TestReceiver) {
    this.#database = database
    this.#receiver = receiver
  }

  static async open(): Promise<Receiver> {
    const database = await createTestDatabase({ migrated: true })
    const receiver = await openReceiver(database, { timeoutMs: TIMEOUT_MS })
    receiver.clock.now = NOW
    await database.pool.query(
      `insert into dirsync.refund (outer_refund_no, outer_trade_no, refund_amount, requested_by)
       values ($1, $2, $3, 'test')`,
      [KNOWN.outer_refund_no, KNOWN.outer_trade_no, KNOWN.refund_amount],
    )
    return new Receiver(database, receiver)
  }

  async meet({ fields, isAsSigned, form, path, carriage }: Posted): Promise<string> {
    const { port, log } = this.#receiver
    const isGenuine = isAsSigned && isDeepStrictEqual({ ...fields }, GENUINE) && path === PATH
    const isTaken = isGenuine && isPlain(carriage)
    const send = () => exchange(port, path, FORM_TYPE, form, carriage, PATIENCE_MS)
    let answers = await send()
    // On a busy machine it may not have come in its time; as the platform does, it is sent again.
    for (let again = 1; isTaken && answers.length === 0 && again < SENDINGS; again++) answers = await send()
    const said = answers.map(({ status, body }) => `${status} ${body}`)
    const seen = JSON.stringify(said)
    for (const { status, body } of answers) {
      must(status < 500, `an error of the receiver: ${seen}`)
      must(/^(success|fail|ok)$/.test(body) || carriage.method === 'HEAD', `another word: ${seen}`)
      must(
        (body === 'success') === (status === 200 && body !== 'ok'),
        `a word that its status denies: ${seen}`,
      )
    }
    if (isTaken) must(said[0] === '200 success', `it is refused: ${seen}`)
    if (said.includes('200 success')) {
      const { refund_amount = '', ...numbers } = fields
      must(
        Number(refund_amount) === 1 &&
          numbers.outer_refund_no === KNOWN.outer_refund_no &&
          numbers.outer_trade_no === KNOWN.outer_trade_no,
        'what nobody refunded is taken',
      )
      must((await this.#receiver.stateOf(fields)) === 'notified', 'what was not stored is taken')
    }
    const lines = JSON.stringify(log.splice(0))
    must(!/mall0001|test0001/.test(lines), `what came is logged: ${lines}`)
    return said[0] ?? 'no answer'
  }

  async after(): Promise<void> {
    await expectStillWorks(this.#receiver)
    await expect.poll(() => this.#receiver.connections()).toBe(0)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#receiver[Symbol.asyncDispose]()
    await this.#database.close()
  }
}
