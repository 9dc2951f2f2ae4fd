import { isThisMachine } from '../lib/http-server.ts'
import { closestName, isEncoded, isEncodedAddress } from '../lib/text.ts'
import { type Message, message, type SaidKey } from '../texts/message.ts'
import type { Language } from '../texts/texts.ts'
import { CHANNEL_KINDS, type ChannelKind, type ChannelSettings, EVENT_PATTERN } from './channel.ts'
import { SEVERITIES, type Severity } from './rule.ts'

/*
 * The settings of channels. ALERT_CHANNEL_<NAME> holds an address exactly as its vendor gives it; the address
 * determines the kind of channel. Further settings of the channel have the same name with a suffix. src/config.ts
 * reads them.
 */

/** The prefix of every channel setting. */
export const CHANNEL_PREFIX = 'ALERT_CHANNEL_'

/** The settings of a channel, by suffix. */
export const CHANNEL_SETTINGS = {
  '': {
    meaning:
      'Where its messages go: the address of a robot or webhook exactly as its vendor gives it, or of a mail server.',
    values: 'address, https://… or smtp://…',
    example: 'https://oapi.dingtalk.com/robot/send?access_token=…',
    secret: true,
  },
  _SECRET: {
    meaning: 'The secret that signs its messages, for DingTalk, Feishu, Lark and webhooks.',
    values: 'text; for a webhook whsec_…',
    example: 'SEC0a1b…',
    secret: true,
  },
  _LEAST: {
    meaning: 'The least severity of the alerts that it gets.',
    values: SEVERITIES.join(', '),
    example: 'critical',
    default: 'warning',
  },
  _LANGUAGE: {
    meaning: 'The language of its messages. Without it, that of DIRSYNC_LANG.',
    values: 'en, zh-CN',
    example: 'zh-CN',
  },
  _MENTION: {
    meaning:
      'Whom its critical messages and tests mention, so that even a muted chat rings: mobile numbers for DingTalk, user ids for WeCom, open ids for Feishu and Lark, member ids for Slack. WeCom does not support all.',
    values: 'all, or ids separated by commas',
    example: 'all',
    secret: true,
  },
  _EVENTS: {
    meaning:
      'The events of runs and cases that a webhook gets, instead of alerts: `run.` and a state, `case.` and what happened, or `*`.',
    values: 'names of events, separated by commas',
    example: 'run.done, run.failed, case.*',
  },
  _FROM: {
    meaning: 'The sender of mail. Without it, the user in the address, if that is a mail address.',
    values: 'mail address',
    example: 'dirsync <dirsync@example.com>',
  },
  _TO: {
    meaning: 'The recipients of mail.',
    values: 'mail addresses, separated by commas',
    example: 'ops@example.com, hr-it@example.com',
  },
} as const satisfies Record<
  string,
  { meaning: string; values: string; example: string; default?: string; secret?: true }
>

export type ChannelPart = keyof typeof CHANNEL_SETTINGS
const PARTS = Object.keys(CHANNEL_SETTINGS) as ChannelPart[]
const FURTHER_PARTS = PARTS.filter(part => part !== '')

/** A channel as far as its own settings define it. */
export type OwnSettings = Omit<ChannelSettings, 'language'> & {
  /** Null if it is not set. */
  language: Language | null
}

/**
 * The channels defined by settings.
 * @param values every setting that begins with `ALERT_CHANNEL_`, by name
 * @returns the channels sorted by name, and one sentence per error, without secrets
 */
export function parseChannels(values: ReadonlyMap<string, string>): {
  channels: OwnSettings[]
  complaints: Message[]
} {
  const complaints: Message[] = []
  const given = new Map<string, Partial<Record<ChannelPart, string>>>()
  for (const [setting, value] of values) {
    const found = partOf(setting)
    if (found === null) complaints.push(strayComplaint(setting))
    else given.set(found.name, { ...given.get(found.name), [found.part]: value })
  }
  const channels: OwnSettings[] = []
  for (const [name, parts] of [...given].sort(([a], [b]) => (a < b ? -1 : 1))) {
    const { channel, flaws } = readChannel(name, parts)
    complaints.push(...flaws)
    if (channel !== null) channels.push(channel)
  }
  return { channels, complaints }
}

