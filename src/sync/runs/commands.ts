import type { DatabaseError } from 'pg'
import { type ClientBase, onlyRow, type Pool, type PoolClient, transaction } from '../../lib/database.ts'
import { CodedError, inWords, message, type Said, type SaidKey } from '../../texts/message.ts'
import type { RunKind } from './run.ts'

/** Who makes a request, and from where: both go into `dirsync.command`. */
export interface Asker {
  /** The requester beside the database user: `cli:` and the shell user, `console:` and the user's name. */
  actor: string
  /** Of the browser; default: the database client's. */
  address?: string | null | undefined
}

/**
 * A person's request cannot be carried out: its object is gone or unknown, an argument is wrong, or another person was faster.
 * The message of a conflict says who, what they did, and when.
 */
export class CommandError extends CodedError<
  'COMMAND_NOT_FOUND' | 'COMMAND_INVALID' | 'COMMAND_CONFLICT' | 'COMMAND_LOCKED'
> {}

/** SQLSTATEs that the functions for people raise, and of what waits for another transaction. */
const CODES: Record<string, CommandError['code']> = {
  P0002: 'COMMAND_NOT_FOUND',
  '22023': 'COMMAND_INVALID',
  DS409: 'COMMAND_CONFLICT',
  '55P03': 'COMMAND_LOCKED',
}

/** The steps of a case that can be taken back, as its events are called. */
export const UNDOABLE_STEPS = ['ignored', 'snoozed', 'assigned'] as const
export type UndoableStep = (typeof UNDOABLE_STEPS)[number]

interface DecidedPart {
  run: number
  planned: number
  /** Rows of the plan that still wait for a decision. */
  undecided: number
}

interface CancelledRun {
  run: number
  /** The held run in whose plan is undecided again what was not sent, once it is no longer in hand; null: there is none. */
  undecidedIn: number | null
}

/** A decision about all that is undecided of a plan. */
interface DecidedPlan {
  /** How many rows it is about. */
  planned: number
  /** Whether parts of the plan were decided before. */
  isRest: boolean
}

/**
 * A person's commands. Everything goes through the SQL functions that reviewers use too, so that the rules and the audit in
 * `dirsync.command` are the same. A method throws a CommandError when it cannot be done.
 *
 * Decisions about a case may state the version that the person saw: if the case has changed since, it is a conflict.
 */
export class Commands {
  readonly #pool: Pool
  readonly #asker: Asker

  constructor(pool: Pool, asker: Asker) {
    this.#pool = pool
    this.#asker = asker
  }

  /**
   * Requests a run, or finds an equal one that still waits to begin: one for each source of HR that it covers. Returns their
   * numbers, at least one.
   * @param source of HR, where there are several; null: all of them
   */
  resync(kind: Exclude<RunKind, 'employees' | 'retry'>, source: string | null = null): Promise<number[]> {
    return this.#askAll('select dirsync.resync($1, source => $2)', [kind, source])
  }

