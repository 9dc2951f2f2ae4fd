import type { FastifyInstance, FastifyReply } from 'fastify'
import type { Pool } from '../lib/database.ts'
import { Problem } from './problem.ts'

/*
 * Live updates by server-sent events. While a browser watches, each process checks a few figures once a second, and
 * whenever PostgreSQL notifies it, however many browsers there are. An event names topics; pages then refresh their
 * parts.
 */

/** What parts of pages may follow. */
const TOPICS = [
  'work',
  'cases',
  'runs',
  'employees',
  'halts',
  'alerts',
  'processes',
  'platform',
  'schedules',
  'bulk',
  'money',
  'audit',
  'dry_runs',
] as const
export type Topic = (typeof TOPICS)[number]

const LOOK_MS = 1000
/** The longest time between making a page and its stream being open. */
const RECENT_MS = 5000
/** Keeps proxies from closing a quiet stream. */
const KEEP_ALIVE_MS = 20_000
/** More streams than this are refused. A browser opens one per visible page. */
const MOST_STREAMS = 1000
/** Streams that one user may hold, so that one cannot take them all. */
const MOST_OF_ONE = 100
/** How long a stream lasts. The browser then opens it again, if its user still may. */
const STREAM_MS = 10 * 60_000

/** An open stream. */
interface Watcher {
  name: string
  since: number
}

export class Live {
  readonly #pool: Pool
  readonly #streams = new Map<FastifyReply, Watcher>()
  readonly #marks = new Map<Topic, string>()
  /** When each topic changed last. */
  readonly #moved = new Map<Topic, number>()
  readonly #timer: NodeJS.Timeout
  #looking: Promise<void> | undefined
  #isWoken = false
  #isAway = false
  #keptAlive = 0

  constructor(pool: Pool) {
    this.#pool = pool
    this.#timer = setInterval(() => this.wake(), LOOK_MS).unref()
  }

