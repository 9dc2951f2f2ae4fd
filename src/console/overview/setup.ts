import { z } from 'zod'
import { getsAlerts } from '../../alerts/channel.ts'
import { CHANNEL_PREFIX } from '../../alerts/channel-settings.ts'
import type { Config, Environment } from '../../config.ts'
import { type Examination, latestExamination } from '../../doctor/examination.ts'
import { describeSettings, exampleLine } from '../../doctor/settings.ts'
import { onlyRow, type Pool } from '../../lib/database.ts'
import { HAS_MAPPING } from '../../sync/outbox/claim.ts'
import type { Asker } from '../../sync/runs/commands.ts'
import { EMPLOYEE_KINDS_SQL, FIRST_SYNCS, isUnderWay, RUN_SOURCES } from '../../sync/runs/run.ts'
import { SaidText } from '../../texts/failures.ts'
import { message, type Said, says } from '../../texts/message.ts'
import { inNameOf, note } from '../auth/audit.ts'
import { HAS_LINK, LOCAL } from '../auth/users.ts'
import type { Services } from '../services.ts'

/*
 * The first steps of a deployment, until all are done or an administrator puts them away. Nothing is asked of HR or the
 * platform: what is known of them is what runs and the latest examination have found.
 */

const STEPS = ['hr', 'mapping', 'check', 'platform', 'channel', 'colleague', 'plan', 'sync'] as const
type StepName = (typeof STEPS)[number]

/** What is missing; each has a text `setup.missing.<name>`. */
const MISSING = [
  'examination',
  'findings',
  'warnings',
  'channel_unset',
  'channel_untested',
  'channel_failing',
  'colleague',
  'link_unopened',
  'run',
  'under_way',
  'approval',
] as const

const SetupStep = z.object({
  step: z.enum(STEPS),
  state: z.enum(['done', 'next', 'waits', 'failed']).describe('next: it can be done now'),
  waits_for: z.enum(STEPS).nullable().describe('The step that has to be done first'),
  missing: z.enum(MISSING).nullable(),
  reason: SaidText.nullable().describe('Why it failed'),
  more: z.int().describe('How many halts there are besides those that the reason names'),
  run: z.int().nullable(),
  lines: z
    .array(z.string())
    .describe(
      'Lines for settings.env: for administrators as they are, without secrets, else with example values',
    ),
})
export type SetupStep = z.infer<typeof SetupStep>

export const SetupResult = z.object({
  ended: z
    .object({ at: z.date(), by: z.string().nullable().describe('Who hid the steps; null: all were done') })
    .nullable()
    .describe('null: there is something left to do'),
  is_sample: z.boolean().describe('Whether HR and the platform are those of the embedded trial'),
  own_lines: z
    .array(z.string())
    .describe('Lines for settings.env that lead from the trial to your own HR and platform'),
  steps: z.array(SetupStep),
})
export type SetupResult = z.infer<typeof SetupResult>

/** What is known, all of it from a few rows. */
export interface SetupFacts {
  examination: Pick<Examination, 'at' | 'complete' | 'findings'> | null
  /** When a plan last came about: HR was read, and the mapping fitted. A run that failed has none. */
  planned_at: Date | null
  /** Why HR cannot be read, as runs find; null once one has read it. */
  hr_away: Said | null
  /** The latest run that compares HR. */
  run: { id: number; state: string; message: Said | null; at: Date } | null
  /** Why the platform accepts no work, of everything first; empty: it does, as far as is known. */
  platform_halts: { scope: string; category: string; message: Said }[]
  /** Whether a sync has come to its end, of each HR source. */
  has_synced: boolean
  /** The first one that has not, by its run; null where none has begun. */
  syncing: number | null
  /** When the platform last issued a token to this application that has been of use. */
  token_at: Date | null
  /** Users but `local` who may sign in: who have a password, and who have none but a link that is still good. */
  users: { able: number; invited: number }
  has_provider: boolean
  /** The channels of the settings that get alerts. */
  channels: { has_sent: boolean; is_failing: boolean }[]
  lines: SetupLines
}

/** Lines for settings.env, by what is wrong without them. */
type SetupLines = Record<
  'hr' | 'mapping' | 'platform' | 'credentials' | 'clock' | 'channel' | 'colleague',
  readonly string[]
