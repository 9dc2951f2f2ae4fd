import { describe, expect, test } from 'vitest'
import { toDesired } from '../../src/directory/desired.ts'
import { CIRCUMSTANCES, PLATFORM_CODES } from '../../src/platform/codes.ts'
import { failureTexts, inLanguage, runMessage, SENTENCES } from '../../src/texts/failures.ts'
import { CATALOGUES } from '../../src/texts/texts.ts'
import { sourcesOf } from './sources.ts'
import { STORED } from './stored.ts'

/** Three words of English in a row, in what should be Chinese. */
const ENGLISH = /(?<![\w./-])[A-Za-z]{2,} [a-z]{2,} [a-z]{2,}/

const chinese = (text: string) => inLanguage('zh-CN', text)

describe('what is stored about a failure', () => {
  test('is in Chinese category, message and remedy, and in English as it was stored', () => {
    const row = {
      category: 'duplicate_mobile',
      message: `${PLATFORM_CODES[1002218007].meaning} The platform says: 手机号已存在`,
      remedy: PLATFORM_CODES[1002218007].remedy,
    }
    expect(failureTexts('zh-CN', row)).toEqual({
      category: '手机号重复',
      message: '企业中已有其他员工使用该手机号。平台返回：手机号已存在',
      remedy: '请查明手机号归属（见“受阻于”），在人事系统或平台上更正；其他字段已发送。',
    })
    expect(failureTexts('en', row)).toEqual({ ...row, category: 'mobile number taken' })
  })

  test('keeps words that the catalogue does not have, after the category', () => {
    const row = { category: 'new_kind', message: 'words of a later version', remedy: 'do this' }
    expect(failureTexts('zh-CN', row)).toEqual({
      category: 'new_kind',
      message: 'new_kind：words of a later version',
      remedy: 'do this',
    })
    expect(failureTexts('zh-CN', { ...row, category: 'unclassified' }).message).toBe(
      '未归类的错误：words of a later version',
    )
  })

  test('is never changed where the platform speaks', () => {
    const words = 'HR has not changed since. None of them can go first.'
    expect(chinese(`${CIRCUMSTANCES.unclassified.meaning} The platform says: ${words}`)).toBe(
      `平台返回了规范中未列出的错误。平台返回：${words}`,
    )
  })
})

describe('every sentence', () => {
  test.each(Object.entries({ ...PLATFORM_CODES, ...CIRCUMSTANCES }))(
    'of %s is said in Chinese',
    (_, entry) => {
      const { meaning, remedy, remedyBesideHr = remedy } = entry as typeof entry & { remedyBesideHr?: string }
      for (const text of [meaning, remedy, remedyBesideHr]) {
        expect(chinese(text)).not.toBe(text)
        expect(chinese(`${text} ${remedy}`).replaceAll(/`[^`]*`/g, '')).not.toMatch(ENGLISH)
      }
    },
  )

  test('about a rule that an HR row breaks', () => {
    const rows = [
      {
        userid: ' e1',
        enterprise_code: 'x'.repeat(21),
        active: 'perhaps',
        name: 'x'.repeat(51),
        corp_code: '–',
      },
      { userid: '', gender: '4', email: 'x', level: '#default#', category: '#default#', birth_day: '2' },
      { userid: 'x'.repeat(101), entry_day: '2', cost_center_id: 'x', mobile: '1', mobile_area: 'x' },
      {
        userid: 'e1',
        card_no: '440524188001010015',
        card_type: '3',
        category: '[1]',
        remark: 'x'.repeat(255),
      },
      { userid: 'e1', card_no: '–', mobile: '+8613800000000', mobile_area: '852', employee_attribute: 'x' },
      { userid: 'e1', card_no: '1', card_type: '1', email: `${'x'.repeat(100)}@x` },
      {
        userid: 'e1',
        card_no: '110101199013011234',
        employee_attribute: '[{"attributeCode":"","attributeValue":"1"}]',
      },
      { userid: 'e1', card_no: '11010519491231002' },
      { userid: 'e1', employee_attribute: `{"a":"${'x'.repeat(101)}"}` },
      { userid: 'e1', employee_attribute: '{"a":[]}' },
      {
        userid: 'e1',
        employee_attribute:
          '[{"attributeCode":"a","attributeValue":"1"},{"attributeCode":"a","attributeValue":"1"}]',
      },
    ]
    const broken = rows.map(row => {
      const result = toDesired({ active: 't', ...row }, Object.keys(row))
      return result.ok ? [] : result.problems.map(({ message }) => message)
    })
    expect(broken.every(messages => messages.length > 0)).toBe(true)
    for (const message of broken.flat()) expect(chinese(message), message).not.toBe(message)
    for (const messages of broken) expect(chinese(messages.join('; '))).not.toMatch(ENGLISH)
  })

  test('of the gate and the breakers', () => {
    for (const text of STORED.filter(stored => /enqueued\.$|approve or reject/.test(stored)))
      if (!text.startsWith('Words of')) expect(runMessage('zh-CN', { message: text })).not.toMatch(ENGLISH)
    expect(runMessage('zh-CN', { message: null })).toBeNull()
  })

  test('that a case, a halt or a run is given in the code is known', async () => {
    const sources = await sourcesOf(['src/sync', 'src/mirrors'], () => true)
    const given = [...sources.matchAll(/^\s*(?:message|remedy|nothing):\s*(['"`])(.+?)\1[,;]?$/gm)]
      .map(([, , text = '']) => text.replaceAll(/\$\{[^}]*\}/g, '7'))
      .filter(text => !PARTS.has(text))
    expect(given.length).toBeGreaterThan(10)
    expect(given.filter(text => chinese(text) === text || ENGLISH.test(chinese(text)))).toEqual([])
  })

  test('of the catalogue stands in the code', async () => {
    // The shell's own words are part of what doctor says.
    const code = await sourcesOf(
      ['src', 'jobs'],
      path => !/src\/texts\/(?:failures|zh-CN|en\/failures)/.test(path),
    )
    const sources = withoutQuotes(code)
    const strays = SENTENCES.filter(({ key }) => {
      if (!/^(?:said|doctor)\./.test(key) || code.includes(`'${key}'`)) return false
      const joined = JOINED[key]
      if (joined !== undefined) return !code.includes(joined)
      const parts = CATALOGUES.en[key].replaceAll(/'([{}])'/g, '$1').split(/\{(?:\w+)\}/)
      return !parts.every(part => sources.includes(withoutQuotes(part.trim())))
    })
    expect(strays.map(({ key }) => key)).toEqual([])
  })
})

