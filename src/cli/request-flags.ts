import type { Operation } from '../platform/operation.ts'
import { UsageError } from './failure.ts'
import { parseJson, readRequestFile } from './json-file.ts'
import type { OperationField } from './operation-fields.ts'
import type { MoneyRequest } from './request-options.ts'

/**
 * Reads `--field value` and `--field=value`, and `--json`, which stands alone for the answer, and with the name of a file
 * (or - for standard input) for the request; flags override the file's fields.
 * @throws UsageError
 */
export async function readRequestFlags(
  operation: Operation,
  fields: OperationField[],
  args: string[],
): Promise<MoneyRequest> {
  const given: Record<string, unknown> = {}
  let json = false
  let yes = false
  let file: string | undefined
  const rest = [...args]
  for (let flag = rest.shift(); flag !== undefined; flag = rest.shift()) {
    const [, name = '', attached] = /^--([^=]+)(?:=(.*))?$/s.exec(flag) ?? []
    if (name === 'json') {
      const named = attached ?? (rest[0]?.startsWith('--') === false ? rest.shift() : undefined)
      if (named === undefined) json = true
      else if (file !== undefined) throw new UsageError('--json names two files: give one request')
      else file = named
      continue
    }
    if (!operation.idempotent && flag === '--yes') {
      yes = true
      continue
    }
    const field = fields.find(known => known.name === name)
    if (!field)
      throw new UsageError(
        `${JSON.stringify(flag)} is no field of ${operation.name}: there are ${fields.map(known => `--${known.name}`).join(', ') || 'none'}`,
      )
    if (Object.hasOwn(given, name)) throw new UsageError(`--${name} is given twice`)
    const value = attached ?? rest.shift()
    if (value === undefined) throw new UsageError(`--${name} needs a value`)
    given[name] = field.object ? parseJson(value, `--${name}`) : value
  }
  const request = { ...(file === undefined ? {} : await readRequestFile(file)), ...given }
  return { request, json, yes, flagOf: name => `--${name}` }
}