/**
 * The channel and part that a setting is for; null if it is not a channel setting. The name is in capitals, as in the
 * setting.
 */
export function partOf(setting: string): { name: string; part: ChannelPart } | null {
  const [, name, part = ''] = /^ALERT_CHANNEL_([A-Z0-9]+)(_[A-Z]+)?$/.exec(setting) ?? []
  // A channel named like a suffix would make ALERT_CHANNEL_SECRET_FILE and the like ambiguous.
  if (name === undefined || PARTS.includes(`_${name}` as ChannelPart) || name === 'FILE') return null
  return PARTS.includes(part as ChannelPart) ? { name, part: part as ChannelPart } : null
}

function strayComplaint(setting: string): Message {
  const end = setting.lastIndexOf('_')
  const meant = closestName(setting.slice(end).toUpperCase(), FURTHER_PARTS)
  const name = setting.slice(0, end).toUpperCase() + meant
  return partOf(name) !== null
    ? message('said.channel_setting_meant', { setting, name })
    : message('said.channel_setting_stray', { setting, names: FURTHER_PARTS })
}

function readChannel(
  name: string,
  parts: Partial<Record<ChannelPart, string>>,
): { channel: OwnSettings | null; flaws: Message[] } {
  const setting = (part: ChannelPart) => CHANNEL_PREFIX + name + part
  const flaws: Message[] = []
  const wrong = (part: ChannelPart, wanted: Message) => {
    const held = 'secret' in CHANNEL_SETTINGS[part] ? message('said.secret') : JSON.stringify(parts[part])
    flaws.push(message('said.setting_holds', { name: setting(part), held, wanted }))
  }
  const least = parts._LEAST ?? CHANNEL_SETTINGS._LEAST.default
  if (!isSeverity(least)) wrong('_LEAST', message('said.wanted_one_of', { names: SEVERITIES }))
  const language = languageNamed(parts._LANGUAGE)
  if (language === undefined) wrong('_LANGUAGE', message('said.wanted_language'))
  if (parts[''] === undefined) {
    const others = FURTHER_PARTS.filter(part => parts[part] !== undefined).map(setting)
    flaws.push(message('said.settings_missing_or_unset', { name: setting(''), others }))
    return { channel: null, flaws }
  }
  const address = readAddress(parts[''])
  if ('key' in address) {
    wrong('', address)
    return { channel: null, flaws }
  }
  const { kind, url } = address
  const secret = parts._SECRET ?? null
  if (secret !== null) {
    const flaw = secretFlaw(kind, secret)
    if (flaw) wrong('_SECRET', flaw)
  }
  const mention = listOf(parts._MENTION)
  const mentionFlaw = mention.length > 0 && flawOfMention(kind, mention)
  if (mentionFlaw) wrong('_MENTION', mentionFlaw)
  const events = listOf(parts._EVENTS)
  if (events.length > 0 && kind !== 'webhook')
    wrong('_EVENTS', message('said.wanted_no_events', { channel: kind }))
  else if (!events.every(name => EVENT_PATTERN.test(name)))
    wrong('_EVENTS', message('said.wanted_events', { example: 'run.done, case.*' }))
  const mail = kind === 'mail' ? readMail(url, parts) : { from: null, to: [], missing: [] }
  const needless = kind === 'mail' ? [] : (['_FROM', '_TO'] as const).filter(part => parts[part])
  for (const part of needless)
    wrong(part, message('said.wanted_for_mail', { name: setting(''), channel: kind }))
  if (mail.missing.length > 0)
    flaws.push(message('said.settings_missing', { names: mail.missing.map(setting) }))
  if (mail.from !== null && !isMailAddress(mail.from)) wrong('_FROM', message('said.wanted_mail_address'))
  if (!mail.to.every(isMailAddress)) wrong('_TO', message('said.wanted_mail_addresses'))
  if (flaws.length > 0 || !isSeverity(least) || language === undefined) return { channel: null, flaws }
  const { from, to } = mail
  const taken = events.length > 0 ? { events } : {}
  return {
    channel: {
      name: name.toLowerCase(),
      kind,
      url: url.href,
      secret,
      least,
      language,
      mention,
      ...taken,
      from,
      to,
    },
    flaws,
  }
}

