/**
 * A foreign text without what may identify a person in it: numbers of five and more characters and e-mail addresses.
 * For the platform's own messages, which dead letters quote.
 */
export function maskText(text: string): string {
  return text
    .replace(/[^\s@<>"']+@[^\s@<>"']+/g, '***@***')
    .replace(/[0-9A-Za-z]*[0-9]{4}[0-9A-Za-z]*/g, word => (word.length < 5 ? word : `${word.slice(0, 2)}***`))
    .slice(0, 300)
}
