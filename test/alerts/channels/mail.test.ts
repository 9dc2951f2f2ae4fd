import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import type { SMTPServerOptions } from 'smtp-server'
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { type Channel, ChannelError, type ChannelSettings, targetOf } from '../../../src/alerts/channel.ts'
import { openChannel } from '../../../src/alerts/channels/index.ts'
import { checkMailServer } from '../../../src/alerts/channels/mail.ts'
import { LANGUAGES } from '../../../src/texts/texts.ts'
import { spawnScript } from '../../helpers/process.ts'
import { temporaryFolder } from '../../helpers/temporary-folder.ts'
import { hostileMessage, sampleMessages } from '../sample-messages.ts'
import { MailServer, ownCertificate, PASSWORD } from './mail-server.ts'

const AUTH = `dirsync:${encodeURIComponent(PASSWORD)}@`
const PLAIN: SMTPServerOptions = { authOptional: true, disabledCommands: ['STARTTLS'] }
/** The certificate of a company's own authority, which this process trusts, and an untrusted one. */
let trusted: { private: string; cert: string }
let unknown: { private: string; cert: string }

beforeAll(async () => {
  ;[trusted, unknown] = await Promise.all([ownCertificate(), ownCertificate()])
  setDefaultCACertificates([...getCACertificates('default'), trusted.cert])
})

async function serverOf(options: SMTPServerOptions = {}): Promise<MailServer> {
  const server = await MailServer.start({ key: trusted.private, cert: trusted.cert, ...options })
  onTestFinished(() => server[Symbol.asyncDispose]())
  return server
}

function settingsOf(url: string, changes: Partial<ChannelSettings> = {}): ChannelSettings {
  return {
    name: 'mail',
    kind: 'mail',
    url,
    secret: null,
    least: 'warning',
    mention: [],
    language: 'en',
    from: 'dirsync@example.com',
    to: ['ops@example.com', 'Night shift <night@example.com>'],
    ...changes,
  }
}

function channelOf(url: string, changes: Partial<ChannelSettings> = {}): Channel {
  const channel = openChannel(settingsOf(url, changes))
  onTestFinished(() => channel.close())
  return channel
}

const messages = sampleMessages('en')
const patience = () => AbortSignal.timeout(15_000)
const failureOf = (channel: Channel) =>
  channel.send(messages.one, 'm-1', patience()).then(
    answer => expect.unreachable(`it was taken: ${answer}`),
    (error: unknown) => {
      expect(error).toBeInstanceOf(ChannelError)
      return error as ChannelError
    },
  )

describe('a mail', () => {
  test.each(LANGUAGES)('in %s has a subject, a text and the same as HTML', async language => {
    const server = await serverOf(PLAIN)
    const channel = channelOf(`smtp://127.0.0.1:${server.port}?tls=off`)
    for (const [occasion, message] of Object.entries(sampleMessages(language))) {
      expect(await channel.send(message, `m-${occasion}`, patience())).toBe('250 queued as 4F1E2A3B')
      const { mail } = server.arrivals.at(-1) ?? expect.unreachable()
      expect(mail.subject).toBe(message.title)
      for (const part of [mail.text, mail.html?.replaceAll('&#39;', "'").replaceAll(/<\/?code[^>]*>/g, '`')])
        for (const { what, when, remedy } of message.alerts)
          for (const wanted of [message.title, what, when, remedy ?? '', message.note ?? ''])
            expect(part).toContain(wanted)
      expect(mail.html).toContain(`<html lang="${language}">`)
      // Nothing to load, and no tracking.
      expect(mail.html).not.toMatch(/<img|<link|<script|url\(|@import/)
    }
    expect(server.arrivals).toHaveLength(5)
  })

  test('has the sender and recipients of the settings, and asks for no automatic answer', async () => {
    const server = await serverOf(PLAIN)
    const channel = channelOf(`smtp://127.0.0.1:${server.port}?tls=off`)
    expect(targetOf(channel.settings)).toBe('ops@example.com, Night shift <night@example.com>')
    await channel.send(messages.one, 'm-1', patience())
    await channel.send(messages.one, 'm-1', patience())
    await channel.send(messages.recovered, 'm-2', patience())
    const [first, again, other] = server.arrivals
    expect(first).toMatchObject({ from: 'dirsync@example.com', to: ['ops@example.com', 'night@example.com'] })
    expect(first?.mail.from).toEqual({ name: 'dirsync', address: 'dirsync@example.com' })
    expect(first?.mail.messageId).toMatch(/^<dirsync-m-1-[0-9a-f]{12}@example\.com>$/)
    expect(again?.mail.messageId).toBe(first?.mail.messageId)
    expect(other?.mail.messageId).not.toBe(first?.mail.messageId)
    const headers = new Map(first?.mail.headers.map(({ key, value }) => [key, value]))
    expect(headers.get('auto-submitted')).toBe('auto-generated')
    expect(headers.get('importance')).toBe('High')
    expect(other?.raw).not.toMatch(/^Importance:/m)
  })

  test('cannot be manipulated by texts that people wrote', async () => {
    const server = await serverOf(PLAIN)
    await channelOf(`smtp://127.0.0.1:${server.port}?tls=off`).send(hostileMessage(), 'm-1', patience())
    const [{ mail, raw, to } = expect.unreachable()] = server.arrivals
    expect(to).toEqual(['ops@example.com', 'night@example.com'])
    expect(raw.split('\r\n\r\n')[0]).not.toMatch(/^Bcc:/im)
    expect(mail.bcc).toBeUndefined()
    expect(mail.html).not.toContain('<script>')
    expect([...(mail.html ?? '').matchAll(/href="([^"]*)"/g)].map(([, href]) => href)).toEqual([
      'https://dirsync.example.com/alerts/rules/halt',
      'https://dirsync.example.com/alerts',
    ])
  })
})