  async close(): Promise<void> {
    clearInterval(this.#timer)
    for (const { raw } of this.#streams.keys()) raw.end()
    this.#streams.clear()
    await this.#looking
  }

  /** Adds the route of the stream. */
  register(app: FastifyInstance): void {
    // No route for HEAD: its answer would never end and would block the connection.
    app.get(
      '/events',
      { schema: { hide: true }, config: { access: 'viewer' }, exposeHeadRoute: false },
      (request, reply) => {
        const name = request.viewer?.name ?? ''
        const own = [...this.#streams.values()].filter(watcher => watcher.name === name)
        if (this.#streams.size >= MOST_STREAMS || own.length >= MOST_OF_ONE)
          throw new Problem('too_many', '', { retryAfter: 30 })
        // The frame has set its headers on the reply. From here on we write the stream ourselves.
        reply.hijack()
        const headers = Object.entries(reply.getHeaders()).filter(([, value]) => value !== undefined)
        reply.raw.writeHead(200, {
          ...(Object.fromEntries(headers) as Record<string, string>),
          'content-type': 'text/event-stream',
          'x-accel-buffering': 'no',
        })
        reply.raw.write('retry: 3000\n\n')
        // Send what changed after the page was made and before its stream was open.
        const recent = TOPICS.filter(topic => Date.now() - (this.#moved.get(topic) ?? 0) < RECENT_MS)
        if (recent.length > 0) reply.raw.write(movedEvent(recent))
        this.#streams.set(reply, { name, since: Date.now() })
        request.raw.on('close', () => this.#streams.delete(reply))
        this.wake()
        return undefined
      },
    )
  }

  /** Checks now, or once more after the check that is running. */
  wake(): void {
    this.#endOld()
    if (this.#streams.size === 0) return
    this.#isWoken = true
    this.#looking ??= this.#look().finally(() => {
      this.#looking = undefined
    })
  }

  async #look(): Promise<void> {
    while (this.#isWoken && this.#streams.size > 0) {
      this.#isWoken = false
      const marks = await readMarks(this.#pool).catch(() => null)
      const moved = marks === null ? [] : TOPICS.filter(topic => this.#isNew(topic, marks[topic]))
      // When the database goes away, refresh every part so that the page says so; and again when it comes back.
      const turned = this.#isAway !== (marks === null)
      this.#isAway = marks === null
      if (turned) this.#tell(movedEvent(TOPICS))
      else if (moved.length > 0) this.#tell(movedEvent(moved))
      else if (Date.now() - this.#keptAlive > KEEP_ALIVE_MS) this.#tell(': still here\n\n')
    }
  }

  #isNew(topic: Topic, mark: string): boolean {
    if (this.#marks.get(topic) === mark) return false
    this.#marks.set(topic, mark)
    this.#moved.set(topic, Date.now())
    return true
  }

  /** Ends the streams of users who have been disabled or have signed out. */
  #endOld(): void {
    for (const [reply, { since }] of this.#streams) {
      if (Date.now() - since <= STREAM_MS) continue
      this.#streams.delete(reply)
      reply.raw.end()
    }
  }

  #tell(text: string): void {
    this.#keptAlive = Date.now()
    for (const { raw } of this.#streams.keys()) {
      // Close the stream of a browser that has stopped reading; it reconnects by itself.
      if (raw.writableLength > 65_536) raw.destroy()
      else raw.write(text)
    }
  }
}

function movedEvent(topics: readonly Topic[]): string {
  return `event: moved\ndata: ${topics.join(' ')}\n\n`
}

/** A fingerprint per topic, which changes whenever its data does. Reads some hundred rows at most. */
async function readMarks(pool: Pool): Promise<Record<Topic, string>> {
  const { rows } = await pool.query<{ topic: Topic; mark: string }>({
    name: 'console marks',
    text: `
      with tally as (
        select source, md5(string_agg(x.t, ',' order by x.t)) as mark
        from (select source, concat_ws('|', operation, run_id, enqueued, category, state, sum(n)) as t
              from dirsync.tally group by source, operation, run_id, enqueued, category, state
              having sum(n) <> 0) x
        group by source
      )
      select case source when 'pending' then 'work' when 'employee' then 'employees'
                         when 'dead_letter' then 'cases' else 'run states' end as topic, mark
      from tally
      union all
      select 'runs', concat_ws(' ',
        (select mark from tally where source = 'sync_run'), (select mark from tally where source = 'pending'),
        (select md5(string_agg(concat_ws('|', id, state, planned, planned_at, decided_at), ',' order by id))
         from dirsync.sync_run where finished_at is null),
        (select md5(string_agg(concat_ws('|', run_id, state, looked_at), ',' order by run_id))
         from dirsync.plan_reading))
      union all
      select 'halts', coalesce((select md5(string_agg(concat_ws('|', scope, category, since, probes, next_probe_at),
                                                      ',' order by scope)) from dirsync.halt), '')
      union all
      select 'alerts', concat_ws(' ',
        (select concat_ws('|', judged_at, judged_at > now() - interval '2 minutes') from dirsync.alert_judgement),
        (select md5(string_agg(concat_ws('|', id, state, gone_at, acknowledged_at), ',' order by id)) from dirsync.alert
         where state <> 'ended'),
        (select string_agg(concat_ws('|', name, last_sent_at, failing_since, last_answer), ',' order by name)
         from dirsync.alert_channel),
        (select string_agg(concat_ws('|', rule, subject, until), ',' order by rule, subject)
         from dirsync.alert_mute
         where until > now()),
        (select set_at from dirsync.quiet_hours))
      union all
      select 'processes', coalesce((select string_agg(id::text, ',' order by id) from dirsync.process
                                    where heartbeat_at > now() - interval '15 seconds'), '')
      union all
      select 'dry_runs', coalesce((select string_agg(concat_ws('|', id, state, phase, rows_read), ',' order by id)
                                   from dirsync.dry_run where state in ('requested', 'running')), '')
      union all
      select 'platform', concat_ws(' ', date_trunc('minute', now()),
        (select sum(calls) from dirsync.call_minute where minute >= date_trunc('minute', now())),
        (select concat_ws('|', per_second, until, set_by) from dirsync.rate_cap where until > now()),
        (select string_agg(concat_ws('|', gate, paused_until), ',' order by gate)
         from dirsync.pacer where paused_until > now()))
      union all
      select 'schedules', coalesce((
        select md5(string_agg(concat_ws('|', s.job, s.next_due_at, s.paused_at, s.run_requested_at, t.due_at,
                                        t.finished_at), ',' order by s.job))
        from dirsync.job_schedule s
        left join lateral (select due_at, finished_at from dirsync.job_tick k
                           where k.job = s.job order by due_at desc limit 1) t on true), '')
      union all
      select 'bulk', coalesce((select string_agg(concat_ws('|', id, state, done, skipped, failed), ',' order by id)
                               from (select * from dirsync.bulk_action order by id desc limit 20) latest), '')
      union all
      select 'audit', coalesce((select max(id)::text from dirsync.command), '')
      union all
      select 'money', concat_ws(' ',
        (select max(sent_at) from dirsync.refund), (select max(sent_at) from dirsync.topup),
        (select string_agg(concat_ws('|', outer_refund_no, state, settle_attempts, left_to_person_at), ','
                           order by outer_refund_no)
         from (select * from dirsync.refund where state in ('requested', 'unknown') limit 200) open),
        (select string_agg(concat_ws('|', external_code, state), ',' order by external_code)
         from (select * from dirsync.topup where state in ('requested', 'unknown') limit 200) open))`,
  })
  const marks = new Map(rows.map(({ topic, mark }) => [topic, mark]))
  return Object.fromEntries(TOPICS.map(topic => [topic, marks.get(topic) ?? ''])) as Record<Topic, string>
}
