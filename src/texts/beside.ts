import type { Language } from './texts.ts'
import { meanings } from './zh-CN/meanings.ts'
import { operationSummaries } from './zh-CN/operations.ts'

/** What stands in English beside what it describes, a setting or an operation of the API: in other languages, by its English. */
const BY_ENGLISH: Record<Exclude<Language, 'en'>, Readonly<Record<string, string>>> = {
  'zh-CN': { ...meanings, ...operationSummaries },
}

/** A description in a language; in English where it has none there. */
export function descriptionText(language: Language, english: string): string {
  return language === 'en' ? english : (BY_ENGLISH[language][english] ?? english)
}
