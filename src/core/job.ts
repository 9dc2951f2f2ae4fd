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
  const [enterpriseCode, entityKey, detail] = JSON.parse(text) as [string, string, string]
  return { enterpriseCode, entityKey, detail }
}
