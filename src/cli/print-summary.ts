import type { SyncResult } from './first-sync.ts'

/** Prints what a sync came to: one JSON document for machines, a few aligned lines for a person. */
export function printSummary(sync: SyncResult, json: boolean): void {
  if (json) {
    process.stdout.write(
      `${JSON.stringify({ ok: sync.ok, runs: sync.runs, ...sync.summary, halts: sync.halts, messages: sync.messages, seconds: sync.seconds })}\n`,
    )
    return
  }
  process.stdout.write(`${JSON.stringify(sync, null, 2)}\n`)
}
