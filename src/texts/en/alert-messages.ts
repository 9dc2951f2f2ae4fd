/** What messages about alerts say around the alerts themselves. */
export const alertMessages = {
  'alerts.message.one': 'dirsync [{tone}] {title}',
  'alerts.message.one_repeated': 'dirsync [{tone}, goes on] {title}',
  'alerts.message.several':
    'dirsync [{tone}] {going, plural, one {# alert} other {# alerts}}{over, plural, =0 {} other {, # recovered}}',
  'alerts.message.several_recovered': 'dirsync [{tone}] {over, plural, one {# alert} other {# alerts}}',
  'alerts.message.more': 'dirsync [{tone}] {more, plural, one {# more alert} other {# more alerts}}',
  'alerts.message.tone.critical': 'critical',
  'alerts.message.tone.warning': 'warning',
  'alerts.message.tone.info': 'info',
  'alerts.message.tone.recovered': 'recovered',
  'alerts.message.since': 'Since {since}',
  'alerts.message.since_for': 'Since {since}, for {duration}',
  'alerts.message.lasted': 'From {since} to {ended}, for {duration}',
  'alerts.message.unit.day': '{count, number} d',
  'alerts.message.unit.hour': '{count, number} h',
  'alerts.message.unit.minute': '{count, number} min',
  'alerts.message.left_out':
    '{more, plural, one {# more is} other {# more are}} on the console’s page of alerts.',
  'alerts.message.summary':
    'This channel has had its {most, plural, one {one message} other {# messages}} of this hour. {more, plural, one {# more alert is} other {# more alerts are}} in the console; what still holds at {time} is told then.',
  'alerts.message.open': 'Open the console',
} as const
