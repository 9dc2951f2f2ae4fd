import { beginning } from './text.ts'

/** Foreign texts are cut to this before they are looked at, so that a huge one costs nothing. */
const READ = 2000
const KEPT = 300

const EMAIL = /[^\s@＠<>"']+[@＠][^\s@＠<>"']+/g
/** A number, also one of several groups: `138 1234 5678`, `+86-138-1234-5678`, `E12345678`, full-width digits. */
const NUMBER = /(?<![A-Za-z\p{Nd}])[A-Za-z]*\p{Nd}[A-Za-z\p{Nd}]*(?:[ .()/+-]{1,2}\p{Nd}[A-Za-z\p{Nd}]*)*/gu

/**
 * A foreign text without what may identify a person in it: numbers of five and more digits, in groups or not, and e-mail
 * addresses. For the platform's own messages, which dead letters quote; what PostgreSQL cannot store in a text is gone too.
 */
export function maskText(text: string): string {
  const masked = beginning(text, READ)
    .replace(/\p{Cc}+/gu, ' ')
    .replace(EMAIL, '***@***')
    .replace(NUMBER, word => (identifies(word) ? `${[...word].slice(0, 2).join('')}***` : word))
  return beginning(masked, KEPT).toWellFormed()
}

function identifies(word: string): boolean {
  const digits = word.match(/\p{Nd}/gu)?.length ?? 0
  return digits >= 5 || (/\p{Nd}{4}/u.test(word) && word.length >= 5)
}
