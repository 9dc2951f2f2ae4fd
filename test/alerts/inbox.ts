import { once } from 'node:events'
import { createServer, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'
import { onTestFinished } from 'vitest'
import type { Channel, ChannelSettings } from '../../src/alerts/channel.ts'
import { openChannel } from '../../src/alerts/channels/index.ts'

/** A message as it arrived at a webhook. */
export interface Arrival {
  /** What receivers know a repeated message by. */
  key: string
  /** The number of the message, which is part of it. */
  id: string
  type: string
  channel: string
  title: string
  note: string | null
  /** Of a message about events. */
  events?: { type: string; run: { id: number } | null }[]
  alerts: { rule: string; event: string; what: string; remedy: string | null; url: string | null }[]
}

/** How the server answers; nothing: it hangs. */
type Answer = (response: ServerResponse, arrival: Arrival) => unknown

export const takes: Answer = response => response.end('ok')
export const answers =
  (status: number, headers: Record<string, string> = {}): Answer =>
  response =>
    response.writeHead(status, headers).end('no')
export const hangs: Answer = () => undefined

/** A real server that webhooks of alerts send to. It goes with the test. */
export class Inbox {
  readonly arrivals: Arrival[] = []
  answer: Answer = takes
  readonly #server: Server
  #waiting: { count: number; resolve(arrival: Arrival): void }[] = []

  private constructor() {
    this.#server = createServer(async (request, response) => {
      const { type, data } = (await json(request)) as {
        type: string
        data: Omit<Arrival, 'key' | 'id' | 'type'>
      }
      const key = String(request.headers['webhook-id'])
      const [, id = ''] = /^dirsync-(.+)-[0-9a-f]{12}$/.exec(key) ?? []
      const arrival = { key, id, type, ...data }
      this.arrivals.push(arrival)
      this.answer(response, arrival)
      this.#tell()
    })
  }

  static async open(): Promise<Inbox> {
    const inbox = new Inbox()
    inbox.#server.listen(0, '127.0.0.1')
    await once(inbox.#server, 'listening')
    onTestFinished(async () => {
      const closed = once(inbox.#server, 'close')
      inbox.#server.close()
      inbox.#server.closeAllConnections()
      await closed
    })
    return inbox
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/`
  }

  /** A channel that leads here. It is closed with the test. */
  channel(differs: Partial<ChannelSettings> = {}): Channel {
    const settings: ChannelSettings = {
      ...{ name: 'ops', kind: 'webhook', url: this.url, secret: null },
      ...{ least: 'info', language: 'en', mention: [], from: null, to: [] },
      ...differs,
    }
    const channel = openChannel(settings)
    onTestFinished(() => channel.close())
    return channel
  }

  /** What came as the so-manieth, perhaps later. */
  async arrival(count: number): Promise<Arrival> {
    const there = this.arrivals[count - 1]
    if (there) return there
    return new Promise(resolve => this.#waiting.push({ count, resolve }))
  }

  /** What the messages said, one text per message. */
  get said(): string[] {
    return this.arrivals.map(said)
  }

  #tell(): void {
    this.#waiting = this.#waiting.filter(({ count, resolve }) => {
      const arrival = this.arrivals[count - 1]
      if (arrival) resolve(arrival)
      return !arrival
    })
  }
}

export function said({ alerts }: Pick<Arrival, 'alerts'>): string {
  return alerts.map(({ rule, event }) => `${rule} ${event}`).join(', ')
}
