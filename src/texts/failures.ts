import { z } from 'zod'
import { actorText } from './actor.ts'
import {
  changed,
  inWords,
  isSaid,
  type Message,
  type MessageKey,
  message,
  rendered,
  type Said,
  type Speech,
} from './message.ts'
import { CATALOGUES, isTextKey, type Language, textOr, translator } from './texts.ts'

/** What messages say about failures, halts and runs, in the language of the reader. */

/** Columns of a case, a halt, or a row of `dirsync.failure`. */
export interface FailureRow {
  category: string
  message: Said
  remedy: Said
}

export interface FailureTexts {
  category: string
  message: string
  remedy: string
}

/** What a reviewer reads of a failure, in a language. */
export function failureTexts(language: Language, row: FailureRow): FailureTexts {
  return {
    category: textOr(language, `category.${row.category}`, row.category),
    message: inLanguage(language, row.message),
    remedy: inLanguage(language, row.remedy),
  }
}

/** What a halt of a scope is called: `*` is everything, else the code of an enterprise. */
export function haltOf(scope: string): Message {
  if (scope === '*') return message('said.everything_halted')
  return scope === ''
    ? message('said.own_enterprise_halted')
    : message('said.enterprise_halted', { code: scope })
}

/** The same in words. */
export function haltedText(language: Language, scope: string): string {
  return inLanguage(language, haltOf(scope))
}

/** The roles of a process, by their names. */
export function rolesText(language: Language, roles: readonly string[]): string {
  return new Intl.ListFormat(language, { style: 'narrow', type: 'conjunction' }).format(
    roles.map(role => textOr(language, `process_role.${role}`, role)),
  )
}

/** Why a run was held, was found suspicious or failed, in a language; null where it has no message. */
export function runMessage(language: Language, { message }: { message: Said | null }): string | null {
  return message === null ? null : inLanguage(language, message)
}

/** A message in the API: in words, in English. */
export const SaidText = z
  .codec(
    z.string(),
    z.custom<Said>(what => isSaid(what) || (Array.isArray(what) && what.length === 0)),
    {
      decode: inWords,
      encode: what => inLanguage('en', what),
    },
  )
  .meta({ type: 'string' })

/** A document for programs: the messages in it are in words, in English. */
export function inWordsForPrograms(_key: string, value: unknown): unknown {
  return isSaid(value) ? inLanguage('en', value) : value
}

/** The lists of the catalogue that have the names of values, by the parameter that a value is given for. */
const LISTS: Record<string, string> = {
  field: 'field',
  columns: 'field',
  category: 'category',
  kind: 'run_kind',
  operation: 'call',
  role: 'process_role',
  money_state: 'money_state',
  run_state: 'run_state',
  dry_run_state: 'dry_run_state',
  bulk_state: 'bulk_state',
  event: 'event',
}

/** The list of the names of a parameter's values; empty: they are said as they are stored, in English all of them. */
export function listNaming(language: Language, parameter: string): string {
  return language === 'en' ? '' : (LISTS[parameter] ?? '')
}

const SPEECHES: Record<Language, Speech> = {
  // In English, names are also what options take.
  en: {
    sentence: key => (isTextKey(key) ? CATALOGUES.en[key] : undefined),
    named: (_, value) => value,
    between: { sentences: ' ', messages: '; ', names: ', ' },
  },
  'zh-CN': {
    sentence: key => (isTextKey(key) ? CATALOGUES['zh-CN'][key] : undefined),
    named: (parameter, value) => textOr('zh-CN', `${LISTS[parameter]}.${value}`, value),
    between: { sentences: '', messages: '；', names: '、' },
  },
}

/** A message in a language, with people as people call them. @param zone of the reader, for the moments in it; absent: UTC */
export function inLanguage(language: Language, what: Said, zone?: string): string {
  return rendered(
    changed(what, one => {
      const said = zone === undefined ? one : inZone(zone, one)
      return TELL_WHO.has(said.key) ? withActor(language, said) : said
    }),
    SPEECHES[language],
  )
}

/** As dirsync.moment() writes it. */
const MOMENT = /^(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d) UTC$/

function inZone(timeZone: string, { key, values = {} }: Message): Message {
  const format = new Intl.DateTimeFormat('sv-SE', { dateStyle: 'short', timeStyle: 'medium', timeZone })
  const shown = Object.entries(values).map(([name, value]) => {
    const [, day, time] = MOMENT.exec(String(value)) ?? []
    return [name, day === undefined ? value : format.format(new Date(`${day}T${time}Z`))]
  })
  return { key, values: Object.fromEntries(shown) }
}

/** Messages whose name is who did something, as recorded. */
const TELL_WHO: ReadonlySet<string> = new Set([
  'said.paused_by',
  'said.recorded_before',
  'said.was_changed_by',
  'said.run_was_approved',
  'said.run_was_rejected',
  'said.run_was_cancelled',
  'said.bulk_was_started',
  'said.bulk_was_thrown_away',
  'said.bulk_was_undone',
] satisfies MessageKey[])

function withActor(language: Language, { key, values }: Message): Message {
  const t = translator(language)
  // Why it was decided may stand behind.
  const who = /^.*?\((?:console|api|cli):[^()]+\)|^(?:console|api|cli):.+/s
  return { key, values: { ...values, name: String(values?.name).replace(who, one => actorText({ t }, one)) } }
}
