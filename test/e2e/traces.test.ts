import { expect, test } from 'vitest'
import { describeBackends } from '../helpers/backends.ts'
import { createCompany, until } from '../helpers/company.ts'
import { createDeployment } from '../helpers/deployment.ts'
import { type OtlpReceiver, type ReceivedSpan, startOtlpReceiver } from '../helpers/otlp-receiver.ts'
import { spawnDirsync } from '../helpers/process.ts'

const [INTERNAL, CLIENT, CONSUMER] = [1, 3, 5]

const endpoint = (receiver: OtlpReceiver) => ({ OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url })

/** The job traces of a run: the spans of each, its root first. */
function jobsOf({ spans }: OtlpReceiver, run: number): ReceivedSpan[][] {
  const roots = spans.filter(span => span.kind === CONSUMER && span.attributes['dirsync.run'] === run)
  return roots.map(root => [
    root,
    ...spans.filter(span => span.traceId === root.traceId && span.spanId !== root.spanId),
  ])
}

const names = (spans: ReceivedSpan[]) => spans.map(span => span.name)

describeBackends('with the queue in', {}, ({ redis }) => {
  test('a run is a trace, and each of its jobs is one that is linked to it', async () => {
    await using receiver = await startOtlpReceiver()
    const redisUrl = await redis()
    await using company = await createCompany({
      employees: 8,
      settings: { ...endpoint(receiver), OTEL_EXPORTER_OTLP_HEADERS: 'authorization=Bearer%20t0ken' },
      ...(redisUrl ? { redisUrl } : {}),
    })
    const service = await company.start()
    await company.run('full')
    await company.hr.query(`update person set name = 'Renamed One' where userid = 'e0001'`)
    await company.hr.query(`update person set mobile = '19900000003' where userid = 'e0002'`)
    const { id } = await company.run('changes')
    await receiver.find(({ name, attributes }) => name === 'run changes' && attributes['dirsync.run'] === id)
    await service.stop()

    const [run] = receiver.spans.filter(
      ({ name, attributes }) => name === 'run changes' && attributes['dirsync.run'] === id,
    )
    if (run === undefined) throw new Error('the run has no span')
    expect(run).toMatchObject({ parentId: null, kind: INTERNAL, failed: false, links: [] })
    expect(run.attributes).toEqual({
      'dirsync.run': id,
      'dirsync.run.kind': 'changes',
      'dirsync.run.state': 'done',
      'dirsync.run.planned': 2,
      'dirsync.run.outcomes.updated': 1,
      'dirsync.run.outcomes.parked': 1,
      'dirsync.run.calls.employee/get': 3,
      'dirsync.run.calls.employee/update': 2,
    })
    expect(run.resource).toMatchObject({ 'service.name': 'dirsync', 'service.version': expect.any(String) })

    const inRun = receiver.spans.filter(({ traceId }) => traceId === run.traceId)
    const plan = inRun.find(({ name }) => name === 'plan')
    expect(plan).toMatchObject({
      parentId: run.spanId,
      attributes: {
        'dirsync.run.state': 'running',
        'dirsync.run.in_scope': 8,
        'dirsync.run.planned.changed': 2,
      },
    })
    const steps = inRun.filter(({ parentId }) => parentId === plan?.spanId)
    expect(names(steps.toSorted((a, b) => a.startedAt - b.startedAt))).toEqual([
      'read HR',
      'compare',
      'write plan',
    ])
    expect(inRun).toHaveLength(2 + steps.length)

    const jobs = jobsOf(receiver, id)
    expect(jobs).toHaveLength(2)
    for (const [root, ...parts] of jobs) {
      expect(root).toMatchObject({
        name: 'update-employee',
        parentId: null,
        links: [{ traceId: run.traceId, spanId: run.spanId }],
      })
      for (const part of parts.filter(({ name }) => !['pacer', 'permit'].includes(name)))
        expect(part.parentId).toBe(root?.spanId)
      for (const part of parts) {
        expect(part.startedAt).toBeGreaterThanOrEqual(root?.startedAt ?? Number.NaN)
        expect(part.endedAt).toBeLessThanOrEqual(root?.endedAt ?? Number.NaN)
      }
    }
    const [updated] = jobs.filter(([root]) => root?.attributes['dirsync.outcome'] === 'updated')
    const ordered = updated?.slice(1).toSorted((a, b) => a.startedAt - b.startedAt) ?? []
    expect(names(ordered.filter(({ name }) => !['pacer', 'permit'].includes(name)))).toEqual([
      ...['queue', 'lock', 'claim', 'read HR', 'employee/get', 'employee/update', 'settle'],
    ])
    expect(updated?.[0]).toMatchObject({
      failed: false,
      attributes: { 'dirsync.attempts': 0, 'dirsync.starts': 1 },
    })
    expect(updated?.find(({ name }) => name === 'employee/update')).toMatchObject({
      kind: CLIENT,
      failed: false,
      attributes: {
        'dirsync.platform.operation': 'employee/update',
        'dirsync.platform.code': '0',
        'dirsync.platform.trace_id': expect.any(String),
        'http.response.status_code': 200,
      },
    })

    // The call that was refused has the trace id that the case has: so one leads to the other.
    const { rows } = await company.db.query('select trace_id, platform_code from dirsync.dead_letter')
    expect(rows).toHaveLength(1)
    const [parked] = jobs.filter(([root]) => root?.attributes['dirsync.outcome'] === 'parked')
    expect(parked?.[0]?.failed).toBe(true)
    expect(parked?.filter(({ name, failed }) => name === 'employee/update' && failed)).toMatchObject([
      {
        attributes: {
          'dirsync.platform.trace_id': rows[0].trace_id,
          'dirsync.platform.code': rows[0].platform_code,
        },
      },
    ])

    expect(new Set(receiver.requests.map(({ path }) => path))).toEqual(new Set(['/v1/traces']))
    expect(receiver.requests[0]?.headers).toMatchObject({
      authorization: 'Bearer t0ken',
      'content-type': 'application/x-protobuf',
    })
  })

  test('processes add to the same run', async () => {
    await using receiver = await startOtlpReceiver()
    const redisUrl = await redis()
    await using company = await createCompany({
      employees: 60,
      settings: { ...endpoint(receiver), WORKER_CONCURRENCY: '2', PLATFORM_RATE_LIMIT: '60' },
      ...(redisUrl ? { redisUrl } : {}),
    })
    const processes = ['scheduler', 'worker', 'worker'].map(roles =>
      spawnDirsync(['start', '--roles', roles], { env: company.settings }),
    )
    try {
      for (const { waitForLine } of processes) await waitForLine(/Running/)
      const { id } = await company.run('full')
      for (const { kill } of processes) expect(await kill()).toEqual({ code: 0, signal: null })
      const run = await receiver.find(span => span.name === 'run full' && span.parentId === null)
      const jobs = jobsOf(receiver, id)
      expect(jobs).toHaveLength(60)
      expect(new Set(jobs.map(([root]) => JSON.stringify(root?.links)))).toEqual(
        new Set([JSON.stringify([{ traceId: run.traceId, spanId: run.spanId }])]),
      )
      const instances = (spans: (ReceivedSpan | undefined)[]) =>
        new Set(spans.map(span => span?.resource['service.instance.id']))
      const [scheduler, ...workers] = processes.map(({ pid }) => expect.stringMatching(`:${pid}$`))
      expect([...instances(receiver.spans.filter(({ traceId }) => traceId === run.traceId))]).toEqual([
        scheduler,
      ])
      expect([...instances(jobs.map(([root]) => root))]).toEqual(expect.arrayContaining(workers))
    } finally {
      for (const { kill } of processes) await kill('SIGKILL')
    }
  })
})

