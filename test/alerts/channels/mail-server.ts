import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import PostalMime, { type Email } from 'postal-mime'
import { generate } from 'selfsigned'
import { SMTPServer, type SMTPServerOptions } from 'smtp-server'

/** A mail as it arrived. */
export interface Arrival {
  from: string
  to: string[]
  /** Whether it came through TLS, and as whom. */
  secure: boolean
  user: string | undefined
  raw: string
  mail: Email
}

export const PASSWORD = 'p@ss w/rd:0123'

/** A certificate of 127.0.0.1 and localhost that only those trust who are told to. */
export function ownCertificate(): Promise<{ private: string; cert: string }> {
  return generate([{ name: 'commonName', value: 'localhost' }], {
    keyType: 'ec',
    algorithm: 'sha256',
    extensions: [
      { name: 'basicConstraints', cA: true },
      {
        name: 'subjectAltName',
        altNames: [
          { type: 2, value: 'localhost' },
          { type: 7, ip: '127.0.0.1' },
        ],
      },
    ],
  })
}

/**
 * A mail server that has the user `dirsync`, refuses mail for recipients called nobody, and puts off mail for those called full.
 */
export class MailServer implements AsyncDisposable {
  readonly arrivals: Arrival[] = []
  isFull = true
  readonly #server: SMTPServer

  private constructor(options: SMTPServerOptions) {
    this.#server = new SMTPServer({
      logger: false,
      disableReverseLookup: true,
      closeTimeout: 100,
      onAuth({ username, password }, _session, done) {
        if (username === 'dirsync' && password === PASSWORD) return done(null, { user: username })
        const error = Object.assign(new Error('Authentication credentials invalid'), { responseCode: 535 })
        done(error)
      },
      onRcptTo: ({ address }, _session, done) => {
        if (address.startsWith('nobody'))
          return done(Object.assign(new Error(`5.1.1 <${address}>: no such mailbox`), { responseCode: 550 }))
        if (this.isFull && address.startsWith('full'))
          return done(Object.assign(new Error(`4.2.2 <${address}>: mailbox full`), { responseCode: 452 }))
        done()
      },
      onData: async (stream, { envelope, secure, user }, done) => {
        const raw = (await buffer(stream)).toString()
        const { mailFrom, rcptTo } = envelope
        this.arrivals.push({
          from: mailFrom ? mailFrom.address : '',
          to: rcptTo.map(({ address }) => address),
          secure,
          user,
          raw,
          mail: await PostalMime.parse(raw),
        })
        done(null, 'queued as 4F1E2A3B')
      },
      ...options,
    })
  }

  static async start(options: SMTPServerOptions): Promise<MailServer> {
    const server = new MailServer(options)
    server.#server.on('error', () => {}) // Connections that a test breaks.
    server.#server.listen(0, '127.0.0.1')
    await once(server.#server.server, 'listening')
    return server
  }

  get port(): number {
    return (this.#server.server.address() as AddressInfo).port
  }

  [Symbol.asyncDispose](): Promise<void> {
    return new Promise(resolve => this.#server.close(() => resolve()))
  }
}
