import { capitalised } from '../../lib/text.ts'
import { HALTS_OF_OTHERS } from '../../sync/outbox/halts.ts'
import { actorText } from '../../texts/actor.ts'
import { failureTexts, haltedText, inLanguage, rolesText } from '../../texts/failures.ts'
import { textOr } from '../../texts/texts.ts'
import type { Ask } from '../ask.ts'
import { type Block, type NoticeBlock, type Shown, tableOf, type Words } from '../shown.ts'
import { actionForm, figure } from '../ui/parts.ts'
import { inPath } from '../ui/paths.ts'
import { type HaltReport, type HaltsResult, type Process, pauseVersion } from './query.ts'

/** Is anything halted, why, and are all the processes running that do the work? */
export function haltsShown(ask: Ask, result: HaltsResult): Shown {
  const { t } = ask
  const { halts, processes, missing_roles } = result
  const isWell = halts.length + missing_roles.length === 0
  return {
    title: t('halts.title'),
    topics: ['halts', 'processes'],
    blocks: [
      ...halts.map(halt => haltNotice(ask, halt)),
      ...(isWell
        ? [{ text: { tone: 'ok', text: t(processes.length > 0 ? 'halts.none' : 'halts.nobody') } } as const]
        : []),
      ...missing_roles.map(
        (role): NoticeBlock => ({
          notice: 'bad',
          title: t('halts.missing_role', { role: textOr(ask.language, `process_role.${role}`, role) }),
          todo: t('halts.missing_role.remedy', { role }),
        }),
      ),
      ...processBlocks(ask, result),
    ],
  }
}

/** A halt and what ends it: the reason, what to do, and what dirsync does by itself. */
export function haltNotice(ask: Ask, halt: HaltReport): NoticeBlock {
  const { t } = ask
  const isPaused = halt.category === 'paused'
  const { category, message, remedy } = failureTexts(ask.language, halt)
  return {
    notice: 'bad',
    title: haltTitle(ask, halt.scope, category),
    what: halt.platform_code === null ? message : [message, ' (', { code: halt.platform_code }, ')'],
    todo: isPaused ? t('halts.paused.remedy') : remedy,
    facts: [
      [t('halts.since'), { since: halt.since, exact: true }],
      [t(isPaused ? 'halts.reason_by' : 'halts.raised_by'), actorText(ask, halt.raised_by)],
      [t('halts.probes'), isPaused ? null : halt.probes],
      [t('halts.next_probe'), isPaused ? t('halts.until_resumed') : nextProbe(ask, halt)],
    ],
    actions: isPaused
      ? [resumeForm(ask, halt, 'main')]
      : halt.may_probe
        ? [
            actionForm(ask, {
              to: `/halts/${inPath(scopeInPath(halt.scope))}/probe`,
              label: t('halts.probe'),
              role: 'operator',
              tone: 'main',
            }),
          ]
        : [],
  }
}

export function resumeForm(
  ask: Ask,
  pause: Parameters<typeof pauseVersion>[0],
  tone?: 'main',
): ReturnType<typeof actionForm> {
  return actionForm(ask, {
    to: '/resume',
    label: ask.t('overview.resume'),
    role: 'operator',
    ...(tone && { tone }),
    fields: [{ name: 'version', type: 'hidden', value: pauseVersion(pause) }],
  })
}

/** What is halted, and why. @param category in words */
export function haltTitle(ask: Ask, scope: string, category: string): string {
  return ask.t('halts.what', { scope: haltedText(ask.language, scope), category })
}

function nextProbe({ t, now }: Ask, { category, next_probe_at, may_probe }: HaltReport): Words {
  if (!may_probe) return t('halts.probe_paused')
  if (next_probe_at === null) return null
  if (next_probe_at > now) return { since: next_probe_at }
  return t(HALTS_OF_OTHERS.includes(category) ? 'halts.probe_due_hr' : 'halts.probe_due')
}

/** A scope as a path segment, which must not be empty: the enterprise without a code is `-`. */
export function scopeInPath(scope: string): string {
  return scope === '' ? '-' : scope
}

/** The processes of this deployment, and whether they fit together. */
export function processBlocks(ask: Ask, { processes, versions, differences }: HaltsResult): Block[] {
  return [
    ...differences.map(
      ({ what, remedy }): NoticeBlock => ({
        notice: 'warn',
        title: capitalised(inLanguage(ask.language, what)),
        todo: inLanguage(ask.language, remedy),
      }),
    ),
    { section: ask.t('halts.processes'), blocks: [processTable(ask, processes, versions.length > 1)] },
  ]
}

function processTable(ask: Ask, processes: readonly Process[], versionsDiffer: boolean): Block {
  const { t } = ask
  return tableOf(
    processes,
    [
      { title: t('halts.roles'), kind: 'main', of: ({ roles }) => rolesText(ask.language, roles) },
      {
        title: t('halts.state'),
        of({ alive, aside_for }) {
          if (!alive) return { tone: 'bad', text: t('halts.dead') }
          return aside_for === null
            ? { tone: 'ok', text: t('halts.alive') }
            : { tone: 'warn', text: t('halts.aside') }
        },
      },
      { title: t('halts.host'), gives: true, of: ({ host }) => ({ code: host }) },
      { title: t('halts.pid'), kind: 'number', of: ({ pid }) => ({ code: pid }) },
      {
        title: t('halts.version'),
        of: ({ version, alive }) =>
          alive && versionsDiffer ? { tone: 'warn', text: version } : { soft: version },
      },
      { title: t('halts.started'), spare: true, of: row => ({ since: row.started_at }) },
      { title: t('halts.heartbeat'), of: row => ({ since: row.heartbeat_at }) },
      {
        title: t('halts.calls'),
        kind: 'number',
        spare: true,
        of: ({ pacer, alive }) => (pacer && alive ? figure(ask, pacer.callsPerSecond, 1) : null),
      },
      {
        title: t('halts.waiting'),
        kind: 'number',
        spare: true,
        of: ({ pacer, alive }) => (pacer && alive ? pacer.waiting : null),
      },
      {
        title: t('halts.concurrency'),
        kind: 'number',
        spare: true,
        of: ({ pacer, alive }) => (pacer && alive ? pacer.concurrency : null),
      },
    ],
    { caption: t('halts.processes'), empty: t('halts.no_processes'), todo: t('halts.no_processes.remedy') },
  )
}
