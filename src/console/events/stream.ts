import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import type { Pool } from '../../lib/database.ts'
import { pause } from '../../lib/waiting.ts'
import { Event, latestPlace, readEvents } from '../../sync/health/events.ts'
import { message } from '../../texts/message.ts'
import { permits } from '../auth/scope.ts'
import { API, operation } from '../endpoint.ts'
import { Problem } from '../problem.ts'
import { dropStream, KEEP_ALIVE, KEEP_ALIVE_MS, openStream, Streams, writeStream } from '../stream.ts'

/*
 * The events of runs and cases for programs, as server-sent events. While a program listens, each process looks once a second,
 * however many there are.
 */

const LOOK_MS = 1000
/** How many events are read at a time. One who has been away catches up in several reads. */
const AT_A_TIME = 200
const LIMITS = { most: 200, ofOne: 5 }

interface Listener {
  /** False for a token that is limited to runs. */
  seesCases: boolean
  /** Up to which it was told what happened; null: it is being opened, which only takes a place of its user. */
  place: number | null
  toldAt: number
}

export class EventStreams {
  readonly #pool: Pool
  readonly #listeners: Streams<Listener>
  #isLooking = false

  constructor(pool: Pool) {
    this.#pool = pool
    this.#listeners = new Streams(pool, LIMITS)
  }

  close(): void {
    this.#listeners.close()
  }

  register(app: FastifyInstance): void {
    const described = {
      path: '/events',
      summary: 'What happens to runs and cases from now on, or after Last-Event-ID, as server-sent events',
      tag: 'runs',
      role: 'viewer',
    } as const
    const content = { 'text/event-stream': { schema: Event } }
    const description =
      'Each `data` is an Event; `event` is its type and `id` its id. An `id` alone, as at the beginning, is a place among them'
    const answer = { description, content }
    app.get(
      `${API}/events`,
      {
        schema: operation('GET', described, { headers: Headers }, { 200: answer }),
        config: { access: 'viewer', tag: 'runs', streams: true },
        validatorCompiler: () => () => true,
        exposeHeadRoute: false,
      },
      async (request, reply) => {
        const seen = placeOf(request.headers['last-event-id'])
        const listener = this.#listeners.enter(request, reply, {
          seesCases: permits(request.viewer?.scopes, 'cases', true),
          place: null,
          toldAt: Date.now(),
        })
        if (listener === null) return dropStream(reply)
        // An id that has not been given is of a database before its backup was restored: the stream begins further back.
        const place = await latestPlace(this.#pool, seen ?? undefined)
        // The caller has gone, or the console closes.
        if (!this.#listeners.has(reply)) return dropStream(reply)
        listener.place = place
        openStream(reply)
        writeStream(reply, placeText(place))
        void this.#look()
      },
    )
  }

  async #look(): Promise<void> {
    if (this.#isLooking) return
    this.#isLooking = true
    while (this.#listeners.size > 0) {
      // Nearly all are at the same place.
      const places = new Set([...this.#listeners].map(([, { place }]) => place))
      let isBehind = false
      for (const place of places) {
        if (place === null) continue
        // While the database is away, nothing happens; it is told afterwards.
        const read = await readEvents(this.#pool, place, AT_A_TIME).catch(() => null)
        // Afterwards: nobody is told what happened since their access ended.
        const told = (await this.#listeners.endOver()) ? read : null
        this.#tell(place, told?.events ?? [], told?.place ?? place)
        isBehind ||= told?.isBehind ?? false
      }
      if (!isBehind) await pause(LOOK_MS, new Promise(() => {}))
    }
    this.#isLooking = false
  }

  #tell(place: number, events: readonly Event[], next: number): void {
    const textOf = (told: readonly Event[]) => {
      const isAtPlace = (told.at(-1)?.id ?? place) === next
      return told.map(eventText).join('') + (isAtPlace ? '' : placeText(next))
    }
    const everything = textOf(events)
    const ofRuns = textOf(events.filter(event => event.case === null))
    for (const [reply, listener] of this.#listeners) {
      if (listener.place !== place) continue
      listener.place = next
      const text = listener.seesCases ? everything : ofRuns
      const isQuiet = Date.now() - listener.toldAt > KEEP_ALIVE_MS
      if (text === '' && !isQuiet) continue
      listener.toldAt = Date.now()
      writeStream(reply, text || KEEP_ALIVE)
    }
  }
}

const Headers = z.object({
  'last-event-id': z.string().optional().describe('The last `id` that the stream has sent'),
})

function placeOf(header: string | string[] | undefined): number | null {
  if (header === undefined) return null
  const place = /^\d{1,15}$/.test(String(header)) ? Number(header) : null
  if (place !== null) return place
  const said = message('said.no_event_id')
  throw new Problem('invalid', said, {
    errors: [{ path: [], header: 'Last-Event-ID', code: 'refused', said }],
  })
}

function eventText(event: Event): string {
  return `id: ${event.id}\nevent: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`
}

/** No event, but what the reader opens the stream again with. */
function placeText(place: number): string {
  return `id: ${place}\n\n`
}
