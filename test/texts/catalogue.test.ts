import { IntlMessageFormat } from 'intl-messageformat'
import { describe, expect, test } from 'vitest'
import { CATALOGUES, LANGUAGES, type Language } from '../../src/texts/texts.ts'
import { flawsOf, written } from './chinese.ts'
import { sourcesOf } from './sources.ts'

type Element = ReturnType<IntlMessageFormat['getAst']>[number]

/** The parameters of a message. @throws SyntaxError where it is no ICU message */
function parametersOf(text: string, language: Language): string[] {
  const names = new Set<string>()
  const collect = (elements: Element[]) => {
    for (const element of elements) {
      // 0 is plain text, 7 the # of a plural.
      if (element.type !== 0 && element.type !== 7) names.add(element.value)
      if ('options' in element)
        for (const { value } of Object.values(element.options)) collect(value as Element[])
    }
  }
  collect(new IntlMessageFormat(text, language, undefined, { ignoreTag: true }).getAst())
  return [...names].sort()
}

const { en, 'zh-CN': chinese } = CATALOGUES
const keys = Object.keys(en) as (keyof typeof en)[]
const HAN = /\p{Script=Han}/u

describe('the catalogues', () => {
  test('have the same keys', () => {
    expect(Object.keys(chinese).sort()).toEqual(Object.keys(en).sort())
  })

  test.each(LANGUAGES)('have in %s a text for every key, and each is an ICU message', language => {
    const empty = keys.filter(key => CATALOGUES[language][key].trim() === '')
    expect(empty).toEqual([])
    for (const key of keys) expect(() => parametersOf(CATALOGUES[language][key], language), key).not.toThrow()
  })

  test('take the same parameters', () => {
    const differing = keys.filter(
      key => parametersOf(en[key], 'en').join() !== parametersOf(chinese[key], 'zh-CN').join(),
    )
    expect(differing).toEqual([])
  })
})

/** Texts that are the same in Chinese: names, signs, and what holds nothing but parameters. */
const WITHOUT_HAN = new Set([
  'common.none', // a dash
  'common.count', // a figure
  'nav.api', // what developers call it
  'shell.column.open_id',
  'shell.title.open_ids',
  'shell.fact.open_ids',
  'shell.heading.openids',
  'shell.comma',
  'shell.codes_with',
  'shell.table', // the name of a view
  'common.via.api',
  'api.title',
  'alerts.kind.slack', // names
  'alerts.kind.webhook',
  'alerts.message.one',
  'alerts.message.raised', // the alert's own title
])

describe('the Chinese texts', () => {
  test('are in Chinese', () => {
    const english = keys.filter(key => {
      const text = written(chinese[key])
      return !HAN.test(text) && /\p{L}/u.test(text) && !WITHOUT_HAN.has(key)
    })
    expect(english).toEqual([])
    for (const key of WITHOUT_HAN) expect(HAN.test(chinese[key as keyof typeof chinese]), key).toBe(false)
  })

  test('are written as the glossary says', () => {
    expect(flawsOf(chinese)).toEqual([])
  })

  test('point to the history of a refund by its heading', () => {
    const pointing = keys.filter(
      key => key.startsWith('money.') && en[key].includes(`“${en['money.story']}”`),
    )
    expect(pointing).toContain('money.still_unshown')
    expect(pointing.filter(key => !chinese[key].includes(`“${chinese['money.story']}”`))).toEqual([])
  })

  test('end in no full stop of English, nor does code add one to words', async () => {
    // A full stop that is typed as an answer.
    const ending = keys.filter(key => chinese[key].endsWith('.') && key !== 'hr_init.no_meaning')
    expect(ending).toEqual([])
    const sources = await sourcesOf(
      ['src/console', 'src/cli', 'src/alerts', 'src/texts'],
      path => !/zh-CN/.test(path),
    )
    expect(
      sources.match(/.*(?:, '\.'\]|\b(?:time|duration|sinceText|timeText)\([^)]*\)\}\.[`<\s]).*/g),
    ).toBeNull()
  })
})

test('names of values are words, not identifiers', () => {
  const list = /^(?:state|run_state|run_kind|reason|outcome|status|category|field|outbox_state|money_state)\./
  const machine = keys.filter(key => list.test(key) && /_/.test(en[key] + chinese[key]))
  expect(machine).toEqual([])
})

test('no text is there for nothing', async () => {
  const sources = await sourcesOf(['src', 'jobs'], path => !/src\/texts\/(?:en|zh-CN)\//.test(path))
  // A key is named, or made from data: `state.${row.state}`, named('state', …), or a name that SQL asks for.
  const made = [...sources.matchAll(/`([a-z_]+\.(?:[\w.]|\$\{[^}]*\})*)`/g)].map(
    ([, template = '']) =>
      new RegExp(`^${template.replaceAll('.', '\\.').replaceAll(/\$\{[^}]*\}/g, '[^.]+')}$`),
  )
  const lists = new Set<string>()
  for (const [, list = ''] of sources.matchAll(
    /(?:named|namedList|namedWithValue|meaning|term)\(\s*'([a-z_.]+)'/g,
  ))
    lists.add(list)
  for (const [, list = ''] of sources.matchAll(/countsText\(.*?'([a-z_.]+)'\)/g)) lists.add(list)
  for (const [, list = ''] of sources.matchAll(/name_of\([^']*'zh-CN', '([a-z_]+)'/g)) lists.add(list)
  const quoted = new Set([...sources.matchAll(/['"]([^\s'"]+)(?=['"])/g)].map(([, name]) => name))
  const begun = [...sources.matchAll(/'([a-z_]+\.[a-z_.]+_)' \|\|/g)].map(([, begin = '']) => begin)
  const isNamed = (key: string) => quoted.has(key) || made.some(template => template.test(key))
  const unused = keys.filter(key => {
    if (NAMES.test(key) || isNamed(key) || begun.some(begin => key.startsWith(begin))) return false
    // What to do about something stands beside it, and is found by its name.
    const name = key.replace(/\.remedy$/, '')
    return !lists.has(name.slice(0, name.lastIndexOf('.'))) && (name === key || !isNamed(name))
  })
  expect(unused).toEqual([])
})

/** Lists that pages take their names from by the value, and sentences that are recognised in stored texts. */
const NAMES = new RegExp(
  `^(?:${[
    ...[
      'event',
      'resolution',
      'outbox_state',
      'money_state',
      'time_left',
      'command',
      'bulk_state',
      'sign_in_why',
    ],
    ...[
      'dry_run_state',
      'mirror',
      'payment_order_status',
      'asset_code',
      'contain_fee_trade',
      'activity_type',
    ],
    ...['trade_type', 'trade_status', 'order_status', 'product_category', 'account_status'],
    ...[
      'order_record_status',
      'taxpayer_nature',
      'taxpayer_status',
      'gender',
      'card_type',
      'service_provider',
    ],
    ...['code', 'circumstance', 'doctor'],
    // Of every rule of alerts: the compiler holds them to their names.
    'alert',
  ].join('|')})\\.`,
)

test.each(LANGUAGES)(
  'what the platform says of a field does not claim that others were sent: %s',
  language => {
    const remedies = Object.entries(CATALOGUES[language]).filter(([key]) => key.startsWith('code.'))
    expect(remedies.length).toBeGreaterThan(30)
    for (const [, text] of remedies) expect(text).not.toMatch(/fields were sent|字段已发送/)
  },
)
