import { expect } from 'vitest'

/** The text without what is not written by us: parameters, and code in backticks. */
export const written = (text: string) =>
  text
    .replaceAll(/`[^`]*`/g, '')
    .replaceAll(/\{\w+(?:, number)?\}/g, '')
    .replaceAll(/"[^"]*"/g, '')

/** A command that is quoted without backticks goes to the end of its clause. */
const commandless = (text: string) => text.replaceAll(/dirsync [a-z]+(?: [a-z]+)*/g, '')

const FLAWS: Record<string, (text: string) => boolean> = {
  'three words of English in a row': text => /[a-z]{2,} [a-z]{2,} [a-z]{2,}/.test(commandless(written(text))),
  'half-width punctuation': text => /\p{Script=Han}[,;:!?()]|[,;:!?()]\p{Script=Han}/u.test(written(text)),
  'no blank between Chinese and Latin letters or figures': text =>
    /\p{Script=Han}[A-Za-z0-9]|[A-Za-z0-9]\p{Script=Han}/u.test(written(text)),
  'another word for a dead letter, a run or a halt than the glossary’s': text =>
    /死信|熔断|作业|运行记录|运行 \{run\}|批次|凭据|幂等|服务器端停止/.test(text),
  'another word for a reviewer, a masked value, an open id or a closed department than the glossary’s':
    text => /审核人员|遮盖|Open ID|关闭的部门|部门(?:已)?关闭|标为已关闭/.test(text),
  'another word for the history of a refund or for acknowledging an alert than the pages’': text =>
    /“经过”|确认告警/.test(text),
}

/** The names of Chinese texts that are not as ours are, and why. */
export function flawsOf(texts: Readonly<Record<string, string>>): string[] {
  return Object.entries(texts).flatMap(([name, text]) =>
    Object.keys(FLAWS)
      .filter(flaw => FLAWS[flaw]?.(text))
      .map(flaw => `${name}: ${flaw}`),
  )
}

/** Texts that stand in English beside what they describe: each has a Chinese one by its English, and none is there for nothing. */
export function expectEachInChinese(
  texts: Iterable<string>,
  chinese: Readonly<Record<string, string>>,
): void {
  const wanted = new Set(texts)
  wanted.delete('')
  expect([...wanted].filter(text => !(text in chinese))).toEqual([])
  expect(Object.keys(chinese).filter(text => !wanted.has(text))).toEqual([])
  expect(flawsOf(chinese)).toEqual([])
}
