import type { z } from 'zod'

/** What a control request or a seed asks for cannot be done; the message says why and names keys only. */
export class ControlError extends Error {
  readonly code = 'EMULATOR_CONTROL'
}

/** Reads a control document by its schema; throws `ControlError` that names the place of the first mistake. */
export function parseControl<Schema extends z.ZodType>(schema: Schema, value: unknown): z.output<Schema> {
  const result = schema.safeParse(value)
  if (result.success) return result.data
  const [issue] = result.error.issues
  throw new ControlError(`${issue?.path.join('.') || 'body'}: ${issue?.message}`)
}
