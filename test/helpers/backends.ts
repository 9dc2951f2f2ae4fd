import { describe } from 'vitest'
import { redisUrl } from './redis.ts'

interface Backend {
  kind: 'postgres' | 'redis'
  /** For settings: an address, or undefined for a queue in PostgreSQL. */
  redis(): Promise<string | undefined>
}

/** A suite for each of the queue's two homes. */
export function describeBackends(
  name: string,
  options: { concurrent?: boolean; timeout?: number },
  suite: (backend: Backend) => void,
): void {
  describe(`${name} postgres`, options, () => suite({ kind: 'postgres', redis: async () => undefined }))
  describe(`${name} redis`, { ...options, tags: 'redis' }, () => suite({ kind: 'redis', redis: redisUrl }))
}
