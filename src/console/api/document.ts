/* What the OpenAPI document needs besides what is made from the schemas of the endpoints. */

type Json = unknown
type JsonObject = Record<string, Json>

const REF = '#/components/schemas/'

/** The document as it is sent. */
export function finishedDocument<Document extends object>(document: Document): Document {
  const { components, ...rest } = document as { components: { schemas: JsonObject } } & JsonObject
  const { schemas, ...others } = components
  const used = namesUsed(rest, schemas)
  const kept = Object.fromEntries(Object.entries(schemas).filter(([name]) => used.has(name)))
  return changed({ ...rest, components: { ...others, schemas: kept } }) as Document
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
  const entries = Object.entries(object).map(([key, inner]) => [
    key,
    key === 'responses' ? changed(answers(inner as JsonObject)) : changed(inner),
  ])
  return Object.fromEntries(entries)
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
const LOCATION = { description: 'Where to find it', schema: { type: 'string', format: 'uri-reference' } }

function answers(responses: JsonObject): JsonObject {
  const described = Object.entries(responses).map(([status, response]) => {
    const description = DESCRIPTIONS[status]
    if (description === undefined || 'text/csv' in Object(Object(response).content)) return [status, response]
    const headers = status === '200' ? {} : { headers: { Location: LOCATION } }
    return [status, { ...Object(response), description, ...headers }]
  })
  return Object.fromEntries(described)
}
