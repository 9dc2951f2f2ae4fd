import pc from 'picocolors'

/** Colours of standard output: on a terminal only, and never where NO_COLOR is set. */
export const colours = pc.createColors(pc.isColorSupported && process.stdout.isTTY === true)

/** The colour of a state of a run or a dead letter, by what it asks of a person. */
export function coloured(state: string): string {
  if (/^(done|in_step|resolved|ok|updated|bound|deleted)$/.test(state)) return colours.green(state)
  if (/^(failed|source_suspect|FAIL|open|parked|halted)$/.test(state)) return colours.red(state)
  if (/^(held|warn|snoozed|blocked|awaiting_activation|retry_scheduled|partly_updated)$/.test(state))
    return colours.yellow(state)
  return state
}

/** As {@link coloured}, for a table's cell that is filled up with blanks. */
export function paintState(cell: string): string {
  const state = cell.trimEnd()
  return coloured(state) + cell.slice(state.length)
}
