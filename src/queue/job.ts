import { hash } from 'node:crypto'

/** What a worker can do with an entity. */
export const JOB_OPERATIONS = ['update-employee', 'delete-department', 'bind-openid'] as const
export type JobOperation = (typeof JOB_OPERATIONS)[number]

/** The subject of a job; all that the queue ever holds of it. */
export interface JobKey {
  enterpriseCode: string
  entityKey: string
  /** bind-openid: the merchant application id; else empty. */
  detail: string
}

/** A job as it is put into the queue. */
export interface QueuedJob {
  /** Tells jobs apart. Not a whole number, and without a colon: BullMQ gives these a meaning. */
  id: string
  name: JobOperation
  /** Made by `formatJobKey`. */
  key: string
  /** 1 (first) to 10. */
  priority: number
}

/** The key as the text that the queue carries. */
export function formatJobKey(key: JobKey): string {
  return JSON.stringify([key.enterpriseCode, key.entityKey, key.detail])
}

/** @throws SyntaxError for a text that `formatJobKey` did not make */
export function parseJobKey(text: string): JobKey {
  const parts: unknown = JSON.parse(text)
  if (!Array.isArray(parts) || parts.length !== 3 || parts.some(part => typeof part !== 'string'))
    throw new SyntaxError('the queue holds a job key that is not a list of three texts')
  const [enterpriseCode, entityKey, detail] = parts as [string, string, string]
  return { enterpriseCode, entityKey, detail }
}

/**
 * The id of a job in the queue, which ignores a second one with the same id while the first waits or runs. So feeding the same
 * request again is harmless, while a request at a better priority is a job of its own, and so is one that came after a worker
 * had begun the row: `request` has changed by then.
 * @param key as `formatJobKey` made it
 * @param request which of the requests for that key it is
 * @returns 22 characters of base64url, which say nothing about the key
 */
export function jobId(operation: JobOperation, key: string, request: string, priority: number): string {
  return hash('sha256', `${operation} ${request} ${priority} ${key}`, 'base64url').slice(0, 22)
}