  /** Runs that delete departments. @param reason why it is wanted now; kept in the audit */
  deleteDepartments(reason: string): Promise<number[]> {
    return this.#askAll(
      `select dirsync.request_run('departments', '{}', 'resync', $1, null, s.name)
       from dirsync.sources_for('departments') s (name)`,
      [{ kind: 'departments', reason }],
    )
  }

  /** The same for a full run. @param maxAgeMs skips employees whom the platform confirmed within this time; null: none */
  resyncFull(maxAgeMs: number | null, source: string | null = null): Promise<number[]> {
    return this.#askAll(
      `select dirsync.resync('full', max_age => $1 * interval '1 millisecond', source => $2)`,
      [maxAgeMs, source],
    )
  }

  /** One run for all the named employees: user ids, or `enterprise/userid`. */
  resyncEmployees(names: string[]): Promise<number> {
    return this.#ask(`select dirsync.request_run('employees', $1, 'resync', $2)`, [
      names,
      { kind: 'employees', keys: names },
    ])
  }

  /**
   * One run that retries all the cases. No run is made when one of them does not exist or is resolved.
   * @param expectedVersion of the case, if it is a single one
   */
  retry(ids: number[], expectedVersion?: number): Promise<number> {
    return this.#do(async client => {
      const [id] = ids
      if (id !== undefined && ids.length === 1) await expectVersion(client, id, expectedVersion)
      const { rows } = await client.query<{ id: number }>(
        `select w.id from unnest($1::bigint[]) as w (id)
         where not exists (select from dirsync.dead_letter d where d.id = w.id and d.state <> 'resolved')`,
        [ids],
      )
      if (rows.length > 0)
        throw new CommandError(
          'COMMAND_NOT_FOUND',
          message('said.no_unresolved_case', { ids: rows.map(row => String(row.id)) }),
        )
      return scalar(client, `select dirsync.request_run('retry', $1, 'retry', $2)`, [
        ids.map(String),
        ids.length === 1 ? { id: ids[0] } : { ids },
      ])
    })
  }

  retryCategory(category: string): Promise<number> {
    return this.#ask('select dirsync.retry_category($1)', [category])
  }

  ignore(id: number, reason: string, expectedVersion?: number): Promise<number> {
    return this.#decide(id, expectedVersion, 'select dirsync.ignore($1, $2)', [id, reason])
  }

  snooze(id: number, until: Date, reason: string | null, expectedVersion?: number): Promise<number> {
    return this.#decide(id, expectedVersion, 'select dirsync.snooze($1, $2, $3)', [id, until, reason])
  }

  /** Ends the snooze of a case early, without trying it again. */
  wake(id: number, expectedVersion?: number): Promise<number> {
    return this.#decide(id, expectedVersion, 'select dirsync.wake($1)', [id])
  }

  /** Takes back the last ignore, snooze or assignment of a case, if nothing happened to it since. Returns which it was. */
  undo(id: number, expectedVersion?: number): Promise<UndoableStep> {
    return this.#decide(id, expectedVersion, 'select dirsync.undo($1)', [id])
  }

  /** @param assignee who takes care of the case; null: unassigned */
  assign(id: number, assignee: string | null, expectedVersion?: number): Promise<number> {
    return this.#decide(id, expectedVersion, 'select dirsync.assign($1, $2)', [id, assignee])
  }

  /** Adds to the story of a case; concurrent changes do not matter. */
  comment(id: number, text: string): Promise<number> {
    return this.#ask('select dirsync.comment($1, $2)', [id, text])
  }

  /**
   * Approves all undecided rows of a held run's plan.
   * @param expected how many the person saw: if there are others by now, it is a conflict
   */
  approve(run: number, reason: string | null = null, expected?: number): Promise<DecidedPlan> {
    return this.#decideAll('select dirsync.decide($1, true, $2)', run, reason, expected)
  }

  reject(run: number, reason: string | null, expected?: number): Promise<DecidedPlan> {
    return this.#decideAll('select dirsync.reject($1, $2)', run, reason, expected)
  }

  /** Approves the undecided rows of a held run's plan that match. Returns the run that sends them, and how many they are. */
  approvePart(run: number, part: object, reason: string | null, expected?: number): Promise<DecidedPart> {
    return this.#decidePart('approve_part', run, part, reason, expected)
  }

  rejectPart(run: number, part: object, reason: string | null, expected?: number): Promise<DecidedPart> {
    return this.#decidePart('reject_part', run, part, reason, expected)
  }

  /** Cancels a run's waiting work; jobs in flight finish. */
  cancel(run: number, reason: string | null): Promise<CancelledRun> {
    return this.#do(async client => {
      const undecidedIn = await scalar<number | null>(
        client,
        `select max((dirsync.part_sent_by(part_run)).run_id) from dirsync.plan_decision
         where $1 in (run_id, part_run) and part_run is not null`,
        [run],
      )
      await scalar(client, 'select dirsync.cancel($1, $2)', [run, reason])
      return { run, undecidedIn }
    })
  }

  /** Ends a dry run that is not over. */
  cancelDryRun(dryRun: number): Promise<number> {
    return this.#ask('select dirsync.cancel_dry_run($1)', [dryRun])
  }

  /** Stops all calls of the deployment. Returns the reason. */
  pause(reason: string): Promise<string> {
    return this.#ask('select dirsync.pause($1)', [reason])
  }

  /** Lets calls go on. Returns whether they were paused. */
  resume(): Promise<boolean> {
    return this.#ask('select dirsync.resume()', [])
  }

  /** Lowers the rate of all calls until a time, after which it returns by itself. Returns the rate. */
  lowerRate(perSecond: number, until: Date, reason: string): Promise<number> {
    return this.#ask('select dirsync.lower_rate($1, $2, $3)', [perSecond, until, reason])
  }

  /** Restores the rate early. Returns whether it was lowered. */
  restoreRate(): Promise<boolean> {
    return this.#ask('select dirsync.restore_rate()', [])
  }

  /** Skips a cron job's ticks. Returns the consequences for the directory; null: none. */
  pauseSchedule(job: string, reason: string): Promise<string | null> {
    return this.#ask('select dirsync.pause_schedule($1, $2)', [job, reason])
  }

  /** Resumes the job. Returns whether it was paused. */
  resumeSchedule(job: string): Promise<boolean> {
    return this.#ask('select dirsync.resume_schedule($1)', [job])
  }

  /** Runs a cron job once, at once. Returns the time of the request: `due_at` of the tick. */
  runSchedule(job: string): Promise<Date> {
    return this.#ask('select dirsync.run_schedule($1)', [job])
  }

  /** Makes the next probe of a halt due at once. Returns its scope. */
  probeNow(scope: string): Promise<string> {
    return this.#ask('select dirsync.probe_now($1)', [scope])
  }

  /** Acknowledges an alert for the requester. Returns false when it is over, or was acknowledged already. */
  acknowledgeAlert(id: number, reason: string | null): Promise<boolean> {
    return this.#ask('select dirsync.acknowledge_alert($1, $2)', [id, reason])
  }

  /** Mutes a rule's alerts on all channels until a time within 30 days. Returns the time. */
  muteAlert(rule: string, subject: string | null, until: Date, reason: string): Promise<Date> {
    return this.#ask('select dirsync.mute_alert($1, $2, $3, $4)', [rule, until, reason, subject])
  }

  /** Unmutes them early. Returns whether the rule was muted. */
  unmuteAlert(rule: string, subject: string | null): Promise<boolean> {
    return this.#ask('select dirsync.unmute_alert($1, $2)', [rule, subject])
  }

  /** The daily hours in which only critical alerts are sent. @param hours.starts and `ends`: HH:MM */
  async setQuietHours(hours: { starts: string; ends: string; timeZone: string }): Promise<void> {
    await this.#ask('select dirsync.set_quiet_hours($1, $2, $3)', [hours.starts, hours.ends, hours.timeZone])
  }

  /** Removes quiet hours. Returns whether there were any. */
  clearQuietHours(): Promise<boolean> {
    return this.#ask('select dirsync.clear_quiet_hours()', [])
  }

  /**
   * Records that a person viewed data outside dirsync, such as the platform's, or downloaded a file.
   * @param values.run the run that it is about
   */
  async note(name: string, values: Record<string, unknown>): Promise<void> {
    await this.#ask(`select dirsync.note_command($1, ($2::jsonb ->> 'run')::bigint, $2)`, [name, values])
  }

  #ask<T = number>(sql: string, values: unknown[]): Promise<T> {
    return this.#do(client => scalar<T>(client, sql, values))
  }

  #askAll(sql: string, values: unknown[]): Promise<number[]> {
    return this.#do(async client => {
      const { rows } = await client.query<[number]>({ text: sql, values, rowMode: 'array' })
      return rows.map(([run]) => run)
    })
  }

  #decideAll(sql: string, run: number, reason: string | null, expected?: number): Promise<DecidedPlan> {
    return this.#do(async client => {
      await decision(client, sql, [run, reason])
      return latestDecision(client, run, expected)
    })
  }

  #decidePart(
    name: 'approve_part' | 'reject_part',
    run: number,
    part: object,
    reason: string | null,
    expected?: number,
  ): Promise<DecidedPart> {
    return this.#do(async client => {
      const by = await decision(client, `select dirsync.${name}($1, $2, $3)`, [run, part, reason])
      const { planned, undecided } = await latestDecision(client, run, expected)
      return { run: by, planned, undecided }
    })
  }

  #decide<T = number>(id: number, version: number | undefined, sql: string, values: unknown[]): Promise<T> {
    return this.#do(async client => {
      await expectVersion(client, id, version)
      return scalar(client, sql, values)
    })
  }

  #do<T>(work: (client: PoolClient) => Promise<T>): Promise<T> {
    return asAsker(this.#pool, this.#asker, work)
  }
}

