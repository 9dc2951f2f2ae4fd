import { PassThrough } from 'node:stream'
import { text } from 'node:stream/consumers'
import { describe, expect, test } from 'vitest'
import {
  type Column,
  cut,
  duration,
  plain,
  print,
  printJson,
  table,
  widthOf,
  wrap,
} from '../../src/cli/output.ts'
import { createProgress } from '../../src/cli/progress.ts'
import { figuredTimeLeft } from '../../src/cli/time-left.ts'
import { timeLeftText } from '../../src/console/runs/words.ts'
import { type Io, withIo } from '../../src/lib/io.ts'
import { momentOf, shortTime } from '../../src/lib/time-text.ts'
import type { TimeLeft } from '../../src/sync/health/time-left.ts'
import { translator } from '../../src/texts/texts.ts'

test('the bar of a run that is still being planned is empty', async () => {
  const stderr = Object.assign(new PassThrough(), { isTTY: true })
  withIo({ stderr, env: {} } as unknown as Io, () => {
    const progress = createProgress('Sync', false)
    progress.show({ state: 'planning', planned: 0, left: 0 })
    progress.end()
  })
  const shown = await text(stderr.end())
  expect(shown).toContain('░░ 0/0  planning')
  expect(shown).not.toContain('█')
})

test('the time left is said as on a page, with its figures', () => {
  const demand = { calls: 14_230, ahead: 2, later: 3 }
  const none = { seconds: null, calls_per_second: null, paused_ms: null, ...demand }
  const figures = '14,230 calls, 2 that go first, 3 to be retried later'
  const told: [left: TimeLeft, text: string, beside: string][] = [
    [{ ...none, state: 'no_worker' }, 'no worker is running', ` (${figures})`],
    [{ ...none, state: 'halted' }, 'what is left is halted', ` (${figures})`],
    [{ ...none, state: 'waiting_for_retries' }, 'waiting for 3 retries', ''],
    [
      { ...none, state: 'paused', paused_ms: 42_000 },
      'paused for another 42 s, as the platform asks',
      ` (${figures})`,
    ],
    [{ ...none, state: 'rate_unknown' }, 'the rate is not yet known', ` (${figures})`],
    ...(
      [
        [0, 'about 1 s left'],
        [0.2, 'about 1 s left'],
        [4.1, 'about 5 s left'],
        [711.5, 'about 12 min left'],
      ] as const
    ).map(([seconds, text]): [TimeLeft, string, string] => [
      { ...none, state: 'estimated', seconds, calls_per_second: 19.6 },
      text,
      ` (${figures} at 19.6/s)`,
    ]),
  ]
  for (const [left, text, beside] of told) {
    expect(timeLeftText({ language: 'en', t: translator('en') }, left)).toBe(text)
    expect(figuredTimeLeft(left)).toBe(text + beside)
  }
})

describe('a table', () => {
  type Row = { id: number; name: string | null; text: string }
  const columns: Column<Row>[] = [
    { title: 'ID', of: row => row.id, align: 'right' },
    { title: 'NAME', of: row => row.name },
    { title: 'TEXT', of: row => row.text, gives: true },
  ]
  const rows = [
    { id: 1, name: 'short', text: 'a text that is rather long for the room there is' },
    { id: 22, name: null, text: '' },
  ]

  test('aligns its columns and shows nothing as a dash', () => {
    expect(table(columns, rows, 80)).toBe(
      [
        '  ID  NAME   TEXT',
        '   1  short  a text that is rather long for the room there is',
        '  22  –      –',
        '',
      ].join('\n'),
    )
  })

  test('never exceeds the terminal: the column that gives is cut', () => {
    expect(table(columns, rows, 30).split('\n')[1]).toBe('   1  short  a text that is r…')
  })

  test('never cuts a number that another command takes, nor a figure', () => {
    const orders: Column<Row>[] = [
      { title: 'NUMBER', of: () => 'demo-application-1001', whole: true },
      { title: 'NAME', of: () => 'a name as long as that', gives: true },
      { title: 'PAID', of: () => '123,456,789.01', align: 'right' },
    ]
    const [, line = ''] = table(orders, rows, 50).split('\n')
    expect(line).toMatch(/^ {2}demo-application-1001 .*… {2}123,456,789\.01$/)
    expect(line.length).toBeLessThanOrEqual(50)
    expect(table(orders, rows, 30)).toMatch(/demo-application-1001 .* 123,456,789\.01/)
  })

  test('leaves spare columns out where there is no room', () => {
    const spare: Column<Row>[] = [
      ...columns.slice(0, 2),
      { title: 'SPARE', of: () => 'x'.repeat(50), spare: true },
    ]
    expect(table(spare, rows, 80)).toContain('SPARE')
    expect(table(spare, rows, 40)).not.toContain('SPARE')
  })

  test('what comes from elsewhere cannot steer the terminal', () => {
    expect(table(columns, [{ id: 1, name: 'a\x1b[2Jb\r\n', text: 'c\u202ed' }], 80)).toContain(
      '   1  a [2Jb   c d\n',
    )
  })
})

