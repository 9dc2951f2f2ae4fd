import type { ChannelMessage, MessageAlert } from '../../src/alerts/message.ts'
import type { Language } from '../../src/texts/texts.ts'

const AT = new Date('2026-11-22T06:17:30Z')
const CONSOLE = 'https://dirsync.example.com'

type Alert = Omit<MessageAlert, 'url' | 'since' | 'endedAt' | 'facts'> & { minutes: number }

function alertOf({ minutes, ...alert }: Alert): MessageAlert {
  const isOver = alert.event === 'recovered'
  return {
    ...alert,
    url: `${CONSOLE}/alerts/rules/${alert.rule}`,
    since: new Date(AT.getTime() - minutes * 60_000),
    endedAt: isOver ? AT : null,
    facts: { minutes },
  }
}

type Base = Pick<ChannelMessage, 'kind' | 'tone' | 'title' | 'alerts'> & Partial<ChannelMessage>

function messageOf(language: Language, base: Base): ChannelMessage {
  return {
    language,
    deployment: { id: '0e7c1b52-6f0a-4c53-9d0e-0a4b8e1f2c3d', name: null },
    note: null,
    url: `${CONSOLE}/alerts`,
    urlText: language === 'en' ? 'Open the console' : '打开控制台',
    at: AT,
    ...base,
  }
}

const ENGLISH = {
  halt: alertOf({
    key: 'halt:*',
    rule: 'halt',
    subject: '*',
    severity: 'critical',
    event: 'raised',
    title: 'Halted: everything',
    what: 'All work stands still: the platform does not accept the application id or secret.',
    when: 'since 14:05, for 12 min',
    remedy: 'Check PLATFORM_APP_ID and PLATFORM_APP_SECRET with the vendor; work goes on by itself.',
    minutes: 12,
  }),
  cases: alertOf({
    key: 'cases_jump:duplicate_mobile',
    rule: 'cases_jump',
    subject: 'duplicate_mobile',
    severity: 'warning',
    event: 'raised',
    title: 'Many new cases: mobile number taken',
    what: '10,412 cases are open, 10,400 more than within the hour before.',
    when: 'since 14:16',
    remedy: 'Look at what changed in HR; many at once can be retried or ignored in the console.',
    minutes: 1,
  }),
  held: alertOf({
    key: 'held_run:1204',
    rule: 'held_run',
    subject: '1204',
    severity: 'warning',
    event: 'repeated',
    title: 'Run 1204 waits for approval',
    what: 'The full run would change 812 employees, more than the 400 that pass without a look.',
    when: 'since 10:17, for 4 h',
    remedy: 'Look at its plan with `dirsync plan 1204`, then approve or reject it.',
    minutes: 240,
  }),
  over: alertOf({
    key: 'role_missing:worker',
    rule: 'role_missing',
    subject: 'worker',
    severity: 'critical',
    event: 'recovered',
    title: 'No worker',
    what: 'A worker is running again.',
    when: '13:58 to 14:17, for 19 min',
    remedy: null,
    minutes: 19,
  }),
}

const CHINESE = {
  halt: {
    ...ENGLISH.halt,
    title: '已停止：全部',
    what: '全部工作已停止：平台不接受应用 ID 或密钥。',
    when: '自 14:05 起，已持续 12 分钟',
    remedy: '请与供应商核对 PLATFORM_APP_ID 和 PLATFORM_APP_SECRET；更正后自动恢复。',
  },
  cases: {
    ...ENGLISH.cases,
    title: '异常项激增：手机号重复',
    what: '当前有 10,412 个异常项，比一小时前增加 10,400 个。',
    when: '自 14:16 起',
    remedy: '请查看人事系统近期的变更；可在控制台批量重试或忽略。',
  },
  held: {
    ...ENGLISH.held,
    title: '同步任务 1204 待审批',
    what: '本次全量同步将变更 812 名员工，超过安全阈值 400 名。',
    when: '自 10:17 起，已持续 4 小时',
    remedy: '请用 `dirsync plan 1204` 查看其计划，然后批准或驳回。',
  },
  over: {
    ...ENGLISH.over,
    title: '没有工作进程',
    what: '工作进程已恢复运行。',
    when: '13:58 至 14:17，持续 19 分钟',
  },
}

/** Messages as they are made for each occasion, written by hand. */
export function sampleMessages(
  language: Language,
): Record<'one' | 'several' | 'recovered' | 'summary' | 'test', ChannelMessage> {
  const inEnglish = language === 'en'
  const { halt, cases, held, over } = inEnglish ? ENGLISH : CHINESE
  const of = (base: Base) => messageOf(language, base)
  return {
    one: of({
      kind: 'alerts',
      tone: 'critical',
      title: `dirsync: ${halt.title}`,
      alerts: [halt],
    }),
    several: of({
      kind: 'alerts',
      tone: 'critical',
      title: inEnglish ? 'dirsync: 4 alerts, the worst critical' : 'dirsync：4 条告警，最高级别为严重',
      alerts: [over, cases, held, halt],
    }),
    recovered: of({
      kind: 'alerts',
      tone: 'recovered',
      title: inEnglish ? `dirsync: recovered: ${over.title}` : `dirsync：已恢复：${over.title}`,
      alerts: [over],
    }),
    summary: of({
      kind: 'summary',
      tone: 'critical',
      title: inEnglish ? 'dirsync: many alerts' : 'dirsync：告警过多',
      alerts: [halt],
      note: inEnglish
        ? '20 messages within the hour: 14 more alerts are in the console. The next message comes after 15:02.'
        : '一小时内已发送 20 条消息：另有 14 条告警请在控制台查看。下一条消息将在 15:02 之后发送。',
    }),
    test: of({
      kind: 'test',
      tone: 'info',
      title: inEnglish ? 'dirsync: test message' : 'dirsync：测试消息',
      alerts: [],
      note: inEnglish ? 'Alerts reach you on this channel.' : '此渠道可以正常接收告警。',
    }),
  }
}

/** A message whose facts try everything that a person's words could. */
export function hostileMessage(): ChannelMessage {
  const words =
    '[click](http://evil.example) <a href="http://evil.example">x</a> <@all> @all <!channel> <at id=all></at> <script>alert(1)</script> **b** `c` [x]`(http://evil.example)` & \r\nBcc: victim@evil.example'
  const alert = {
    ...ENGLISH.halt,
    rule: 'paused' as const,
    title: `Paused: ${words}`,
    what: `# All calls are paused: ${words}`,
    when: 'since 14:05',
    remedy: `> ${words}`,
  }
  return messageOf('en', {
    kind: 'alerts',
    tone: 'warning',
    title: `dirsync: paused ${words}`,
    alerts: [alert],
    note: words,
  })
}

/** A message with so many alerts, the last of them critical, all with the longest texts. */
export function floodMessage(language: Language, count: number): ChannelMessage {
  const { cases, halt } = language === 'en' ? ENGLISH : CHINESE
  const long = (text: string) => text.repeat(40)
  const alerts = Array.from({ length: count }, (_, i) => ({
    ...(i === count - 1 ? halt : cases),
    id: i + 1,
    title: long(cases.title),
    what: long(cases.what),
    when: long(cases.when),
    remedy: long(cases.remedy ?? ''),
  }))
  return messageOf(language, {
    kind: 'alerts',
    tone: 'critical',
    title: long(`dirsync: ${count}`),
    alerts,
    note: long('…'),
  })
}
