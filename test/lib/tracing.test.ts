import { setImmediate as turn } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { Batcher } from '../../src/lib/batcher.ts'
import { annotate, type Span, Tracer, traced, UNTRACED } from '../../src/lib/tracing.ts'

/** A tracer whose traces are kept. */
function recorded({ share = 1, deployment = 'here' } = {}) {
  const traces: { id: string; spans: Span[] }[] = []
  const tracer = new Tracer({ deployment, share, collect: (id, spans) => traces.push({ id, spans }) })
  return { tracer, traces }
}

/** A trace as lines: every span below the one that it is part of. */
function drawn(spans: Span[], parentId: string | null = null, depth = 0): string[] {
  return spans
    .filter(span => span.parentId === parentId)
    .flatMap(span => [`${'  '.repeat(depth)}${span.name}`, ...drawn(spans, span.id, depth + 1)])
}

describe('a trace', () => {
  test('has a span for every part, however deep, each within the time of its whole', async () => {
    const { tracer, traces } = recorded()
    const answer = await tracer.trace('job', { kind: 'consumer', attributes: { n: 1 } }, async trace => {
      await traced('first', async () => annotate({ rows: 2 }))
      trace.annotate({ outcome: 'good' })
      return traced('second', () => traced('third', async () => 'done'))
    })
    expect(answer).toBe('done')
    const [{ spans = [] } = {}] = traces
    expect(drawn(spans)).toEqual(['job', '  first', '  second', '    third'])
    expect(spans[0]).toMatchObject({
      kind: 'consumer',
      attributes: { n: 1, outcome: 'good' },
      failed: false,
    })
    expect(spans[1]).toMatchObject({ kind: 'internal', attributes: { rows: 2 } })
    for (const span of spans) {
      const whole = spans.find(({ id }) => id === span.parentId) ?? span
      expect(span.startedAt).toBeGreaterThanOrEqual(whole.startedAt)
      expect(span.endedAt).toBeGreaterThanOrEqual(span.startedAt)
      expect(span.endedAt).toBeLessThanOrEqual(whole.endedAt)
    }
    expect(Math.abs((spans[0]?.endedAt ?? 0) - Date.now())).toBeLessThan(5000)
  })

  test('keeps to itself what happens in it, although others share its statements', async () => {
    const { tracer, traces } = recorded()
    const batcher = new Batcher<string, string>(
      async items => {
        await turn()
        tracer.tell({ name: 'in the batch', tookMs: 0, attributes: {} })
        return items
      },
      { maxBatch: 10 },
    )
    const jobs = ['a', 'b', 'c'].map(name =>
      tracer.trace(name, {}, async () => {
        await traced('claim', () => batcher.submit(name))
        tracer.tell({ name: `call of ${name}`, tookMs: 0, attributes: {} })
      }),
    )
    await Promise.all(jobs)
    const own = traces.map(({ spans }) => drawn(spans).filter(line => !line.includes('in the batch')))
    expect(own.toSorted()).toEqual(['a', 'b', 'c'].map(name => [name, '  claim', `  call of ${name}`]))
    expect(new Set(traces.map(({ id }) => id)).size).toBe(3)
  })

  test('of an error keeps the code, or the name, and never the message', async () => {
    const { tracer, traces } = recorded()
    const error = Object.assign(new Error('duplicate key 13800138000'), { code: '23505' })
    const failing = tracer.trace('job', {}, () => traced('settle', () => Promise.reject(error)))
    await expect(failing).rejects.toBe(error)
    await expect(tracer.trace('job', {}, () => Promise.reject(new TypeError('x')))).rejects.toThrow('x')
    expect(
      traces.map(({ spans }) => spans.map(({ failed, attributes }) => ({ failed, attributes }))),
    ).toEqual([
      [
        { failed: true, attributes: { 'error.type': '23505' } },
        { failed: true, attributes: { 'error.type': '23505' } },
      ],
      [{ failed: true, attributes: { 'error.type': 'TypeError' } }],
    ])
  })

  test('begins when its work came up, with the wait as its first part', async () => {
    const { tracer, traces } = recorded()
    await tracer.trace('job', {}, async trace => {
      await traced('lock', () => turn())
      trace.cameUp(1500, 'queue')
    })
    const [job, lock, queue] = traces[0]?.spans ?? []
    expect([job?.name, lock?.name, queue?.name]).toEqual(['job', 'lock', 'queue'])
    expect(queue).toMatchObject({ parentId: job?.id, startedAt: job?.startedAt })
    expect((job?.endedAt ?? 0) - (job?.startedAt ?? 0)).toBeGreaterThanOrEqual(1500)
    expect(queue?.endedAt).toBeLessThanOrEqual(lock?.startedAt ?? 0)
  })

  test('that was dropped is not handed over, and what comes after its end is not heard', async () => {
    const { tracer, traces } = recorded()
    const late = Promise.withResolvers<void>()
    let straggler: Promise<void> | undefined
    await tracer.trace('dropped', {}, async trace => trace.drop())
    await tracer.trace('over', {}, async () => {
      straggler = late.promise.then(() => traced('late', async () => {}))
      straggler = straggler.then(() => tracer.tell({ name: 'later', tookMs: 1, attributes: {} }))
    })
    late.resolve()
    await straggler
    expect(traces.map(({ spans }) => drawn(spans))).toEqual([['over']])
  })

  test('ends what still goes on in it', async () => {
    const { tracer, traces } = recorded()
    const never = new Promise<void>(() => {})
    await tracer.trace('job', {}, async () => void traced('forgotten', () => never))
    const [job, forgotten] = traces[0]?.spans ?? []
    expect(forgotten?.endedAt).toBeGreaterThanOrEqual(job?.endedAt ?? Number.NaN)
  })
})

