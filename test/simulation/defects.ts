import { registerHooks } from 'node:module'
import type pg from 'pg'

/** In the order in which a seed plays them. */
export const SCENARIOS = ['employees', 'money', 'mirrors', 'restores'] as const
export type ScenarioName = (typeof SCENARIOS)[number]

/**
 * Defects to put back, one at a time: what the engine once did wrong, or would do wrong without one of its safeguards. Each
 * must be found by the simulation; that is the simulation's own test.
 */
export interface Defect {
  name: string
  /** What it is that the engine does wrong then. */
  what: string
  /** The scenario that finds it; default: that of employees. */
  of?: ScenarioName
  /** A text of a file of `src/`, or of a function of schema `dirsync`, and what stands there instead. */
  file?: string
  function?: string
  from: string
  to: string
}

export const DEFECTS: readonly Defect[] = [
  {
    name: 'cancel-forgets-unknown',
    what: 'Cancelling a run forgets that an update may have had its effect although no answer came.',
    function: 'take_back',
    from: 't.sent_unknown',
    to: 'false',
  },
  {
    name: 'swap-is-named',
    what: 'Retrying one case sends the rest of its swap past every plan.',
    file: 'sync/cases/retries.ts',
    from: 'bool_or(id in (select id from listed)) as named',
    to: 'true as named',
  },
  {
    name: 'retrying-for-ever',
    what: 'A case whose work was taken back is retried for ever.',
    function: 'end_lost_retries',
    from: "where d.state = 'retrying'",
    to: "where d.state = 'retrying' and false",
  },
  {
    name: 'no-lock',
    what: 'Two processes work on one employee at once.',
    file: 'lib/session-locks.ts',
    from: 'rows[i]?.locked ? connection : null',
    to: 'connection',
  },
  {
    name: 'lost-lock-unnoticed',
    what: 'A process that has lost its locks goes on.',
    file: 'lib/session-locks.ts',
    from: 'for (const held of locks) held.abort(lostReason())',
    to: '',
  },
  {
    name: 'no-fence',
    what: 'The outcome of an execution that was overtaken counts.',
    file: 'sync/settle/settlement.ts',
    from: 'where p.execution = s.execution',
    to: 'where true',
  },
  {
    name: 'request-lost',
    what: 'What is requested while an older request is carried out is forgotten with that one.',
    file: 'sync/settle/settlement.ts',
    from: 's.done and p.version = s.version and ',
    to: 's.done and ',
  },
  {
    name: 'sends-any-row',
    what: 'A worker sends whatever HR has when it runs.',
    file: 'sync/work/job-processor.ts',
    from: 'if (claimed.named || hash === claimed.sourceHash) return true',
    to: 'if (true) return true',
  },
  {
    name: 'unknown-forgotten',
    what: 'An execution that dies leaves no trace of what it may have sent.',
    file: 'sync/outbox/claim.ts',
    from: 'sent_unknown = p.sent_unknown or p.starts > 0',
    to: 'sent_unknown = false',
  },
  {
    name: 'lost-jobs',
    what: 'Jobs that the queue has lost are never fed again.',
    file: 'sync/outbox/feeder.ts',
    from: 'if (missing > 0 && this.#missing > 0) {',
    to: 'if (missing > 1e9) {',
  },
  {
    name: 'orphaned-run',
    what: 'A run whose planner died is never planned.',
    file: 'sync/runs/run.ts',
    from: "where state = 'planning' and finished_at is null and hr_source = $1",
    to: 'where false and hr_source = $1',
  },
  {
    name: 'cancelled-is-planned',
    what: 'A run that is cancelled while it is planned is carried out.',
    file: 'sync/runs/run.ts',
    from: 'if (rowCount === 0) throw new RunTakenBack(id)\n}\n\n/** The stored plan of',
    to: '}\n\n/** The stored plan of',
  },
  {
    name: 'approves-what-hr-has-now',
    what: 'A plan replaces the row of an employee who waits for a decision.',
    file: 'sync/plan/plan-tables.ts',
    from: "'(u.run is not null or coalesce(e.rejected and s.hash is not distinct from e.held_hash, false))'",
    to: "'false'",
  },
  {
    name: 'settled-without-others',
    what: 'Two outcomes that release each other are written at the same moment.',
    file: 'sync/settle/settlement.ts',
    from: "if (settlements.some(concernsOthers)) await lockTransaction(client, 'settlement')",
    to: '',
  },
  {
    name: 'clock-put-back',
    what: 'Work waits for as long as the clock was put back.',
    file: 'sync/outbox/feeding.ts',
    from: 'where p.ctid = any (array(\n       select q.ctid from generate_series',
    to: 'where false and p.ctid = any (array(\n       select q.ctid from generate_series',
  },
  {
    name: 'sent-before-written',
    what: 'A refund or top-up is written down after its call.',
    of: 'money',
    file: 'money/send.ts',
    from: 'if (!(await begin())) return null',
    to: '',
  },
  {
    name: 'number-again',
    what: 'A top-up whose number was used is sent again.',
    of: 'money',
    file: 'money/top-up.ts',
    from: 'return rowCount === 1',
    to: 'return true',
  },
  {
    name: 'account-at-once',
    what: 'Two top-ups of an account that begin at the same moment overlook each other.',
    of: 'money',
    file: 'money/top-up.ts',
    from: 'await lockTransaction(db, {',
    to: '({',
  },
  {
    name: 'unknown-is-failed',
    what: 'A call without an answer counts as not sent.',
    of: 'money',
    file: 'money/send.ts',
    from: 'if (!error.outcomeKnown) {',
    to: 'if (false) {',
  },
  {
    name: 'any-notification',
    what: 'A notification of another amount counts.',
    of: 'money',
    file: 'money/refund.ts',
    from: "if (!isSame) return refused(db, outer_refund_no, 'mismatch')",
    to: '',
  },
  {
    name: 'overtaken-settler',
    what: 'What a settler found counts although the outcome has become known meanwhile.',
    of: 'money',
    file: 'money/refund.ts',
    from: "where outer_refund_no = $1 and state = 'unknown'",
    to: 'where outer_refund_no = $1',
  },
  {
    name: 'rejected-too-soon',
    what: 'A refund that its order record does not show yet counts as not carried out.',
    of: 'money',
    file: 'platform/refund-settlement.ts',
    from: 'if (!wouldShow(refund)) return unknown(false)',
    to: '',
  },
  {
    name: 'rejected-untraced',
    what: 'A refund that its order record does not show after a day counts as not carried out though no payment order is known.',
    of: 'money',
    file: 'platform/refund-settlement.ts',
    from: 'if (!areAllOf(orders, paid)) return unknown(true)',
    to: '',
  },
  {
    name: 'record-behind',
    what: 'An order record that is behind with an earlier refund is taken for what it was before the next one.',
    of: 'money',
    file: 'money/settle.ts',
    from: 'before !== null && least !== null && before >= least ? shown : null',
    to: 'shown',
  },
  {
    name: 'others-forgotten',
    what: 'What others have refunded of an order hides that its record is behind with an earlier refund.',
    of: 'money',
    file: 'money/refund.ts',
    from: 'coalesce(refunded_before, 0)',
    to: '0',
  },
  {
    name: 'clock-ahead',
    what: 'A clock that has jumped ahead makes a refund old.',
    of: 'money',
    file: 'money/settle.ts',
    from: 'Math.max(now - age_ms, sent_at.getTime())',
    to: 'sent_at.getTime()',
  },
  {
    name: 'clock-behind',
    what: 'A refund is as old as the clock of the database says that wrote it down.',
    of: 'money',
    file: 'money/refund.ts',
    from: 'greatest(now(), $7)',
    to: 'coalesce(now(), $7)',
  },
  {
    name: 'no-order-anew',
    what: 'An order that the mirror once saw being refunded is never asked about again.',
    of: 'money',
    file: 'money/settle.ts',
    from: 'await mirrorBeingRefunded(',
    to: 'if (false as boolean) await mirrorBeingRefunded(',
  },
  {
    name: 'shown-too-soon',
    what: 'A refund is called completed while its order is only being refunded.',
    of: 'money',
    file: 'money/refund.ts',
    from: 'bool_and(is_over) as is_over',
    to: 'true as is_over',
  },
  {
    name: 'checks-put-back',
    what: 'The order record is not asked for as long as the clock was put back.',
    of: 'money',
    file: 'money/refund.ts',
    from: 'or next_settle_at > now()',
    to: 'and next_settle_at < now()',
  },
  {
    name: 'plans-other-sources',
    what: 'A run of one HR source misses the employees of another.',
    file: 'sync/plan/plan-tables.ts',
    from: 'if (codes === null) return table',
    to: 'return table',
  },
  {
    name: 'halts-other-sources',
    what: 'One HR source that is away stops the work of all.',
    file: 'sync/outbox/halts.ts',
    from: 'for (const scope of scopesOf(source))',
    to: "for (const scope of ['*'])",
  },
  {
    name: 'holds-other-sources',
    what: 'A run that is held takes the place of runs of another HR source.',
    file: 'sync/runs/run.ts',
    from: 'and hr_source = $2 and id is distinct from $3::bigint',
    to: 'and $2::text is not null and id is distinct from $3::bigint',
  },
  {
    name: 'ends-other-sources',
    what: 'The end of a run ends runs of another HR source.',
    file: 'sync/settle/finish-runs.ts',
    from: `where id = $1 and state = 'running' and \${isFree('$1')}
         and not exists (select from dirsync.pending p where p.run_id = sync_run.id)`,
    to: `where (id = $1 or hr_source <> (select o.hr_source from dirsync.sync_run o where o.id = $1)) and state = 'running'`,
  },
  {
    name: 'plans-with-earlier-sources',
    what: 'A process goes on with the HR sources of its start after another one has started with others.',
    file: 'sync/runs/sources.ts',
    from: 'return isDeepStrictEqual(owned(all), owned(rows))',
    to: 'return true',
  },
  {
    name: 'deletes-unseen',
    what: 'A worker deletes a department without a look at what HR has by then.',
    file: 'sync/work/delete-department.ts',
    from: "if (!isToBeDeleted(job.wanted, job)) return finished('obsolete', { resolve: 'all' })",
    to: '',
  },
  {
    name: 'deletes-parent-first',
    what: 'A department is deleted before the one below it.',
    file: 'directory/department.ts',
    from: 'wave = Math.max(wave, own + 1)',
    to: 'wave = Math.max(wave, own)',
  },
  {
    name: 'deletes-peopled',
    what: 'A department is deleted while the platform still has employees in it.',
    file: 'sync/plan/departments.ts',
    from: "where e.platform_state = 'in_service' and",
    to: 'where false and',
  },
  {
    name: 'moves-unnoticed',
    what: 'A department is deleted to which an update without an answer has moved someone.',
    file: 'sync/work/reconcile-employee.ts',
    from: "const movingTo = (fieldsOf(send).includes('dept_code') && desired.fields.dept_code) || null",
    to: 'const movingTo = null',
  },
  {
    name: 'broken-rows-unlocated',
    what: 'A department is deleted while the platform has someone in it whose row in HR has always broken a rule.',
    file: 'sync/work/reconcile-employee.ts',
    from: 'const found = isWanted && isPossible ?',
    to: 'const found = false ?',
  },
  {
    name: 'deletes-unlocated',
    what: 'A department is deleted before the platform has told whether someone new is in it.',
    file: 'sync/plan/departments.ts',
    from: ' limit 1) e',
    to: ' and false limit 1) e',
  },
  {
    name: 'deletes-at-once',
    what: 'A department is deleted as soon as HR has closed it.',
    file: 'directory/department.ts',
    from: 'now.getTime() - since.getTime() > graceMs',
    to: 'now.getTime() >= since.getTime()',
  },
  {
    name: 'mirror-unfenced',
    what: 'What a process read before it lost its lock is stored over what another one has read since.',
    of: 'mirrors',
    file: 'mirrors/mirror.ts',
    from: "if (rowCount !== 1) throw new Error('another process has gone on with the run')",
    to: '',
  },
  {
    name: 'refused-is-done',
    what: 'A run of a mirror is done although the platform refuses a part of it.',
    of: 'mirrors',
    file: 'mirrors/mirror.ts',
    from: '[id, await isRefused(db, kind)]',
    to: '[id, false]',
  },
  {
    name: 'cancelled-reads-on',
    what: 'What is read for a run that a person has cancelled is written.',
    of: 'mirrors',
    file: 'mirrors/mirror.ts',
    from: 'return rowCount === 1\n}\n\nexport async function nextMirrorTask',
    to: 'return true\n}\n\nexport async function nextMirrorTask',
  },
  {
    name: 'one-pass',
    what: 'Rows that move between pages while these are read are missed.',
    of: 'mirrors',
    file: 'mirrors/mirror-reader.ts',
    from: 'if (!isSettled && pass < MOST_PASSES)',
    to: 'if (!isSettled && pass < 1)',
  },
  {
    name: 'no-list-is-empty',
    what: 'An answer without a list has every account marked gone.',
    of: 'mirrors',
    file: 'mirrors/accounts.ts',
    from: 'answer !== null &&\n      kept.length',
    to: 'kept.length',
  },
  {
    name: 'bare-ends-cases',
    what: 'A worker without TAXPAYER_IDENTIFIERS ends the cases of taxpayers.',
    of: 'mirrors',
    file: 'mirrors/mirror-runner.ts',
    from: "asked => plan.tasks.length > 0 && asked.state !== 'ignored'",
    to: "asked => asked.state !== 'ignored'",
  },
  {
    name: 'bare-marks-gone',
    what: 'A worker without TAXPAYER_IDENTIFIERS has every taxpayer marked gone.',
    of: 'mirrors',
    file: 'mirrors/taxpayers.ts',
    from: 'and cardinality($2::text[]) > 0',
    to: '',
  },
  {
    name: 'restore-unnoticed',
    what: 'A restored database is believed.',
    of: 'restores',
    function: 'notice_restore',
    from: 'perform dirsync.doubt_memory();',
    to: 'null;',
  },
  {
    name: 'restore-empties',
    what: 'After a restore, who was found by an earlier answer does not keep a department.',
    of: 'restores',
    function: 'doubt_memory',
    from: 'queried_at = null',
    to: 'queried_at = e.queried_at',
  },
  {
    name: 'restore-repeats',
    what: 'After a restore, executions have numbers that were given before.',
    of: 'restores',
    function: 'doubt_memory',
    from: `perform setval('dirsync.execution', nextval('dirsync.execution') + 1000000);`,
    to: '',
  },
  {
    name: 'doubted-for-ever',
    what: 'Who came into doubt while they were another source’s, or nobody’s, is never asked about.',
    of: 'restores',
    file: 'sync/runs/run-requests.ts',
    from: `when id <= \${codesSince('$1')} then true`,
    to: '',
  },
]

