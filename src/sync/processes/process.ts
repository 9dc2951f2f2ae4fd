import { hostname } from 'node:os'
import type { Owners } from '../../hr/sources.ts'
import { onlyRow, type Pool } from '../../lib/database.ts'
import type { PacerSnapshot } from '../../pacing/pacer.ts'
import { type Message, message } from '../../texts/message.ts'

/** The roles of a dirsync process; any number of them at once. */
export const ROLES = ['scheduler', 'worker', 'console', 'notifications'] as const
export type Role = (typeof ROLES)[number]

/** SQL: while the database takes no writes, so that no process can sign, when one last did: what is read is as of then. Else null. */
const READ_ONLY_SINCE = `case when current_setting('transaction_read_only')::boolean
  then coalesce((select max(heartbeat_at) from dirsync.process), now()) end`

/** A process without a heartbeat for this long counts as dead. One of the future is from before the clock was put back. */
export const ALIVE = `heartbeat_at between coalesce(${READ_ONLY_SINCE}, now()) - interval '15 seconds'
                         and coalesce(${READ_ONLY_SINCE}, now()) + interval '15 seconds'`

export interface ProcessRow {
  id: string
  host: string
  pid: number
  roles: string[]
  version: string
  startedAt: Date
}

/** SQL: how a process is named, in every language: its host and number. */
export const PROCESS_NAME = `format('%s (%s)', host, pid)`

/** Condition on a process: its HR sources differ from those of the process started last. */
export const IS_OUTDATED = 'hr_owners is not null and hr_owners <> dirsync.hr_owners()'

/** Why a process leaves all work to others: the platform refuses its application secret, or cannot be reached from where it runs. */
export const ASIDES = ['secret', 'unreachable'] as const
export type Aside = (typeof ASIDES)[number]

/** Why a process leaves work to others. */
export interface Misfit {
  /** Its HR sources are not those in force: the work for those that differ. */
  outdated: boolean
  /** What fails for it alone: all work. */
  aside: Aside | null
}

export const FITS: Misfit = { outdated: false, aside: null }

/** The pacing of a process's calls. */
export interface Pacing extends PacerSnapshot {
  /** Over the last ten seconds. */
  callsPerSecond: number
  /** Most concurrent calls (`WORKER_CONCURRENCY`). */
  concurrency: number
  /** The platform's clock minus this process's; null before the first answer. */
  clockOffsetMs: number | null
}

/** The queue as a process sees it: for how long it has been unreachable, or refusing, and with what error; null: it works. */
export interface QueueState {
  awayMs: number | null
  lastError: string | null
}

/**
 * The clock was put back, and heartbeats are of the future: all times are put back as far, so that none is, and whoever is started
 * from now on comes after whoever had stopped before.
 */
const SET_BACK = `
  with ahead as (
    select id, heartbeat_at, max(heartbeat_at) over () - now() + interval '15 seconds' as far from dirsync.process
  ), registered as (
    -- One that has another heartbeat once it is locked was put back meanwhile, or has come back by itself.
    select p.id, far from dirsync.process p join ahead a on a.id = p.id and a.heartbeat_at = p.heartbeat_at
    where far > interval '30 seconds' order by p.id for update of p
  )
  update dirsync.process p set heartbeat_at = p.heartbeat_at - far, started_at = p.started_at - far
  from registered r where p.id = r.id`

/**
 * Registers the process, or renews its heartbeat.
 * @param me.pacer the state of its pacer; null without one
 * @param me.queue default: the process has not checked it
 * @param me.queueAddress where it has the queue; default: it does not say
 * @param me.secretPrint of its application secret; default: it does not say
 * @param me.consoleUrl where its console listens; default: it has none
 * @param me.oidcIssuer OIDC_ISSUER of its console; default: it has none
 * @param me.hrOwners the HR source of each enterprise as it knows them; default: it does not use HR
 * @param me.hrAddresses where it reads each source
 * @returns why it leaves work to others
 */
