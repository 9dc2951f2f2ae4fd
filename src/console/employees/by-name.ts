import { html, type SafeHtml } from '@remix-run/html-template'
import { z } from 'zod'
import { keysOfName, qualified } from '../../directory/employee.ts'
import { keyListText, MOST_KEYS } from '../../sync/cases/case-filter.ts'
import { inLanguage } from '../../texts/failures.ts'
import type { Ask } from '../ask.ts'
import { plainText } from '../endpoint.ts'
import { Problem } from '../problem.ts'
import type { Services } from '../services.ts'
import { actionForm, type Field, foreign } from '../ui/parts.ts'

/*
 * Lists are filtered by people's keys. Their names are asked of HR, by a form whose text reaches no address: what stays in
 * addresses, saved views, bulk actions and the audit are the keys.
 */

const PATH = '/employees/by-name'

export const ByName = z.object({
  name: plainText(100).pipe(z.string().min(1)).describe('The name, or the beginning of one of its words'),
  enterprise: plainText(100)
    .pipe(z.string().min(1))
    .optional()
    .describe('Only of this enterprise: the HR source of another one need not answer'),
  list: z.string().max(4000).optional().describe('Of a page: the address of the list that is filtered'),
})

export const NamedKeys = z.object({
  keys: z.array(z.string()).describe('User ids, or enterprise/user id, as the filter `keys` takes them'),
})
export type NamedKeys = z.infer<typeof NamedKeys>

/**
 * The keys of everyone whom HR has by a name; that HR was searched is recorded, once an hour.
 * @throws Problem if that cannot be told in full: names are off, HR does not answer, there is no one, or there are too many
 */
export async function keysByName(
  { config, people }: Pick<Services, 'config' | 'people'>,
  ask: Ask,
  { name, enterprise, list }: z.output<typeof ByName>,
): Promise<NamedKeys> {
  const { t, language } = ask
  const listed = (sources: readonly string[]) => new Intl.ListFormat(language).format(sources)
  // A list of one enterprise shows nobody else.
  const only = enterprise ?? (addressOf(list ?? '').searchParams.get('enterprise') || undefined)
  const refuse = (text: string) => new Problem('invalid', text, { field: 'name' })
  if (!config.CONSOLE_NAMES) throw refuse(t('by_name.off'))
  // Where a mapping cannot be read the search says why.
  const nameless = await people.nameless(only).catch(() => ({ sources: [], all: false }))
  if (nameless.sources.length > 0)
    throw refuse(
      nameless.all
        ? t('by_name.unmapped')
        : t('by_name.unmapped_in', { sources: listed(nameless.sources.map(({ name }) => name)) }),
    )
  await people.readings.record(ask, 'search', { by: ['name'] })
  const { employees, isCut, trouble } = await people.search(
    { departments: null, by: [['name', [name]]], enterprise: only },
    ask.viewer.name,
    MOST_KEYS + 1,
  )
  if (trouble) {
    const reason = trouble.reason === null ? '' : inLanguage(language, trouble.reason)
    const { hr, sources } = trouble
    throw refuse(
      hr === 'failed' && sources.length > 0
        ? t('by_name.left_out', { sources: listed(sources), reason })
        : t(`by_name.${hr}`, { reason }),
    )
  }
  const keys = [
    ...new Set(
      employees
        .filter(({ enterpriseCode }) => only === undefined || enterpriseCode === only)
        .map(({ enterpriseCode, userid }) => qualified(enterpriseCode, userid)),
    ),
  ].sort()
  if (isCut || keys.length > MOST_KEYS) throw refuse(t('by_name.many', { most: MOST_KEYS }))
  if (keys.length === 0) throw refuse(t('by_name.none'))
  return { keys }
}

/** @param list an untrusted address */
function addressOf(list: string): Pick<URL, 'pathname' | 'searchParams'> {
  return URL.parse(list, 'http://console') ?? { pathname: '', searchParams: new URLSearchParams() }
}

/** A list of cases or of a plan's rows with these people alone. @param list its address, which is untrusted */
export function listByKeys(list: string, keys: readonly string[]): string {
  const { pathname, searchParams } = addressOf(list)
  searchParams.delete('cursor')
  searchParams.set('keys', keyListText(keys))
  return /^\/runs\/\d+\/plan$/.test(pathname)
    ? `${pathname}?${searchParams}#entities`
    : `/cases?${searchParams}`
}

/** The same people as a hidden field of the list's other filters; nothing without any. */
export function keysField(keys: readonly string[] | undefined): Field[] {
  return keys ? [{ name: 'keys', type: 'hidden', value: keyListText(keys) }] : []
}

/** The people that a list is filtered by, each of whom can be taken out, and the form that finds them if they have names. */
export function byName(ask: Ask, keys: readonly string[] = []): SafeHtml {
  const { t } = ask
  const without = (key: string) => {
    const { pathname, searchParams } = new URL(ask.url, 'http://console')
    const rest = keys.filter(other => other !== key)
    for (const name of ['keys', 'cursor']) searchParams.delete(name)
    if (rest.length > 0) searchParams.set('keys', keyListText(rest))
    return `${pathname}${searchParams.size > 0 ? `?${searchParams}` : ''}`
  }
  const chip = (key: string) => {
    // With one enterprise a user id may have a slash: of the two that a key may mean, HR has one.
    const names = keysOfName(key).map(meant => ask.marks.nameOf(meant))
    return html`<a href="${without(key)}" title="${t('by_name.without', { key })}">${foreign(key)}${names} ✕</a>`
  }
  return html`${keys.length === 0 ? '' : html`<nav class="chips" aria-label="${t('by_name.people')}">${keys.map(chip)}</nav>`}
    ${ask.findsNames ? byNameForm(ask) : ''}`
}

function byNameForm(ask: Ask): SafeHtml {
  const { t } = ask
  return actionForm(ask, {
    to: PATH,
    label: t('by_name.label'),
    submit: t('common.apply'),
    role: 'reviewer',
    fields: [
      {
        name: 'name',
        label: t('by_name.name'),
        type: 'search',
        required: true,
        maxlength: 100,
        autocomplete: 'off',
        hint: t('by_name.hint'),
      },
      { name: 'list', type: 'hidden', value: ask.url },
    ],
  })
}