>

/** Which steps are done, and what each of the others needs. */
export function setupSteps(facts: SetupFacts): SetupStep[] {
  const known = new Map<StepName, SetupStep>()
  const add = (step: StepName, found: Partial<SetupStep>, ...before: StepName[]) => {
    const waits_for = before.find(name => known.get(name)?.state !== 'done') ?? null
    const rest = { waits_for: null, missing: null, reason: null, more: 0, run: null, lines: [] }
    const state = found.state ?? 'next'
    // What fails because an earlier step does is told there, unless that was not looked at yet.
    const isOwn =
      waits_for === null || state === 'done' || (state === 'failed' && known.get(waits_for)?.state === 'next')
    known.set(step, isOwn ? { ...rest, ...found, step, state } : { ...rest, step, state: 'waits', waits_for })
  }
  const { lines } = facts
  add(
    'hr',
    facts.hr_away === null
      ? examined(facts, ['hr'], facts.planned_at)
      : { state: 'failed', reason: facts.hr_away, lines: [...lines.hr] },
  )
  add('mapping', mapped(facts), 'hr')
  add('check', checked(facts), 'hr', 'mapping')
  add('platform', accepted(facts))
  add('channel', channel(facts))
  add('colleague', colleague(facts))
  add('plan', planned(facts), 'hr', 'mapping')
  add('sync', synced(facts), 'plan', 'platform')
  return [...known.values()]
}

/**
 * What the checks of these names have found.
 * @param shownAt when it was last seen to work otherwise; null: never
 */
function examined(
  { examination, lines }: SetupFacts,
  names: readonly (keyof SetupLines)[],
  shownAt: Date | null,
): Partial<SetupStep> {
  // With several HR sources, the name of the source stands behind that of the check.
  const own = (examination?.findings ?? []).flatMap(({ check, status, what }) => {
    const name = names.find(name => name === check.split(' ')[0])
    return name === undefined ? [] : [{ name, status, what }]
  })
  const failed = own.find(({ status }) => status === 'failed')
  const isLater = examination !== null && (shownAt === null || examination.at > shownAt)
  if (failed && isLater) return { state: 'failed', reason: failed.what, lines: [...lines[failed.name]] }
  if (shownAt !== null || own.some(({ status }) => status === 'ok')) return { state: 'done' }
  return { missing: 'examination' }
}

function mapped(facts: SetupFacts): Partial<SetupStep> {
  const { run, examination, lines, planned_at } = facts
  if (!run || !isOfMapping(run) || (examination !== null && examination.at > run.at))
    return examined(facts, ['mapping'], planned_at)
  return { state: 'failed', reason: run.message, run: run.id, lines: [...lines.mapping] }
}

/** Whether a run failed because the mapping is wrong. */
function isOfMapping(run: NonNullable<SetupFacts['run']>): boolean {
  return run.state === 'failed' && says(run.message, 'said.in_mapping')
}

/** The lines for what halts work, by category; those of others are not for settings.env. */
const HALTED_BY: Partial<Record<string, keyof SetupLines>> = {
  credentials: 'credentials',
  clock_skew: 'clock',
  platform_unavailable: 'platform',
}

/** Further enterprises that are halted are only counted. */
const HALTS_NAMED = 3

function accepted(facts: SetupFacts): Partial<SetupStep> {
  const { platform_halts: halts, lines, token_at } = facts
  const [first] = halts
  if (!first) return examined(facts, ['platform', 'credentials', 'clock'], token_at)
  // What halts everything halts enterprises as well.
  const told = first.scope === '*' ? [first] : halts.slice(0, HALTS_NAMED)
  const names = new Set(told.flatMap(({ category }) => HALTED_BY[category] ?? []))
  return {
    state: 'failed',
    reason: told.map(({ scope, message: reason }) =>
      scope === '*' || scope === '' ? reason : message('said.of_enterprise', { code: scope, reason }),
    ),
    more: first.scope === '*' ? 0 : halts.length - told.length,
    lines: [...names].flatMap(name => lines[name]),
  }
}

