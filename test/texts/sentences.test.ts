import { describe, expect, test } from 'vitest'
import { toDesired } from '../../src/directory/desired.ts'
import { duration } from '../../src/lib/time-text.ts'
import { CIRCUMSTANCES, messagesOf, PLATFORM_CODES } from '../../src/platform/codes.ts'
import { saidTexts } from '../../src/texts/en/said.ts'
import { failureTexts, inLanguage, runMessage } from '../../src/texts/failures.ts'
import { durationText } from '../../src/texts/figures.ts'
import { changed, inEnglish, inWords, isSaid, message, type Said, says } from '../../src/texts/message.ts'
import { CATALOGUES, LANGUAGES } from '../../src/texts/texts.ts'
import { help } from '../../src/texts/zh-CN/help.ts'
import { sourcesOf } from './sources.ts'
import { GATE, STORED } from './stored.ts'

/** Three words of English in a row, in what should be Chinese. */
const ENGLISH = /(?<![\w./-])[A-Za-z]{2,} [a-z]{2,} [a-z]{2,}/

const chinese = (what: Said) => inLanguage('zh-CN', what)

describe('a message', () => {
  const { meaning, remedy } = messagesOf(PLATFORM_CODES[1002218007], true)
  const row = {
    category: 'duplicate_mobile',
    message: [meaning, message('said.platform_says', { words: '手机号已存在' })],
    remedy,
  }

  test('is put into words in the language of its reader', () => {
    expect(failureTexts('zh-CN', row)).toEqual({
      category: '手机号重复',
      message: '企业中已有其他员工使用该手机号。平台返回：“手机号已存在”。',
      remedy:
        '请查明手机号归属（见“受阻于”；为空时，可能是区号不同的员工），在人事系统中更正，或在平台上更正后重试；其他字段不受影响。',
    })
    expect(failureTexts('en', row)).toEqual({
      category: 'mobile number taken',
      message: `${PLATFORM_CODES[1002218007].meaning} The platform says: “手机号已存在”.`,
      remedy: PLATFORM_CODES[1002218007].remedy,
    })
    expect(runMessage('zh-CN', { message: null })).toBeNull()
  })

  test('never changes words of others, whatever they look like', () => {
    const words = "HR has not changed since. {name} ' {words}"
    expect(chinese(message('said.platform_says', { words }))).toBe(`平台返回：“${words}”。`)
    expect(inEnglish(inWords(words))).toBe(words)
  })

  test('names the columns of a mapping as SQL does', () => {
    const what = message('said.mapping_columns', { problems: 'x', names: ['corp_code', 'code'] })
    expect(chinese(what)).toBe('x。可用的列：corp_code、code')
  })

  test('ends the words of others before the next sentence', () => {
    const what = [
      message('said.platform_says', { words: 'employee grade not set' }),
      message('said.withheld_one'),
    ]
    expect(chinese(what)).toBe('平台返回：“employee grade not set”。已对 1 名员工停发。')
  })

  test('says how long in the language of its reader', () => {
    const what = message('doctor.valid', { time: duration(7_080_000) })
    expect(chinese(what)).toBe('访问令牌还有 118 分钟有效')
    expect(inEnglish(what)).toBe('the access token is valid for another 118 min')
    expect(inEnglish(duration(3000))).toBe('3 s')
    for (const ms of [-1, 400, 9999, 12_000, 180_000, 7_200_000, 432_000_000])
      for (const language of LANGUAGES)
        expect(durationText(language, ms)).toBe(inLanguage(language, duration(ms)))
    expect(durationText('en', -1)).toBe('0 s')
  })

  test('names the person who paused, however deep it says so', () => {
    const paused = message('said.paused_by', { name: 'postgres (cli:root)', words: 'noon' })
    const halted = message('said.halted_because', { what: 'x', meaning: [paused], remedy: '' })
    expect(inLanguage('en', halted)).toContain('paused (root (shell): noon)')
  })

  test('is asked for its keys and values, and changed by them', () => {
    const what = [message('said.suspect', { reason: message('said.key_twice', { keys: ['13800138000'] }) })]
    expect(says(what, 'said.key_twice')).toBe(true)
    expect(says(what, 'said.keys_twice')).toBe(false)
    const hidden = changed(what, one => (one.values?.keys ? { ...one, values: { keys: '…' } } : one))
    expect(inEnglish(hidden)).toContain('more than once (…): make the mapping')
  })

  test('is told from other values', () => {
    const rows = [
      { key: 'field.size', value: 'XL' },
      { key: 'said.words', values: null },
      { key: 'said.words', values: ['a'] },
    ]
    for (const value of [null, 'said.words', 7, [], ['a'], { key: 'state.open' }, { key: 7 }, ...rows])
      expect(isSaid(value), JSON.stringify(value)).toBe(false)
    for (const value of STORED.filter(what => !Array.isArray(what) || what.length > 0))
      expect(isSaid(JSON.parse(JSON.stringify(value))) || Array.isArray(value)).toBe(true)
  })
})

