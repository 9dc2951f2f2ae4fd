import type { TimeLeft } from '../../sync/health/time-left.ts'
import { UNFINISHED } from '../../sync/outbox/outcome.ts'
import { MIRRORS } from '../../sync/runs/mirror-kind.ts'
import { actorText } from '../../texts/actor.ts'
import { byCount } from '../../texts/figures.ts'
import { textOr } from '../../texts/texts.ts'
import type { Ask } from '../ask.ts'
import type { Words } from '../shown.ts'
import { duration, figure } from '../ui/parts.ts'
import { runStatus } from '../ui/states.ts'
import { type ListedRun, type RunStanding, sumOf } from './list.ts'

/* Texts about runs in the viewer's language, for all screens. */

export function kindName({ language }: Pick<Ask, 'language'>, kind: string): string {
  return textOr(language, `run_kind.${kind}`, kind)
}

/** The state of a run. A run in which something failed is never shown as plain `done`. */
export function runStateWords(ask: Ask, run: RunStanding): Words {
  if (run.state === 'running' && run.cancelled_at)
    return { tone: 'busy', text: ask.t('runs.being_cancelled') }
  if (run.state === 'done' && run.cases > 0)
    return { tone: 'warn', text: ask.t('runs.done_with_cases', { count: run.cases }) }
  return runStatus(run.state)
}

/** Whether the run was held at some time, or had a plan like that of a held one. */
export function wasHeld({ state, approved }: { state: string; approved: boolean }): boolean {
  return approved || ['held', 'rejected', 'superseded'].includes(state)
}

/** Whether the latest decision about the run was to cancel it. */
export function isCancelling({
  cancelled_at,
  decided_at,
}: Record<'cancelled_at' | 'decided_at', Date | null>): boolean {
  return cancelled_at !== null && cancelled_at.getTime() === decided_at?.getTime()
}

/** Who asked: dirsync's own reasons in words, people by name. */
export function whoText(ask: Ask, by: string): string {
  const requester = by.endsWith(' (restore)') ? 'restore' : by
  return textOr(ask.language, `runs.by.${requester}`, actorText(ask, by))
}

/** Outcomes in words, the most frequent first: `12 updated, 3 put up for review`. */
export function outcomesText(ask: Ask, counts: Record<string, number>): string {
  return byCount(counts)
    .filter(([, n]) => n > 0)
    .map(([name, n]) =>
      ask.t('runs.counted', { n: figure(ask, n), what: textOr(ask.language, `outcome.${name}`, name) }),
    )
    .join(ask.t('common.comma'))
}

/**
 * What came of the work of a run that has ended: the run tries nothing of it again. What was to be is not finished. What is
 * halted still waits, outside the run, and is sent once the halt ends.
 * @param rows how much work there was, at least or at most, and whether what was halted is over, too
 */
export function endedOutcomes(
  outcomes: Record<string, number>,
  rows: { least?: number; most?: number; isOver: boolean },
): Record<string, number> {
  const { least = 0, most = Number.POSITIVE_INFINITY, isOver } = rows
  const unfinished = UNFINISHED.filter(name => isOver || name !== 'halted')
  const settled = { ...outcomes }
  for (const name of unfinished) delete settled[name]
  const done = sumOf(settled)
  return { ...settled, not_finished: Math.min(Math.max(sumOf(outcomes), least) - done, most - done) }
}

type Ended = Pick<
  ListedRun,
  'kind' | 'state' | 'finished_at' | 'planned' | 'undecided' | 'rejected' | 'outcomes'
>

/** The outcomes of a run, as they are shown. */
export function outcomesOf(run: Ended): Record<string, number> {
  const { kind, state, finished_at, planned, undecided, rejected, outcomes } = run
  if (finished_at === null || MIRRORS.some(mirror => mirror === kind)) return outcomes
  // What one part has not finished was decided again.
  if (undecided !== null)
    return endedOutcomes(outcomes, { most: (planned ?? 0) - undecided - rejected, isOver: true })
  const isOver = state === 'cancelled'
  // What was taken back before its first attempt has no outcome, nor has what was named, but taken over by a later run.
  const isEach = isOver || kind === 'employees' || kind === 'retry'
  return endedOutcomes(outcomes, { least: isEach ? (planned ?? 0) : 0, isOver })
}

/** What came of a run that was decided in parts: `51 updated, 9 rejected`. */
export function partsText(ask: Ask, run: Ended): string {
  const { rejected } = run
  const refused = { n: figure(ask, rejected), what: ask.t('plan.decision.rejected') }
  return [outcomesText(ask, outcomesOf(run)), rejected > 0 ? ask.t('runs.counted', refused) : '']
    .filter(Boolean)
    .join(ask.t('common.comma'))
}

/** How long a run will still take, or why that is unknown. */
export function timeLeftText(ask: Pick<Ask, 'language' | 't'>, left: TimeLeft | null): string {
  if (left === null) return ''
  const { state, seconds, paused_ms, later } = left
  const ms = paused_ms ?? Math.max(1, Math.ceil(seconds ?? 0)) * 1000
  return ask.t(`time_left.${state}`, { time: duration(ask, ms), count: later })
}

/** How long a run took, or has taken so far. */
export function tookMs(run: { started_at: Date | null; finished_at: Date | null }, now: Date): number | null {
  return run.started_at && (run.finished_at ?? now).getTime() - run.started_at.getTime()
}
