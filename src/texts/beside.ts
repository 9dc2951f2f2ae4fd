import type { Language } from './texts.ts'

/** Gives a description that stands in English beside what it describes: a setting, an operation of the API, or a field of one. */
export type Describe = (english: string) => string

/**
 * Descriptions in a language; in English where they have none there. They are only loaded once a page shows them: workers and
 * most consoles have no need of them.
 */
export async function descriptionsIn(language: Language): Promise<Describe> {
  if (language === 'en') return english => english
  const { meanings } = await import('./zh-CN/meanings.ts')
  const { operationSummaries } = await import('./zh-CN/operations.ts')
  const { fieldMeanings } = await import('./zh-CN/fields.ts')
  const { filterMeanings } = await import('./zh-CN/filters.ts')
  const chinese = { ...meanings, ...operationSummaries, ...fieldMeanings, ...filterMeanings }
  return english => chinese[english] ?? english
}
