import { html, type SafeHtml } from '@remix-run/html-template'
import type { AlertHistory } from '../../alerts/report.ts'
import { RULE_NAMES } from '../../alerts/rule.ts'
import type { Ask } from '../ask.ts'
import { duration, empty, filters, head, live, pager, since, table, time } from '../ui/parts.ts'
import { rulePath } from './cards.ts'
import type { HistoryInput } from './query.ts'
import { alertTabs } from './view.ts'

/** Past alerts: what was wrong, for how long, and who was told. */
export function historyBody(ask: Ask, { alerts, next }: AlertHistory, input: HistoryInput): SafeHtml {
  const { t } = ask
  const isFiltered = input.rule !== undefined || input.since !== undefined
  return html`${head(t('alerts.title'))}
  ${alertTabs(ask, 'history')}
  <p class="soft">${t('alerts.history.about')}</p>
  ${filters(ask, '/alerts/history', [
    {
      name: 'rule',
      label: t('alerts.rule'),
      value: input.rule,
      choices: [
        { value: '', text: t('common.all') },
        ...RULE_NAMES.map(name => ({ value: name, text: t(`alert_rule.${name}`) })),
      ],
    },
    { name: 'since', label: t('alerts.history.from'), type: 'datetime-local', value: input.since },
  ])}
  ${live(
    ask,
    'history',
    ['alerts'],
    html`${endedTable(ask, alerts, isFiltered ? t('alerts.history.no_match') : t('alerts.history.none'))}
    ${pager(ask, next)}`,
  )}`
}

/**
 * Table of alerts that have ended.
 * @param none text to show if the table is empty
 */
export function endedTable(ask: Ask, alerts: AlertHistory['alerts'], none: string): SafeHtml {
  const { t } = ask
  return table(
    alerts,
    [
      { title: t('alerts.what'), kind: 'main', cell: ({ title }) => title },
      { title: t('alerts.severity'), kind: 'spare', cell: ({ severity }) => t(`severity.${severity}`) },
      { title: t('alerts.since'), cell: row => time(ask, row.since) },
      { title: t('alerts.ended'), kind: 'spare', cell: ({ ended_at }) => since(ask, ended_at) },
      {
        title: t('alerts.lasted'),
        kind: 'number',
        cell: row => row.ended_at && duration(ask, row.ended_at.getTime() - row.since.getTime()),
      },
      {
        title: t('alerts.told'),
        kind: 'spare',
        cell: ({ told }) =>
          told
            .filter(({ event }) => event !== 'withheld')
            .map(({ channel }) => channel)
            .join(', ') || null,
      },
    ],
    { caption: t('alerts.history'), empty: empty(none), href: ({ rule }) => rulePath(rule) },
  )
}
