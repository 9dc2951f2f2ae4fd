import type { PlanSummary } from '../store/run.ts'
import type { RunStory } from '../store/run-story.ts'
import { coloured, paintState } from './colours.ts'
import { entityName } from './entity-name.ts'
import { print, printFacts, printTitle, words } from './output.ts'
import { table } from './table.ts'
import { duration, longTime } from './time.ts'
import { timeLeftText } from './time-left-text.ts'

/** Counts by name as a text: `3 updated, 1 parked`. */
export function tally(counts: Readonly<Record<string, number>> | undefined): string {
  return Object.entries(counts ?? {})
    .filter(([, count]) => count > 0)
    .sort(([, a], [, b]) => b - a)
    .map(([name, count]) => `${count.toLocaleString('en')} ${words(name)}`)
    .join(', ')
}

/** Who was left out by `--max-age`, as a text; null where that was not asked for. */
export function skippedText(plan: PlanSummary | null | undefined): string | null {
  return plan?.skipped === undefined ? null : `${plan.skipped.toLocaleString('en')} confirmed recently enough`
}

/** What a run came to, for whoever waited for it. */
export function printRunEnd(run: RunStory, program: string): void {
  print(`Run ${run.id} (${run.kind}): ${coloured(run.state)}`)
  printFacts([
    ['message', run.message],
    ['planned', run.planned === null ? null : tally(run.plan?.reasons) || 'nothing to do'],
    ['skipped', skippedText(run.plan)],
    ['outcome', tally(run.result?.outcomes)],
    ['rows', tally(run.result?.rows)],
    ['calls', tally(run.result?.calls)],
    ['took', tookOf(run)],
  ])
  printCases(run, program)
  if (run.state === 'held') printDecision(run.id, program)
}

/** The whole story of a run. */
export function printRunStory(run: RunStory, program: string): void {
  print(`Run ${run.id}: ${run.kind}, ${coloured(run.state)}`)
  printFacts([
    ['message', run.message],
    ['employees', run.keys.length > 0 && run.kind !== 'retry' ? run.keys.join(', ') : null],
    ['cases', run.keys.length > 0 && run.kind === 'retry' ? run.keys.slice(0, 50).join(', ') : null],
    ['max age', run.max_age_s && duration(run.max_age_s * 1000)],
    ['requested', `${longTime(run.requested_at)} by ${run.requested_by}`],
    ['planned', longTime(run.planned_at)],
    [
      run.cancelled_at ? 'cancelled' : 'decided',
      run.decided_at &&
        `${longTime(run.decided_at)} by ${run.decided_by}${run.cancelled_at && !run.finished_at ? '; what is in hand ends' : ''}`,
    ],
    ['reason', run.decision_reason],
    ['judged again', run.judged_at && longTime(run.judged_at)],
    ['finished', longTime(run.finished_at)],
    ['took', tookOf(run)],
    [
      'read',
      run.kind === 'changes' && run.planned_at
        ? run.sweep
          ? 'every HR row'
          : run.keys.length > 0
            ? "the rows that HR's trigger named"
            : 'rows newer than before'
        : null,
    ],
    ['in scope', run.in_scope],
    ['plan', run.plan && (tally(run.plan.reasons) || 'nothing to do')],
    ['skipped', skippedText(run.plan)],
    ['sample', run.plan?.sample.join(', ')],
    ['left', run.left > 0 ? `${run.left.toLocaleString('en')} still to be done` : null],
    ['time left', run.time_left && timeLeftText(run.time_left)],
    ['outcome', tally(run.result?.outcomes)],
    ['rows', tally(run.result?.rows)],
  ])
  printCalls(run)
  printCases(run, program)
  if (run.state === 'held') printDecision(run.id, program)
}

function printCalls({ result }: RunStory): void {
  const calls = Object.entries(result?.calls ?? {}).sort(([, a], [, b]) => b - a)
  if (calls.length === 0) return
  printTitle('Calls')
  process.stdout.write(
    table(
      [
        { title: 'OPERATION', of: ([operation]) => operation },
        { title: 'CALLS', of: ([, count]) => count.toLocaleString('en'), align: 'right' },
        {
          title: 'MEAN WAIT',
          of: ([operation, count]) => {
            const waitedMs = result?.waitedMs?.[operation]
            return waitedMs === undefined ? null : duration(waitedMs / count)
          },
          align: 'right',
        },
        {
          title: 'REJECTED',
          of: ([operation]) => (result?.tooFast?.[operation] ?? 0).toLocaleString('en'),
          align: 'right',
        },
      ],
      calls,
    ),
  )
}

function tookOf({ started_at, finished_at }: RunStory): string | null {
  return started_at && finished_at ? duration(finished_at.getTime() - started_at.getTime()) : null
}

/** How to decide about a held run. */
export function printDecision(run: number, program: string): void {
  printTitle('Decide')
  print(`  ${program} plan ${run}`, `  ${program} approve ${run}`, `  ${program} reject ${run} --reason "…"`)
}

function printCases(run: RunStory, program: string): void {
  if (run.dead_letters.length === 0) return
  printTitle(`Dead letters: ${run.dead_letters_total}`)
  process.stdout.write(
    table(
      [
        { title: 'ID', of: row => row.id, align: 'right' },
        { title: 'ENTITY', of: row => entityName(row) },
        { title: 'FIELD', of: row => row.field, gives: true },
        { title: 'CATEGORY', of: row => row.category },
        { title: 'STATE', of: row => row.state, paint: paintState, gives: true },
      ],
      run.dead_letters,
    ),
  )
  if (run.dead_letters_total > run.dead_letters.length)
    print(`  … and ${run.dead_letters_total - run.dead_letters.length} more`)
  print(`  Look closer: ${program} dead-letters show ${run.dead_letters[0]?.id}`)
}
