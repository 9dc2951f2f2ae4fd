import { randomUUID } from 'node:crypto'
import { traceCall } from '../src/connections.ts'
import { HrSources } from '../src/hr/sources.ts'
import { createPool } from '../src/lib/database.ts'
import { createLogger } from '../src/lib/logger.ts'
import { SessionLocks } from '../src/lib/session-locks.ts'
import { Tracer, UNTRACED } from '../src/lib/tracing.ts'
import { openOtlp } from '../src/otlp.ts'
import { PostgresSlots } from '../src/pacing/postgres-slots.ts'
import { SlotPacer } from '../src/pacing/slot-pacer.ts'
import { type CallReport, PlatformClient } from '../src/platform/client.ts'
import { PostgresTokenStore } from '../src/platform/token-store.ts'
import { createQueueBackend } from '../src/queue/backend.ts'
import { JOBS_AT_A_TIME, keysInHand } from '../src/sync/outbox/job-size.ts'
import { Standing } from '../src/sync/processes/standing.ts'
import { JobProcessor } from '../src/sync/work/job-processor.ts'
import { answerParent, NO_LIMIT } from './child.ts'
import { openHr } from './planned-database.ts'
import type { WorkTask } from './worker.ts'

// The worker role, composed as in the service. Answers with the seconds from its start to the last outcome.
answerParent<WorkTask, number>(async task => {
  const logger = createLogger({ level: 'info', pretty: false })
  const { databaseUrl, platform, concurrency } = task
  const hr = openHr(databaseUrl, logger)
  const pool = createPool(databaseUrl, { max: 12, name: 'worker', logger })
  const queue = createQueueBackend({ ...task, deployment: 'bench', logger })
  const slots = new PostgresSlots({ url: databaseUrl, logger })
  const pacer = new SlotPacer({ slots, rate: NO_LIMIT, budgets: new Map(), logger })
  const tokenStore = new PostgresTokenStore({ pool, ...platform })
  const otlp = await openOtlp(
    {
      OTEL_EXPORTER_OTLP_ENDPOINT: task.collector ?? null,
      OTEL_EXPORTER_OTLP_HEADERS: null,
      OTEL_SERVICE_NAME: 'bench',
    },
    logger,
  )
  const tracing = otlp ? new Tracer({ deployment: 'bench', share: 1, collect: otlp.collect }) : UNTRACED
  const onCall = (call: CallReport) => traceCall(tracing, call)
  const client = new PlatformClient({ ...platform, tokenStore, pacer, onCall })
  const locks = new SessionLocks(databaseUrl, logger)
  await client.tokens.info()

  const { promise: finished, resolve: finish } = Promise.withResolvers<void>()
  let left = task.jobs
  const startedAt = performance.now()
  const processor = new JobProcessor({
    pool,
    client,
    hr: HrSources.one(hr),
    locks,
    standing: new Standing(pool, { id: randomUUID(), secretPrint: '' }),
    logger,
    concurrentCalls: concurrency,
    limits: { gate: { maxFewerRows: 20, maxEmptied: 20 }, departmentGraceMs: 0 },
    tracing,
    onSettled() {
      left -= 1
      if (left === 0) finish()
    },
  })
  processor.setRoom(keysInHand(concurrency, NO_LIMIT))
  const worker = queue.work((job, signal) => processor.process(job, signal), {
    concurrency: JOBS_AT_A_TIME,
    logger,
  })
  await finished
  const seconds = (performance.now() - startedAt) / 1000
  await worker.close(5000)
  await processor.close(5000)
  await client.close()
  await pacer.close()
  await slots.close()
  await locks.close()
  await queue.close()
  await pool.end()
  await hr.close()
  await otlp?.close()
  return seconds
})
