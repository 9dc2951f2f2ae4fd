import { setTimeout as delay } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import { EMPLOYEE_STATUSES_AFTER_SYNC, type SyncSummary, syncSummary } from '../console/overview/read.ts'
import type { Pool } from '../lib/database.ts'
import { requestDueRetries } from '../sync/cases/retries.ts'
import { unaskedEnterprises } from '../sync/outbox/employee.ts'
import { type Halt, readHalts } from '../sync/outbox/halts.ts'
import {
  heldRuns,
  isUnderWay,
  type RunKind,
  type RunState,
  requestRun,
  unfinishedRun,
} from '../sync/runs/run.ts'
import { requestReplan } from '../sync/runs/run-requests.ts'
import { sourcesFor } from '../sync/runs/sources.ts'
import { haltedText } from '../texts/failures.ts'
import { byCount } from '../texts/figures.ts'
import { inWords, message, type Said } from '../texts/message.ts'
import { textOr } from '../texts/texts.ts'
import { named, said, say, shellLanguage } from './language.ts'
import {
  colours,
  figure,
  pad,
  print,
  printArrow,
  printJson,
  printText,
  printZone,
  shortTime,
  terminalWidth,
  widthOf,
  words,
} from './output.ts'
import { followRun } from './progress.ts'

/** How often to check whether HR may be read again, for rows that changed after they were planned. */
const EARLY_MS = 100

/** The outcome of a sync of everything. */
interface SyncResult {
  ok: boolean
  /** Numbers of the runs by kind; `replan` and `retry` are the follow-up runs. */
  runs: Record<string, number[]>
  summary: SyncSummary
  halts: Halt[]
  /** Why a run did not finish, or its message, by run number; without one, why the sync is not done though all are. */
  messages: { run?: number; state?: RunState; source: string; message: Said; remedy?: Said | undefined }[]
  seconds: number
}

/**
 * Syncs what the kinds say, one after the other, then whatever HR changed or became due meanwhile, with a progress bar.
 * @returns null if it was told to stop meanwhile, or had nothing to sync
 */
export async function firstSync(options: {
  pool: Pool
  kinds: readonly RunKind[]
  /** Whether cases that are due are retried. */
  retries: boolean
  stopped: Promise<void>
  accountTried: Promise<void>
  quiet: boolean
}): Promise<SyncResult | null> {
  const { pool, quiet, stopped, accountTried } = options
  const began = performance.now()
  const since = new Date()
  let isStopped = false
  void stopped.then(() => {
    isStopped = true
  })
  /** Everything is halted or paused: requested runs wait, so there is nothing to follow. */
  let isHalted = false
  const runs: Record<string, number[]> = {}
  const messages: SyncResult['messages'] = []
  const follow = async (kind: string, id: number, source = '') => {
    runs[kind] = [...(runs[kind] ?? []), id]
    const label = [named('run_kind', kind), source].filter(Boolean).join(' ')
    const end = await followRun({ pool, id, label, quiet, stopped, accountTried })
    if (!end) return false
    const message = end.message ?? (end.state === 'done' ? null : inWords(end.state))
    // A halt of everything is reported once, with the first run that it stopped; a fault of a source once per source.
    if (
      message !== null &&
      !messages.some(told => isDeepStrictEqual(told.message, message) && told.source === source)
    )
      messages.push({ run: id, state: end.state, source, message, remedy: end.remedy })
    isHalted ||= isUnderWay(end.state)
    return end.state === 'done'
  }

  let ok = true
  for (const kind of options.kinds) {
    if (isStopped) return null
    const requested: { id: number; source: string }[] = []
    for (const { name: source } of await sourcesFor(pool, kind)) {
      // Work that is under way keeps its run: a restored database has just requested one.
      const earlier = kind === 'full' ? await unfinishedRun(pool, kind, source, { parts: true }) : null
      if (earlier && earlier.state !== 'held') requested.push({ id: earlier.id, source })
      requested.push({ id: await requestRun(pool, kind, [], 'start', source), source })
    }
    // If one source cannot be synced, the others still are.
    for (const { id, source } of requested) ok = (await follow(kind, id, source)) && ok
  }
  for (;;) {
    const run = await replanUnderWay(pool)
    if (run === null || isStopped || isHalted) break
    if (run === 'early') await delay(EARLY_MS)
    else ok = (await follow('replan', run)) && ok
  }
  while (options.retries) {
    const run = await requestDueRetries(pool)
    if (run === null || isStopped || isHalted) break
    await follow('retry', run)
  }
  if (isStopped || Object.keys(runs).length === 0) return null
  // One that is decided in parts is passed by: no run of this sync has ended as held because of it.
  const held = await heldRuns(pool)
  for (const { id: run, state, source, message } of held)
    if (!messages.some(told => told.run === run))
      messages.push({ run, state, source, message: message ?? inWords(state) })
  const unasked = await unaskedEnterprises(pool)
  const halts = await readHalts(pool)
  if (unasked.some(code => !halts.some(({ scope }) => scope === '*' || scope === code)))
    messages.push({
      source: '',
      message: message('said.unasked_after_halt'),
      remedy: message('said.unasked_after_halt_remedy'),
    })
  return {
    ok:
      ok &&
      held.length === 0 &&
      // Runs still end, but leave undone what needs a source of HR that does not answer, or a halted enterprise.
      halts.every(({ category }) => category !== 'hr_unavailable') &&
      unasked.length === 0,
    runs,
    summary: await syncSummary(pool, Math.min(...Object.values(runs).flat()), since),
    halts,
    messages,
    seconds: Math.round((performance.now() - began) / 100) / 10,
  }
}

