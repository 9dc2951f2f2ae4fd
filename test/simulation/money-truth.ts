/**
 * What must hold of money at any moment, by what the journal says and the platform has seen. The simulation judges its model
 * by it, and `test/chaos` the real processes.
 */
export interface Money {
  /** What people call one of these. */
  noun: string
  /** How often each number was sent, but for calls after which it was free again. */
  sent: ReadonlyMap<string, number>
  carriedOut: ReadonlySet<string>
  /** Accepted by the platform, and not completed. */
  failed?: ReadonlySet<string>
  /** May be carried out yet. */
  onItsWay?: ReadonlySet<string>
  /** States of the journal. */
  recorded: ReadonlyMap<string, string>
}

/** @returns the breaches, a sentence each */
export function breachesOfMoney({ noun, sent, carriedOut, failed, onItsWay, recorded }: Money): string[] {
  const wrong: string[] = []
  for (const [number, count] of sent) {
    if (count > 1) wrong.push(`money: ${noun} ${number} was sent ${count} times`)
    if (!recorded.has(number)) wrong.push(`money: ${noun} ${number} was sent and is not written down`)
  }
  for (const [number, state] of recorded) {
    if (state === 'rejected' && carriedOut.has(number))
      wrong.push(`money: ${noun} ${number} was carried out and is called rejected`)
    if (state === 'rejected' && onItsWay?.has(number))
      wrong.push(`money: ${noun} ${number} is on its way and is called rejected`)
    if (
      /accepted|notified/.test(state) &&
      !carriedOut.has(number) &&
      !(state === 'accepted' && failed?.has(number))
    )
      wrong.push(`money: ${noun} ${number} was not carried out and is called ${state}`)
  }
  return wrong
}

/** How often each number occurs. */
export function countOf(numbers: Iterable<string>): Map<string, number> {
  const counts = new Map<string, number>()
  for (const number of numbers) counts.set(number, (counts.get(number) ?? 0) + 1)
  return counts
}
