import { html, type SafeHtml } from '@remix-run/html-template'
import { actorText } from '../../texts/actor.ts'
import type { Ask } from '../ask.ts'
import {
  actionForm,
  alert,
  code,
  facts,
  foreign,
  head,
  live,
  section,
  state,
  timeText,
  withCode,
} from '../ui/parts.ts'
import { alertCard, muteForm, notTold, plainAgo, rulePath, severityState } from './cards.ts'
import { endedTable } from './history-view.ts'
import type { RuleResult } from './query.ts'

/** Page of a rule: what it means and what to do about its alerts. Messages link to it. */
export function ruleBody(ask: Ask, result: RuleResult): SafeHtml {
  const { t } = ask
  const { rule, title, severity, figure, settings, inhibited_by, mutes, runbook, alerts, channels } = result
  const firing = alerts.filter(each => each.state === 'firing')
  const pending = alerts.filter(each => each.state === 'pending')
  return html`${head(title, {
    actions: mutes.some(({ subject }) => subject === null) ? [] : [muteForm(ask, rule)],
  })}
  <p><a href="/alerts">${t('alerts.rule.back')}</a></p>
  ${live(
    ask,
    'rule',
    ['alerts'],
    html`<div class="stack">
      ${mutes.map(mute => muteAlert(ask, mute))}
      ${firing.map(each => alertCard(ask, each, { isOnRulePage: true }))}
      ${alerts.length === 0 ? html`<p>${state('ok', t('alerts.rule.none_now'))}</p>` : ''}
    </div>
    ${pending.length === 0 ? '' : notTold(ask, pending)}`,
  )}
  ${section(t('alerts.runbook'), html`<ol class="runbook">${runbook.map(step => html`<li>${withCode(step)}</li>`)}</ol>`)}
  ${section(
    t('alerts.rule'),
    facts([
      [t('alerts.severity'), severityState(ask, severity)],
      [t('alerts.when'), figure],
      [t('alerts.setting'), html`${settings.map(({ name }, i) => html`${i > 0 ? ' ' : ''}${code(name)}`)}`],
      [t('alerts.rule.goes_to'), channels.join(', ') || t('alerts.rule.goes_to.nobody')],
      [
        t('alerts.rule.inhibited_by'),
        inhibited_by.length === 0
          ? null
          : html`${inhibited_by.map((name, i) => html`${i > 0 ? ' · ' : ''}<a href="${rulePath(name)}">${t(`alert_rule.${name}`)}</a>`)}`,
      ],
    ]),
  )}
  ${section(
    t('alerts.rule.lately'),
    html`${endedTable(ask, result.lately, t('alerts.rule.none_lately'))}
    ${result.lately.length === 0 ? '' : html`<p><a href="/alerts/history?rule=${rule}">${t('alerts.rule.all')}</a></p>`}`,
  )}`
}

/** A mute in force, with the button to lift it. */
function muteAlert(ask: Ask, mute: RuleResult['mutes'][number]): SafeHtml {
  const { t } = ask
  const { rule, subject, muted_by, muted_at, until, reason } = mute
  return alert(
    'info',
    t('alerts.muted_by', {
      subject: subject ?? 'none',
      by: actorText(ask, muted_by),
      ago: plainAgo(ask, muted_at),
      time: timeText(ask, until),
    }),
    html`<div class="stack"><p>${foreign(reason)}</p><div class="row">${actionForm(ask, {
      to: '/alerts/unmute',
      label: t('alerts.unmute'),
      role: 'operator',
      tone: 'main',
      fields: [
        { name: 'rule', type: 'hidden', value: rule },
        ...(subject === null ? [] : [{ name: 'subject', type: 'hidden' as const, value: subject }]),
      ],
    })}</div></div>`,
  )
}
