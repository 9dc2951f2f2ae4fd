import { connect } from 'node:net'
import fc from 'fast-check'
import { must } from './kind.ts'
import { text } from './texts.ts'

/* HTTP as bytes over TCP, by someone who keeps no rule of it. */

/** How long a message says that its body is. */
export type Length = 'right' | 'none' | 'chunked' | 'shorter' | 'longer' | 'twice' | 'odd'

export const LENGTH: fc.Arbitrary<Length> = fc.oneof(
  { weight: 10, arbitrary: fc.constant('right') },
  { weight: 4, arbitrary: fc.constantFrom('none', 'chunked', 'shorter', 'longer', 'twice', 'odd') },
)

const LENGTHS: Record<Length, (length: number) => string[]> = {
  right: length => [`content-length: ${length}`],
  none: () => [],
  chunked: () => ['transfer-encoding: chunked'],
  shorter: length => [`content-length: ${Math.floor(length / 2)}`],
  longer: length => [`content-length: ${length + 100}`],
  twice: length => [`content-length: ${length}`, `content-length: ${length + 1}`],
  odd: () => ['content-length: -1'],
}

/** A request or an answer. @param lines its first line and its headers, without one about its length */
export function wireOf(lines: string[], body: Buffer, length: Length): Buffer {
  const content =
    length === 'chunked'
      ? Buffer.concat([Buffer.from(`${body.length.toString(16)}\r\n`), body, Buffer.from('\r\n0\r\n\r\n')])
      : body
  const head = `${[...lines, ...LENGTHS[length](body.length)].join('\r\n')}\r\n\r\n`
  return Buffer.concat([Buffer.from(head, 'latin1'), content])
}

/** How a request is made up around its address and its body, and how it travels. */
export interface Carriage {
  method: string
  version: string
  headers: [string, string][]
  /** Null: that of the body. */
  type: string | null
  length: Length
  /** Sends only so many thousandths of it. */
  cut: number
  /** In so many pieces. */
  pieces: number
  /** What the sender does then. */
  end: 'wait' | 'close' | 'reset' | 'silent' | 'drip'
}

const FORM = 'application/x-www-form-urlencoded'
const header: fc.Arbitrary<[string, string]> = fc.oneof(
  fc.constantFrom<[string, string]>(
    ['content-encoding', 'gzip'],
    ['content-encoding', ''],
    ['content-type', 'text/plain'],
    ['content-type', FORM],
    ['transfer-encoding', 'gzip, chunked'],
    ['transfer-encoding', 'identity'],
    ['content-length', '5'],
    ['expect', '100-continue'],
    ['expect', 'more'],
    ['connection', 'upgrade'],
    ['connection', 'keep-alive'],
    ['upgrade', 'h2c'],
    ['host', 'localhost:99999'],
    ['host', ''],
    ['cookie', 'a=b; __proto__=c'],
    ['range', 'bytes=0-1,5-'],
    ['x-http-method-override', 'DELETE'],
    ['x-forwarded-for', '::1, x'],
    ['x', 'x'.repeat(9000)],
    ['x', 'x'.repeat(20_000)],
    [' folded', 'x'],
    ['no colon', ''],
    ['', ''],
    ['\0', '\0'],
  ),
  fc.constant<[string, string]>(['x', Array.from({ length: 3000 }, () => 'x').join('\r\nx: ')]),
  fc.tuple(fc.constantFrom('x-a', 'accept', 'origin', 'date'), text(50)),
)

const odd: fc.Arbitrary<Carriage> = fc.record({
  method: fc.oneof(
    { weight: 30, arbitrary: fc.constant('POST') },
    fc.constantFrom(
      'GET',
      'HEAD',
      'PUT',
      'DELETE',
      'OPTIONS',
      'TRACE',
      'CONNECT',
      'QUERY',
      'post',
      'X-Y',
      '',
    ),
  ),
  version: fc.oneof(
    { weight: 60, arbitrary: fc.constant('HTTP/1.1') },
    fc.constantFrom('HTTP/1.0', 'HTTP/2.0', 'HTTP/9', 'http/1.1', '', 'HTTP/1.1\r\n'),
  ),
  headers: fc.oneof(
    { weight: 3, arbitrary: fc.constant<[string, string][]>([]) },
    fc.array(header, { maxLength: 2 }),
  ),
  type: fc.oneof(
    { weight: 20, arbitrary: fc.constant(null) },
    fc.constantFrom(
      ...['', '/', 'text/plain', 'application/json', 'multipart/form-data; boundary=x', FORM],
      ...['utf-8', '"UTF-8"', 'gbk', 'utf-8; charset=utf-16', 'utf-16'].map(
        name => `${FORM}; charset=${name}`,
      ),
    ),
  ),
  length: LENGTH,
  cut: fc.oneof({ weight: 12, arbitrary: fc.constant(1000) }, fc.nat(1000)),
  pieces: fc.oneof({ weight: 6, arbitrary: fc.constant(1) }, fc.integer({ min: 2, max: 40 })),
  end: fc.oneof(
    { weight: 100, arbitrary: fc.constant('wait') },
    { weight: 10, arbitrary: fc.constantFrom('close', 'reset') },
    { weight: 1, arbitrary: fc.constantFrom('silent', 'drip') },
  ),
})

