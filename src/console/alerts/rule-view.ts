import { html } from '@remix-run/html-template'
import { actorText } from '../../texts/actor.ts'
import type { Ask } from '../ask.ts'
import { type Block, joined, type Shown } from '../shown.ts'
import { actionForm, sinceText, timeText, withCode } from '../ui/parts.ts'
import { alertCard, muteForm, notTold, rulePath, severityOf } from './cards.ts'
import { endedTable } from './history-view.ts'
import type { RuleResult } from './query.ts'
import { settingsOf } from './view.ts'

/** A rule: what it means and what to do about its alerts. Messages link to its page. */
export function ruleShown(ask: Ask, result: RuleResult): Shown {
  const { t } = ask
  const { rule, title, figure, inhibited_by, mutes, runbook, alerts, channels, lately } = result
  const firing = alerts.filter(each => each.state === 'firing')
  const pending = alerts.filter(each => each.state === 'pending')
  const causes = inhibited_by.map(name => ({ to: rulePath(name), text: t(`alert_rule.${name}`) }))
  return {
    title,
    actions: mutes.some(({ subject }) => subject === null) ? [] : [muteForm(ask, rule)],
    topics: ['alerts'],
    blocks: [
      ...mutes.map(mute => muteNotice(ask, mute)),
      ...firing.map(each => alertCard(ask, each, { isOnRulePage: true })),
      ...(alerts.length === 0 ? [{ text: { tone: 'ok', text: t('alerts.rule.none_now') } } as const] : []),
      ...(pending.length === 0 ? [] : [notTold(ask, pending)]),
      {
        section: t('alerts.runbook'),
        blocks: [
          { drawn: html`<ol class="runbook">${runbook.map(step => html`<li>${withCode(step)}</li>`)}</ol>` },
        ],
      },
      {
        section: t('alerts.rule'),
        blocks: [
          {
            facts: [
              [t('alerts.severity'), severityOf(result)],
              [t('alerts.when'), figure],
              [t('alerts.setting'), settingsOf(result)],
              [t('alerts.rule.goes_to'), channels.join(', ') || t('alerts.rule.goes_to.nobody')],
              [t('alerts.rule.inhibited_by'), joined(causes, ' · ')],
            ],
          },
          { text: t('settings.line') },
          { copy: result.settings.map(({ name, value }) => `${name}=${value ?? 'off'}`).join('\n') },
        ],
      },
      {
        section: t('alerts.rule.lately'),
        blocks: [
          endedTable(ask, lately, t('alerts.rule.none_lately')),
          ...(lately.length === 0
            ? []
            : [{ text: { to: `/alerts/history?rule=${rule}`, text: t('alerts.rule.all') } }]),
        ],
      },
    ],
  }
}

/** A mute in force, with the button to lift it. */
function muteNotice(ask: Ask, mute: RuleResult['mutes'][number]): Block {
  const { t } = ask
  const { rule, subject, muted_by, muted_at, until, reason } = mute
  return {
    notice: 'info',
    title: t('alerts.muted_by', {
      subject: subject ?? 'none',
      by: actorText(ask, muted_by),
      ago: sinceText(ask, muted_at),
      time: timeText(ask, until),
    }),
    what: { foreign: reason },
    actions: [
      actionForm(ask, {
        to: '/alerts/unmute',
        label: t('alerts.unmute'),
        role: 'operator',
        tone: 'main',
        fields: [
          { name: 'rule', type: 'hidden', value: rule },
          ...(subject === null ? [] : [{ name: 'subject', type: 'hidden' as const, value: subject }]),
        ],
      }),
    ],
  }
}