describe('every sentence', () => {
  test.each(Object.entries({ ...PLATFORM_CODES, ...CIRCUMSTANCES }))(
    'of %s is said in Chinese',
    (_, entry) => {
      for (const isAboutHr of [true, false])
        for (const what of Object.values(messagesOf(entry, isAboutHr))) {
          expect(inLanguage('en', what)).toMatch(/^\w.* /)
          expect(chinese(what).replaceAll(/`[^`]*`/g, '')).not.toMatch(ENGLISH)
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
    for (const row of rows) {
      const result = toDesired({ active: 't', ...row }, Object.keys(row))
      const problems = result.ok ? [] : result.problems
      expect(problems.length).toBeGreaterThan(0)
      for (const { message: what } of problems) expect(chinese(what)).not.toMatch(ENGLISH)
    }
  })

  test('of the gate', () => {
    for (const what of GATE) expect(chinese(what)).not.toMatch(ENGLISH)
  })

  test('is plain text with names in braces, since SQL puts it into words too', () => {
    for (const catalogue of Object.values(CATALOGUES))
      for (const key of Object.keys(saidTexts) as (keyof typeof saidTexts)[])
        expect(catalogue[key].replaceAll(/\{[a-z_]+\}/g, ''), key).not.toMatch(/[{}]|''/)
  })

  test('is said somewhere', async () => {
    const code = await sourcesOf(['src', 'jobs'], path => !/src\/texts\/(?:en|zh-CN)\//.test(path))
    const begun = [...code.matchAll(/['`]((?:said|doctor)\.[a-z_]*_|said\.)(?:\$\{|')/g)].map(
      ([, begin = '']) => begin,
    )
    const ends = [...code.matchAll(/`said\.\$\{\w+\}(_\w+)`/g)].map(([, end = '']) => end)
    const unsaid = Object.keys(saidTexts).filter(
      key =>
        !code.includes(key) &&
        !begun.some(begin => begin !== 'said.' && key.startsWith(begin)) &&
        !ends.some(end => key.endsWith(end)),
    )
    expect(unsaid).toEqual([])
  })
})

test.each([
  ['en', 'restart dirsync: settings are read at its start'],
  ['zh-CN', '请重启 dirsync：设置只在启动时读取'],
] as const)(
  'where a new secret or password is the cure, %s says that it takes a restart',
  (language, restart) => {
    const text = CATALOGUES[language]
    expect(text['runbook.halt']).toContain(restart)
    expect(text['code.1000210003.remedy']).toContain(restart)
    expect(text['said.hr_unread_remedy']).toContain(restart)
  },
)

test('no code compares, parses or searches what a message says', async () => {
  const code = await sourcesOf(['src', 'jobs'], path => !path.startsWith('src/texts/'))
  const looks = String.raw`(?: ===| !==|\.(?:match|matchAll|includes|startsWith|endsWith|split|search|indexOf|slice|replace)\(|\) (?:===|!==))`
  const rendered = new RegExp(
    String.raw`\b(?:inLanguage|inEnglish|runMessage|failureTexts|said)\([^()]*(?:\([^()]*\)[^()]*)*\)${looks}`,
    'g',
  )
  expect([...code.matchAll(rendered)].map(([found]) => found)).toEqual([])
  // In SQL, messages are asked for their keys.
  expect(code).not.toMatch(/(?:substring|strpos|position|regexp_\w+)\([^)]*\b(?:message|remedy)\b/)
  expect(code).not.toMatch(/\b(?:message|remedy)\s+(?:!?~|i?like)\s/)
})

test('what a person is refused with is a message, and not a sentence in the code', async () => {
  const code = await sourcesOf(['src', 'jobs'], path => !path.startsWith('src/texts/'))
  const refusals =
    /new (?:(?:Usage|Failed|Command|Config|Access|Switch|Embedded|Migration|Mapping|Trigger\w+)Error|Problem)\(\s*(?:'\w+',\s*)?\[?[`'][^`']*[a-z] [a-z]/g
  expect([...code.matchAll(refusals)].map(([found]) => found)).toEqual([])
})

describe('what the functions of SQL refuse is a message', () => {
  const migrations = sourcesOf(['src/migrations'], () => true)

  test('whose sentences are in the catalogue, with exactly the values that are given', async () => {
    const code = await migrations
    for (const [, key = ''] of code.matchAll(/['"](said\.\w*[a-z])['"]/g))
      expect(saidTexts).toHaveProperty([key])
    const refusals = [...code.matchAll(/perform dirsync\.refuse\(([\s\S]*?)\);\n/g)].map(
      ([, call = '']) => call,
    )
    expect(refusals.length).toBe(code.split('dirsync.refuse(').length - 2)
    for (const call of refusals) {
      const [, built = ''] = /\bjsonb_build_object\(([\s\S]*?)\)(?=,\s*hint =>|$)/.exec(call) ?? []
      // Its names are what is left without the calls among the values.
      const flat = withoutCalls(built)
      const names =
        flat === '' ? [] : flat.split(',').flatMap((part, i) => (i % 2 === 0 ? [part.trim()] : []))
      const keys = [...withoutCalls(call).matchAll(/'said\.(\w+)'/g)].map(([, key]) => `said.${key}`)
      expect(keys.length, call).toBeGreaterThan(0)
      for (const key of keys) {
        const sentence = saidTexts[key as keyof typeof saidTexts]
        const needed = [...sentence.matchAll(/\{(\w+)\}/g)].map(([, name]) => `'${name}'`)
        expect(names.sort(), call).toEqual([...new Set(needed)].sort())
      }
    }
  })

  test('and no sentence of their own, but where a trigger keeps rows as they are', async () => {
    const sentences = [...(await migrations).matchAll(/raise exception '([^']*)'/g)].map(([, words]) => words)
    expect(sentences).toEqual(['dirsync.command is append-only: % is refused'])
  })
})

/** An expression of SQL without what stands in parentheses. */
function withoutCalls(sql: string): string {
  const fewer = sql.replaceAll(/\([^()]*\)/g, '')
  return fewer === sql ? sql : withoutCalls(fewer)
}

describe('what the shell shows to people is in the catalogue', () => {
  /** The code of the commands without comments, and `…` for what a template fills in. */
  const shell = sourcesOf(['src/cli'], () => true).then(code =>
    code
      .replaceAll(/\/\*[\s\S]*?\*\/|(?<=^|\s)\/\/.*$/gm, '')
      .replaceAll(/\$\{[^{}]*\}/g, '…')
      .replaceAll(/\$\{[^{}]*\}/g, '…'),
  )
  /** Words of JSON documents and of SQL, which are English everywhere. */
  const FOR_PROGRAMS = [
    'would be held',
    'would stop: HR looks wrong',
    'would do nothing',
    'true as active',
    'null as parent_code',
  ]

  test('so that none of its sentences stands in the code, but for the help, which has its Chinese by the English', async () => {
    const code = (await shell)
      .replaceAll(/\.addHelpText\(\s*'after',\s*`[^`]*`/g, '')
      .replaceAll(/logger\.\w+\([^\n]*\)/g, '')
    const literals = [...code.matchAll(/'((?:[^'\\\n]|\\.)*)'|"((?:[^"\\\n]|\\.)*)"|`([^`\n]*)`/g)].map(
      ([, single, double, template]) => single ?? double ?? template ?? '',
    )
    const helps = Object.keys(help)
    const isHelp = (text: string) => {
      const [begin = '', end = ''] = text.split('…')
      // An example is a command.
      if (text in help || text.startsWith('dirsync ')) return true
      return helps.some(known => known.startsWith(begin) && known.endsWith(end))
    }
    const sentences = literals.filter(text => ENGLISH.test(text) && !FOR_PROGRAMS.includes(text))
    expect(sentences.filter(text => !isHelp(text))).toEqual([])
  })

  test('so that no line, title, label or question stands in the code', async () => {
    const code = (await shell).replaceAll(/[`']…? dirsync [^`']*[`']/g, '')
    const printed =
      /\b(?:print(?:Text|Title|Aside|Arrow)?|bold|confirm|ask)\(\s*(?:'', *)?['"`][^'"`\n]*[a-z]{2}/g
    const titles = /\btitle: ['"`](?!(?:ID|SKU)')[^'"`\n]*[A-Za-z]/g
    const facts = /\b(?:printFacts|factLines)\(\[\s*\[['"`][^'"`\n]*[a-z]/g
    const found = [printed, titles, facts].flatMap(pattern => [...code.matchAll(pattern)])
    expect(found.map(([literal]) => literal)).toEqual([])
  })
})