test('a mirror reads within the trace of its run, and what it reads is not told', async () => {
  await using receiver = await startOtlpReceiver()
  await using company = await createCompany({
    employees: 2,
    settings: { ...endpoint(receiver), MIRRORS: 'accounts' },
  })
  await company.start()
  const { id } = await company.run('accounts')
  const run = await receiver.find(({ name }) => name === 'run accounts')
  const read = await receiver.find(({ name, traceId }) => name === 'read' && traceId === run.traceId)
  expect(read).toMatchObject({ parentId: run.spanId, attributes: { 'dirsync.run': id } })
  const parts = receiver.spans.filter(({ parentId }) => parentId === read.spanId)
  expect(names(parts)).toEqual(expect.arrayContaining(['assets/limit/enterprise/get', 'store']))
})

test('nothing personal of the sample leaves with its traces, and a process that ends leaves none behind', async () => {
  await using receiver = await startOtlpReceiver()
  await using sample = await createDeployment()
  await using process = spawnDirsync(['start', '--once'], {
    env: { ...sample.settings, ...endpoint(receiver) },
  })
  await process.exited

  const { rows } = await sample.own.pool.query(
    // What a halted enterprise leaves undone is an attempt, and no job.
    `select (select count(*)::int from dirsync.attempt where outcome <> 'halted') as attempts,
            (select count(*)::int from dirsync.dead_letter) as cases`,
  )
  expect(rows[0].cases).toBeGreaterThan(5)
  const jobs = receiver.spans.filter(({ kind }) => kind === CONSUMER)
  expect(jobs.filter(({ attributes }) => attributes['dirsync.outcome'] !== 'halted')).toHaveLength(
    rows[0].attempts,
  )

  const mapped = await sample.hr.pool.query(
    `select distinct v.value from (${await mappingOf(sample.settings.HR_EMPLOYEES_SQL)}) m,
       lateral jsonb_each_text(to_jsonb(m)) as v (field, value)
     where v.field in ('userid', 'name', 'mobile', 'email', 'card_no', 'work_no')`,
  )
  const secrets = mapped.rows.map(({ value }) => String(value).trim()).filter(value => value.length > 2)
  expect(secrets.length).toBeGreaterThan(500)
  const sent = Buffer.concat(receiver.bodies)
  expect(sent.includes('employee/get')).toBe(true)
  expect(secrets.filter(secret => sent.includes(secret))).toEqual([])
})

async function mappingOf(file = ''): Promise<string> {
  const { readFile } = await import('node:fs/promises')
  return (await readFile(file, 'utf8')).replace(/;\s*$/, '')
}

test('with a share of nothing, failures are sent alone, and runs', async () => {
  await using receiver = await startOtlpReceiver()
  await using company = await createCompany({
    employees: 6,
    settings: { ...endpoint(receiver), OTEL_TRACES_SAMPLER_ARG: '0', OTEL_SERVICE_NAME: 'dirsync-test' },
  })
  await company.hr.query(`update person set mobile = 'none' where userid = 'e0002'`)
  await company.start()
  await company.run('full')
  const run = await receiver.find(({ name }) => name === 'run full')
  const jobs = await until(async () => {
    const roots = receiver.spans.filter(({ kind }) => kind === CONSUMER)
    return roots.length > 0 && roots
  })
  expect(run.resource['service.name']).toBe('dirsync-test')
  expect(jobs.map(({ attributes, failed }) => [attributes['dirsync.outcome'], failed])).toEqual([
    ['parked', true],
  ])
})
