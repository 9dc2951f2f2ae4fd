import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'
import type { Terms } from '../console/shown.ts'
import { type Environment, environment, perRun } from '../lib/io.ts'
import { actorText } from '../texts/actor.ts'
import { inLanguage } from '../texts/failures.ts'
import type { Said } from '../texts/message.ts'
import { type Language, type TextKey, type TextValues, textOr, translator } from '../texts/texts.ts'

/** The language in which commands answer people. `--json` and CSV are always English, for scripts. */
const speech = perRun<{ language: Language; program: string }>(() => ({
  language: 'en',
  program: invocation(environment()),
}))

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
  return typeable(translator(shellLanguage())(key, values))
}

/** A text whose commands can be typed as they stand: the catalogue calls the program `dirsync`. */
export function typeable(text: string): string {
  return text.replaceAll('`dirsync ', `\`${speech().program} `)
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
  return isForPerson ? said(what) : inLanguage('en', what)
}

/** A stored message or remedy, in the language of this command. */
export function said<What extends Said | null | undefined>(stored: What): string | Exclude<What, Said> {
  return stored ? typeable(inLanguage(shellLanguage(), stored as Said)) : (stored as Exclude<What, Said>)
}

/**
 * How a person types the program's name: `dirsync` where it is installed (the image), `npx dirsync` in a checkout.
 */
export function invocation(env: Environment): 'dirsync' | 'npx dirsync' {
  const folders = (env.PATH ?? '')
    .split(delimiter)
    // npm adds these folders to the path of what it runs; they are not on the person's own path.
    .filter(folder => folder !== '' && !/node_modules\/\.bin\/?$/.test(folder))
  return folders.some(folder => isExecutable(join(folder, 'dirsync'))) ? 'dirsync' : 'npx dirsync'
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK)
    return true
  } catch {
    return false
  }
}
