/** What messages about alerts say around the alerts themselves. */
export const alertMessages = {
  // Titles: of one alert, of several, and of a summary.
  'alerts.message.raised': 'dirsync: {title}',
  'alerts.message.repeated': 'dirsync: still: {title}',
  'alerts.message.acknowledged': 'dirsync: in hand: {title}',
  'alerts.message.recovered': 'dirsync: recovered: {title}',
  'alerts.message.several':
    'dirsync: {going, plural, one {# alert, {worst}} other {# alerts, the worst {worst}}}{over, plural, =0 {} other {; # recovered}}',
  'alerts.message.more':
    'dirsync: {going, plural, one {# more alert, {worst}} other {# more alerts, the worst {worst}}}{over, plural, =0 {} other {; # recovered}}',
  'alerts.message.all_recovered': 'dirsync: {over, plural, one {# alert} other {# alerts}} recovered',
  'alerts.message.worst.critical': 'critical',
  'alerts.message.worst.warning': 'warning',
  'alerts.message.worst.info': 'for your information',
  // When it was. They stand behind the severity.
  'alerts.message.since': 'since {since} {zone}',
  'alerts.message.since_for': 'since {since} {zone}, for {duration}',
  'alerts.message.lasted': '{since} to {ended} {zone}, for {duration}',
  'alerts.message.unit.day': '{count, number} d',
  'alerts.message.unit.hour': '{count, number} h',
  'alerts.message.unit.minute': '{count, number} min',
  'alerts.message.left_out':
    '{more, plural, one {# more is} other {# more are}} on the console’s alerts page.',
  'alerts.message.summary':
    'This channel has had its {most, plural, one {one message} other {# messages}} for this hour. {more, plural, one {# more alert is} other {# more alerts are}} in the console; what still holds at {time} {zone} is sent then.',
  'alerts.message.taken': '{by} is on it{reason, select, none {.} other {: {reason}}}',
  'alerts.message.continues':
    '{stop, select, paused {All calls are paused: work continues once someone resumes them, in the console or with `dirsync resume`.} halted {Everything is halted: work continues once that is over.} other {Work continues by itself.}}',
  'alerts.message.flapping':
    '{what} It comes and goes, and has returned {returns, plural, one {once} other {# times}}: it counts as over only after {minutes} minutes without it.',
  'alerts.message.open': 'Open the console',
  // To one person.
  'notice.assigned': 'dirsync: {by} has assigned {cases, plural, one {case {case}} other {# cases}} to you',
  'notice.commented':
    'dirsync: {by} mentions you in a comment on {cases, plural, one {case {case}} other {# cases}}',
} as const
