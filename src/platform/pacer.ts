import { SlotPacer } from '../pacing/slot-pacer.ts'
import { MemorySlots } from '../pacing/slots.ts'
import { OPERATION_BUDGETS } from './operations/index.ts'

/** A pacer for one process alone. */
export class LocalPacer extends SlotPacer {
  /**
   * @param ratePerSecond permitted calls per second
   * @param budgets permitted calls per second of single operations; default: those of section 8
   */
  constructor(ratePerSecond: number, budgets: ReadonlyMap<string, number> = OPERATION_BUDGETS) {
    super({ slots: new MemorySlots(), rate: ratePerSecond, budgets })
  }
}
