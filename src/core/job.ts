/** The jobs that the queue knows. */
export type JobName = 'update-employee' | 'delete-department' | 'bind-openid'

/** What a job is about; all that the queue ever holds of it. */
export interface JobKey {
  enterpriseCode: string
  entityKey: string
  /** bind-openid: the merchant application id; else empty. */
  detail: string
}

/** The key as the text that the queue carries. */
export function formatJobKey(key: JobKey): string {
  return JSON.stringify([key.enterpriseCode, key.entityKey, key.detail])
}

/** @throws SyntaxError for a text that `formatJobKey` did not make. */
export function parseJobKey(text: string): JobKey {
  const parts: unknown = JSON.parse(text)
  if (!Array.isArray(parts) || parts.length !== 3 || parts.some(part => typeof part !== 'string'))
    throw new SyntaxError('the queue holds a job key that is no list of three texts')
  const [enterpriseCode, entityKey, detail] = parts as [string, string, string]
  return { enterpriseCode, entityKey, detail }
}
