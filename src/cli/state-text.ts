import { meaningOf, type States } from '../platform/states.ts'

/** A code with its meaning, such as `3 payment completed`; alone where the specification does not know it. */
export function stateText(states: States, value: number | string | null): string | null {
  if (value === null) return null
  const meaning = meaningOf(states, value)
  return meaning === undefined ? String(value) : `${value} ${meaning}`
}
