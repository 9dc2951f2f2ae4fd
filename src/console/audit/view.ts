import { html, type SafeHtml } from '@remix-run/html-template'
import { capitalised, shortened } from '../../lib/text.ts'
import { actorText } from '../../texts/actor.ts'
import { inLanguage } from '../../texts/failures.ts'
import { isSaid, message } from '../../texts/message.ts'
import { textOr } from '../../texts/texts.ts'
import { scopesText } from '../access/tokens-view.ts'
import { wayOfSession } from '../access/view.ts'
import type { Ask } from '../ask.ts'
import { SCOPES } from '../auth/scope.ts'
import { rangeFields } from '../range.ts'
import {
  code,
  csvLink,
  empty,
  emptyPage,
  filters,
  head,
  live,
  type Part,
  pager,
  table,
  time,
} from '../ui/parts.ts'
import { inPath } from '../ui/paths.ts'
import type { AuditInput, AuditList } from './query.ts'

type Command = AuditList['items'][number]

/** Who did what, when, from where and why. */
export function auditBody(
  ask: Ask,
  { items, next, input, names }: AuditList & { input: AuditInput; names: string[] },
): SafeHtml {
  const { t } = ask
  const { cursor, limit: _, ...filter } = input
  const isFiltered = Object.values(filter).some(value => value !== undefined)
  const list = table(items, columns(ask), {
    caption: t('audit.title'),
    empty: emptyPage(
      ask,
      isFiltered
        ? empty(t('audit.no_match'), t('audit.no_match.remedy'))
        : empty(t('audit.none'), t('audit.none.remedy')),
    ),
  })
  return html`${head(t('audit.title'), { actions: [csvLink(ask, '/audit', filter)] })}
  <p class="soft">${t('audit.about')}</p>
  ${filters(ask, '/audit', [
    { name: 'who', label: t('audit.who'), type: 'search', value: input.who, maxlength: 200 },
    {
      name: 'what',
      label: t('audit.what'),
      value: input.what,
      choices: [
        { value: '', text: t('common.all') },
        ...withChosen(names, input.what)
          .map(name => ({ value: name, text: shortened(capitalised(commandName(ask, name)), 60) }))
          .toSorted((one, other) => one.text.localeCompare(other.text, ask.language)),
      ],
    },
    { name: 'run', label: t('audit.run'), type: 'number', value: input.run, min: 1 },
    { name: 'case', label: t('audit.case'), type: 'number', value: input.case, min: 1 },
    ...rangeFields(ask, t('audit.when'), { ...input, to: input.to ?? input.until }),
  ])}
  ${cursor === undefined ? live(ask, 'commands', ['audit'], list) : list}
  ${pager(ask, next)}`
}

function withChosen(names: readonly string[], chosen: string | undefined): readonly string[] {
  return chosen === undefined || names.includes(chosen) ? names : [...names, chosen]
}

function columns(ask: Ask) {
  const { t } = ask
  return [
    { title: t('audit.when'), cell: ({ requested_at }: Command) => time(ask, requested_at) },
    { title: t('audit.who'), cell: ({ requested_by }: Command) => asker(ask, requested_by) },
    { title: t('audit.what'), cell: (command: Command) => what(ask, command) },
    {
      title: t('audit.why'),
      cell: ({ reason }: Command) =>
        reason && html`<div class="words">${shortened(reason, MOST_REASON)}</div>`,
    },
    { title: t('audit.details'), cell: (command: Command) => details(ask, command) },
    {
      title: t('audit.from'),
      cell: ({ address }: Command) => address && code(shortened(address, MOST_VALUE)),
    },
  ]
}

/** Longer reasons are cut in the table; the export has them in full. */
const MOST_REASON = 500
const MOST_VALUE = 160

/** The name of a command in words: `approve a held run`. */
export function commandName({ language }: Ask, name: string): string {
  return textOr(language, `command.${name}`, name)
}

/** A person by name; the database user is shown on hover. */
function asker(ask: Ask, requestedBy: string): SafeHtml {
  const name = html`<bdi>${shortened(actorText(ask, requestedBy), MOST_VALUE)}</bdi>`
  return html`<span title="${shortened(requestedBy, MOST_VALUE)}">${name}</span>`
}

/** The command in words, its name, and its subject. */
function what(ask: Ask, command: Command): SafeHtml {
  const { name } = command
  const words = commandName(ask, name)
  const links = linksOf(ask, command)
  return html`${capitalised(shortened(words, MOST_VALUE))}${words === name ? '' : html` <small class="soft">${name}</small>`}${
    links.length === 0
      ? ''
      : html`<div class="row">${links.map(({ href, text }) => html`<a href="${href}">${text}</a>`)}</div>`
  }`
}

function linksOf({ t }: Ask, command: Command): { href: string; text: string }[] {
  const { run_id, dead_letter_id, arguments: given } = command
  const at = (folder: string, value: unknown) => `${folder}/${inPath(String(value))}`
  const named = (key: string) => typeof given[key] === 'string' || typeof given[key] === 'number'
  return [
    ...(run_id === null
      ? []
      : [{ href: at('/runs', run_id), text: t('audit.run_n', { id: String(run_id) }) }]),
    ...(dead_letter_id === null
      ? []
      : [{ href: at('/cases', dead_letter_id), text: t('audit.case_n', { id: String(dead_letter_id) }) }]),
    ...(named('bulk')
      ? [{ href: at('/bulk', given.bulk), text: t('audit.bulk_n', { id: String(given.bulk) }) }]
      : []),
    ...(named('outer_refund_no')
      ? [
          {
            href: at('/money/refunds', given.outer_refund_no),
            text: shortened(String(given.outer_refund_no), 60),
          },
        ]
      : []),
    ...(named('external_code')
      ? [{ href: at('/money/topups', given.external_code), text: shortened(String(given.external_code), 60) }]
      : []),
    ...(named('dry_run')
      ? [
          {
            href: at('/mapping/dry-runs', given.dry_run),
            text: t('audit.dry_run_n', { id: String(given.dry_run) }),
          },
        ]
      : []),
  ]
}

