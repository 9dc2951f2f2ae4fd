import type { AddressInfo } from 'node:net'
import type { FastifyInstance } from 'fastify'
import type { Config } from '../config.ts'
import { createPool } from '../lib/database.ts'
import { closeServer, type ListenTrouble, listeningUrl, listenTrouble } from '../lib/http-server.ts'
import type { CallReport, PlatformClient } from '../platform/client.ts'
import type { Misfit, Role } from '../sync/processes/process.ts'
import { CodedError } from '../texts/message.ts'
import { buildApp } from './app.ts'
import { oidcSettings } from './auth/oidc.ts'
import { DatabaseMetrics } from './database-metrics.ts'
import { Live } from './live.ts'
import { People } from './people.ts'
import { ProcessMetrics } from './process-metrics.ts'
import { type Phase, Readiness } from './readiness.ts'
import { TOPICS } from './screens.ts'
import type { Services } from './services.ts'

/** Pages are answered within milliseconds, so a few connections serve many readers. */
const CONNECTIONS = 6
/** If a statement of the console takes longer, the database counts as down. */
const STATEMENT_TIMEOUT_MS = 3000
/** How long open requests may take to finish when the console closes. */
const CLOSE_GRACE_MS = 2000

interface Console {
  /** The address to type into a browser. */
  readonly url: string
  readonly metrics: ProcessMetrics
  /** Called whenever PostgreSQL notifies, so that live pages are refreshed at once. */
  wake(): void
  /** `starting` at first. `/readyz` reports ready only while the process is `running`. */
  setPhase(phase: Phase): void
  /** Finishes open requests and closes every connection. Takes some seconds at most. Idempotent. */
  close(): Promise<void>
}

/**
 * Starts the console role: health, readiness and metrics over HTTP. It has its own database connections, so a busy
 * worker does not make it look dead, and a scrape does not slow the worker.
 * @param options.checkQueue rejects if the queue is down; null if the process does not need it
 * @param options.misfit see `Readiness`
 * @param options.platform connects to the platform; called once, when it is first needed
 * @param options.platformCodes the platform's codes that may become labels of metrics
 * @throws ConsoleError if it cannot listen on CONSOLE_HOST and CONSOLE_PORT
 */
export async function startConsole(
  options: {
    config: Config
    roles: readonly Role[]
    version: string
    checkQueue: (() => Promise<unknown>) | null
    misfit: () => Misfit
    platform: (onCall: (call: CallReport) => void) => PlatformClient
    platformCodes: Iterable<string>
  } & Pick<Services, 'hr' | 'env' | 'program' | 'logger'>,
): Promise<Console> {
  const { config, version, roles, checkQueue, misfit, hr, env, program } = options
  const logger = options.logger.child({ component: 'console' })
  const pool = createPool(config.DATABASE_URL, {
    max: CONNECTIONS,
    name: 'console',
    logger,
    timeoutMs: STATEMENT_TIMEOUT_MS,
  })
  const metrics = new ProcessMetrics({ version, platformCodes: options.platformCodes })
  metrics.watchPool('console', pool)
  const platform = onceNeeded(() => options.platform(metrics.observeCall))
  const readiness = new Readiness({ pool, checkQueue, misfit, logger })
  const databaseMetrics = new DatabaseMetrics({
    pool,
    onTrouble: error => logger.debug({ error }, 'metrics without the figures of the database, which is away'),
  })
  const live = new Live(pool, TOPICS)
  let port = config.CONSOLE_PORT
  const app = buildApp({
    version,
    roles,
    token: config.CONSOLE_TOKEN,
    publicUrl: config.CONSOLE_URL,
    readOnly: config.CONSOLE_READ_ONLY,
    proxies: config.CONSOLE_PROXIES,
    oidc: oidcSettings(config),
    readiness,
    metrics: [metrics, databaseMetrics],
    services: {
      // With the port that was free, once it is known.
      get config() {
        return { ...config, CONSOLE_PORT: port }
      },
      ...{ pool, hr, people: new People(hr, logger), platform, env, program, logger },
    },
    live,
    logger,
  })
  let closing: Promise<void> | undefined
  const close = () => {
    closing ??= live
      .close()
      .then(() => closeServer(app, CLOSE_GRACE_MS))
      .finally(() => pool.end())
    return closing
  }
  try {
    await listenOn(app, config.CONSOLE_HOST, portsOf(config))
  } catch (error) {
    await close()
    throw listenError(config.CONSOLE_HOST, config.CONSOLE_PORT, error)
  }
  ;({ port } = app.server.address() as AddressInfo)
  const url = listeningUrl(config.CONSOLE_HOST, port)
  logger.info({ url }, 'console listens')
  return {
    url,
    metrics,
    wake: () => live.wake(),
    setPhase(phase) {
      readiness.phase = phase
    },
    close,
  }
}

/** Creates a value on first use, and keeps it. */
function onceNeeded<T>(make: () => T): () => T {
  let made: { value: T } | undefined
  return () => {
    made ??= { value: make() }
    return made.value
  }
}

/** The ports that the embedded default tries; earlier ones may be in use by other programs. */
const EMBEDDED_PORTS = Array.from({ length: 20 }, (_, i) => 8080 + i)

function portsOf({ embedded, CONSOLE_PORT }: Config): number[] {
  return embedded && CONSOLE_PORT === 0 ? [...EMBEDDED_PORTS, 0] : [CONSOLE_PORT]
}

/** Listens on the first free port. */
async function listenOn(app: FastifyInstance, host: string, [port = 0, ...others]: number[]): Promise<void> {
  try {
    await app.listen({ host, port })
  } catch (error) {
    if (others.length === 0 || (error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error
    await listenOn(app, host, others)
  }
}

function listenError(host: string, port: number, cause: unknown): unknown {
  const found = listenTrouble('CONSOLE', { host, port }, cause)
  return found ? new ConsoleError(`CONSOLE_${found.trouble}`, found.what, { cause }) : cause
}

/**
 * The console cannot listen. The message is one sentence that names the setting.
 *
 * - `CONSOLE_PORT_TAKEN`: another program listens on CONSOLE_PORT
 * - `CONSOLE_ADDRESS_REFUSED`: this machine or user may not listen on CONSOLE_HOST and CONSOLE_PORT
 */
class ConsoleError extends CodedError<`CONSOLE_${ListenTrouble}`> {}