function isSeverity(text: string): text is Severity {
  return (SEVERITIES as readonly string[]).includes(text)
}

/** Null if not set, undefined if it is not a language. */
function languageNamed(text: string | undefined): Language | null | undefined {
  if (text === undefined) return null
  if (/^zh(?:[-_].*)?$/i.test(text)) return 'zh-CN'
  return /^en(?:[-_].*)?$/i.test(text) ? 'en' : undefined
}

/** Vendors by the host of the address. */
const VENDORS: Readonly<Record<string, ChannelKind>> = {
  'oapi.dingtalk.com': 'dingtalk',
  'qyapi.weixin.qq.com': 'wecom',
  'open.feishu.cn': 'feishu',
  'open.larksuite.com': 'feishu',
  'hooks.slack.com': 'slack',
  'hooks.slack-gov.com': 'slack',
}

/** What a complete address of a vendor must have. The address of a proxy may lack it. */
const WHOLE: Partial<Record<ChannelKind, { has: (url: URL) => boolean; wanted: string }>> = {
  dingtalk: {
    has: ({ searchParams }) => Boolean(searchParams.get('access_token')),
    wanted: 'https://oapi.dingtalk.com/robot/send?access_token=…',
  },
  wecom: {
    has: ({ searchParams }) => Boolean(searchParams.get('key')),
    wanted: 'https://qyapi.weixin.qq.com/cgi-bin/webhook/send?key=…',
  },
  feishu: {
    has: ({ pathname }) => /^\/open-apis\/bot\/v2\/hook\/./.test(pathname),
    wanted: 'https://open.feishu.cn/open-apis/bot/v2/hook/…',
  },
  slack: {
    has: ({ pathname }) => /^\/services\/[^/]+\/[^/]+\/./.test(pathname),
    wanted: 'https://hooks.slack.com/services/…',
  },
}

/** An explicit kind before the address, for hosts that do not reveal it: a proxy, or a test. */
const KIND_BEFORE = new RegExp(
  `^(${CHANNEL_KINDS.filter(kind => kind !== 'mail').join('|')})\\+(?=https?://)`,
)

/** The kind of an address, or the form that it should have. */
function readAddress(text: string): { kind: ChannelKind; url: URL } | Message {
  const [before = '', named] = KIND_BEFORE.exec(text) ?? []
  const rest = text.slice(before.length)
  const url = URL.canParse(rest) ? new URL(rest) : null
  if (url === null || !/^(?:https?|smtps?):$/.test(url.protocol) || url.hostname === '')
    return message('said.wanted_channel_address')
  if (url.protocol.startsWith('smtp')) return mailAddressFlaw(rest, url) ?? { kind: 'mail', url }
  if (!isEncoded(url.username) || !isEncoded(url.password)) return message('said.wanted_encoded_login')
  const vendor = VENDORS[url.hostname]
  const kind = (named as ChannelKind | undefined) ?? vendor ?? 'webhook'
  const whole = vendor === kind ? WHOLE[kind] : undefined
  return whole && !whole.has(url)
    ? message('said.wanted_whole_address', { address: whole.wanted })
    : { kind, url }
}

