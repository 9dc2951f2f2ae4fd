import type { FastifyInstance } from 'fastify'
import { onlyRow, type Pool } from '../lib/database.ts'
import { dropStream, KEEP_ALIVE, KEEP_ALIVE_MS, openStream, Streams, writeStream } from './stream.ts'

/*
 * Live updates by server-sent events. While a browser watches, each process checks a few figures once a second, and
 * whenever PostgreSQL notifies it, however many browsers there are. An event names topics; pages then refresh their
 * parts.
 */

const LOOK_MS = 1000
/** The longest time between making a page and its stream being open. */
const RECENT_MS = 5000
/** A browser opens one per visible page. */
const LIMITS = { most: 1000, ofOne: 100 }

type Topics = Readonly<Record<string, string>>

export class Live {
  readonly #pool: Pool
  readonly #topics: Topics
  readonly #streams: Streams<object>
  readonly #marks = new Map<string, string>()
  /** When each topic changed last. */
  readonly #moved = new Map<string, number>()
  readonly #timer: NodeJS.Timeout
  #looking: Promise<void> | undefined
  #isWoken = false
  #isAway = false
  #keptAlive = 0

  /** @param topics of the screens, each with the SQL of its fingerprint */
  constructor(pool: Pool, topics: Topics) {
    this.#pool = pool
    this.#topics = topics
    this.#streams = new Streams(pool, LIMITS)
    this.#timer = setInterval(() => this.wake(), LOOK_MS).unref()
  }

  async close(): Promise<void> {
    clearInterval(this.#timer)
    this.#streams.close()
    await this.#looking
  }

  /** Adds the route of the stream. */
  register(app: FastifyInstance): void {
    // No route for HEAD: its answer would never end and would block the connection.
    app.get(
      '/events',
      { schema: { hide: true }, config: { access: 'viewer', streams: true }, exposeHeadRoute: false },
      (request, reply) => {
        if (this.#streams.enter(request, reply, {}) === null) return dropStream(reply)
        openStream(reply)
        // Send what changed after the page was made and before its stream was open.
        const recent = Object.keys(this.#topics).filter(
          topic => Date.now() - (this.#moved.get(topic) ?? 0) < RECENT_MS,
        )
        if (recent.length > 0) reply.raw.write(movedEvent(recent))
        this.wake()
        return undefined
      },
    )
  }

  /** Checks now, or once more after the check that is running. */
  wake(): void {
    if (this.#streams.size === 0) return
    this.#isWoken = true
    this.#looking ??= this.#look().finally(() => {
      this.#looking = undefined
    })
  }

  async #look(): Promise<void> {
    while (this.#isWoken && this.#streams.size > 0) {
      this.#isWoken = false
      const marks = await readMarks(this.#pool, this.#topics).catch(() => null)
      await this.#streams.endOver()
      const moved =
        marks === null
          ? []
          : Object.keys(this.#topics).filter(topic => this.#isNew(topic, marks[topic] ?? ''))
      // When the database goes away, refresh every part so that the page says so; and again when it comes back.
      const turned = this.#isAway !== (marks === null)
      this.#isAway = marks === null
      if (turned) this.#tell(movedEvent(Object.keys(this.#topics)))
      else if (moved.length > 0) this.#tell(movedEvent(moved))
      else if (Date.now() - this.#keptAlive > KEEP_ALIVE_MS) this.#tell(KEEP_ALIVE)
    }
  }

  #isNew(topic: string, mark: string): boolean {
    if (this.#marks.get(topic) === mark) return false
    this.#marks.set(topic, mark)
    this.#moved.set(topic, Date.now())
    return true
  }

  #tell(text: string): void {
    this.#keptAlive = Date.now()
    for (const [reply] of this.#streams) writeStream(reply, text)
  }
}

function movedEvent(topics: readonly string[]): string {
  return `event: moved\ndata: ${topics.join(' ')}\n\n`
}

/** A fingerprint per topic, which changes whenever its data does. */
async function readMarks(pool: Pool, topics: Topics): Promise<Record<string, string>> {
  const marks = Object.entries(topics).map(([topic, sql]) => `'${topic}', coalesce((${sql})::text, '')`)
  const { rows } = await pool.query<{ marks: Record<string, string> }>({
    name: 'console marks',
    text: `
      with tally as (
        select source, md5(string_agg(x.t, ',' order by x.t)) as mark
        from (select source, concat_ws('|', operation, run_id, enqueued, category, state, sum(n)) as t
              from dirsync.tally group by source, operation, run_id, enqueued, category, state
              having sum(n) <> 0) x
        group by source
      )
      select jsonb_build_object(${marks.join(', ')}) as marks`,
  })
  return onlyRow(rows).marks
}
