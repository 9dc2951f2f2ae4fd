import type { LearntRate } from '../core/rate-learning.ts'

/** Slots of a gate that a process wants. */
export interface LeaseRequest {
  gate: string
  /** The process that asks. */
  holder: string
  /** Slots to reserve; 0 only asks how things stand. */
  count: number
  /** Distance between two slots in milliseconds, longer where a lower rate was learnt; null: by the learnt rate. */
  spacingMs: number | null
  /** Name under which the gate's rate is learnt, as {@link learntName} makes it; by default the gate's own. */
  learntAs?: string
  /** A second gate that must have a slot at the same moment; `count` is then 1. */
  budget?: { gate: string; spacingMs: number }
}

/** Slots that were reserved, evenly spaced from `startMs` on, and how the gate stands. Times are the store's milliseconds since 1970. */
export interface PacerLease {
  /** The first slot; where the budget had none, the moment from which it has one. */
  startMs: number
  /** Slots that were reserved: as many as were asked for, or none. */
  count: number
  nowMs: number
  pausedUntilMs: number | null
  /** Whether another process reserved before this one. */
  shared: boolean
  /** Distance of the slots; 0 when it was to be learnt and nothing is known yet: then none are reserved. */
  spacingMs: number
  /** Slots ever reserved, these included. */
  leased: number
  learnt: LearntRate | null
  /** Version of what was learnt; 0 when nothing was. */
  version: number
}

/** Each rate that was set is learnt for itself: a changed setting begins anew. */
export function learntName(gate: string, setRate: number | 'auto'): string {
  return setRate === 'auto' ? gate : `${gate}@${setRate}`
}

/**
 * Where all processes of a deployment meet: one record per gate, whose next free slot they move. Slots are never in the
 * past and never within a pause. Every method but `watch` rejects when the store does not answer.
 */
export interface PacerStore {
  /** Reserves the next free slots, in one step whoever else asks. */
  lease(request: LeaseRequest): Promise<PacerLease>
  /** Reserves nothing within `ms` milliseconds from now. Never shortens a pause. */
  pause(gate: string, ms: number, reason: string): Promise<void>
  /** Replaces what was learnt under a name; false when somebody else was faster, that is when the version is another one. */
  learn(name: string, expectedVersion: number, learnt: LearntRate): Promise<boolean>
  /** Tells of every pause as soon as any process begins it, this one included, and after a gap of those that last. Once. */
  watch(onPause: (gate: string, ms: number) => void): void
  close(): Promise<void>
}
