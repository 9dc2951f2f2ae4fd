import { html, type SafeHtml } from '@remix-run/html-template'
import { actorText, withActor } from '../../texts/actor.ts'
import { failureTexts } from '../../texts/failures.ts'
import { type Language, textOr } from '../../texts/texts.ts'
import type { Ask } from '../ask.ts'
import {
  actionForm,
  alert,
  code,
  empty,
  facts,
  figure,
  head,
  live,
  section,
  since,
  state,
  table,
  time,
  withCode,
} from '../ui/parts.ts'
import type { HaltsResult } from './query.ts'
import type { HaltReport, Process } from './service.ts'

/** Is anything halted, why, and are all the processes running that do the work? */
export function haltsBody(ask: Ask, result: HaltsResult): SafeHtml {
  const { t } = ask
  const { halts, processes, missing_roles, versions } = result
  return html`${head(t('halts.title'))}
  ${live(
    ask,
    'halts',
    ['halts', 'processes'],
    html`<div class="stack">
      ${halts.map(halt => haltAlert(ask, halt))}
      ${missing_roles.map(role =>
        alert(
          'bad',
          t('halts.missing_role', { role: textOr(ask.language, `process_role.${role}`, role) }),
          t('halts.missing_role.remedy', { role }),
        ),
      )}
      ${
        halts.length + missing_roles.length === 0
          ? html`<p>${state('ok', t(processes.length > 0 ? 'halts.none' : 'halts.nobody'))}</p>`
          : ''
      }
      ${
        versions.length > 1
          ? alert('warn', t('halts.versions', { versions: versions.join(', ') }), t('halts.versions.remedy'))
          : ''
      }
    </div>
    ${section(t('halts.processes'), processTable(ask, processes, versions.length > 1))}`,
  )}`
}

/** A halt and what ends it: the reason, what to do, and what dirsync does by itself. */
export function haltAlert(ask: Ask, halt: HaltReport): SafeHtml {
  const { t } = ask
  const isPaused = !halt.may_probe
  const { what, message, remedy } = haltTexts(ask, halt)
  return alert(
    'bad',
    what,
    html`<div class="stack"><p>${message}${halt.platform_code === null ? '' : html` (${code(halt.platform_code)})`}</p>
      <p class="todo">${withCode(remedy)}</p>
      ${facts([
        [t('halts.since'), html`${since(ask, halt.since)} (${time(ask, halt.since)})`],
        [t('halts.raised_by'), actorText(ask, halt.raised_by)],
        [t('halts.probes'), isPaused ? null : figure(ask, halt.probes)],
        [t('halts.next_probe'), isPaused ? t('halts.until_resumed') : nextProbe(ask, halt)],
      ])}
      ${
        isPaused
          ? actionForm(ask, { to: '/resume', label: t('overview.resume'), role: 'operator', tone: 'main' })
          : actionForm(ask, {
              to: `/halts/${encodeURIComponent(scopeInPath(halt.scope))}/probe`,
              label: t('halts.probe'),
              role: 'operator',
              tone: 'main',
            })
      }</div>`,
  )
}

/** What is halted, why, and what ends it. The console has a button to resume. */
export function haltTexts(
  ask: Ask,
  halt: Pick<HaltReport, 'scope' | 'category' | 'platform_code' | 'message' | 'remedy' | 'raised_by'>,
): { what: string; message: string; remedy: string } {
  const { t, language } = ask
  const { category, message, remedy } = failureTexts(language, {
    ...halt,
    message: withActor(ask, halt.message),
  })
  return {
    what: t('halts.what', { scope: scopeText(ask, halt.scope), category }),
    message,
    remedy: halt.category === 'paused' ? t('halts.paused.remedy') : remedy,
  }
}

function nextProbe(ask: Ask, { next_probe_at }: HaltReport): SafeHtml | string {
  if (next_probe_at !== null && next_probe_at <= ask.now) return ask.t('halts.probe_due')
  return since(ask, next_probe_at)
}

function scopeText({ t }: Ask, scope: string): string {
  if (scope === '*') return t('halts.everything')
  return scope === '' ? t('halts.own_enterprise') : t('halts.enterprise', { code: scope })
}

/** A scope as a path segment, which must not be empty: the enterprise without a code is `-`. */
export function scopeInPath(scope: string): string {
  return scope === '' ? '-' : scope
}

function processTable(ask: Ask, processes: readonly Process[], versionsDiffer: boolean): SafeHtml {
  const { t } = ask
  return table(
    processes,
    [
      {
        title: t('halts.roles'),
        kind: 'main',
        cell: ({ roles }) => rolesText(ask.language, roles),
      },
      {
        title: t('halts.state'),
        cell: ({ alive }) => (alive ? state('ok', t('halts.alive')) : state('bad', t('halts.dead'))),
      },
      { title: t('halts.host'), cell: ({ host }) => code(host) },
      { title: t('halts.pid'), kind: 'number', cell: ({ pid }) => code(pid) },
      {
        title: t('halts.version'),
        cell: ({ version, alive }) =>
          alive && versionsDiffer ? state('warn', version) : html`<span class="soft">${version}</span>`,
      },
      { title: t('halts.started'), kind: 'spare', cell: row => since(ask, row.started_at) },
      { title: t('halts.heartbeat'), cell: row => since(ask, row.heartbeat_at) },
      {
        title: t('halts.calls'),
        kind: 'number',
        cell: ({ pacer, alive }) => (pacer && alive ? figure(ask, pacer.callsPerSecond, 1) : null),
      },
      {
        title: t('halts.waiting'),
        kind: 'number',
        cell: ({ pacer, alive }) => (pacer && alive ? figure(ask, pacer.waiting) : null),
      },
      {
        title: t('halts.concurrency'),
        kind: 'number',
        cell: ({ pacer, alive }) => (pacer && alive ? figure(ask, pacer.concurrency) : null),
      },
    ],
    { caption: t('halts.processes'), empty: empty(t('halts.no_processes'), t('halts.no_processes.remedy')) },
  )
}

function rolesText(language: Language, roles: readonly string[]): string {
  return new Intl.ListFormat(language, { style: 'narrow', type: 'conjunction' }).format(
    roles.map(role => textOr(language, `process_role.${role}`, role)),
  )
}
