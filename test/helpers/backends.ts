import { hasRedis, redisUrl } from './redis.ts'

/** The queue's two homes, for suites that every one of them must pass; without a Redis only one is left (said loudly at the start). */
export const BACKENDS = [
  { backend: 'postgres', redis: async () => undefined as string | undefined },
  ...(hasRedis ? [{ backend: 'redis', redis: async () => (await redisUrl()) as string | undefined }] : []),
]
