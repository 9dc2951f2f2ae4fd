import { pino } from 'pino'
import { expect, onTestFinished, test, vi } from 'vitest'
import { Trouble } from '../../src/lib/trouble.ts'

test('trouble is over soon after it works again, also where the clock was put back meanwhile', () => {
  vi.useFakeTimers({ toFake: ['Date', 'performance'] })
  onTestFinished(() => void vi.useRealTimers())
  const trouble = new Trouble(pino({ level: 'silent' }), 'the queue')
  trouble.report(new Error('away'))
  vi.advanceTimersByTime(1000)
  trouble.works()
  expect(trouble.lastedMs).toBe(1000)
  vi.setSystemTime(Date.now() - 3_600_000)
  vi.advanceTimersByTime(2000)
  expect(trouble.lastedMs).toBe(3000)
  trouble.works()
  expect(trouble.lastedMs).toBeNull()
})
