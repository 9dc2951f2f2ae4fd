import { hostname } from 'node:os'
import type { SpanContext } from '@opentelemetry/api'
import type { SpanExporter } from '@opentelemetry/sdk-trace'
import { type Config, ConfigError } from './config.ts'
import type { Logger } from './lib/logger.ts'
import type { Collector, Span, SpanReference } from './lib/tracing.ts'
import { Trouble } from './lib/trouble.ts'
import { message } from './texts/message.ts'
import { VERSION } from './version.ts'

/*
 * Sends traces to an OpenTelemetry collector, by OTLP over HTTP. The packages of OpenTelemetry are optional: this file
 * loads them when a collector is set, and nothing else in dirsync knows them.
 */

/** Most spans that wait to be sent. While the collector is away or slow, any more are dropped. */
const MOST_WAITING = 8192
/** Spans in one request. */
const BATCH = 512
/** A partial batch is sent after this long. */
const SEND_AFTER_MS = 1000
/** How long a collector may take over a batch, retries included. */
const PATIENCE_MS = 5000
/** How long sending the last spans may take when the process stops. */
const FLUSH_WITHIN_MS = 400

/** Sends what it collects, until it is closed. */
export interface OtlpSender {
  collect: Collector
  /** Sends what waits, within FLUSH_WITHIN_MS, and drops the rest. */
  close(): Promise<void>
}

/** The settings that it needs. */
type OtlpSettings = Pick<
  Config,
  'OTEL_EXPORTER_OTLP_ENDPOINT' | 'OTEL_EXPORTER_OTLP_HEADERS' | 'OTEL_SERVICE_NAME'
>

/**
 * A sender to the collector that the settings name; null without one. Opens no connection yet.
 * @throws ConfigError where the packages of OpenTelemetry are not installed
 */
export async function openOtlp(config: OtlpSettings, logger: Logger): Promise<OtlpSender | null> {
  if (config.OTEL_EXPORTER_OTLP_ENDPOINT === null) return null
  const { api, exporter, resources, sdk } = await loadPackages()
  const trouble = new Trouble(logger, 'sending traces')
  // The exporter and the SDK read the environment by themselves: these options override it.
  const otlp = new exporter.OTLPTraceExporter({
    url: `${config.OTEL_EXPORTER_OTLP_ENDPOINT.replace(/\/+$/, '')}/v1/traces`,
    headers: Object.fromEntries(config.OTEL_EXPORTER_OTLP_HEADERS ?? []),
    timeoutMillis: PATIENCE_MS,
    concurrencyLimit: Math.ceil(MOST_WAITING / BATCH),
    httpAgentOptions: { keepAlive: true },
    userAgent: `dirsync/${VERSION}`,
  })
  const ids = new GivenIds()
  const provider = new sdk.TracerProvider({
    resource: resources.resourceFromAttributes({
      'service.name': config.OTEL_SERVICE_NAME,
      'service.version': VERSION,
      'service.instance.id': `${hostname()}:${process.pid}`,
    }),
    sampler: new sdk.AlwaysOnSampler(),
    idGenerator: ids,
    spanProcessors: [
      new sdk.BatchSpanProcessor({
        exporter: told(otlp, trouble),
        maxQueueSize: MOST_WAITING,
        maxExportBatchSize: BATCH,
        scheduledDelayMillis: SEND_AFTER_MS,
        exportTimeoutMillis: PATIENCE_MS,
      }),
    ],
  })
  const tracer = provider.getTracer('dirsync', VERSION)
  const contextOf = (reference: SpanReference): SpanContext => ({
    ...reference,
    traceFlags: api.TraceFlags.SAMPLED,
    isRemote: true,
  })
  const kinds = {
    internal: api.SpanKind.INTERNAL,
    client: api.SpanKind.CLIENT,
    consumer: api.SpanKind.CONSUMER,
  }
  const emit = (traceId: string, span: Span) => {
    ids.next = { traceId, spanId: span.id }
    const parent =
      span.parentId === null
        ? api.ROOT_CONTEXT
        : api.trace.setSpanContext(api.ROOT_CONTEXT, contextOf({ traceId, spanId: span.parentId }))
    const { name, attributes, startedAt: startTime, endedAt } = span
    const links = span.links.map(link => ({ context: contextOf(link) }))
    const sent = tracer.startSpan(name, { kind: kinds[span.kind], attributes, startTime, links }, parent)
    if (span.failed) sent.setStatus({ code: api.SpanStatusCode.ERROR })
    sent.end(endedAt)
  }
  return {
    collect(traceId, spans) {
      for (const span of spans) emit(traceId, span)
    },
    async close() {
      const given = new Promise(resolve => setTimeout(resolve, FLUSH_WITHIN_MS).unref())
      // A failure of the collector has been reported before, or is now.
      await Promise.race([provider.shutdown().catch(error => trouble.report(error)), given])
    },
  }
}

async function loadPackages() {
  try {
    const [api, exporter, resources, sdk] = await Promise.all([
      import('@opentelemetry/api'),
      import('@opentelemetry/exporter-trace-otlp-proto'),
      import('@opentelemetry/resources'),
      import('@opentelemetry/sdk-trace'),
    ])
    return { api, exporter, resources, sdk }
  } catch (cause) {
    throw new ConfigError([message('said.no_otlp')], { cause })
  }
}

/** Gives the next span the recorded ids: other processes know those of shared traces. */
class GivenIds {
  next: SpanReference = { traceId: '', spanId: '' }
  generateTraceId = () => this.next.traceId
  generateSpanId = () => this.next.spanId
}

/** The exporter, with its failures logged: once per outage, in our log. */
function told(exporter: SpanExporter, trouble: Trouble): SpanExporter {
  return {
    export(spans, done) {
      exporter.export(spans, result => {
        if (result.error === undefined) trouble.works()
        else trouble.report(result.error)
        done(result)
      })
    },
    shutdown: () => exporter.shutdown(),
  }
}
