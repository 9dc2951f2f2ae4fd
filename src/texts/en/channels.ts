/** What messages of alerts say besides their alerts, whatever channel takes them. */
export const channels = {
  'channel.state.critical': 'critical',
  'channel.state.warning': 'warning',
  'channel.state.info': 'for information',
  'channel.state.recovered': 'recovered',
  'channel.again': '{severity}, still firing',
  'channel.remedy': 'What to do: {remedy}',
  'channel.details': 'Details and steps',
  'channel.more':
    '{count, plural, one {# more alert is} other {# more alerts are}} not shown here: see the console, or `dirsync alerts`.',
  'channel.mail.footer':
    'Sent by dirsync on its channel {channel}. To mute a rule for a time: `dirsync alerts mute`',
} as const
