import { createRateLimit, type RateLimitKind } from '../../emulator/faults.ts'
import { initialRate, learn, rateAsSet } from '../../src/pacing/learning.ts'
import type { LearntRate } from '../../src/pacing/slots.ts'

export interface Simulated {
  kind: RateLimitKind
  /** Permitted calls per second at a time in seconds. */
  limitAt: (second: number) => number
  seconds: number
  processes: number
  /** From sending to the platform's decision, and as long back, in milliseconds; up to so much more at random. */
  latencyMs: number
  jitterMs: number
  retryAfter: boolean
  /** Calls that are wanted per second; by default as many as may be made. */
  wantedPerSecond?: number
  random: () => number
  learnt?: LearntRate
  /** The rate that was set, which is never exceeded; by default it is to be learnt. */
  setRate?: number
}

export interface Second {
  accepted: number
  rejected: number
  /** The rate at its end. */
  rate: number
}

/** For how long each process has reserved slots for its callers, one at least, and still uses them after the rate has changed. */
const SPAN_MS = 250
const STEP_MS = 2000

/** Learning in virtual time: processes that share evenly spaced slots, before a platform that counts calls in one of its ways. */
export function simulate(options: Simulated): { seconds: Second[]; learnt: LearntRate; writes: number } {
  const { kind, limitAt, processes, latencyMs, jitterMs, random } = options
  const { setRate = Number.POSITIVE_INFINITY } = options
  const begun = { nowMs: 0, leased: 0 }
  let learnt = options.learnt ?? (options.setRate ? rateAsSet(setRate, begun) : initialRate(begun))
  let writes = 0
  let limit = limitAt(0)
  let platform = createRateLimit(kind, limit, 1000)
  let leased = 0
  let reservedUntilMs = 0
  let pausedUntil = 0
  let since = { ms: 0, leased: 0, sent: 0 }
  let sent = 0
  const acceptedAt: (number | null)[] = Array.from({ length: processes }, () => null)
  const seconds: Second[] = Array.from({ length: options.seconds }, () => ({
    accepted: 0,
    rejected: 0,
    rate: 0,
  }))
  const agenda = new Agenda()

  const update = (next: LearntRate, now: number) => {
    if (next === learnt) return
    learnt = next
    writes += 1
    since = { ms: now, leased, sent }
  }
  const call = (process: number, now: number) => {
    if (now < pausedUntil) return
    sent += 1
    const arrival = now + latencyMs + random() * jitterMs
    agenda.add(arrival, () => {
      const second = Math.floor(arrival / 1000)
      const wanted = limitAt(arrival / 1000)
      if (wanted !== limit) {
        limit = wanted
        platform = createRateLimit(kind, limit, 1000)
        for (let i = 0; i < limit; i++) platform.take(arrival - 1)
      }
      const wait = platform.take(arrival)
      const entry = seconds[second]
      if (entry) entry[wait === 0 ? 'accepted' : 'rejected'] += 1
      const answered = arrival + latencyMs + random() * jitterMs
      agenda.add(answered, () => {
        if (wait === 0) acceptedAt[process] = Math.max(acceptedAt[process] ?? 0, now)
        else {
          if (options.retryAfter)
            pausedUntil = Math.max(pausedUntil, answered + Math.ceil(wait / 1000) * 1000)
          update(
            learn(
              learnt,
              { kind: 'refused', sentAtMs: now, acceptedAtMs: acceptedAt[process] ?? null },
              { nowMs: answered, leased, reservedUntilMs },
              setRate,
            ),
            answered,
          )
        }
      })
    })
  }
  const lease = (now: number) => {
    const spacing = 1000 / learnt.ratePerSecond
    const start = Math.max(now, pausedUntil)
    const count = processes * Math.max(1, Math.floor(SPAN_MS / spacing))
    const share = Math.min(1, (options.wantedPerSecond ?? Number.POSITIVE_INFINITY) / learnt.ratePerSecond)
    for (let i = 0; i < count; i++) {
      const at = start + i * spacing
      if (random() < share) agenda.add(at, () => call(Math.floor(random() * processes), at))
    }
    leased += count
    reservedUntilMs = start + count * spacing
    if (now - since.ms >= Math.max(STEP_MS, 8 * spacing)) {
      const wantedSlots = ((now - since.ms) / 1000) * learnt.ratePerSecond
      if (sent - since.sent >= 0.8 * wantedSlots)
        update(
          learn(
            learnt,
            { kind: 'used', sinceMs: since.ms },
            { nowMs: now, leased, reservedUntilMs },
            setRate,
          ),
          now,
        )
      else since = { ms: now, leased, sent }
    }
    agenda.add(start + count * spacing, () => lease(start + count * spacing))
  }
  agenda.add(0, () => lease(0))
  for (let s = 1; s <= options.seconds; s++)
    agenda.add(s * 1000, () => {
      ;(seconds[s - 1] as Second).rate = learnt.ratePerSecond
    })
  agenda.run(options.seconds * 1000)
  return { seconds, learnt, writes }
}

/** What is to be done, in order of time: a binary heap. */
class Agenda {
  readonly #heap: { at: number; run: () => void }[] = []

  add(at: number, run: () => void): void {
    const heap = this.#heap
    let i = heap.push({ at, run }) - 1
    while (i > 0) {
      const parent = (i - 1) >> 1
      if ((heap[parent] as { at: number }).at <= at) break
      ;[heap[i], heap[parent]] = [heap[parent] as never, heap[i] as never]
      i = parent
    }
  }

  run(until: number): void {
    for (let next = this.#shift(until); next !== undefined; next = this.#shift(until)) next()
  }

  #shift(until: number): (() => void) | undefined {
    const heap = this.#heap
    const first = heap[0]
    if (first === undefined || first.at > until) return undefined
    const last = heap.pop() as { at: number; run: () => void }
    if (heap.length > 0) {
      heap[0] = last
      for (let i = 0; ; ) {
        let least = i
        for (const child of [2 * i + 1, 2 * i + 2])
          if ((heap[child]?.at ?? Number.POSITIVE_INFINITY) < (heap[least] as { at: number }).at)
            least = child
        if (least === i) break
        ;[heap[i], heap[least]] = [heap[least] as never, heap[i] as never]
        i = least
      }
    }
    return first.run
  }
}
