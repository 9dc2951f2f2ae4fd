import { describe, expect, test } from 'vitest'
import { languageOf, textOr } from '../../src/texts/texts.ts'

describe('the language of a request', () => {
  test.each([
    [undefined, 'en'],
    ['', 'en'],
    ['zh-CN', 'zh-CN'],
    ['zh_CN.UTF-8', 'zh-CN'],
    ['fr, zh-Hans;q=0.8, en;q=0.5', 'zh-CN'],
    ['zh;q=0.3, en-GB;q=0.9', 'en'],
    ['zh;q=0, de', 'en'],
  ])('%j is %s', (wish, language) => {
    expect(languageOf(wish)).toBe(language)
  })
})

test('a name that the catalogue lacks is the value itself', () => {
  expect(textOr('zh-CN', 'state.open', 'open')).toBe('待处理')
  expect(textOr('zh-CN', 'state.of_tomorrow', 'of_tomorrow')).toBe('of_tomorrow')
})