/**
 * Runs `work` in one transaction on behalf of the requester.
 * @throws CommandError when the SQL functions refuse
 */
export async function asAsker<T>(
  pool: Pool,
  asker: Asker,
  work: (client: PoolClient) => Promise<T>,
): Promise<T> {
  try {
    return await transaction(pool, async client => {
      await actAs(client, asker)
      return work(client)
    })
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? CODES[String(error.code)] : undefined
    if (code === undefined) throw error
    const said = code === 'COMMAND_LOCKED' ? message('said.is_being_changed') : refusedBy(error as Error)
    throw new CommandError(code, said, { cause: error })
  }
}

/** What `dirsync.refuse` says, and otherwise PostgreSQL itself. */
function refusedBy(error: Error): Said {
  const { constraint, dataType } = error as DatabaseError
  if (!constraint?.startsWith('said.')) return inWords(error.message)
  return { key: constraint as SaidKey, values: JSON.parse(dataType ?? '{}') }
}

/** Records the requester and their address with everything that this transaction writes. */
export async function actAs(client: ClientBase, { actor, address }: Asker): Promise<void> {
  await client.query(
    `select set_config('dirsync.actor', $1, true), set_config('dirsync.address', $2, true)`,
    [actor, address ?? ''],
  )
}

/** Records a command without a run of its own, in this transaction. */
export async function noteCommand(client: ClientBase, name: string, values: object): Promise<void> {
  await client.query('select dirsync.note_command($1, null, $2)', [name, values])
}

