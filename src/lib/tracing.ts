import { AsyncLocalStorage } from 'node:async_hooks'
import { hash } from 'node:crypto'
import { codeOf } from './failure.ts'

/*
 * Traces: where the time of a run or a job went. Code says `traced('claim', …)`, which is nothing but the work itself where
 * nobody records. What is recorded stays in memory until the whole trace is over, and is handed over then: whether it is
 * sent may depend on how it went, and whoever sends it cannot hold up the work.
 *
 * A span holds names, codes and figures. Nothing personal may be put into it, and no key of an employee or a department.
 */

export type Attributes = Record<string, string | number | boolean>

/** A piece of work that took time. */
export interface Span {
  id: string
  /** The span that it is part of, perhaps one that another process sends; null where it is part of none. */
  parentId: string | null
  name: string
  /** `client`: a call to another system; `consumer`: work that a queue handed out. */
  kind: 'internal' | 'client' | 'consumer'
  /** Milliseconds since 1970, with fractions. */
  startedAt: number
  endedAt: number
  attributes: Attributes
  failed: boolean
  /** Spans of other traces that it belongs to. */
  links: SpanReference[]
}

/** Names a span of whatever process. */
export interface SpanReference {
  traceId: string
  spanId: string
}

/** Takes the spans of a trace, parents first. It neither waits nor throws. */
export type Collector = (traceId: string, spans: Span[]) => void

/** A trace that goes on, as the work that it is about sees it. */
export interface Trace {
  /** The work came up `ms` milliseconds ago. What lay between then and its beginning becomes its first part. */
  cameUp(ms: number, waitedIn: string): void
  /** It is about something that a shared trace is about, too. */
  belongsTo(shared: string): void
  annotate(attributes: Attributes): void
  /** Marks it as failed, although nothing was thrown. */
  fail(): void
  /** There was nothing to do: it is not sent. */
  drop(): void
}

/** Work that is over, told afterwards. */
export interface PastWork {
  name: string
  kind?: Span['kind']
  tookMs: number
  /** How long ago it ended. Default: now. */
  endedMsAgo?: number
  /** Its first part, in which it waited. */
  waited?: { for: string; ms: number }
  attributes: Attributes
  failed?: boolean
}

/** Records traces, or does not. */
export interface Tracing {
  /** False where nothing is recorded: ask where it costs something to find out what to record. */
  readonly isOn: boolean
  /**
   * Does work within a trace: one of its own, or the shared one named by `partOf`, to which any process may add. Of the
   * traces of their own in which nothing failed, only a share may be sent.
   */
  trace<T>(
    name: string,
    options: { kind?: Span['kind']; partOf?: string; attributes?: Attributes },
    work: (trace: Trace) => Promise<T>,
  ): Promise<T>
  /** Tells of work that is over. It becomes part of the present trace, or without one a trace of its own. */
  tell(past: PastWork): void
  /** Tells of the whole that a shared trace is about: the span that its parts are part of. */
  conclude(shared: string, past: PastWork): void
}

const NO_TRACE: Trace = { cameUp() {}, belongsTo() {}, annotate() {}, fail() {}, drop() {} }

/** Records nothing. */
export const UNTRACED: Tracing = {
  isOn: false,
  trace: (_name, _options, work) => work(NO_TRACE),
  tell() {},
  conclude() {},
}

const present = new AsyncLocalStorage<{ recording: Recording; span: Span }>()

/** Does a part of whatever is traced at present, as a span of its own. Outside of a trace it only does it. */
export function traced<T>(name: string, work: () => Promise<T>): Promise<T> {
  const here = present.getStore()
  return here === undefined ? work() : here.recording.record(here.recording.begin(name, here.span.id), work)
}

/** Adds facts to the span of the present work, if it is traced. */
export function annotate(attributes: Attributes): void {
  const here = present.getStore()
  if (here !== undefined) Object.assign(here.span.attributes, attributes)
}

/** Records traces for a collector. */
export class Tracer implements Tracing {
  readonly isOn = true
  readonly #deployment: string
  readonly #share: number
  readonly #collect: Collector

  /**
   * @param options.deployment its id: processes that have it in common agree on the ids of shared traces without a word
   * @param options.share of the traces in which nothing failed, how many are handed over; 0 to 1
   */
  constructor(options: { deployment: string; share: number; collect: Collector }) {
    this.#deployment = options.deployment
    this.#share = options.share
    this.#collect = options.collect
  }