export async function heartbeat(
  db: Pool,
  me: Omit<ProcessRow, 'startedAt'> & {
    pacer: Pacing | null
    queue?: QueueState | undefined
    queueAddress?: string
    secretPrint?: string
    consoleUrl?: string | undefined
    oidcIssuer?: string | null
    hrOwners?: Owners
    hrAddresses?: Readonly<Record<string, string>>
  },
): Promise<Misfit> {
  await db.query(SET_BACK)
  const { rows } = await db.query<Misfit>(
    `insert into dirsync.process
       (id, host, pid, roles, version, pacer, queue_away_since, queue_error, hr_owners, hr_addresses,
        console_url, queue_address, secret_print, oidc_issuer)
     values ($1, $2, $3, $4, $5, $6, now() - $7 * interval '1 ms', $8, $9, $10, $11, $12, $13, $14)
     on conflict (id) do update
     set heartbeat_at = now(), pacer = excluded.pacer, queue_away_since = excluded.queue_away_since,
         queue_error = excluded.queue_error, hr_owners = excluded.hr_owners, console_url = excluded.console_url
     returning coalesce(${IS_OUTDATED}, false) as outdated, aside_for as aside`,
    [
      ...[me.id, me.host, me.pid, me.roles, me.version, me.pacer],
      ...[me.queue?.awayMs ?? null, me.queue?.lastError ?? null],
      ...[me.hrOwners ?? null, me.hrAddresses ?? null, me.consoleUrl ?? null],
      ...[me.queueAddress ?? null, me.secretPrint ?? null, me.oidcIssuer ?? null],
    ],
  )
  return onlyRow(rows)
}

/**
 * Processes that within a day stopped without deregistering, or froze, and were not replaced by a process with the same roles:
 * rows of `process` and `roles`. Counted from the latest on: one is lost where more have gone since than were started.
 */
export const LOST_PROCESSES = `
  select ${PROCESS_NAME} as process, array_to_string(roles, ', ') as roles
  from (
    select *, max(missing) over (partition by roles order by heartbeat_at desc, id
                                 rows between unbounded preceding and 1 preceding) as known
    from (
      select *, row_number() over (partition by roles order by heartbeat_at desc, id)
                - (select count(*) from dirsync.process s
                   where s.roles = p.roles and s.started_at > p.heartbeat_at) as missing
      from dirsync.process p
      where not ${ALIVE} and heartbeat_at between now() - interval '1 day' and now()) gone) gone
  where missing > greatest(known, 0)
  order by host, pid`

/** Deregisters a process, including one that this process replaced, so that it is not reported as lost. */
export async function deregister(db: Pool, id: string): Promise<void> {
  await db.query(
    `delete from dirsync.process
     where id = $1 or heartbeat_at < now() - interval '1 day'
        or id = (select p.id from dirsync.process me
                 join dirsync.process p on p.roles = me.roles and p.heartbeat_at < me.started_at
                   and not p.${ALIVE}
                 where me.id = $1 order by p.heartbeat_at desc limit 1)`,
    [id],
  )
}

/** Where the console of this host listens that was started last; null: none runs. */
export async function runningConsole(db: Pool): Promise<string | null> {
  const { rows } = await db.query<{ url: string }>(
    `select console_url as url from dirsync.process
     where console_url is not null and host = $1 and ${ALIVE} order by started_at desc limit 1`,
    [hostname()],
  )
  return rows[0]?.url ?? null
}

/** The identity providers (OIDC_ISSUER) of the consoles that run. */
export async function consoleIssuers(db: Pick<Pool, 'query'>): Promise<string[]> {
  const { rows } = await db.query<{ issuer: string }>(
    `select distinct oidc_issuer as issuer from dirsync.process
     where oidc_issuer is not null and ${ALIVE} order by 1`,
  )
  return rows.map(({ issuer }) => issuer)
}

/** Processes with a heartbeat within the last 15 seconds. */
export async function aliveProcesses(db: Pool): Promise<ProcessRow[]> {
  const { rows } = await db.query<ProcessRow>(
    `select id, host, pid, roles, version, started_at as "startedAt"
     from dirsync.process where ${ALIVE} order by started_at`,
  )
  return rows
}

/** Something that living processes which plan or send find at different addresses; `source` null: the queue. */
interface Address {
  source: string | null
  address: string
  processes: string
}

/**
 * Sources of HR, and the queue, that living processes which plan or send have at different addresses, each with the processes
 * there. That may be one server under several names, so nothing is refused.
 */
async function differingAddresses(db: Pool): Promise<Address[]> {
  const { rows } = await db.query<Address>(
    `select * from (
       select a.source, a.address, string_agg(${PROCESS_NAME}, ', ' order by p.host, p.pid) as processes,
              count(*) over (partition by a.source) as addresses
       from dirsync.process p cross join lateral (
         select key, value from jsonb_each_text(p.hr_addresses)
         union all select null, p.queue_address where p.queue_address is not null
       ) a (source, address)
       where p.${ALIVE} and p.roles && $1 group by 1, 2) read
     where addresses > 1 order by source, address`,
    [NEEDED_ROLES],
  )
  return rows
}