/** Arguments that other columns of the row show. */
const SHOWN_ELSEWHERE = new Set([
  'reason',
  'address',
  'run',
  'bulk',
  'outer_refund_no',
  'external_code',
  'dry_run',
])
const MOST_PAIRS = 12

/** The remaining arguments, one per line, with translated values where the catalogue has them. */
function details(ask: Ask, command: Command): SafeHtml | null {
  const { arguments: given, dead_letter_id } = command
  const shown =
    typeof given.via === 'string' ? { ...given, via: wayOfSession(String(given.user), given.via) } : given
  const pairs = Object.entries(shown).filter(
    ([name]) =>
      !SHOWN_ELSEWHERE.has(name) &&
      !(name === 'id' && dead_letter_id !== null) &&
      // The user of a sign-in is already shown as the person who asked.
      !(name === 'user' && /^sign_(in|out)$/.test(command.name)),
  )
  if (pairs.length === 0) return null
  return html`<ul class="values">${pairs
    .slice(0, MOST_PAIRS)
    .map(([name, value]) =>
      name === 'max_age'
        ? html`<li>${ask.t('audit.max_age', { time: spanText(ask, String(value)) })}</li>`
        : html`<li><span class="soft">${textOr(ask.language, `audit.arg.${name}`, shortened(name, 60))}</span> ${shownValue(ask, name, value)}</li>`,
    )}${pairs.length > MOST_PAIRS ? html`<li class="soft">${ask.t('audit.more', { count: pairs.length - MOST_PAIRS })}</li>` : ''}</ul>`
}

/** Which list of the catalogue translates an argument's values. */
const LISTS: Record<string, string> = {
  kind: 'run_kind',
  reason: 'reason',
  category: 'category',
  categories: 'category',
  state: 'money_state',
  states: 'state',
  job: 'job',
  rule: 'alert_rule',
  role: 'role',
  via: 'access.way',
  why: 'sign_in_why',
  field: 'field',
  operation: 'operation',
  screen: 'nav',
  by: 'field',
}
const MOMENT = /^\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d(:?\d\d)?)$/
/** A span as PostgreSQL writes it: `06:00:00`, `7 days`, `1 day 12:00:00`. */
const SPAN = /^(?:(\d+) days?)? ?(?:(\d+):(\d\d):(\d\d))?$/
const UNITS = [
  ['said.days', 86_400],
  ['said.hours', 3600],
  ['said.minutes', 60],
  ['said.seconds', 1],
] as const
const MOST_ITEMS = 8

function shownValue(ask: Ask, name: string, value: unknown): Part {
  if (typeof value === 'boolean') return ask.t(value ? 'common.yes' : 'common.no')
  if (typeof value === 'string') {
    const moment = MOMENT.test(value) ? new Date(value) : null
    if (moment && !Number.isNaN(moment.getTime())) return time(ask, moment)
    if (name === 'scope') return scopeWords(ask, value)
    return html`<bdi>${shortened(textOr(ask.language, `${LISTS[name]}.${value}`, value), MOST_VALUE)}</bdi>`
  }
  if (isSaid(value)) return inLanguage(ask.language, value)
  if (typeof value !== 'object' || value === null) return String(value)
  const items = Array.isArray(value)
    ? value.map(item => shownValue(ask, name, item))
    : Object.entries(value).map(
        ([key, item]) =>
          html`<span class="soft">${textOr(ask.language, `audit.arg.${key}`, shortened(key, 60))}</span> ${shownValue(ask, key, item)}`,
      )
  const shown = items.slice(0, MOST_ITEMS)
  return html`${shown.map((item, i) => html`${i > 0 ? ask.t('common.list_comma') : ''}${item}`)}${
    items.length > MOST_ITEMS
      ? html` <span class="soft">${ask.t('audit.more', { count: items.length - MOST_ITEMS })}</span>`
      : ''
  }`
}

/** What a token is limited to, as its page says it. */
function scopeWords(ask: Ask, value: string): string {
  const scopes = value.split(', ')
  const known = SCOPES.filter(scope => scopes.includes(scope))
  return known.length === scopes.length ? scopesText(ask, known) : shortened(value, MOST_VALUE)
}

/** In the largest unit of which it has a whole number: a rounded span would not be what was asked for. */
function spanText({ language }: Ask, span: string): string {
  const [, days = 0, hours = 0, minutes = 0, seconds = 0] = SPAN.exec(span) ?? []
  const total = ((Number(days) * 24 + Number(hours)) * 60 + Number(minutes)) * 60 + Number(seconds)
  const unit = UNITS.find(([, length]) => total > 0 && total % length === 0)
  return unit
    ? inLanguage(language, message(unit[0], { figure: total / unit[1] }))
    : shortened(span, MOST_VALUE)
}
