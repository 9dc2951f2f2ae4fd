import { trimText } from '../core/text.ts'
import { platformError } from './error-catalogue.ts'
import type { ParameterProblem } from './errors.ts'
import type { Operation } from './operation.ts'

/** Business parameters as they travel. */
export type ParameterTexts = Record<string, string>

/**
 * Turns parameters into the texts that are sent, and checks them: trimmed; without value (absent, null, empty) left
 * out, but for those that an empty text clears.
 * @throws PlatformError of kind `invalid_request`, naming parameters and rules, never values
 */
export function checkedParameters(operation: Operation, params: object): ParameterTexts {
  const texts: ParameterTexts = {}
  for (const [name, value] of Object.entries(params)) {
    if (value === undefined || value === null) continue
    const text = typeof value === 'string' ? trimText(value) : value
    if (text !== '' || operation.clearedByEmpty.includes(name)) {
      texts[name] = typeof text === 'number' ? String(text) : text
    }
  }
  const checked = operation.request.safeParse(texts)
  if (checked.success) return texts
  throw platformError({
    kind: 'invalid_request',
    operation: operation.name,
    outcomeKnown: true,
    problems: checked.error.issues.flatMap((issue): ParameterProblem[] =>
      issue.code === 'unrecognized_keys'
        ? issue.keys.map(field => ({ field, rule: 'is no parameter of this operation' }))
        : [{ field: String(issue.path[0] ?? ''), rule: ruleOf(issue) }],
    ),
  })
}

function ruleOf(issue: { code: string; message: string; path: readonly PropertyKey[] }): string {
  return issue.code === 'invalid_type' ? 'is required, as a text' : issue.message
}
