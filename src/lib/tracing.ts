import { AsyncLocalStorage } from 'node:async_hooks'
import { hash } from 'node:crypto'
import { codeOf } from './failure.ts'

/*
 * Traces: where the time of a run or a job went. Code says `traced('claim', …)`, which only does the work while tracing is off.
 * Spans stay in memory until the whole trace is over, and are handed over then: whether it is sent may depend on its outcome,
 * and its sender cannot hold up the work.
 *
 * A span holds names, codes and figures. Nothing personal may be put into it, and no key of an employee or a department.
 */

export type Attributes = Record<string, string | number | boolean>

/** A timed piece of work. */
export interface Span {
  id: string
  /** Its parent span, perhaps sent by another process; null for a root. */
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

/** Names a span of any process. */
export interface SpanReference {
  traceId: string
  spanId: string
}

/** Takes the spans of a trace, parents first. It neither waits nor throws. */
export type Collector = (traceId: string, spans: Span[]) => void

/** A trace in progress, as the traced work sees it. */
export interface Trace {
  /** The work was due `ms` milliseconds ago. The time until it began becomes its first part. */
  cameUp(ms: number, waitedIn: string): void
  /** Links it to a shared trace on the same subject. */
  belongsTo(shared: string): void
  annotate(attributes: Attributes): void
  /** Marks it as failed although nothing was thrown. */
  fail(): void
  /** There was nothing to do: the trace is not sent. */
  drop(): void
}

/** Work that is over, recorded afterwards. */
export interface PastWork {
  name: string
  kind?: Span['kind']
  tookMs: number
  /** How long ago it ended. Default: now. */
  endedMsAgo?: number
  /** Its first part, spent waiting. */
  waited?: { for: string; ms: number }
  attributes: Attributes
  failed?: boolean
}

/** Records traces, or ignores them. */
export interface Tracing {
  /** False while tracing is off: check it before computing costly attributes. */
  readonly isOn: boolean
  /**
   * Does work within a trace: one of its own, or the shared one named by `partOf`, to which any process may add. Of the own
   * traces without a failure, only a share may be sent.
   */
  trace<T>(
    name: string,
    options: { kind?: Span['kind']; partOf?: string; attributes?: Attributes },
    work: (trace: Trace) => Promise<T>,
  ): Promise<T>
  /** Records work that is over, as part of the current trace or else as a trace of its own. */
  tell(past: PastWork): void
  /** Records the root span of a shared trace. */
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

/** Does a part of the traced work as a span of its own. Outside a trace it only does it. */
export function traced<T>(name: string, work: () => Promise<T>): Promise<T> {
  const here = present.getStore()
  return here === undefined ? work() : here.recording.record(here.recording.begin(name, here.span.id), work)
}

/** Adds attributes to the current span, if there is one. */
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
   * @param options.deployment its id: processes that share it agree on the ids of shared traces without communicating
   * @param options.share share of the traces without a failure that is handed over; 0 to 1
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

/** The root span of a shared trace, derived from its name alone. */
function referenceTo(deployment: string, shared: string): SpanReference {
  const digest = hash('sha256', `${deployment} ${shared}`)
  return { traceId: digest.slice(0, 32), spanId: digest.slice(32, 48) }
}

/** The spans of a trace, or of this process's part in one, as they come. */
class Recording {
  readonly traceId: string
  readonly parentId: string | null
  readonly isShared: boolean
  /** The wall clock when the trace began, and since then the monotonic one: setting the clock cannot reverse a span. */
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

  /** The spans so far. Those still open end here, and later ones are dropped. */
  close(): Span[] {
    const [spans, now] = [this.#spans, this.now()]
    this.drop() // anything that outlives the work, such as a connection, may hold on to it
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

/** The root of a recording, as passed to its work. */
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

/** 16 hexadecimal digits. They need not be unguessable, and a job needs ten: so not from the system's random source. */
function randomId(): string {
  const half = () =>
    Math.floor(Math.random() * 2 ** 32)
      .toString(16)
      .padStart(8, '0')
  return half() + half()
}