/** What the code makes of others' sentences or of a list: tests of the stored texts have them whole. */
const PARTS = new Set([
  '7 7',
  '7 Then retry this dead letter: everybody follows once one employee gets it through.',
  'A swap: 7 wants the 7 of 7, 7. None of them can go first.',
  "On the platform, change the 7 of 77)` : ''} to a temporary one, then retry dead letter 7: the others follow by themselves.",
])

/** Sentences that the code joins from parts, and what stands there of each. */
const JOINED: Record<string, string> = {
  'said.changed_row_since':
    "'row' : 'rows'}: approval sends the plan as it was stored and leaves them to the next one.",
  'said.changed_rows_since':
    "'row' : 'rows'}: approval sends the plan as it was stored and leaves them to the next one.",
  'said.date_form': 'must be a date that exists, written ',
  'said.date_forms': "'yyyy-MM-dd or MM-dd'",
  'said.edges': 'not begin or end with a blank or invisible character',
  'said.fewer_user_ids': ' with a user id',
  'said.hr_login': 'the HR database refuses the login',
  'said.hr_no_database': 'the HR server has no such database',
  'said.hr_no_right': 'the HR user has no right to this database, or there is none of this name',
  'said.key_twice': "'a key' : 'keys'} more than once (",
  'said.keyless_many': ' rows of HR have',
  'said.keyless_one': 'One row of HR has',
  'said.keys_twice': "'a key' : 'keys'} more than once (",
  'said.not_empty': 'not be empty',
  'said.record_shows_none': "'no amount'} refunded, ",
  'said.swap_remedy': ' to a temporary one, then retry dead letter ',
  'doctor.clock_ahead': "'behind' : 'ahead of'} the platform's",
  'doctor.clock_behind': "'behind' : 'ahead of'} the platform's",
  'doctor.nobody': 'no scheduler and no worker is running: start them with ',
  'doctor.nobody_is': ' is running: start one with ',
  'doctor.rate_learnt': "'none refused yet'",
  'doctor.rate_together': ', all processes together',
}

/** The text without what differs between SQL, TypeScript and a plain text: quotes, and breaks of a long line. */
function withoutQuotes(text: string): string {
  return text
    .replaceAll(/'\s*\n\s*(?:\|\|\s*)?'/g, '')
    .replaceAll(/\\?['"`]/g, '')
    .replaceAll(/\$\{[^}]*\}/g, '\0')
}
