import type { channels as English } from '../en/channels.ts'
import type { Section } from '../section.ts'

export const channels = {
  'channel.state.critical': '严重',
  'channel.state.warning': '警告',
  'channel.state.info': '提示',
  'channel.state.recovered': '已恢复',
  'channel.again': '{severity}，仍未恢复',
  'channel.remedy': '处理建议：{remedy}',
  'channel.details': '详情与处理步骤',
  'channel.more': '另有 {count, plural, other {#}} 条告警未在此列出，请查看控制台或运行 `dirsync alerts`。',
  'channel.mail.footer':
    '由 dirsync 经渠道 {channel} 发送。如需在一段时间内静默某条规则：`dirsync alerts mute`',
} as const satisfies Section<typeof English>