function checked({ examination }: SetupFacts): Partial<SetupStep> {
  if (!examination?.complete) return { missing: 'examination' }
  const { findings } = examination
  const failed = findings.find(({ status }) => status === 'failed')
  if (failed) return { state: 'failed', missing: 'findings', reason: failed.what }
  return { state: 'done', missing: findings.some(({ status }) => status === 'warning') ? 'warnings' : null }
}

function channel({ channels, lines }: SetupFacts): Partial<SetupStep> {
  if (channels.length === 0) return { missing: 'channel_unset', lines: [...lines.channel] }
  if (channels.some(({ has_sent, is_failing }) => has_sent && !is_failing)) return { state: 'done' }
  return channels.some(({ is_failing }) => is_failing)
    ? { state: 'failed', missing: 'channel_failing', lines: [...lines.channel] }
    : { missing: 'channel_untested' }
}

function colleague({ users, has_provider, lines }: SetupFacts): Partial<SetupStep> {
  // One of them is who has set dirsync up.
  if (users.able > 1 || has_provider) return { state: 'done' }
  return { missing: users.invited > 0 ? 'link_unopened' : 'colleague', lines: [...lines.colleague] }
}

const FAILED = ['failed', 'source_suspect']

function planned({ planned_at, run }: SetupFacts): Partial<SetupStep> {
  return planned_at === null ? byRun(run) : { state: 'done' }
}

function synced({ has_synced, syncing, run }: SetupFacts): Partial<SetupStep> {
  if (has_synced) return { state: 'done' }
  if (syncing !== null) return { missing: 'under_way', run: syncing }
  return run?.state === 'held' ? { missing: 'approval', run: run.id } : byRun(run)
}

function byRun(run: SetupFacts['run']): Partial<SetupStep> {
  // What the mapping is to blame for is told at its step.
  if (run && FAILED.includes(run.state) && !isOfMapping(run))
    return { state: 'failed', reason: run.message, run: run.id }
  return run && isUnderWay(run.state) ? { missing: 'under_way', run: run.id } : { missing: 'run' }
}

/** What leads from the trial to a deployment of one's own. */
const OWN = [
  'DATABASE_URL',
  'HR_DATABASE_URL',
  'HR_EMPLOYEES_SQL',
  'PLATFORM_BASE_URL',
  'PLATFORM_APP_ID',
  'PLATFORM_APP_SECRET',
] as const

/**
 * Reads how far the first steps are. Once all are done, they are over for good.
 * @param options.env the settings that lines show as they are, without secrets; the others have example values
 */
export async function readSetup(
  services: Pick<Services, 'pool' | 'config'>,
  { readOnly, env }: { readOnly: boolean; env: Environment },
): Promise<SetupResult> {
  const { pool, config } = services
  const none = { is_sample: config.embedded, own_lines: [], steps: [] }
  const ended = await endOf(pool)
  if (ended) return { ...none, ended }
  const steps = setupSteps({ ...(await readFacts(services)), lines: linesOf(env, config) })
  if (!readOnly && steps.every(({ state }) => state === 'done')) {
    await pool.query('insert into dirsync.setup (ended_by) values (null) on conflict do nothing')
    return { ...none, ended: await endOf(pool) }
  }
  return { ...none, ended: null, own_lines: config.embedded ? OWN.map(name => exampleLine(name)) : [], steps }
}

async function endOf(pool: Pool): Promise<SetupResult['ended']> {
  const { rows } = await pool.query<{ at: Date; by: string | null }>(
    'select ended_at as at, ended_by as by from dirsync.setup',
  )
  return rows[0] ?? null
}

