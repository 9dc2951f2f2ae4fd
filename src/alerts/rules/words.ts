import { inLanguage } from '../../texts/failures.ts'
import { isSaid, type Said } from '../../texts/message.ts'
import { type Language, type TextValues, textOr } from '../../texts/texts.ts'

/* Values that the texts of several rules share. */

/** Figures and names; no personal data. */
export type FactValues = Readonly<Record<string, string | number | Said | null>>

/** Reads facts from the database, which an earlier version may have written. */
export class FactReader {
  readonly #facts: FactValues

  constructor(facts: FactValues) {
    this.#facts = facts
  }

  text(name: string): string {
    return String(this.#facts[name] ?? '')
  }

  number(name: string): number {
    return Number(this.#facts[name] ?? 0)
  }

  has(name: string): boolean {
    return (this.#facts[name] ?? null) !== null
  }

  /** A message in words, as a sentence that another one may follow. */
  said(language: Language, name: string, as: (what: Said) => Said = what => what): string {
    const fact = this.#facts[name] ?? ''
    return sentence(language, isSaid(fact) ? inLanguage(language, as(fact)) : String(fact))
  }

  /** Numbers as they are, for texts that need nothing else. */
  numbers(...names: string[]): TextValues {
    return Object.fromEntries(names.map(name => [name, this.number(name)]))
  }
}

/** The last answer of the other side, if known. */
export function answer(_: Language, facts: FactReader): TextValues {
  return { answer: facts.has('answer') ? facts.text('answer') : 'none' }
}

/** The last error, for a text that quotes it if known. */
export function lastError(language: Language, facts: FactReader): TextValues {
  return {
    error: facts.has('error') ? facts.said(language, 'error') : 'none',
  }
}

/** The kind of runs, and the HR source. */
export function kindText(language: Language, facts: FactReader, otherwise = ''): string {
  const kind = facts.has('kind') ? facts.text('kind') : otherwise
  const text = textOr(language, `run_kind.${kind}`, kind)
  return facts.has('source') ? `${text}, ${facts.text('source')}` : text
}

/** A stored text as a full sentence that another one may follow. */
export function sentence(language: Language, text: string): string {
  const trimmed = text.trim()
  if (trimmed === '' || /[.!?。！？]$/.test(trimmed)) return trimmed
  return trimmed + (language === 'zh-CN' ? '。' : '.')
}