/** Has a file of `src/` read with other text, in this process, before anything has been imported. */
export function readInstead({ file, from, to }: { file: string; from: string; to: string }): void {
  registerHooks({
    load(url, context, next) {
      const loaded = next(url, context)
      if (!url.endsWith(`/src/${file}`)) return loaded
      const source = String(loaded.source)
      if (!source.includes(from))
        throw new Error(`src/${file} has no "${from}" any more: correct test/simulation/defects.ts`)
      return { ...loaded, source: source.replace(from, () => to) }
    },
  })
}

/** Puts back a defect of a file of `src/`. */
export function putBackInSource({ file, from, to }: Defect): void {
  if (file !== undefined) readInstead({ file, from, to })
}

/** The same for a function of the schema. */
export async function putBackInSchema({ function: name, from, to }: Defect, db: pg.Pool): Promise<void> {
  if (name === undefined) return
  const { rows } = await db.query<{ definition: string }>(
    `select pg_get_functiondef(oid) as definition from pg_proc
     where pronamespace = 'dirsync'::regnamespace and proname = $1`,
    [name],
  )
  const definition = rows[0]?.definition ?? ''
  if (!definition.includes(from))
    throw new Error(`dirsync.${name} has no "${from}" any more: correct test/simulation/defects.ts`)
  await db.query(definition.replaceAll(from, () => to))
}