async function expectVersion(client: ClientBase, id: number, version: number | undefined): Promise<void> {
  if (version !== undefined) await client.query('select dirsync.expect_version($1, $2)', [id, version])
}

/**
 * How long a decision about a plan may take. About a part it rewrites each row under all its indexes, and copies it if it is
 * approved: 200,000 rows took 13 s on two cores that were busy with other work. More have not been measured.
 */
const DECISION_MS = 300_000

async function decision(client: PoolClient, text: string, values: unknown[]): Promise<number> {
  // In the console, too, it waits for another plan that is being written.
  await client.query(`set local statement_timeout = ${DECISION_MS}; set local lock_timeout = 0`)
  const statement = { text, values, rowMode: 'array' as const, query_timeout: DECISION_MS }
  const { rows } = await client.query<[number]>(statement)
  return onlyRow(rows)[0]
}

/** @throws CommandError if it is about another number of rows than the person expected */
async function latestDecision(
  client: PoolClient,
  run: number,
  expected: number | undefined,
): Promise<DecidedPlan & Pick<DecidedPart, 'undecided'>> {
  const { rows } = await client.query<DecidedPlan & Pick<DecidedPart, 'undecided'>>(
    `select planned, count(*) filter (where returned < planned) over () > 1 as "isRest",
            (select r.undecided from dirsync.sync_run r where r.id = run_id)
     from dirsync.plan_decision where run_id = $1 order by id desc limit 1`,
    [run],
  )
  const decided = onlyRow(rows)
  const count = decided.planned
  if (expected !== undefined && count !== expected)
    throw new CommandError('COMMAND_CONFLICT', message('said.part_differs', { count, expected, run }))
  return decided
}

async function scalar<T = number>(client: PoolClient, sql: string, values: unknown[]): Promise<T> {
  const { rows } = await client.query<[T]>({ text: sql, values, rowMode: 'array' })
  return onlyRow(rows)[0]
}
