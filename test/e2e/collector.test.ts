import { join } from 'node:path'
import { pino } from 'pino'
import { describe, expect, test } from 'vitest'
import type { Span } from '../../src/lib/tracing.ts'
import { openOtlp } from '../../src/otlp.ts'
import { createCompany, until } from '../helpers/company.ts'
import { startOtlpReceiver } from '../helpers/otlp-receiver.ts'
import { type DirsyncProcess, spawnDirsync } from '../helpers/process.ts'

/** Lines of a process's log with this message. */
function logged({ stderr }: DirsyncProcess, message: RegExp): Record<string, unknown>[] {
  return stderr
    .split('\n')
    .filter(line => line.startsWith('{'))
    .map(line => JSON.parse(line))
    .filter(({ msg }) => message.test(msg))
}

const BEGINS = /^sending traces is in trouble/
const ENDS = /^sending traces works again/

async function timed<T>(work: () => Promise<T>): Promise<{ value: T; ms: number }> {
  const from = performance.now()
  const value = await work()
  return { value, ms: performance.now() - from }
}

describe('a collector', () => {
  test('that hangs or answers 500 costs the work nothing, and one line in the log', {
    timeout: 120_000,
  }, async () => {
    await using receiver = await startOtlpReceiver()
    await using company = await createCompany({
      employees: 40,
      settings: { OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url, LOG_LEVEL: 'info' },
    })
    await using service = spawnDirsync(['start', '--roles', 'scheduler,worker'], { env: company.settings })
    await service.waitForLine(/Running/)
    const run = () => timed(() => company.run('full'))
    const done = { state: 'done', result: { outcomes: { in_sync: 40 } } }
    await run() // what the first run learns is no part of the comparison
    const good = await run()
    expect(good.value).toMatchObject(done)
    await receiver.find(({ name }) => name === 'run full')
    // Whatever else the machine is busy with makes a run slow as well, but not one after the other.
    const asQuick = () =>
      until(async () => {
        const { value, ms } = await run()
        expect(value).toMatchObject(done)
        return ms < 2 * good.ms + 2000
      })

    receiver.behaviour = 'hangs'
    await asQuick()
    await until(async () => logged(service, BEGINS).length > 0)
    await run()
    expect(logged(service, BEGINS)).toHaveLength(1)

    // One that is given up later would be another trouble.
    await until(async () => receiver.hanging === 0)
    receiver.behaviour = 'takes'
    await until(async () => {
      await company.run('employees', 'e0001')
      return logged(service, ENDS).length > 0
    })

    receiver.behaviour = 500
    await asQuick()
    await until(async () => logged(service, BEGINS).length > 1)
    await run()
    expect(logged(service, BEGINS)).toMatchObject([{ level: 40 }, { level: 40, error: { code: 500 } }])

    receiver.behaviour = 'hangs'
    await company.run('full')
    expect(await service.kill()).toEqual({ code: 0, signal: null })
    // Nor did the collector hold up the stop: each part has half a second.
    expect(logged(service, /did not stop cleanly/)).toEqual([])
  })

  test('that is away is told of once, and the work is done', async () => {
    await using company = await createCompany({
      employees: 50,
      settings: { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1/' },
    })
    await using service = spawnDirsync(['start', '--roles', 'scheduler,worker'], { env: company.settings })
    await service.waitForLine(/Running/)
    expect(await company.run('full')).toMatchObject({ state: 'done' })
    await until(async () => logged(service, BEGINS).length > 0)
    await company.run('full')
    expect(logged(service, BEGINS)).toMatchObject([{ error: { code: 'ECONNREFUSED' } }])
    expect(await service.kill()).toEqual({ code: 0, signal: null })
  })

  test('that hangs makes a process keep no more than a bounded number of spans, and its close no longer', async () => {
    await using receiver = await startOtlpReceiver()
    receiver.behaviour = 'hangs'
    const otlp = await openOtlp(
      {
        OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
        OTEL_EXPORTER_OTLP_HEADERS: null,
        OTEL_SERVICE_NAME: 'test',
      },
      pino({ level: 'silent' }),
    )
    const times = { startedAt: Date.now(), endedAt: Date.now() }
    const span = {
      parentId: null,
      name: 'job',
      kind: 'consumer',
      attributes: {},
      failed: false,
      links: [],
    } as const
    const spanOf = (i: number): Span => ({
      ...span,
      ...times,
      links: [],
      id: i.toString(16).padStart(16, '0'),
    })
    for (let i = 1; i <= 50_000; i += 1) otlp?.collect(i.toString(16).padStart(32, '0'), [spanOf(i)])
    await until(async () => receiver.requests.length > 0)
    receiver.behaviour = 'takes'
    const closed = await timed(async () => otlp?.close())
    // Less than a batch may take.
    expect(closed.ms).toBeLessThan(4000)
    await until(async () => receiver.spans.length > 0)
    expect(receiver.spans.length).toBeLessThanOrEqual(8192)
  })
})

describe('the packages of OpenTelemetry', () => {
  const watched = (more: Record<string, string> = {}) => ({
    NODE_OPTIONS: `--import ${join(import.meta.dirname, 'fixtures/watch-packages.ts')}`,
    ...more,
  })
  const packagesOf = async (roles: string, env: Record<string, string>) => {
    await using service = spawnDirsync(['start', '--roles', roles], { env })
    await service.waitForLine(/Running/)
    await service.kill()
    const [, packages = ''] = /packages loaded: (.*)/.exec(service.stderr) ?? []
    return packages
  }

  test('are loaded where a collector is set, and only there', async () => {
    await using receiver = await startOtlpReceiver()
    await using company = await createCompany({ employees: 2, settings: { CONSOLE_PORT: '0' } })
    const env = watched(company.settings)
    expect(await packagesOf('scheduler,worker,console', env)).toBe('none')
    const on = { ...env, OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url }
    expect(await packagesOf('scheduler,worker', on)).toMatch(/@opentelemetry\/sdk-trace/)
  })

  test('may be missing where no collector is set; else the start is refused in a sentence', async () => {
    await using company = await createCompany({ employees: 2 })
    const env = watched({ ...company.settings, WITHOUT_OPENTELEMETRY: '1' })
    expect(await packagesOf('scheduler,worker', env)).toBe('none')
    await using refused = spawnDirsync(['start', '--roles', 'scheduler,worker'], {
      env: { ...env, OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:4318' },
    })
    expect(await refused.exited).toEqual({ code: 2, signal: null })
    expect(refused.stderr).toMatch(
      /^dirsync: OTEL_EXPORTER_OTLP_ENDPOINT is set, but the packages of OpenTelemetry are not installed: run `npm ci` without --omit=optional, or unset it/m,
    )
  })
})
