import { html, type SafeHtml } from '@remix-run/html-template'
import type { CheckResult } from '../../doctor/finding.ts'
import { actorText } from '../../texts/actor.ts'
import type { Describe } from '../../texts/beside.ts'
import { inLanguage } from '../../texts/failures.ts'
import { textOr } from '../../texts/texts.ts'
import type { Ask } from '../ask.ts'
import {
  actionForm,
  alert,
  code,
  copyLine,
  empty,
  filters,
  head,
  section,
  state,
  type Tone,
  table,
  tabs,
  time,
  withCode,
} from '../ui/parts.ts'
import type { DoctorResult, SettingResult, SettingsResult } from './query.ts'

// Settings

/** The settings in force in this process, and where each comes from. */
export function settingsBody(
  ask: Ask,
  describe: Describe,
  { settings }: SettingsResult,
  q: string,
): SafeHtml {
  const { t } = ask
  const byGroup = Map.groupBy(settings, ({ group }) => group)
  return html`${head(t('settings.title'))}
    ${screens(ask, 'settings')}
    <div class="stack"><p>${withCode(t('settings.intro'))}</p></div>
    ${filters(ask, '/settings', [
      { name: 'q', type: 'search', label: t('settings.search'), value: q, maxlength: 100 },
    ])}
    ${settings.length === 0 ? empty(t('settings.none_match', { text: q })) : ''}
    <div class="settings" data-filtered-by="q">${[...byGroup].map(([group, members]) => {
      const title = textOr(
        ask.language,
        `settings.group.${group.toLowerCase().replaceAll(/\W+/g, '_')}`,
        group,
      )
      return section(title, settingTable(ask, describe, title, members))
    })}</div>`
}

function screens({ t }: Ask, current: 'settings' | 'doctor'): SafeHtml {
  return tabs(t('nav.settings'), [
    { href: '/settings', text: t('settings.settings'), current: current === 'settings' },
    { href: '/doctor', text: t('settings.doctor'), current: current === 'doctor' },
  ])
}

function settingTable(
  ask: Ask,
  describe: Describe,
  caption: string,
  settings: readonly SettingResult[],
): SafeHtml {
  const { t } = ask
  return table(
    settings,
    [
      {
        title: t('settings.name'),
        kind: 'main',
        cell: ({ name, line }) => html`${code(name)} ${copyLine(t, name, line)}`,
      },
      { title: t('settings.value'), cell: setting => valueText(ask, setting) },
      { title: t('settings.source'), cell: setting => sourceText(ask, setting) },
      {
        title: t('settings.default'),
        kind: 'spare',
        cell: setting => (setting.default ? code(setting.default) : null),
      },
      {
        title: t('settings.meaning'),
        kind: 'spare',
        cell: ({ meaning }) => withCode(describe(meaning)),
      },
    ],
    { caption, empty: html`` },
  )
}

function valueText({ t }: Ask, { value, is_set, secret }: SettingResult): SafeHtml | string {
  if (!is_set) return html`<span class="soft">${t('settings.not_set')}</span>`
  if (value !== null)
    return value === '' ? html`<span class="soft">${t('settings.empty')}</span>` : code(value)
  return html`<span class="soft">${t(secret ? 'settings.hidden' : 'settings.unreadable')}</span>`
}

function sourceText({ t }: Ask, { source, file }: SettingResult): SafeHtml | string | null {
  if (source === 'none') return null
  const text = t(`settings.source.${source}`)
  if (source === 'default') return html`<span class="soft">${text}</span>`
  return file === null ? text : html`${text} ${code(file)}`
}

// Doctor

const TONES: Record<CheckResult['status'], Tone> = { ok: 'ok', warning: 'warn', failed: 'bad' }
const SEVERITY: Record<CheckResult['status'], number> = { failed: 0, warning: 1, ok: 2 }

/** Does everything work? Failed checks come first. */
export function doctorBody(ask: Ask, { examination }: DoctorResult): SafeHtml {
  const { t } = ask
  const check = actionForm(ask, {
    to: '/doctor',
    label: t(examination ? 'settings.examine_again' : 'settings.examine'),
    role: 'admin',
    tone: 'main',
  })
  return html`${head(t('settings.doctor'), { actions: [check] })}
    ${screens(ask, 'doctor')}
    ${
      examination === null
        ? empty(t('settings.not_examined'), t('settings.not_examined.todo'))
        : html`<div class="stack">
          ${summary(ask, examination)}
          <p class="soft">${t('settings.examined', { by: actorText(ask, examination.by) })} ${time(ask, examination.at)}</p>
        </div>
        ${table(
          examination.findings.toSorted((a, b) => SEVERITY[a.status] - SEVERITY[b.status]),
          [
            {
              title: t('settings.check'),
              kind: 'main',
              cell: ({ check }) => html`<span class="nowrap">${code(check)}</span>`,
            },
            {
              title: t('settings.finding'),
              cell: ({ status }) => state(TONES[status], t(`settings.finding.${status}`)),
            },
            {
              title: t('settings.what'),
              cell: ({ what, remedy }) =>
                html`${withCode(inLanguage(ask.language, what))}${
                  remedy ? html`<p class="todo">${withCode(inLanguage(ask.language, remedy))}</p>` : ''
                }`,
            },
          ],
          { caption: t('settings.doctor'), empty: html`` },
        )}`
    }`
}

function summary({ t }: Ask, { findings, complete }: NonNullable<DoctorResult['examination']>): SafeHtml {
  const count = (status: CheckResult['status']) =>
    findings.filter(finding => finding.status === status).length
  const [failed, warnings] = [count('failed'), count('warning')]
  if (!complete) return alert('bad', t('settings.incomplete'), t('settings.incomplete.remedy'))
  if (failed > 0) return alert('bad', t('settings.failed', { count: failed }))
  return warnings > 0
    ? alert('warn', t('settings.warnings', { count: warnings }))
    : html`<p>${state('ok', t('settings.well', { count: findings.length }))}</p>`
}