/** A run that plans or sends what HR has changed since the last plan; null if there is none, or only held ones. */
async function replanUnderWay(pool: Pool): Promise<number | 'early' | null> {
  let under: number | 'early' | null = null
  for (const source of await sourcesFor(pool, 'changes')) {
    const requested = await requestReplan(pool, source)
    const changes = requested ?? (await unfinishedRun(pool, 'changes', source.name, { parts: true }))
    if (typeof changes === 'number') return changes
    if (changes === 'early') under = changes
    else if (changes && changes.state !== 'held') return changes.id
  }
  return under
}

/** Prints the outcome of a sync: one JSON document for programs, a few aligned lines for people. */
export function printSummary(
  sync: SyncResult,
  options: { json: boolean; program: string; psql: boolean },
): void {
  const { ok, runs, summary, halts, seconds } = sync
  if (options.json) {
    const messages = sync.messages.map(({ run, source, message, remedy }) => ({
      ...(run !== undefined && { run }),
      ...(source && { source }),
      message,
      ...(remedy && { remedy }),
    }))
    printJson({ ok, runs, ...summary, halts, messages, seconds })
    return
  }
  const headline = ok ? colours.green(say('shell.sync_done')) : colours.red(say('shell.sync_not_done'))
  print('', say('shell.after_seconds', { headline: colours.bold(headline), seconds: String(seconds) }))
  printMessages(sync.messages, options.program)
  printEmployees(summary.employees, ok)
  printDeadLetters(summary.dead_letters)
  printMoney(summary.outcome_unknown)
  printRest(summary)
  for (const halt of halts)
    if (!sync.messages.some(({ message }) => isDeepStrictEqual(message, halt.message))) printHalt(halt)
  printHints(summary, options)
  printZone()
}

/** @param isWhole the sync reached its end; else it may not have compared everyone */
function printEmployees({ in_scope, ...statuses }: SyncSummary['employees'], isWhole: boolean): void {
  heading(say('shell.heading.employees'), in_scope, say('shell.in_scope'))
  for (const name of EMPLOYEE_STATUSES_AFTER_SYNC)
    if (statuses[name] > 0)
      line(
        words(named('status', name)),
        statuses[name],
        say(name === 'in_sync' && !isWhole ? 'shell.last_confirmed' : `shell.after_sync.${name}`),
      )
}

function printDeadLetters(categories: SyncSummary['dead_letters']): void {
  const entries = Object.entries(categories).sort(([a, m], [b, n]) => n - m || a.localeCompare(b))
  const total = entries.reduce((sum, [, count]) => sum + count, 0)
  heading(
    say('shell.heading.dead_letters'),
    total,
    say(total === 0 ? 'shell.nothing_to_review' : 'shell.by_category'),
  )
  for (const [category, count] of entries) line(named('category', category), count, '')
}

