import { MINUTE_MS, minutes, type RuleDefinition } from './kind.ts'
import { answer } from './words.ts'

export const CHANNELS = {
  /** A channel does not accept messages. Subject: its name. Told on the other channels. */
  dead_channel: {
    severity: 'warning',
    meaning: 'Minutes that a channel accepts no message before the other channels are told.',
    figure: { min: 1, max: 1440, default: 10, example: 30 },
    find: ({ failingChannels }, { figure, now }) =>
      failingChannels
        .filter(({ since }) => now.getTime() - since.getTime() > figure * MINUTE_MS)
        .map(({ channel, since, answer }) => ({ subject: channel, facts: { channel, answer }, since })),
    values: answer,
    prometheus: {
      expr: minutes => `max by (job, channel) (dirsync_alert_channel_failing_seconds) > ${minutes * 60}`,
      summary: 'Alerts do not reach the channel {{ $labels.channel }}',
      description:
        'It has taken no message for {{ $value | humanizeDuration }}. `dirsync alerts channels` shows what its server answers.',
    },
  },

  /** The monitor at HEARTBEAT_URL does not accept the calls. */
  heartbeat_failing: {
    severity: 'warning',
    meaning: 'Minutes that the monitor at HEARTBEAT_URL accepts no call before it is an alert.',
    figure: { min: 1, max: 1440, default: 10, example: 30 },
    holdsMs: minutes,
    find: ({ heartbeatFailing }) =>
      heartbeatFailing === null ? [] : [{ facts: { answer: heartbeatFailing } }],
    values: answer,
    prometheus: {
      expr: 'max by (job) (dirsync_heartbeat_failing) > 0',
      summary: 'The heartbeat of dirsync does not get through',
      description:
        'The monitor of HEARTBEAT_URL takes no call. It raises its own alarm although dirsync works.',
    },
  },
} as const satisfies Record<string, RuleDefinition>
