import type { AlertHistory } from '../../alerts/report.ts'
import { RULE_NAMES } from '../../alerts/rule.ts'
import type { Ask } from '../ask.ts'
import { rangeFields } from '../range.ts'
import { type Block, noRows, type Shown, tableOf, term } from '../shown.ts'
import { duration, filters } from '../ui/parts.ts'
import { rulePath } from './cards.ts'
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
      { title: t('alerts.rule'), only: 'shell', spare: true, of: ({ rule }) => rule },
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
    ],
    { caption: t('alerts.history'), ...noRows(ask, none), to: ({ rule }) => rulePath(rule) },
  )
}
