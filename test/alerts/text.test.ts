import { describe, expect, test } from 'vitest'
import { alertText, runbookOf } from '../../src/alerts/message.ts'
import { type Finding, RULE_NAMES, type RuleName } from '../../src/alerts/rule.ts'
import { messagesOf, PLATFORM_CODES } from '../../src/platform/codes.ts'
import { message } from '../../src/texts/message.ts'
import { CATALOGUES, LANGUAGES } from '../../src/texts/texts.ts'
import { FACTS } from './planted.ts'

const HALT = {
  scope: '*',
  category: 'credentials',
  platform_code: 1000210003,
  message: messagesOf(PLATFORM_CODES[1000210003], true).meaning,
  remedy: message('said.hr_unread_remedy'),
}

test('no text belongs to an unknown rule, and runbooks have the same number of steps in both languages', () => {
  const rules = Object.keys(CATALOGUES.en).flatMap(key => /^(?:alert|runbook)\.(\w+)/.exec(key)?.[1] ?? [])
  expect([...new Set(rules)].sort()).toEqual([...RULE_NAMES].sort())
  for (const rule of RULE_NAMES)
    expect(runbookOf('zh-CN', rule), rule).toHaveLength(runbookOf('en', rule).length)
})

/** Findings whose texts differ from that of the border, by their subject or their facts. */
const VARIANTS: Pick<Finding, 'rule' | 'subject' | 'facts'>[] = [
  { rule: 'halt', subject: '*', facts: HALT },
  { rule: 'halt', subject: 'E900', facts: { ...HALT, scope: 'E900' } },
  { rule: 'halt', subject: '', facts: { ...HALT, scope: '' } },
  {
    rule: 'paused',
    subject: '',
    facts: {
      by: 'dirsync (console:ann)',
      category: 'paused',
      message: message('said.paused_by', {
        name: 'dirsync (console:ann)',
        words: 'maintenance until 18:00',
      }),
      remedy: message('said.resume_remedy'),
    },
  },
  {
    rule: 'source_suspect',
    subject: 'full',
    facts: {
      run: 8,
      kind: 'full',
      message: message('said.suspect', { reason: message('said.no_rows') }),
    },
  },
  { rule: 'run_overdue', subject: 'changes', facts: { age_seconds: 1000, interval_seconds: 300 } },
  { rule: 'run_overdue', subject: 'full', facts: { age_seconds: null, interval_seconds: 86_400 } },
  { rule: 'job_failing', subject: 'mirror-orders', facts: { error: 'The platform refused it' } },
  { rule: 'job_failing', subject: 'departments beijing', facts: { source: 'beijing' } },
  { rule: 'cases_jump', subject: 'duplicate_mobile', facts: { count: 60, rise: 41 } },
  { rule: 'out_of_sync', subject: '', facts: { share: 0.97999, in_sync: 97_999, in_scope: 100_000 } },
  ...['put_off', 'not_queued', 'not_taken', 'others_first'].map(cause => ({
    rule: 'work_stuck' as const,
    subject: '',
    facts: { operation: 'update-employee', count: 3, age_seconds: 5400, cause, idle_seconds: 6000 },
  })),
  { rule: 'money_unknown', subject: 'refund', facts: { count: 1, for_person: 0 } },
  { rule: 'money_unknown', subject: 'topup', facts: { count: 3, for_person: 3 } },
  { rule: 'role_missing', subject: 'scheduler', facts: { role: 'scheduler' } },
  { rule: 'clock', subject: '', facts: { seconds: -95 } },
  { rule: 'queue_away', subject: '', facts: {} },
  { rule: 'queue_away', subject: 'h (7)', facts: { process: 'h (7)', error: null } },
  { rule: 'database_full', subject: 'size', facts: { used: 45e9, limit: 50e9, share: 0.9 } },
  { rule: 'database_full', subject: 'connections', facts: { used: 80, limit: 97, share: 80 / 97 } },
  { rule: 'database_slow', subject: '', facts: { milliseconds: 1234.5 } },
  {
    rule: 'dead_channel',
    subject: 'ops',
    facts: { channel: 'ops', answer: 'errcode 310000: sign not match' },
  },
  { rule: 'dead_channel', subject: 'ops', facts: { channel: 'ops', answer: null } },
]
const FINDINGS = [...VARIANTS, ...RULE_NAMES.map(rule => ({ rule, ...FACTS[rule] }))]