function printMoney({ refunds, topups, for_person }: SyncSummary['outcome_unknown']): void {
  if (refunds + topups === 0) return
  const waiting = for_person > 0 ? say('shell.for_a_person', { count: for_person }) : ''
  const parts = [
    refunds > 0 && say('shell.refunds', { count: refunds }),
    topups > 0 && say('shell.topups', { count: topups }),
  ]
  heading(
    say('shell.heading.outcome_unknown'),
    refunds + topups,
    parts.filter(Boolean).join(say('shell.comma')) + waiting,
  )
}

function printRest({ departments, openids, platform_calls }: SyncSummary): void {
  const gone = departments.already_gone
  heading(
    say('shell.heading.departments'),
    departments.deleted + gone,
    gone > 0 ? say('shell.deleted_already', { count: String(gone) }) : say('shell.deleted'),
  )
  heading(say('shell.heading.openids'), openids.bound, say('shell.bound'))
  const calls = byCount(platform_calls)
  const total = calls.reduce((sum, [, count]) => sum + count, 0)
  heading(say('shell.heading.calls'), total, say(total === 0 ? 'shell.to_platform' : 'shell.to_platform_by'))
  for (const [operation, count] of calls) line(named('call', operation), count, '')
}

function printHalt({ scope, category, platform_code, message, remedy, since }: Halt): void {
  const what = haltedText(shellLanguage(), scope)
  const cause = textOr(shellLanguage(), `category.${category}`, words(category))
  print('')
  // A person's pause says by itself what it is.
  if (category !== 'paused')
    print(colours.red(say('shell.halted_since', { what, time: shortTime(since), category: cause })))
  printText(platform_code === null ? said(message) : `${said(message)} (${platform_code})`)
  printArrow(said(remedy))
}

function printMessages(messages: SyncResult['messages'], program: string): void {
  for (const { run, state, source, message, remedy } of messages) {
    print('')
    if (run !== undefined && state) {
      const shown = say('shell.run_state_is', { run: String(run), state: words(named('run_state', state)) })
      print(colours.yellow(source ? `${say('shell.hr_source', { source })} · ${shown}` : shown))
    }
    printText(said(message))
    if (remedy) printArrow(said(remedy))
    if (state === 'held')
      printArrow(say('shell.decide_hint', { plan: `${program} plan ${run}`, run: String(run) }))
  }
}

function printHints(
  { dead_letters, outcome_unknown }: SyncSummary,
  { program, psql }: { program: string; psql: boolean },
): void {
  const hints = [
    ['employee ID', say('shell.hint.employee')],
    ['status', say('shell.hint.status')],
  ]
  if (outcome_unknown.topups > 0) hints.unshift(['topup list --state unknown', ''])
  if (outcome_unknown.refunds > 0) hints.unshift(['refund list --state unknown', ''])
  if (Object.keys(dead_letters).length > 0)
    hints.unshift(
      ['dead-letters list', say('shell.hint.list')],
      ['dead-letters show ID', say('shell.hint.show')],
    )
  const commands = hints.map(([command, does = '']) => [`${program} ${command}`, does])
  if (psql) commands.push([`psql "$DATABASE_URL" -c "table dirsync.${say('shell.table')}"`, ''])
  const width = Math.max(...commands.filter(([, does]) => does).map(([command = '']) => command.length))
  print('', colours.bold(say('shell.hints')))
  for (const [command = '', does = ''] of commands)
    print(`  ${does ? `${pad(command, width)}   ${colours.dim(does)}` : command}`)
}

/** Widths of the first two columns of the summary. */
const NAME = 26
const COUNT = 7

function heading(name: string, count: number, note: string): void {
  const amount = pad(figure(count), COUNT, 'right')
  print('', `${colours.bold(pad(name, NAME))}${amount}  ${colours.dim(note)}`.trimEnd())
}

function line(name: string, count: number, note: string): void {
  const room = terminalWidth() - NAME - COUNT - 2
  const label = pad(`  ${name}`, NAME)
  const amount = pad(figure(count), NAME + COUNT - widthOf(label), 'right')
  print(`${label}${amount}  ${note.length > room ? '' : colours.dim(note)}`.trimEnd())
}
