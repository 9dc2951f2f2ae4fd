import type { Terms } from '../console/shown.ts'
import { perRun } from '../lib/io.ts'
import { actorText } from '../texts/actor.ts'
import { inLanguage } from '../texts/failures.ts'
import type { Said } from '../texts/message.ts'
import { type Language, type TextKey, type TextValues, textOr, translator } from '../texts/texts.ts'

/** The language in which commands answer people. `--json` and CSV are always English, for scripts. */
const speech = perRun<{ language: Language }>(() => ({ language: 'en' }))

/** Sets the language of this command. */
export function speak(wish: Language): void {
  speech().language = wish
}

/** The language of this command. */
export function shellLanguage(): Language {
  return speech().language
}

/** A text of the catalogue in the language of this command. */
export function say(key: TextKey, values?: TextValues): string {
  return translator(shellLanguage())(key, values)
}

/** The name of who did something, for display. */
export function who(actor: string): string {
  return actorText({ t: say }, actor)
}

/** A list of names in the catalogue: what stands before the last dot. */
export type Names = Terms | 'mapping.one' | 'shell.compared'

/** The name of a value. In English that is the stored value itself, which is also what options take. */
export function named<Value extends string | null | undefined>(list: Names, value: Value): Value | string {
  const language = shellLanguage()
  return language === 'en' || !value ? value : textOr(language, `${list}.${value}`, value)
}

/** Names, separated by commas. */
export function namedList(list: Names, values: readonly string[]): string {
  return values.map(value => named(list, value)).join(say('shell.comma'))
}

/** The name, with the value beside it if it differs, because people pass the value to an option. */
export function namedWithValue(list: Names, value: string): string {
  const name = named(list, value)
  return name === value ? value : `${name} (${value})`
}

/** A message in the log: what calls for a person in the language of this command, what is for machines in English. */
export function logWords(what: Said, isForPerson: boolean): string {
  return inLanguage(isForPerson ? shellLanguage() : 'en', what)
}

/** A stored message or remedy, in the language of this command. */
export function said<What extends Said | null | undefined>(stored: What): string | Exclude<What, Said> {
  return stored ? inLanguage(shellLanguage(), stored as Said) : (stored as Exclude<What, Said>)
}
