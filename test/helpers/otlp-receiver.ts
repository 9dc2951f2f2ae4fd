import type { IncomingHttpHeaders } from 'node:http'
import { gunzipSync } from 'node:zlib'
import { until } from './company.ts'
import { listening } from './listening.ts'

/** A span as a collector gets it. */
export interface ReceivedSpan {
  traceId: string
  spanId: string
  parentId: string | null
  name: string
  /** 1 internal, 3 client, 5 consumer. */
  kind: number
  /** Milliseconds since 1970. */
  startedAt: number
  endedAt: number
  attributes: Record<string, unknown>
  failed: boolean
  links: { traceId: string; spanId: string }[]
  /** What the process says of itself. */
  resource: Record<string, unknown>
}

/** A collector of OpenTelemetry: takes OTLP over HTTP, in the binary form, and keeps what it gets. */
export interface OtlpReceiver extends AsyncDisposable {
  readonly url: string
  readonly spans: ReceivedSpan[]
  /** Bodies as they came. */
  readonly bodies: Buffer[]
  readonly requests: { path: string; headers: IncomingHttpHeaders }[]
  /** How it answers: well, with this status, or never. */
  behaviour: 'takes' | 'hangs' | number
  /** Requests that are not answered, and not given up yet. */
  readonly hanging: number
  /** Waits for a span. */
  find(wanted: (span: ReceivedSpan) => boolean): Promise<ReceivedSpan>
  close(): Promise<void>
}

export async function startOtlpReceiver(): Promise<OtlpReceiver> {
  const spans: ReceivedSpan[] = []
  const bodies: Buffer[] = []
  const requests: OtlpReceiver['requests'] = []
  let hanging = 0
  const server = await listening(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    requests.push({ path: request.url ?? '', headers: request.headers })
    if (receiver.behaviour === 'hangs') {
      hanging += 1
      response.once('close', () => {
        hanging -= 1
      })
      return
    }
    if (receiver.behaviour !== 'takes') return response.writeHead(receiver.behaviour).end()
    const sent = Buffer.concat(chunks)
    const body = request.headers['content-encoding'] === 'gzip' ? gunzipSync(sent) : sent
    bodies.push(body)
    spans.push(...decode(body))
    response.writeHead(200, { 'content-type': 'application/x-protobuf' }).end()
  })
  const receiver: OtlpReceiver = {
    ...server,
    url: server.origin,
    spans,
    bodies,
    requests,
    behaviour: 'takes',
    get hanging() {
      return hanging
    },
    find: wanted => until(async () => spans.find(wanted) ?? null),
    close: server[Symbol.asyncDispose],
  }
  return receiver
}

/*
 * The messages of opentelemetry/proto/trace/v1 and collector/trace/v1, by the numbers of their fields. Read here from the
 * bytes, so that what the SDK writes is not believed to be right because the SDK can read it.
 */

function decode(body: Buffer): ReceivedSpan[] {
  return messages(body, 1).flatMap(resourceSpans => {
    const resource = messages(resourceSpans, 1).map(message => attributesOf(message, 1))[0] ?? {}
    return messages(resourceSpans, 2)
      .flatMap(scopeSpans => messages(scopeSpans, 2))
      .map(span => spanOf(span, resource))
  })
}

function spanOf(span: Buffer, resource: Record<string, unknown>): ReceivedSpan {
  const hex = (message: Buffer, field: number) => messages(message, field)[0]?.toString('hex') ?? ''
  const number = (message: Buffer, field: number) => Number(fieldsOf(message).get(field)?.[0] ?? 0)
  const [status] = messages(span, 15)
  return {
    traceId: hex(span, 1),
    spanId: hex(span, 2),
    parentId: hex(span, 4) || null,
    name: messages(span, 5)[0]?.toString() ?? '',
    kind: number(span, 6),
    startedAt: number(span, 7) / 1e6,
    endedAt: number(span, 8) / 1e6,
    attributes: attributesOf(span, 9),
    links: messages(span, 13).map(link => ({ traceId: hex(link, 1), spanId: hex(link, 2) })),
    failed: status !== undefined && number(status, 3) === 2,
    resource,
  }
}

function attributesOf(message: Buffer, field: number): Record<string, unknown> {
  return Object.fromEntries(
    messages(message, field).map(pair => [
      messages(pair, 1)[0]?.toString(),
      anyValue(messages(pair, 2)[0] ?? Buffer.alloc(0)),
    ]),
  )
}

/** An AnyValue: text, truth value, whole number or number. */
function anyValue(value: Buffer): unknown {
  for (const [field, [held]] of fieldsOf(value)) {
    if (field === 1) return (held as Buffer).toString()
    if (field === 2) return held === 1n
    if (field === 3) return Number(held)
    if (field === 4) {
      const bits = Buffer.alloc(8)
      bits.writeBigUInt64LE(held as bigint)
      return bits.readDoubleLE()
    }
  }
  return undefined
}

function messages(message: Buffer, field: number): Buffer[] {
  return (fieldsOf(message).get(field) ?? []) as Buffer[]
}

/** The fields of a message in protobuf's binary form: numbers as bigint, texts and messages as bytes. */
function fieldsOf(message: Buffer): Map<number, (bigint | Buffer)[]> {
  const fields = new Map<number, (bigint | Buffer)[]>()
  let at = 0
  const varint = () => {
    let value = 0n
    for (let shift = 0n; ; shift += 7n) {
      const byte = message.readUInt8(at)
      at += 1
      value |= BigInt(byte & 0x7f) << shift
      if (byte < 0x80) return value
    }
  }
  const read = (type: number) => {
    if (type === 0) return varint()
    const length = type === 1 ? 8 : type === 5 ? 4 : Number(varint())
    if (![1, 2, 5].includes(type) || at + length > message.length) throw new Error('this is no protobuf')
    at += length
    if (type === 2) return message.subarray(at - length, at)
    return type === 1 ? message.readBigUInt64LE(at - 8) : BigInt(message.readUInt32LE(at - 4))
  }
  while (at < message.length) {
    const tag = Number(varint())
    const field = tag >> 3
    fields.set(field, [...(fields.get(field) ?? []), read(tag & 7)])
  }
  return fields
}