describe.each(LANGUAGES)('in %s', language => {
  test('an alert is short, and leaves no gap', () => {
    for (const finding of FINDINGS) {
      const { title, what, remedy, over } = alertText(language, finding)
      const name = `${finding.rule} ${finding.subject}`
      for (const text of [title, what, remedy, over])
        expect(text, name).not.toMatch(/[{}]|undefined|null|NaN|^$|^ | $| {2}|[.。]{2}/)
      expect(title.length, name).toBeLessThanOrEqual(60)
      expect(title, name).not.toMatch(/[.。]$/)
      // A halt's own words come on top.
      if (finding.rule !== 'halt') expect(sentences(what), `${name}: ${what}`).toBeLessThanOrEqual(2)
      for (const text of [what, remedy, over]) expect(text, name).toMatch(/[.。]$/)
    }
  })

  test('an alert of an earlier version with other facts can still be shown', () => {
    for (const { rule, subject } of FINDINGS)
      expect(() => alertText(language, { rule, subject, facts: {} })).not.toThrow()
  })

  test('a runbook has three to seven steps', () => {
    for (const rule of RULE_NAMES) {
      const steps = runbookOf(language, rule)
      expect(steps.length, rule).toBeGreaterThanOrEqual(3)
      expect(steps.length, rule).toBeLessThanOrEqual(7)
      for (const step of steps) expect(step, rule).toMatch(/[.。?？]$/)
    }
  })
})

function sentences(text: string): number {
  return text.split(/[.?!](?= |$)|[。？！]/).filter(part => part.trim() !== '').length
}

test('figures, names and stored sentences are said in the language', () => {
  const say = (rule: RuleName, index = 0) => {
    const finding = FINDINGS.filter(other => other.rule === rule)[index] as (typeof FINDINGS)[number]
    return { en: alertText('en', finding), zh: alertText('zh-CN', finding) }
  }
  expect(say('halt').zh.what).toMatch(/^平台不接受应用 ID、密钥或签名。/)
  expect(say('halt', 1)).toMatchObject({
    en: { title: 'Enterprise E900 is halted' },
    zh: { title: '企业 E900 已停止' },
  })
  expect(say('paused').en.what).toBe(
    'All calls are paused (ann: maintenance until 18:00). Nothing is sent until someone resumes them.',
  )
  expect(say('paused').zh.what).toBe(
    '全部调用已暂停（ann：maintenance until 18:00）。恢复之前不会发送任何数据。',
  )
  expect(say('source_suspect')).toMatchObject({
    en: { title: 'HR’s data looks wrong (full)' },
    zh: { title: '人事数据可疑（全量同步）' },
  })
  expect(say('cases_jump').en.what).toBe('41 cases were opened within an hour; 60 of this category are open.')
  expect(say('run_overdue', 1).en.what).toMatch(/^No run of this kind has ended well yet; /)
  expect(say('database_full').en.what).toBe('It has 45 GB of 50 GB (90%).')
  // A job that was switched off meanwhile was not resumed.
  expect(say('schedule_paused').en.over).toBe('It was resumed or switched off.')
  // Nor has a run ended well whose schedule was paused, nor been confirmed who is no longer counted.
  expect(say('run_overdue').en.over).toMatch(
    /^No run is overdue now: .*cancelled.*paused.*switched off.*halt/,
  )
  expect(say('run_overdue').zh.over).toMatch(/^目前没有逾期的同步任务：.*取消.*暂停.*关闭.*停止/)
  expect(say('out_of_sync').en.over).toMatch(/no longer counted/)
  expect(say('out_of_sync').zh.over).toMatch(/不再计入/)
})

test('a share that is too low never looks like one that would do', () => {
  const finding: (typeof FINDINGS)[number] = {
    rule: 'out_of_sync',
    subject: '',
    facts: { share: 0.979_999, in_sync: 1, in_scope: 2 },
  }
  expect(alertText('en', finding).title).toBe('Only 97.99% of the employees are in sync')
})