describe('the connection', () => {
  test.each([
    ['smtp', false],
    ['smtps', true],
  ])('of %s is encrypted before the password crosses it', async (scheme, secure) => {
    const server = await serverOf({ secure })
    await channelOf(`${scheme}://${AUTH}127.0.0.1:${server.port}`).send(messages.one, 'm-1', patience())
    expect(server.arrivals).toMatchObject([{ secure: true, user: 'dirsync' }])
  })

  test('without STARTTLS is not used, and the error says what to do', async () => {
    const server = await serverOf(PLAIN)
    const failure = await failureOf(channelOf(`smtp://127.0.0.1:${server.port}`))
    expect(failure.code).toBe('CHANNEL_REFUSED')
    expect(failure.message).toMatch(/STARTTLS.*\?tls=off/)
    expect(server.arrivals).toEqual([])
  })

  test('with an untrusted certificate is not used, and the error says what to do', async () => {
    const server = await serverOf({ key: unknown.private, cert: unknown.cert })
    const failure = await failureOf(channelOf(`smtp://${AUTH}127.0.0.1:${server.port}`))
    expect(failure.code).toBe('CHANNEL_REFUSED')
    expect(failure.message).toMatch(/certificate.*NODE_EXTRA_CA_CERTS/)
    expect(failure.message).not.toContain(PASSWORD)
  })

  test('to a server with a certificate of the company’s own authority works with NODE_EXTRA_CA_CERTS', async () => {
    const server = await serverOf({ key: unknown.private, cert: unknown.cert })
    const file = join(await temporaryFolder(), 'authority.pem')
    await writeFile(file, unknown.cert)
    const settings = settingsOf(`smtp://${AUTH}localhost:${server.port}`)
    await using child = spawnScript(
      join(import.meta.dirname, 'fixtures/send-mail.ts'),
      [JSON.stringify(settings)],
      { env: { NODE_EXTRA_CA_CERTS: file } },
    )
    await child.waitForLine(/250 queued as 4F1E2A3B/)
    expect(server.arrivals).toMatchObject([{ secure: true, user: 'dirsync' }])
  })
})

