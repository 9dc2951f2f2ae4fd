/* What the OpenAPI document needs besides what is made from the schemas of the endpoints. */

type Json = unknown
type JsonObject = Record<string, Json>

const REF = '#/components/schemas/'

/** The document as it is sent. */
export function finishedDocument<Document extends object>(document: Document): Document {
  const { components, paths, ...rest } = document as { components: { schemas: JsonObject } } & {
    paths: Record<string, Record<string, { responses: JsonObject }>>
  } & JsonObject
  const { schemas, ...others } = components
  const used = namesUsed(paths, schemas)
  const kept = Object.fromEntries(Object.entries(schemas).filter(([name]) => used.has(name)))
  const operations = mapped(paths, methods =>
    mapped(methods, (operation, method) => ({
      ...operation,
      responses: answers(operation.responses, method === 'get'),
    })),
  )
  return changed({
    ...rest,
    components: { ...others, schemas: kept, headers: HEADERS },
    paths: operations,
  }) as Document
}

function mapped<Value, Result>(
  values: Record<string, Value>,
  change: (value: Value, name: string) => Result,
): Record<string, Result> {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, change(value, name)]))
}

/** The schemas that the operations name, and those that these name. */
function namesUsed(value: Json, schemas: JsonObject, used = new Set<string>()): Set<string> {
  for (const [key, inner] of Object.entries(Object(value))) {
    const name = key === '$ref' && typeof inner === 'string' ? inner.slice(REF.length) : null
    if (name !== null && !used.has(name)) namesUsed(schemas[name], schemas, used.add(name))
    else if (typeof inner === 'object') namesUsed(inner, schemas, used)
  }
  return used
}

function changed(value: Json): Json {
  if (Array.isArray(value)) return value.map(changed)
  if (typeof value !== 'object' || value === null) return value
  const object = value as JsonObject
  if (object.type === 'integer') return integer(object)
  return mapped(object, changed)
}

/** The bounds of safe integers are JavaScript's, and say nothing about the value. */
function integer({ minimum, maximum, ...rest }: JsonObject): JsonObject {
  const isBound = maximum !== undefined && maximum !== Number.MAX_SAFE_INTEGER
  return {
    ...rest,
    ...(isBound ? {} : { format: 'int64' }),
    ...(minimum === undefined || minimum === Number.MIN_SAFE_INTEGER ? {} : { minimum }),
    ...(isBound ? { maximum } : {}),
  }
}

const DESCRIPTIONS: Record<string, string> = {
  200: 'The answer',
  201: 'It was created',
  202: 'The work has begun, or waits to',
}
const text = { type: 'string' }
/** What answers say beside their bodies. */
const HEADERS = {
  Location: { description: 'Where to find it', schema: { ...text, format: 'uri-reference' } },
  ETag: { description: 'Send it as If-None-Match, and 304 says that nothing has changed', schema: text },
  'Retry-After': { description: 'Of 429: seconds after which to try again', schema: { type: 'integer' } },
  'X-Request-Id': { description: 'Find it in the log of the console, as `requestId`', schema: text },
  RateLimit: { description: 'How many requests are left, and in how many seconds all are', schema: text },
  'RateLimit-Policy': {
    description: 'How many requests there are, in which window of seconds',
    schema: text,
  },
}
const ALWAYS = ['X-Request-Id'] as const
/** Of every request but those for a stream, which are not counted. */
const COUNTED = ['RateLimit', 'RateLimit-Policy'] as const

function answers(responses: JsonObject, reads: boolean): JsonObject {
  const isStream = Object.values(responses).some(
    response => 'text/event-stream' in Object(Object(response).content),
  )
  const always: (keyof typeof HEADERS)[] = [...ALWAYS, ...(isStream ? [] : COUNTED)]
  const isJson = (response: Json) => 'application/json' in Object(Object(response).content)
  const described = mapped(responses, (response, status) => {
    const description = DESCRIPTIONS[status]
    const names = [...always]
    if (status === '201' || status === '202') names.push('Location')
    if (status === '200' && reads && isJson(response)) names.push('ETag')
    if (/^[45]/.test(status)) names.push('Retry-After')
    return {
      ...Object(response),
      ...(description !== undefined && isJson(response) ? { description } : {}),
      headers: headersOf(names),
    }
  })
  if (!reads || !isJson(responses['200'])) return described
  const unchanged = { description: 'Nothing has changed', headers: headersOf([...always, 'ETag']) }
  return { ...described, 304: unchanged }
}

function headersOf(names: readonly (keyof typeof HEADERS)[]): JsonObject {
  return Object.fromEntries(names.map(name => [name, { $ref: `#/components/headers/${name}` }]))
}
