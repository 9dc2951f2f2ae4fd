import type { RefundState } from '../store/refund.ts'
import type { TopUpState } from '../store/topup.ts'
import { colours } from './colours.ts'

/** What the states of a top-up application say about money. */
const TOP_UP_MEANINGS: Record<TopUpState, string> = {
  requested: 'being sent',
  unknown: 'sent, and perhaps carried out',
  accepted: 'carried out',
  rejected: 'not carried out',
}

const REFUND_MEANINGS: Record<RefundState, string> = {
  ...TOP_UP_MEANINGS,
  notified: 'carried out, and notified by the platform',
}

export const TOP_UP_STATES = Object.keys(TOP_UP_MEANINGS) as TopUpState[]
export const REFUND_STATES = Object.keys(REFUND_MEANINGS) as RefundState[]

/** A state with its meaning. */
export function sentStateText(state: RefundState): string {
  return `${state}: ${REFUND_MEANINGS[state]}`
}

/** The colour of a state in a table's cell, by what it asks of a person. */
export function paintSentState(cell: string): string {
  const state = cell.trimEnd()
  const colour = { unknown: 'red', rejected: 'yellow', accepted: 'green', notified: 'green' } as const
  if (!Object.hasOwn(colour, state)) return cell
  return colours[colour[state as keyof typeof colour]](state) + cell.slice(state.length)
}
