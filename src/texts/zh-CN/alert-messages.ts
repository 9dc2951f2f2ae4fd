import type { alertMessages as English } from '../en/alert-messages.ts'
import type { Section } from '../section.ts'

export const alertMessages = {
  'alerts.message.one': 'dirsync【{tone}】{title}',
  'alerts.message.one_repeated': 'dirsync【{tone}，仍未恢复】{title}',
  'alerts.message.several':
    'dirsync【{tone}】{going, plural, other {#}} 条告警{over, plural, =0 {} other {，# 条已恢复}}',
  'alerts.message.several_recovered': 'dirsync【{tone}】{over, plural, other {#}} 条告警',
  'alerts.message.more': 'dirsync【{tone}】另有 {more, plural, other {#}} 条告警',
  'alerts.message.tone.critical': '严重',
  'alerts.message.tone.warning': '警告',
  'alerts.message.tone.info': '提示',
  'alerts.message.tone.recovered': '已恢复',
  'alerts.message.since': '{since} 起',
  'alerts.message.since_for': '{since} 起，已持续 {duration}',
  'alerts.message.lasted': '{since} 至 {ended}，历时 {duration}',
  'alerts.message.unit.day': '{count, number} 天',
  'alerts.message.unit.hour': '{count, number} 小时',
  'alerts.message.unit.minute': '{count, number} 分钟',
  'alerts.message.left_out': '另有 {more, plural, other {#}} 条，请在控制台的告警页面查看。',
  'alerts.message.summary':
    '该渠道一小时内的 {most, plural, other {#}} 条消息额度已用完，另有 {more, plural, other {#}} 条告警，请在控制台查看；到 {time} 仍未恢复的会再次通知。',
  'alerts.message.open': '打开控制台',
} as const satisfies Section<typeof English>
