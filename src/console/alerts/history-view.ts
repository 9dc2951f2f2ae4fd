import type { AlertHistory } from '../../alerts/report.ts'
import { RULE_NAMES } from '../../alerts/rule.ts'
import { actorText } from '../../texts/actor.ts'
import type { Ask } from '../ask.ts'
import { rangeFields } from '../range.ts'
import { type Block, joined, noRows, type Shown, tableOf, term, type Words } from '../shown.ts'
import { duration, filters } from '../ui/parts.ts'
import { rulePath, whatWords, withReason } from './cards.ts'
import type { HistoryInput } from './query.ts'
import { alertTabs } from './view.ts'

/** Past alerts: what was wrong, for how long, and who was told. */
export function historyShown(ask: Ask, { items, next }: AlertHistory, input: HistoryInput): Shown {
  const { t } = ask
  const isFiltered = [input.rule, input.from, input.to, input.since].some(value => value !== undefined)
  const form = filters(ask, '/alerts/history', [
    {
      name: 'rule',
      label: t('alerts.rule'),
      value: input.rule,
      choices: [
        { value: '', text: t('common.all') },
        ...RULE_NAMES.map(name => ({ value: name, text: t(`alert_rule.${name}`) })),
      ],
    },
    ...rangeFields(ask, t('alerts.ended'), input),
  ])
  return {
    title: t('alerts.history'),
    topics: ['alerts'],
    blocks: [
      { drawn: alertTabs(ask, 'history') },
      { text: { soft: t('alerts.history.about') } },
      { drawn: form },
      endedTable(ask, items, isFiltered ? t('alerts.history.no_match') : t('alerts.history.none')),
      { next },
    ],
  }
}

/**
 * Table of alerts that have ended.
 * @param none text to show if the table is empty
 */
export function endedTable(ask: Ask, alerts: AlertHistory['items'], none: string): Block {
  const { t } = ask
  return tableOf(
    alerts,
    [
      { title: t('alerts.number'), only: 'shell', kind: 'number', of: ({ id }) => String(id) },
      { title: t('alerts.rule'), only: 'shell', of: ({ rule }) => rule },
      { title: t('alerts.what'), kind: 'main', gives: true, of: ({ title }) => title },
      { title: t('alerts.severity'), of: ({ severity }) => term('severity', severity) },
      { title: t('alerts.since'), of: row => ({ at: row.since }) },
      { title: t('alerts.ended'), spare: true, of: ({ ended_at }) => ended_at && { since: ended_at } },
      {
        title: t('alerts.lasted'),
        kind: 'number',
        of: row => row.ended_at && duration(ask, row.ended_at.getTime() - row.since.getTime()),
      },
      {
        title: t('alerts.told'),
        spare: true,
        of: ({ told }) =>
          told
            .filter(({ event }) => event !== 'withheld')
            .map(({ channel }) => channel)
            .join(', '),
      },
      // The note of a row stands in it.
      { title: t('common.details'), only: 'page', of: () => null },
    ],
    {
      caption: t('alerts.history'),
      ...noRows(ask, none),
      to: ({ rule }) => rulePath(rule),
      note: alert => detailsOf(ask, alert),
    },
  )
}

/** What was wrong, who took it over, and why. */
function detailsOf(ask: Ask, alert: AlertHistory['items'][number]): Words {
  const { acknowledged_by: by, acknowledged_reason: reason } = alert
  return joined(
    [whatWords(alert), by && withReason(ask.t('alerts.was_in_hand', { by: actorText(ask, by) }), reason)],
    ' · ',
  )
}
