import { IntlMessageFormat } from 'intl-messageformat'
import { en, zhCN } from './sections.ts'

/** The languages that operators are spoken to in. */
export const LANGUAGES = ['en', 'zh-CN'] as const
export type Language = (typeof LANGUAGES)[number]

/** The name of a text, such as `cases.title`: the section of the catalogue, and what it is there. */
export type TextKey = keyof typeof en

/** The catalogue of a language: the same keys as the English one. Texts are ICU messages. */
export type Catalogue = Record<TextKey, string>

export const CATALOGUES: Record<Language, Catalogue> = { en, 'zh-CN': zhCN }

export type TextValues = Record<string, string | number | Date | null>

/** Gives the text of a key, with its parameters filled in. The result is plain text, not HTML. */
export type Translate = (key: TextKey, values?: TextValues) => string

const translators = new Map<Language, Translate>()

/** How to say things in a language. */
export function translator(language: Language): Translate {
  let translate = translators.get(language)
  if (!translate) {
    translate = newTranslator(language)
    translators.set(language, translate)
  }
  return translate
}

function newTranslator(language: Language): Translate {
  const catalogue = CATALOGUES[language]
  const messages = new Map<TextKey, IntlMessageFormat>()
  return (key, values) => {
    let message = messages.get(key)
    if (!message) {
      message = new IntlMessageFormat(catalogue[key], language, undefined, { ignoreTag: true })
      messages.set(key, message)
    }
    return String(message.format(values))
  }
}

/** What ends a sentence that is put together. */
export const FULL_STOP: Record<Language, string> = { en: '.', 'zh-CN': '。' }
/** Between a name and what it names. */
export const COLON: Record<Language, string> = { en: ': ', 'zh-CN': '：' }

/** Whether there is a text of that name. */
export function isTextKey(key: string): key is TextKey {
  return Object.hasOwn(en, key)
}

/** The values that a list of the catalogue names, such as the categories of `category.…`. */
export function namesIn<List extends string>(list: List): NameIn<List>[] {
  return Object.keys(en)
    .filter(key => key.startsWith(`${list}.`))
    .map(key => key.slice(list.length + 1) as NameIn<List>)
}

/** `open` in the list `state`, where the catalogue has `state.open`. */
export type NameIn<List extends string> = Named<TextKey, List>
type Named<Key, List extends string> = Key extends `${List}.${infer Name}` ? Name : never

/** The text of a key that is made from data, such as `state.open`; the fallback where the catalogue has none. */
export function textOr(language: Language, key: string, fallback: string): string {
  return isTextKey(key) ? translator(language)(key) : fallback
}

/**
 * The language that a reader asks for.
 * @param wish a language tag, or an Accept-Language header; undefined where nothing is asked for
 */
export function languageOf(wish: string | undefined): Language {
  const wishes = (wish ?? '')
    .split(',')
    .map(item => {
      const [tag = '', quality] = item.trim().split(/\s*;\s*q=/)
      return { tag: tag.toLowerCase(), quality: quality === undefined ? 1 : Number(quality) || 0 }
    })
    .filter(({ quality }) => quality > 0)
    .sort((a, b) => b.quality - a.quality)
  for (const { tag } of wishes) {
    if (tag === 'zh' || tag.startsWith('zh-') || tag.startsWith('zh_')) return 'zh-CN'
    if (tag === 'en' || tag.startsWith('en-') || tag.startsWith('en_')) return 'en'
  }
  return 'en'
}
