import type { Panel } from './plot.ts'
import { type Arrival, perSecond } from './recording.ts'

/**
 * Accepted and rejected calls per second, with the permitted rate.
 * @param permitted calls per second from a second on, in order
 */
export function ratePanel(
  title: string,
  calls: readonly Arrival[],
  seconds: number,
  permitted: readonly { from: number; rate: number }[],
): Panel {
  const counts = perSecond(calls, calls[0]?.arrivedAt ?? 0, seconds)
  const points = (values: readonly number[]) => values.map((value, second) => [second, value] as const)
  const bound = permitted.flatMap(({ from, rate }, i) => {
    const to = permitted[i + 1]?.from ?? seconds - 1
    return [[from, rate] as const, [to, rate] as const]
  })
  return {
    title,
    series: [
      { name: 'permitted', points: bound, look: 'bound' },
      { name: 'accepted', points: points(counts.accepted), look: 'good' },
      { name: 'rejected', points: points(counts.rejected), look: 'bad' },
    ],
  }
}