function linesOf(env: Environment, config: Config): SetupLines {
  const settings = describeSettings(env, { ...config, embedded: false })
  const of = (isMeant: (name: string) => boolean) =>
    settings.filter(({ name }) => isMeant(name)).map(({ line }) => line)
  const named = (...names: (keyof Config)[]) => of(name => (names as string[]).includes(name))
  // Those of the trial go together: see OWN.
  const own = (...names: (keyof Config)[]) => (config.embedded ? [] : named(...names))
  const sources = config.HR_SOURCES === null ? null : own('HR_SOURCES')
  return {
    hr: sources ?? own('HR_DATABASE_URL'),
    mapping:
      sources ??
      own(
        'HR_EMPLOYEES_SQL',
        ...(config.HR_DEPARTMENTS_SQL === null ? [] : (['HR_DEPARTMENTS_SQL'] as const)),
      ),
    platform: own('PLATFORM_BASE_URL'),
    credentials: own('PLATFORM_APP_ID', 'PLATFORM_APP_SECRET', 'PLATFORM_SIGN_ALGORITHM'),
    clock: [],
    channel: of(name => name.startsWith(CHANNEL_PREFIX)),
    // Without it the console answers under the names of its own machine alone.
    colleague: config.CONSOLE_URL === null ? named('CONSOLE_URL') : [],
  }
}

/** SQL: the HR systems of which each has runs of its own, as `s`. */
const SOURCES = `(values ('changes')) k (kind) cross join lateral ${RUN_SOURCES} s`

async function readFacts({
  pool,
  config,
}: Pick<Services, 'pool' | 'config'>): Promise<Omit<SetupFacts, 'lines'>> {
  const [examination, { rows: runs }, { rows }] = await Promise.all([
    latestExamination(pool),
    pool.query<NonNullable<SetupFacts['run']>>(
      // Of each HR source the latest: one that is fine does not make up for another.
      `select r.* from ${SOURCES}
       cross join lateral (
         select id, state, message, coalesce(finished_at, requested_at) as at from dirsync.sync_run
         where kind in ${EMPLOYEE_KINDS_SQL} and keys = '{}' and hr_source = s.name order by id desc limit 1) r
       order by r.state in ('failed', 'source_suspect') desc, r.state = 'done', r.id desc limit 1`,
    ),
    pool.query<Omit<SetupFacts, 'examination' | 'has_provider' | 'run' | 'lines'>>({
      name: 'console setup',
      text: `
        select (select case when bool_and(at is not null) then min(at) end
                from ${SOURCES}
                cross join lateral greatest(
                  (select planned_at from dirsync.sync_run
                   where ${HAS_MAPPING} and hr_source = s.name order by id desc limit 1),
                  (select max(planned_at) from dirsync.sync_run
                   where kind in ${EMPLOYEE_KINDS_SQL} and state in ('held', 'rejected') and hr_source = s.name)) at
               ) as planned_at,
               (select message from dirsync.halt
                where category = 'hr_unavailable' order by scope limit 1) as hr_away,
               (select coalesce(jsonb_agg(jsonb_build_object('scope', scope, 'category', category, 'message', message)
                                          order by scope <> '*', scope), '[]')
                from dirsync.halt where category not in ('hr_unavailable', 'paused')) as platform_halts,
               first_syncs.*,
               (select max(created_at) from dirsync.platform_token where app_id = $1) as token_at,
               (select jsonb_build_object(
                  'able', count(*) filter (where source = 'password'),
                  'invited', count(*) filter (where source = 'key' and ${HAS_LINK}))
                from dirsync.console_user u
                where name <> $3 and disabled_at is null and no_role_since is null) as users,
               (select coalesce(jsonb_agg(jsonb_build_object(
                  'has_sent', c.last_sent_at is not null, 'is_failing', c.failing_since is not null)), '[]')
                from unnest($2::text[]) w (name) left join dirsync.alert_channel c using (name)) as channels
        from (select bool_and(ended is not null) as has_synced, min(id) filter (where ended is null) as syncing
              from ${FIRST_SYNCS} f) first_syncs`,
      values: [config.PLATFORM_APP_ID, config.channels.filter(getsAlerts).map(({ name }) => name), LOCAL],
    }),
  ])
  const facts = onlyRow(rows)
  const [run = null] = runs
  return { ...facts, run, examination, has_provider: config.OIDC_ISSUER !== null }
}

/** Puts the first steps away for good. */
export async function dismissSetup({ pool }: Pick<Services, 'pool'>, asker: Asker): Promise<void> {
  await inNameOf(pool, asker, async client => {
    await note(client, 'setup dismiss', {})
    await client.query('insert into dirsync.setup (ended_by) values ($1) on conflict do nothing', [
      asker.actor,
    ])
  })
}