/**
 * Living processes by the application secret that they have, the latest started last, where that is not the same for all, and the
 * platform has not told yet which is wrong.
 */
async function differingSecrets(db: Pool): Promise<string[]> {
  const { rows } = await db.query<{ processes: string; isRefused: boolean }>(
    `select string_agg(${PROCESS_NAME}, ', ' order by host, pid) as processes,
            coalesce(bool_or(aside_for = 'secret'), false) as "isRefused"
     from dirsync.process where ${ALIVE} and secret_print is not null
     group by secret_print order by max(started_at)`,
  )
  return rows.length > 1 && !rows.some(({ isRefused }) => isRefused)
    ? rows.map(({ processes }) => processes)
    : []
}

/** A halt that says that the platform answers nobody: who cannot reach it is not by itself then. */
export const OUTAGE = 'platform_unavailable'

/** SQL condition: everything is halted for that. */
export const IS_OUTAGE = `exists (select from dirsync.halt where scope = '*' and category = '${OUTAGE}')`

/** SQL: living processes that leave all work to others: rows of `process` and `reason`. */
export const ASIDE_PROCESSES = `
  select ${PROCESS_NAME} as process, aside_for as reason from dirsync.process
  where ${ALIVE} and (aside_for = 'secret' or aside_for = 'unreachable' and not ${IS_OUTAGE}) order by host, pid`

async function asideProcesses(db: Pool): Promise<{ process: string; reason: Aside }[]> {
  return (await db.query<{ process: string; reason: Aside }>(ASIDE_PROCESSES)).rows
}

/** How living processes do not fit together, and what to do about it. */
export async function processDifferences(db: Pool): Promise<{ what: Message; remedy: Message }[]> {
  const { rows } = await db.query<{ outdated: string[]; versions: string[] }>(
    `select coalesce(array_agg(${PROCESS_NAME} order by host, pid) filter (where ${IS_OUTDATED}), '{}') as outdated,
            coalesce(array_agg(distinct version order by version), '{}') as versions
     from dirsync.process where ${ALIVE}`,
  )
  const { outdated, versions } = onlyRow(rows)
  return [
    ...(outdated.length > 0
      ? [
          {
            what: message('doctor.outdated', { processes: outdated }),
            remedy: message('doctor.same_sources'),
          },
        ]
      : []),
    ...(versions.length > 1
      ? [{ what: message('doctor.versions', { names: versions }), remedy: message('doctor.same_version') }]
      : []),
    ...(await asideProcesses(db)).map(({ process, reason }) => ({
      what: message(`doctor.aside_${reason}`, { process }),
      remedy: message(`doctor.aside_${reason}_remedy`),
    })),
    ...(await differingSecrets(db)).map(processes => ({
      what: message('doctor.secrets', { processes }),
      remedy: message('doctor.same_secret'),
    })),
    ...(await differingAddresses(db)).map(({ source, address, processes }) =>
      source === null
        ? { what: message('doctor.queues', { address, processes }), remedy: message('doctor.same_queue') }
        : {
            what:
              source === ''
                ? message('doctor.addresses', { address, processes })
                : message('doctor.addresses_of_source', { name: source, address, processes }),
            remedy: message('doctor.same_address'),
          },
    ),
  ]
}

/** As of when everything is that can be read, while the database takes no writes; null: it takes them. */
export async function readOnlySince(db: Pool): Promise<Date | null> {
  const { rows } = await db.query<{ since: Date | null }>(`select ${READ_ONLY_SINCE} as since`)
  return onlyRow(rows).since
}

export function countRoles(processes: readonly { roles: readonly string[] }[]): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const role of processes.flatMap(({ roles }) => roles)) counts[role] = (counts[role] ?? 0) + 1
  return counts
}

/** The roles that a run needs. */
export const NEEDED_ROLES = ['scheduler', 'worker'] as const
export type NeededRole = (typeof NEEDED_ROLES)[number]

/** The roles that a run needs and that none of these processes has. @param needed fewer than other runs need */
export function missingAmong(
  alive: readonly Pick<ProcessRow, 'roles'>[],
  needed: readonly NeededRole[] = NEEDED_ROLES,
): NeededRole[] {
  return needed.filter(role => !alive.some(({ roles }) => roles.includes(role)))
}

/** That no running process has these roles, and how to start one. */
export function missingRolesSaid(missing: readonly string[], program: string): Message {
  const command = `${program} start`
  return missing.length === NEEDED_ROLES.length
    ? message('said.nobody_runs', { command })
    : message('said.nobody_is', { role: missing, command: `${command} --roles ${missing.join()}` })
}