describe('work that is over', () => {
  test('is a trace by itself where nothing is traced, with its wait', () => {
    const { tracer, traces } = recorded()
    const past = { name: 'employee/get', kind: 'client', tookMs: 30, attributes: { code: '0' } } as const
    tracer.tell({ ...past, waited: { for: 'pacer', ms: 20 } })
    const [call, pacer] = traces[0]?.spans ?? []
    expect(call).toMatchObject({ name: 'employee/get', kind: 'client', parentId: null })
    expect((call?.endedAt ?? 0) - (call?.startedAt ?? 0)).toBeCloseTo(30)
    expect(pacer).toMatchObject({ name: 'pacer', parentId: call?.id, startedAt: call?.startedAt })
    expect((pacer?.endedAt ?? 0) - (pacer?.startedAt ?? 0)).toBeCloseTo(20)
  })
})

describe('a shared trace', () => {
  test('has the same ids in every process of a deployment, and others elsewhere', async () => {
    const [here, there, elsewhere] = [recorded(), recorded(), recorded({ deployment: 'elsewhere' })]
    await here.tracer.trace('plan', { partOf: 'run 7' }, async () => {})
    there.tracer.conclude('run 7', { name: 'run full', tookMs: 5, attributes: {} })
    await there.tracer.trace('job', {}, async trace => trace.belongsTo('run 7'))
    await elsewhere.tracer.trace('plan', { partOf: 'run 7' }, async () => {})
    const [plan] = here.traces
    const [run, job] = there.traces
    expect(plan?.id).toMatch(/^[0-9a-f]{32}$/)
    expect(run?.spans[0]).toMatchObject({ name: 'run full', parentId: null })
    expect(run?.spans[0]?.id).toMatch(/^[0-9a-f]{16}$/)
    expect({ id: plan?.id, parentId: plan?.spans[0]?.parentId }).toEqual({
      id: run?.id,
      parentId: run?.spans[0]?.id,
    })
    expect(job?.id).not.toBe(run?.id)
    expect(job?.spans[0]?.links).toEqual([{ traceId: run?.id, spanId: run?.spans[0]?.id }])
    expect(elsewhere.traces[0]?.id).not.toBe(run?.id)
  })
})

describe('of many traces', () => {
  test('a share is handed over, and every one in which something failed, and every shared one', async () => {
    const { tracer, traces } = recorded({ share: 0 })
    await tracer.trace('good', {}, async () => {})
    await tracer.trace('marked', {}, async trace => trace.fail())
    await tracer.trace('refused', {}, async () =>
      tracer.tell({ name: 'call', tookMs: 1, attributes: {}, failed: true }),
    )
    await tracer.trace('plan', { partOf: 'run 1' }, async () => {})
    expect(traces.map(({ spans }) => spans[0]?.name)).toEqual(['marked', 'refused', 'plan'])

    const half = recorded({ share: 0.5 })
    for (let i = 0; i < 400; i++) await half.tracer.trace('job', {}, async () => {})
    // Fewer than 130 or more than 270 of 400 would come once in 10^12 times.
    expect(Math.abs(half.traces.length - 200)).toBeLessThan(70)
  })
})

test('where nothing is recorded the work alone is done', async () => {
  const answer = await UNTRACED.trace('job', { kind: 'consumer' }, async trace => {
    trace.cameUp(5, 'queue')
    trace.belongsTo('run 1')
    trace.annotate({ n: 1 })
    trace.fail()
    annotate({ n: 1 })
    UNTRACED.tell({ name: 'call', tookMs: 1, attributes: {} })
    return traced('claim', async () => 'done')
  })
  expect(answer).toBe('done')
})
