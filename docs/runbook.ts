import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { runbookOf } from '../src/alerts/message.ts'
import { RULE_NAMES, RULES, type RuleName, type Severity, settingOf } from '../src/alerts/rule.ts'
import { SETTINGS } from '../src/settings/settings.ts'
import { LANGUAGES, type Language } from '../src/texts/texts.ts'
import { table } from './settings.ts'

/**
 * `npm run docs:runbook`: generates docs/runbook.md, docs/runbook.zh-CN.md, and the table of rules in docs/alerts.md,
 * from the rules and their texts.
 */

const ROOT = join(import.meta.dirname, '..')

/** By language: the page's name, and its texts other than the steps. */
const PAGES: Record<Language, { file: string; introduction: string; words: Words }> = {
  en: {
    file: 'runbook.md',
    introduction: `# Runbook

What to do when an alert arrives: a section for each rule. The console shows the same under Alerts, and each message links
there. How alerts are sent is told in [alerts.md](alerts.md). [中文](runbook.zh-CN.md)

This page is made from \`src/texts/en/alerts.ts\` by \`npm run docs:runbook\`. Do not edit it.
`,
    words: {
      severity: { critical: 'Critical', warning: 'Warning', info: 'Information' },
      setting: (name, value) => `figure: [${name}](settings.md#alerts), by default ${value}`,
      inhibited: rules => `not told during ${rules}`,
      separator: '; ',
      end: '.',
    },
  },
  'zh-CN': {
    file: 'runbook.zh-CN.md',
    introduction: `# 告警处理手册

收到告警后怎么办：每条规则一节。控制台的“告警”页面也有同样的内容，每条消息都链接到那里。
告警如何发送，见 [alerts.md](alerts.md)。[English](runbook.md)

本页由 \`npm run docs:runbook\` 根据 \`src/texts/zh-CN/alerts.ts\` 生成，请勿直接修改。
`,
    words: {
      severity: { critical: '严重', warning: '警告', info: '提示' },
      setting: (name, value) => `阈值：[${name}](settings.md#alerts)，默认 ${value}`,
      inhibited: rules => `出现 ${rules} 时不另行通知`,
      separator: '；',
      end: '。',
    },
  },
}

interface Words {
  severity: Record<Severity, string>
  setting(name: string, value: string): string
  inhibited(rules: string): string
  separator: string
  end: string
}

/** The whole page. Its headings are the names of the rules, which messages and Prometheus' rules link to. */
export function runbookPage(language: Language): { file: string; text: string } {
  const { file, introduction, words } = PAGES[language]
  const sections = RULE_NAMES.map(rule => {
    const steps = runbookOf(language, rule).map((step, i) => `${i + 1}. ${step}`)
    return `## ${rule}\n\n${factsOf(rule, words)}\n\n${steps.join('\n')}\n`
  })
  return { file: `docs/${file}`, text: [introduction, ...sections].join('\n') }
}

/** A rule in one line: severity, threshold, and when it is suppressed. */
function factsOf(rule: RuleName, { severity, setting, inhibited, separator, end }: Words): string {
  const name = settingOf(rule)
  const others = RULES[rule].inhibitedBy?.map(other => `\`${other}\``).join(', ')
  const facts = [severity[RULES[rule].severity], setting(name, SETTINGS[name].default)]
  return [...facts, ...(others ? [inhibited(others)] : [])].join(separator) + end
}

/** docs/alerts.md with an up-to-date table of the rules. */
export function alertsPage(): { file: string; text: string } {
  const file = 'docs/alerts.md'
  const rows = RULE_NAMES.map(rule => {
    const { severity, meaning, figure, second, remindedAfterHours } = RULES[rule]
    const settings = [settingOf(rule), ...(second ? [second.name] : [])]
    const reminded = remindedAfterHours && ` Told again after ${remindedAfterHours.join(' and ')} hours.`
    return [
      `\`${rule}\``,
      severity,
      `${meaning}${second ? ` ${second.meaning}` : ''}${reminded ?? ''}`.replace('… … ', ''),
      settings.map(setting => `\`${setting}\``).join(', '),
      [figure, ...(second ? [second] : [])].map(each => each.default).join(', '),
    ]
  })
  const header = ['Rule', 'Severity', 'Threshold', 'Setting', 'Default']
  const text = readFileSync(join(ROOT, file), 'utf8')
  return { file, text: text.replace(/^\| Rule .*?\n(?!\|)/ms, () => table(header, rows)) }
}

if (import.meta.main)
  for (const { file, text } of [...LANGUAGES.map(runbookPage), alertsPage()]) {
    const path = join(ROOT, file)
    if (text !== readFileSync(path, { encoding: 'utf8', flag: 'a+' })) writeFileSync(path, text)
  }
