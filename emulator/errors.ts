import type { z } from 'zod'

/**
 * The business codes that the emulated operations answer with (section 7).
 * A business failure travels as HTTP 200 with the envelope `{code, msg, data: null}`. The codes from 1000229001 to
 * 1000229003 are the emulator's own: the specification has none for what they say.
 */
const CODES = {
  timestamp: { code: 1000210001, message: 'timestamp check failed!' },
  application: { code: 1000210003, message: 'appinfo check failed!' },
  token: { code: 1000210004, message: 'tokeninfo check failed!' },
  categoryOff: { code: 1000210028, message: 'employee category not set' },
  parameters: { code: 1000220002, message: 'parameter validation failed' },
  departmentMissing: { code: 1000220010, message: 'dept_code not exists !' },
  levelOff: { code: 1000220030, message: 'employee grade not set' },
  paymentFailed: { code: 1000220064, message: 'payment failed or the order does not exist' },
  attributeOff: { code: 1000220072, message: 'extended field not enabled or attributeCode wrong' },
  useridUnknown: { code: 1000220096, message: 'employee for this user id does not exist' },
  employeeMissing: { code: 1000220102, message: 'employee does not exist' },
  paymentOrderMissing: { code: 1000220120, message: 'payment order number does not exist' },
  refundNumberTaken: { code: 1000229001, message: 'refund number already exists' },
  overdrawn: { code: 1000229002, message: 'refund amount exceeds what is left of the payment' },
  externalCodeTaken: { code: 1000229003, message: 'external_code already exists' },
  enterprise: { code: 1000240002, message: 'enterprise_code check failed' },
  noPermission: { code: 1002200106, message: 'no permission' },
  baseDepartment: { code: 1002212002, message: 'base department cannot be deleted' },
  emailTaken: { code: 1002218004, message: 'e-mail already exists' },
  mobileTaken: { code: 1002218007, message: 'mobile already exists' },
  workNumberTaken: { code: 1002219003, message: 'work number already exists' },
  document: { code: 1002219046, message: 'employee document number wrong' },
  mobileArea: { code: 1002219069, message: 'employee international area code does not exist' },
} as const

/** A call that the platform understood and refuses. `detail` is added to the message; it never holds a value. */
export class BusinessError extends Error {
  readonly code: number

  constructor(kind: keyof typeof CODES, detail?: string) {
    const { code, message } = CODES[kind]
    super(detail === undefined ? message : `${message}: ${detail}`)
    this.code = code
  }
}

/** A request that is refused below the business level: any status but 200, with a plain text body. */
export class HttpError extends Error {
  readonly status: number
  readonly headers: Record<string, string>

  constructor(status: number, message: string, headers: Record<string, string> = {}) {
    super(message)
    this.status = status
    this.headers = headers
  }
}

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
