import { trimText } from '../core/text.ts'
import { platformError } from './error-catalogue.ts'
import type { ParameterProblem } from './errors.ts'
import type { Application, Operation } from './operation.ts'

/** Business parameters as they travel; a JSON body is the one named {@link JSON_BODY}. */
export type ParameterTexts = Record<string, string>

/** The name under which a JSON body is signed. */
export const JSON_BODY = '_body'

/**
 * Turns parameters into the texts that are sent, and checks them: trimmed; without value (absent, null, empty) left
 * out, but for those that an empty text clears.
 * @param application absent: rules that need to know of it are not checked
 * @throws PlatformError of kind `invalid_request`, naming parameters and rules, never values
 */
export function checkedParameters(
  operation: Operation,
  params: object,
  application?: Application,
): ParameterTexts {
  const values: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(params)) {
    if (value === undefined || value === null) continue
    const given = typeof value === 'string' ? trimText(value) : value
    if (given === '' && !operation.clearedByEmpty.includes(name)) continue
    if (typeof given === 'number' && !operation.decimals) values[name] = String(given)
    else values[name] = typeof given === 'object' ? withoutBlanks(given) : given
  }
  const checked = operation.request.safeParse(values)
  const problems = checked.success
    ? application && operation.check?.(checked.data, application)
    : checked.error.issues.flatMap(issue => problemsOf(issue, values))
  if (problems?.length) {
    throw platformError({ kind: 'invalid_request', operation: operation.name, outcomeKnown: true, problems })
  }
  if (operation.encoding === 'json') return jsonTexts(operation, checked.data ?? {})
  if (operation.decimals) for (const name in values) values[name] = String(values[name])
  return values as ParameterTexts
}

/** The body's text, and beside it what travels in the query string. */
function jsonTexts(operation: Operation, request: Readonly<Record<string, unknown>>): ParameterTexts {
  const texts: ParameterTexts = {}
  const body: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(request)) {
    if (operation.inQuery.includes(name)) texts[name] = String(value)
    else body[name] = value
  }
  texts[JSON_BODY] = JSON.stringify(body)
  return texts
}

/** A structured value with its texts trimmed and whatever has no value left out; items of lists keep their places. */
function withoutBlanks(value: unknown): unknown {
  if (typeof value === 'string') return trimText(value)
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(withoutBlanks)
  const entries = Object.entries(value).map(([name, item]) => [name, withoutBlanks(item)] as const)
  return Object.fromEntries(entries.filter(([, item]) => item !== undefined && item !== null && item !== ''))
}

interface Issue {
  code?: string
  message: string
  path: readonly PropertyKey[]
  keys?: readonly string[]
}

function problemsOf({ code, message, path, keys }: Issue, values: object): ParameterProblem[] {
  const field = path.join('.')
  if (code === 'unrecognized_keys') {
    return (keys ?? []).map(key => ({
      field: [...path, key].join('.'),
      rule: 'is no parameter of this operation',
    }))
  }
  if (code !== 'invalid_type' && code !== 'invalid_union') return [{ field, rule: message }]
  const value = path.reduce<unknown>((at, key) => (at as Record<PropertyKey, unknown>)?.[key], values)
  return [{ field, rule: value === undefined ? 'is required' : message }]
}