describe('what comes from elsewhere', () => {
  const hostile = 'a\x1b]0;title\x07\x1b[2J\x9bb\u202ec\r'
  const printed = async (isTTY: boolean, show: () => void) => {
    const stdout = Object.assign(new PassThrough(), { isTTY })
    withIo({ stdout } as unknown as Io, show)
    return text(stdout.end())
  }

  test('is shown escaped on a terminal, and goes into a pipe as it is', async () => {
    const shown = String.raw`a\u001b]0;title\u0007\u001b[2J\u009bb\u202ec\u000d`
    expect(await printed(true, () => print(hostile))).toBe(`${shown}\n`)
    expect(await printed(false, () => print(hostile))).toBe(`${hostile}\n`)
  })

  test('is escaped in JSON, which stays the same document', async () => {
    const shown = await printed(true, () => printJson({ reason: hostile, tag: '\u{e0041}' }))
    expect(shown).not.toMatch(/[^\P{Cc}\n]|\p{Cf}/u)
    expect(JSON.parse(shown)).toEqual({ reason: hostile, tag: '\u{e0041}' })
  })

  test('leaves the colours of the program', async () => {
    expect(await printed(true, () => print('\x1b[31mred\x1b[39m \x1b[8mhidden'))).toBe(
      '\x1b[31mred\x1b[39m \\u001b[8mhidden\n',
    )
  })
})

test('wide characters count twice', () => {
  expect(widthOf('a中文é')).toBe(6)
  expect(cut('中文中文', 5)).toBe('中文…')
  expect(widthOf('\x1b[31mred\x1b[39m')).toBe(3)
})

test('text is wrapped between words, and words that are too long stay whole', () => {
  expect(wrap('one two three', 7)).toEqual(['one two', 'three'])
  expect(wrap('https://example.com/long yes', 10)).toEqual(['https://example.com/long', 'yes'])
  expect(plain('two\nlines')).toBe('two lines')
})

describe('times', () => {
  const now = new Date(2026, 5, 15, 12, 0, 0)

  test('are short: the clock today, the day before', () => {
    expect(shortTime(new Date(2026, 5, 15, 9, 5, 7), now)).toBe('09:05:07')
    expect(shortTime(new Date(2026, 0, 2, 9, 5), now)).toBe('01-02 09:05')
    expect(shortTime(new Date(2024, 0, 2), now)).toBe('2024-01-02')
    expect(shortTime(null)).toBeNull()
  })

  test.each([
    ['30m', new Date(2026, 5, 15, 12, 30)],
    ['12h', new Date(2026, 5, 16, 0, 0)],
    ['3d', new Date(2026, 5, 18, 12, 0)],
    ['2030-01-31', new Date(2030, 0, 31)],
    ['2030-01-31T08:00', new Date(2030, 0, 31, 8)],
    ['2030-01-31T08:00:00Z', new Date('2030-01-31T08:00:00Z')],
  ])('%s is a moment', (text, moment) => {
    expect(momentOf(text, now)?.toISOString()).toBe(moment.toISOString())
  })

  test.each(['', 'soon', '3', 'd', '-3d', '2030-13-01', '2030-01-31 8', '1e3d', '999999d'])(
    '%j is none',
    text => expect(momentOf(text, now)).toBeNull(),
  )

  test('durations use the unit that fits', () => {
    expect([400, 12_400, 240_000, 9_000_000, 400_000_000].map(duration)).toEqual([
      '0.4 s',
      '12 s',
      '4 min',
      '3 h',
      '5 d',
    ])
  })
})
