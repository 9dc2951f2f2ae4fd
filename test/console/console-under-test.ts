import { Writable } from 'node:stream'
import type { FastifyInstance } from 'fastify'
import { type Logger, pino } from 'pino'
import { buildApp } from '../../src/console/app.ts'
import { DatabaseMetrics } from '../../src/console/database-metrics.ts'
import { ProcessMetrics } from '../../src/console/process-metrics.ts'
import { Readiness } from '../../src/console/readiness.ts'
import { createPool } from '../../src/lib/database.ts'

export const silent = pino({ level: 'silent' })

/** The console's application on a database, as the server builds it, for requests by `inject`. */
export interface TestApp extends AsyncDisposable {
  app: FastifyInstance
  readiness: Readiness
  metrics: ProcessMetrics
}

export async function openApp(
  databaseUrl: string,
  options: { token?: string; checkQueue?: () => Promise<unknown>; logger?: Logger } = {},
): Promise<TestApp> {
  const logger = options.logger ?? silent
  const pool = createPool(databaseUrl, { max: 2, name: 'console', logger, timeoutMs: 3000 })
  const readiness = new Readiness({ pool, checkQueue: options.checkQueue ?? null, logger })
  readiness.phase = 'running'
  const metrics = new ProcessMetrics({ version: '1.2.3', platformCodes: ['1000210003'] })
  const app = buildApp({
    version: '1.2.3',
    roles: ['worker', 'console'],
    token: options.token ?? null,
    readiness,
    metrics: [metrics, new DatabaseMetrics({ pool, onTrouble: () => {} })],
    logger,
  })
  await app.ready()
  return {
    app,
    readiness,
    metrics,
    async [Symbol.asyncDispose]() {
      await app.close()
      await pool.end()
    },
  }
}

export interface LogLine extends Record<string, unknown> {
  level: number
  msg: string
}

/** A logger whose lines the test reads. */
export function recordLog(): { logger: Logger; lines: LogLine[] } {
  const lines: LogLine[] = []
  const stream = new Writable({
    write(line: Buffer, _encoding, done) {
      lines.push(JSON.parse(String(line)))
      done()
    },
  })
  return { logger: pino({ level: 'debug' }, stream), lines }
}