  async trace<T>(
    name: string,
    options: { kind?: Span['kind']; partOf?: string; attributes?: Attributes },
    work: (trace: Trace) => Promise<T>,
  ): Promise<T> {
    const { kind, partOf, attributes } = options
    const recording = this.#recording(partOf)
    const root = recording.begin(name, recording.parentId, kind)
    Object.assign(root.attributes, attributes)
    try {
      return await recording.record(root, () => work(new OpenTrace(recording, root, this.#deployment)))
    } finally {
      this.#handOver(recording)
    }
  }

  tell(past: PastWork): void {
    const here = present.getStore()
    const recording = here?.recording ?? this.#recording(undefined)
    recording.add(past, here?.span.id ?? null)
    if (here === undefined) this.#handOver(recording)
  }

  conclude(shared: string, past: PastWork): void {
    const { traceId, spanId } = referenceTo(this.#deployment, shared)
    const recording = new Recording(traceId, null, true)
    recording.add(past, null, spanId)
    this.#handOver(recording)
  }

  #recording(partOf: string | undefined): Recording {
    if (partOf === undefined) return new Recording(randomId() + randomId(), null, false)
    const { traceId, spanId } = referenceTo(this.#deployment, partOf)
    return new Recording(traceId, spanId, true)
  }

  #handOver(recording: Recording): void {
    const spans = recording.close()
    if (spans.length === 0) return
    if (recording.isShared || spans.some(span => span.failed) || Math.random() < this.#share)
      this.#collect(recording.traceId, spans)
  }
}

/** The span that a shared trace is about, from its name alone. */
function referenceTo(deployment: string, shared: string): SpanReference {
  const digest = hash('sha256', `${deployment} ${shared}`)
  return { traceId: digest.slice(0, 32), spanId: digest.slice(32, 48) }
}

/** The spans of a trace, or of this process's part in one, while they come. */
class Recording {
  readonly traceId: string
  readonly parentId: string | null
  readonly isShared: boolean
  /** The wall clock when the trace began, and since then the monotonic one: a clock that is set turns no span around. */
  readonly #epoch = Date.now() - performance.now()
  #spans: Span[] = []
  #isOver = false

  constructor(traceId: string, parentId: string | null, isShared: boolean) {
    this.traceId = traceId
    this.parentId = parentId
    this.isShared = isShared
  }

  now(): number {
    return this.#epoch + performance.now()
  }

  begin(name: string, parentId: string | null, kind: Span['kind'] = 'internal'): Span {
    return this.#push({ name, parentId, kind, startedAt: this.now(), endedAt: Number.NaN })
  }

  /** Does the work of a span that has begun. Of an error it keeps the code or name alone: messages may hold values. */
  record<T>(span: Span, work: () => Promise<T>): Promise<T> {
    return present.run({ recording: this, span }, async () => {
      try {
        return await work()
      } catch (error) {
        span.failed = true
        span.attributes['error.type'] = codeOf(error) || (error instanceof Error ? error.name : 'unknown')
        throw error
      } finally {
        span.endedAt = this.now()
      }
    })
  }

  add(past: PastWork, parentId: string | null, id = randomId()): void {
    const { name, kind = 'internal', tookMs, endedMsAgo = 0, waited, attributes, failed = false } = past
    const endedAt = this.now() - endedMsAgo
    const startedAt = endedAt - tookMs
    this.#push({ id, parentId, name, kind, startedAt, endedAt, attributes, failed })
    if (waited) this.addWait(waited.for, id, startedAt, startedAt + waited.ms)
  }

  addWait(name: string, parentId: string, startedAt: number, endedAt: number): void {
    this.#push({ name, parentId, startedAt, endedAt })
  }

  drop(): void {
    this.#spans = []
    this.#isOver = true
  }

  /** The spans so far. What still goes on ends here, and what comes later is not heard. */
  close(): Span[] {
    const [spans, now] = [this.#spans, this.now()]
    this.drop() // what outlives the work, a connection say, may hold on to it
    for (const span of spans) if (Number.isNaN(span.endedAt)) span.endedAt = now
    return spans
  }

  #push(told: Pick<Span, 'name' | 'parentId' | 'startedAt' | 'endedAt'> & Partial<Span>): Span {
    const span = {
      id: randomId(),
      kind: 'internal' as const,
      attributes: {},
      failed: false,
      links: [],
      ...told,
    }
    if (!this.#isOver) this.#spans.push(span)
    return span
  }
}

/** The root of a recording in the hands of its work. */
class OpenTrace implements Trace {
  readonly #recording: Recording
  readonly #root: Span
  readonly #deployment: string

  constructor(recording: Recording, root: Span, deployment: string) {
    this.#recording = recording
    this.#root = root
    this.#deployment = deployment
  }

  cameUp(ms: number, waitedIn: string): void {
    const begun = this.#root.startedAt
    const cameUpAt = this.#recording.now() - ms
    if (cameUpAt >= begun) return
    this.#root.startedAt = cameUpAt
    this.#recording.addWait(waitedIn, this.#root.id, cameUpAt, begun)
  }

  belongsTo(shared: string): void {
    this.#root.links.push(referenceTo(this.#deployment, shared))
  }

  annotate(attributes: Attributes): void {
    Object.assign(this.#root.attributes, attributes)
  }

  fail(): void {
    this.#root.failed = true
  }

  drop(): void {
    this.#recording.drop()
  }
}

/** 16 hexadecimal digits. Nobody has to be kept from guessing them, and a job needs ten: so not from the system's source. */
function randomId(): string {
  const half = () =>
    Math.floor(Math.random() * 2 ** 32)
      .toString(16)
      .padStart(8, '0')
  return half() + half()
}