const PLAIN: Carriage = {
  ...{ method: 'POST', version: 'HTTP/1.1', headers: [], type: null },
  ...{ length: 'right', cut: 1000, pieces: 1, end: 'wait' },
}

/** Half are like those of a client that means well. */
export const carriage: fc.Arbitrary<Carriage> = fc.oneof(fc.constant(PLAIN), odd)

/** Whether a server that keeps to HTTP reads the body as it was meant, and answers it. */
export function isPlain({ method, version, headers, type, length, cut, end }: Carriage): boolean {
  return (
    [method, version, cut, end].join(' ') === 'POST HTTP/1.1 1000 wait' &&
    headers.length === 0 &&
    type === null &&
    (length === 'right' || length === 'chunked')
  )
}

export interface Answered {
  status: number
  headers: string
  body: string
}

/**
 * Sends a request over a connection of its own. One that cannot be whole is ended, unless it goes on in silence.
 * @returns every answer that came, until the connection was closed
 * @throws Error when the server keeps it open for longer than `patienceMs`
 */
export async function exchange(
  port: number,
  path: string,
  type: string,
  body: Buffer,
  sent: Carriage,
  patienceMs: number,
): Promise<Answered[]> {
  const { method, version, headers, length, cut, pieces, end } = sent
  const lines = [
    `${method} ${path} ${version}`,
    'host: test',
    'connection: close',
    `content-type: ${sent.type ?? type}`,
    ...headers.map(pair => pair.join(': ')),
  ]
  const whole = wireOf(lines, body, length)
  const bytes = whole.subarray(0, Math.ceil((whole.length * cut) / 1000))
  const socket = connect(port, '127.0.0.1').setNoDelay(true)
  const closed = new Promise(done => socket.once('close', done))
  // A server that hangs up may do so by a reset.
  socket.on('error', () => {})
  let received = ''
  socket.setEncoding('latin1').on('data', chunk => {
    received += chunk
    if (answersIn(received, method).isWhole) socket.end()
  })
  let isLate = false
  const late = setTimeout(() => {
    isLate = true
    socket.destroy()
  }, patienceMs)
  const size = Math.max(1, Math.ceil(bytes.length / pieces))
  for (let at = 0; at < bytes.length && socket.writable; at += size)
    await new Promise(done => socket.write(bytes.subarray(at, at + size), done))
  if (end === 'reset') socket.resetAndDestroy()
  else if (end === 'close' || (end === 'wait' && !isAll(sent))) socket.end()
  const dripping = setInterval(() => end === 'drip' && socket.writable && socket.write('x'), 20)
  await closed
  clearInterval(dripping)
  clearTimeout(late)
  must(!isLate, `the connection is still open after ${patienceMs} ms; so far came: ${received.slice(0, 300)}`)
  return answersIn(received, method).answers
}

/** A server has no reason to wait for more. */
function isAll({ cut, length, headers }: Carriage): boolean {
  const isReframed = headers.some(([name]) =>
    /^(content-length|transfer-encoding|connection|upgrade)$/.test(name),
  )
  return cut === 1000 && length !== 'longer' && !isReframed
}

/** `isWhole`: what came ends with an answer that is complete. */
function answersIn(received: string, method: string): { answers: Answered[]; isWhole: boolean } {
  const answers: Answered[] = []
  let rest = received
  while (rest !== '') {
    const [head, status] = /^HTTP\/1\.1 (\d{3}).*?\r\n\r\n/s.exec(rest) ?? []
    if (head === undefined) return { answers, isWhole: false }
    const isInterim = status?.startsWith('1') === true
    const length =
      method === 'HEAD' || isInterim ? 0 : Number(/\r\ncontent-length: (\d+)/i.exec(head)?.[1] ?? 0)
    const body = rest.slice(head.length, head.length + length)
    if (!isInterim) answers.push({ status: Number(status), headers: head, body })
    if (body.length < length) return { answers, isWhole: false }
    rest = rest.slice(head.length + length)
  }
  return { answers, isWhole: answers.length > 0 }
}