/** What is wrong with the address of a mail server, or null. */
function mailAddressFlaw(text: string, url: URL): Message | null {
  const { username, password, pathname, searchParams } = url
  if (!isEncodedAddress(text) || !isEncoded(username) || !isEncoded(password))
    return message('said.wanted_encoded_login')
  const isPlain = searchParams.get('tls') === 'off'
  if ([...searchParams].length > (isPlain ? 1 : 0) || !/^\/?$/.test(pathname))
    return message('said.wanted_no_more')
  if (isPlain && url.protocol === 'smtps:') return message('said.wanted_smtp')
  if (isPlain && password !== '' && !isThisMachine(url.hostname)) return message('said.wanted_no_password')
  return (username === '') === (password === '') ? null : message('said.wanted_login')
}

/** What is wrong with a signing secret, or null. */
function secretFlaw(kind: ChannelKind, secret: string): Message | null {
  if (kind === 'mail' || kind === 'wecom' || kind === 'slack')
    return message('said.wanted_no_secret', { channel: kind })
  if (kind !== 'webhook') return null
  const [, key = ''] = /^whsec_([A-Za-z0-9+/]+={0,2})$/.exec(secret) ?? []
  const bytes = Buffer.from(key, 'base64').length
  return bytes >= 24 && bytes <= 64 ? null : message('said.wanted_secret')
}

/** How each chat mentions people: the form of its ids, their description, and whether it can mention everyone. */
const MENTIONS: Partial<
  Record<ChannelKind, { id: RegExp; wanted: Extract<SaidKey, `said.ids_${string}`>; knowsAll: boolean }>
> = {
  dingtalk: { id: /^\+?\d[\d-]{5,19}$/, wanted: 'said.ids_dingtalk', knowsAll: true },
  wecom: { id: /^[\w.@-]{1,64}$/, wanted: 'said.ids_wecom', knowsAll: false },
  feishu: { id: /^[\w-]{1,64}$/, wanted: 'said.ids_feishu', knowsAll: true },
  slack: { id: /^[UW][A-Z0-9]{5,20}$/, wanted: 'said.ids_slack', knowsAll: true },
}

/** Whether a channel of that kind can mention one person by this id. */
export function canMention(kind: ChannelKind, id: string): boolean {
  return id !== 'all' && MENTIONS[kind]?.id.test(id) === true
}

/** What is wrong with a channel's mentions, or null. */
function flawOfMention(kind: ChannelKind, ids: readonly string[]): Message | null {
  const known = MENTIONS[kind]
  if (!known) return message('said.wanted_no_mention', { channel: kind })
  const isRight = (id: string) => (id === 'all' ? known.knowsAll && ids.length === 1 : known.id.test(id))
  if (ids.length <= 20 && ids.every(isRight)) return null
  return message(known.knowsAll ? 'said.wanted_all_or_mentions' : 'said.wanted_mentions', {
    what: message(known.wanted),
  })
}

function listOf(text = ''): string[] {
  return text
    .split(',')
    .map(item => item.trim())
    .filter(Boolean)
}

/** Sender and recipients of mail. */
function readMail(url: URL, parts: Partial<Record<ChannelPart, string>>) {
  const user = decodeURIComponent(url.username)
  const from = parts._FROM ?? (isMailAddress(user) ? user : null)
  const to = listOf(parts._TO)
  const missing: ChannelPart[] = []
  if (from === null) missing.push('_FROM')
  if (to.length === 0) missing.push('_TO')
  return { from, to, missing }
}

/** `ops@example.com`, or `Operations <ops@example.com>`. */
export function isMailAddress(text: string): boolean {
  const [, named, bare = named] = /^[^<>\p{Cc}]*<([^<>]+)>$|^([^<>]+)$/u.exec(text) ?? []
  return /^[^\s@,;:"()[\]\p{Cc}]+@[^\s@,;:"()[\]\p{Cc}]+$/u.test(bare ?? '')
}