describe('a mail that is not taken', () => {
  test('because of the password: refused, without quoting it', async () => {
    const server = await serverOf()
    const failure = await failureOf(channelOf(`smtp://dirsync:wrong-pass-word@127.0.0.1:${server.port}`))
    expect(failure.code).toBe('CHANNEL_REFUSED')
    expect(failure.message).toMatch(/user and password.*535/)
    expect(JSON.stringify([failure.message, failure.stack])).not.toContain('wrong-pass-word')
  })

  test('because the server does not know the command, which it quotes with the password in base64: that is not shown', async () => {
    const server = createServer(socket => {
      socket.write('220 mail\r\n')
      socket.on('data', line => {
        const [command = ''] = String(line).split('\r\n')
        const hello = /^EHLO/.test(command) ? '250 mail' : `500 unrecognised: ${command}`
        socket.write(`${hello}\r\n`)
      })
      socket.on('error', () => {})
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    onTestFinished(() => void server.close())
    const { port } = server.address() as AddressInfo
    const failure = await failureOf(channelOf(`smtp://${AUTH}127.0.0.1:${port}?tls=off`))
    expect(failure.message).toContain('500 unrecognised: AUTH PLAIN …')
    const sent = Buffer.from(`\0dirsync\0${PASSWORD}`).toString('base64')
    expect(JSON.stringify([failure.message, failure.stack])).not.toContain(sent)
  })

  test('because the server supports no authentication: refused', async () => {
    const server = await serverOf({ disabledCommands: ['AUTH'], authOptional: true })
    const failure = await failureOf(channelOf(`smtp://${AUTH}127.0.0.1:${server.port}`))
    expect(failure.code).toBe('CHANNEL_REFUSED')
  })

  test('by every recipient: refused; by some: the others get it, and the answer names those who did not', async () => {
    const server = await serverOf(PLAIN)
    const url = `smtp://127.0.0.1:${server.port}?tls=off`
    const failure = await failureOf(channelOf(url, { to: ['nobody@example.com'] }))
    expect(failure.code).toBe('CHANNEL_REFUSED')
    expect(failure.message).toMatch(/550 5\.1\.1 <n\*\*\*@example\.com>/)
    const channel = channelOf(url, { to: ['nobody@example.com', 'ops@example.com'] })
    expect(await failureOf(channel)).toMatchObject({
      message: '250 queued as 4F1E2A3B; not taken for n***@example.com',
      without: { putOff: [], refused: ['nobody@example.com'] },
    })
    expect(server.arrivals).toMatchObject([{ to: ['ops@example.com'] }])
  })

  test('because the server is busy: to be tried again', async () => {
    const server = await serverOf({
      ...PLAIN,
      onMailFrom: (_address, _session, done) =>
        done(Object.assign(new Error('4.7.1 greylisted, try again later'), { responseCode: 451 })),
    })
    const failure = await failureOf(channelOf(`smtp://127.0.0.1:${server.port}?tls=off`))
    expect(failure).toMatchObject({
      code: 'CHANNEL_UNAVAILABLE',
      message: expect.stringContaining('451 4.7.1 greylisted'),
    })
  })

  test('because the port is closed or the host unknown: to be tried again', async () => {
    expect(await failureOf(channelOf('smtp://127.0.0.1:1'))).toMatchObject({ code: 'CHANNEL_UNAVAILABLE' })
    expect(await failureOf(channelOf('smtp://mail.invalid'))).toMatchObject({ code: 'CHANNEL_UNAVAILABLE' })
  })

  test('by a server that does not answer: the caller may give up, and ten seconds are the limit', async () => {
    const silent = createServer(() => {}).listen(0, '127.0.0.1')
    await once(silent, 'listening')
    const sockets = new Set<{ destroy(): void }>()
    silent.on('connection', socket => sockets.add(socket))
    onTestFinished(() => {
      for (const socket of sockets) socket.destroy()
      silent.close()
    })
    const channel = channelOf(`smtp://127.0.0.1:${(silent.address() as AddressInfo).port}`)
    const giveUp = new AbortController()
    const given = channel.send(messages.one, 'm-1', giveUp.signal)
    await once(silent, 'connection')
    giveUp.abort(new Error('the process stops'))
    await expect(given).rejects.toMatchObject({ code: 'CHANNEL_UNAVAILABLE' })
    const began = performance.now()
    expect(await failureOf(channel)).toMatchObject({ code: 'CHANNEL_UNAVAILABLE' })
    expect(performance.now() - began).toBeGreaterThan(9_000)
    expect(performance.now() - began).toBeLessThan(14_000)
  })
})

describe('a look at the server', () => {
  test('signs in and sends nothing', async () => {
    const server = await serverOf()
    await checkMailServer(settingsOf(`smtp://${AUTH}127.0.0.1:${server.port}`))
    expect(server.arrivals).toEqual([])
  })

  test('finds the same problems as a mail', async () => {
    const server = await serverOf()
    const wrong = checkMailServer(settingsOf(`smtp://dirsync:wrong@127.0.0.1:${server.port}`))
    await expect(wrong).rejects.toMatchObject({ code: 'CHANNEL_REFUSED' })
    const away = checkMailServer(settingsOf('smtp://127.0.0.1:1'))
    await expect(away).rejects.toMatchObject({ code: 'CHANNEL_UNAVAILABLE' })
  })
})
