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

export const MOST_KEYS_OF_JOB = 50

/** A job as workers get it. */
export interface DeliveredJob {
  name: JobOperation
  /** One to `MOST_KEYS_OF_JOB`, made by `formatJobKey`. */
  keys: string[]
  /** 1 (first) to 10. */
  priority: number
}

/** A job as it is put into the queue. */
export interface QueuedJob extends DeliveredJob {
  /** Tells jobs apart. Not a whole number, and without a colon: BullMQ gives these a meaning. */
  id: string
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
 * The id of a job in the queue, which ignores a second one with the same id while the first waits or runs. So adding the same
 * job again is harmless, while requests at a better priority are a job of their own, and so are those that came after a worker
 * had begun a row: `request` has changed by then.
 * @param keys as `formatJobKey` made them
 * @param requests which of the requests for each key it is
 * @returns 22 characters of base64url, which say nothing about the keys
 */
export function jobId({ name, keys, priority }: DeliveredJob, requests: readonly string[]): string {
  const all = keys.map((key, i) => `${requests[i]} ${key}`).join('\n')
  return hash('sha256', `${name} ${priority} ${all}`, 'base64url').slice(0, 22)
}
