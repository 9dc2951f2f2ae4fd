import type { alertMessages as English } from '../en/alert-messages.ts'
import type { Section } from '../section.ts'

export const alertMessages = {
  'alerts.message.raised': 'dirsync：{title}',
  'alerts.message.repeated': 'dirsync：仍未恢复：{title}',
  'alerts.message.acknowledged': 'dirsync：已有人处理：{title}',
  'alerts.message.recovered': 'dirsync：已恢复：{title}',
  'alerts.message.several':
    'dirsync：{going, plural, other {#}} 条告警，最高级别为{worst}{over, plural, =0 {} other {；# 条已恢复}}',
  'alerts.message.more':
    'dirsync：另有 {going, plural, other {#}} 条告警，最高级别为{worst}{over, plural, =0 {} other {；# 条已恢复}}',
  'alerts.message.all_recovered': 'dirsync：{over, plural, other {#}} 条告警已恢复',
  'alerts.message.worst.critical': '严重',
  'alerts.message.worst.warning': '警告',
  'alerts.message.worst.info': '提示',
  'alerts.message.since': '{since} {zone} 起',
  'alerts.message.since_for': '{since} {zone} 起，已持续 {duration}',
  'alerts.message.lasted': '{since} 至 {ended} {zone}，历时 {duration}',
  'alerts.message.unit.day': '{count, number} 天',
  'alerts.message.unit.hour': '{count, number} 小时',
  'alerts.message.unit.minute': '{count, number} 分钟',
  'alerts.message.left_out': '另有 {more, plural, other {#}} 条，请在控制台的告警页面查看。',
  'alerts.message.summary':
    '该渠道一小时内的 {most, plural, other {#}} 条消息额度已用完，另有 {more, plural, other {#}} 条告警，请在控制台查看；到 {time} {zone} 仍未恢复的会再次通知。',
  'alerts.message.taken': '{by} 正在处理{reason, select, none {。} other {：{reason}}}',
  'alerts.message.continues':
    '{stop, select, paused {全部调用已暂停，恢复调用后才会继续工作：可在控制台恢复，或运行 `dirsync resume`。} halted {全部已停止，停止解除后才会继续工作。} other {工作会自动继续。}}',
  'alerts.message.flapping':
    '{what}该问题反复出现，已再次出现 {returns, plural, other {#}} 次：连续 {minutes} 分钟不再出现才视为恢复。',
  'alerts.message.open': '打开控制台',
  'notice.assigned': 'dirsync：{by} 将{cases, plural, =1 {异常项 {case} } other { # 个异常项}}指派给您',
  'notice.commented':
    'dirsync：{by} 在{cases, plural, =1 {异常项 {case} } other { # 个异常项}}的备注中提到了您',
} as const satisfies Section<typeof English>
