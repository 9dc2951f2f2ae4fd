import createClient from 'openapi-fetch'
import type { components, paths } from './dirsync.js'

/*
 * A program of someone else: it has the description of the API and a token, and types made from that. It tries the first case
 * again, waits for the run, and follows what happens.
 */

const [baseUrl = '', token = ''] = process.argv.slice(2)
const client = createClient<paths>({ baseUrl, headers: { authorization: `Bearer ${token}` } })

const { data: stream } = await client.GET('/api/v1/events', { parseAs: 'stream' })
if (!stream) throw new Error('there is no stream')
const events = eventsOf(stream)

const { data: cases } = await client.GET('/api/v1/cases', { params: { query: { limit: 10 } } })
const [first] = cases?.items ?? []
if (!first) throw new Error('there is no case')
const { data: shown } = await client.GET('/api/v1/cases/{id}', { params: { path: { id: first.id } } })

const retry = () =>
  client.POST('/api/v1/cases/{id}/retry', {
    params: { path: { id: first.id }, header: { 'idempotency-key': 'scenario' } },
    body: { version: first.version },
  })
const [once, again] = [await retry(), await retry()]
const id = once.data?.run ?? 0

const { data: run } = await client.GET('/api/v1/runs/{id}', { params: { path: { id }, query: { wait: 30 } } })
const seen: string[] = []
for await (const event of events) {
  seen.push(event.type)
  if (event.run?.id === id && event.run.state === 'done') break
}

const { error } = await client.GET('/api/v1/runs/{id}', { params: { path: { id: 999_999 } } })
const problem: components['schemas']['Problem'] | undefined = error

process.stdout.write(
  JSON.stringify({
    category: shown?.category,
    status: once.response.status,
    location: once.response.headers.get('location'),
    isOneRun: again.data?.run === id,
    state: run?.state,
    seen,
    problem: problem?.type,
  }),
)

async function* eventsOf(
  stream: ReadableStream<BufferSource>,
): AsyncGenerator<components['schemas']['Event']> {
  let text = ''
  const reader = stream.pipeThrough(new TextDecoderStream()).getReader()
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return
      text += value
      const parts = text.split('\n\n')
      text = parts.pop() ?? ''
      for (const part of parts) {
        const data = /^data: (.*)$/m.exec(part)?.[1]
        if (data !== undefined) yield JSON.parse(data)
      }
    }
  } finally {
    await reader.cancel()
  }
}
