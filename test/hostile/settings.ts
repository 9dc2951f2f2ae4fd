import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import fc from 'fast-check'
import { ConfigError, isEmbedded, loadConfig } from '../../src/config.ts'
import { SETTINGS, type Setting } from '../../src/settings/settings.ts'
import { inEnglish } from '../../src/texts/message.ts'
import { SAMPLE } from '../../src/trial/environment.ts'
import { temporaryFolder } from '../helpers/temporary-folder.ts'
import { interruptibly, type Kind, must } from './kind.ts'
import { jsonValue, text } from './texts.ts'

/*
 * Settings as an environment may have them. They are taken as values that can be worked with, or refused in sentences that name the
 * setting and never show a secret.
 */

interface Given {
  settings: { name: string; value: string; isInFile: boolean }[]
  /** A setting that is needed, and not there. */
  missing: string | null
}

/** In every secret. */
export const SECRET = 'hunter2hunter2'
const NEEDED: Record<string, string> = {
  DATABASE_URL: 'postgres://dirsync@127.0.0.1:9/dirsync',
  HR_DATABASE_URL: 'postgres://hr@127.0.0.1:9/hr',
  HR_EMPLOYEES_SQL: SAMPLE.employeesSql,
  PLATFORM_BASE_URL: 'http://127.0.0.1:9',
  PLATFORM_APP_ID: 'application',
  PLATFORM_APP_SECRET: SECRET,
}
const CHANNEL = [
  '',
  '_SECRET',
  '_LEAST',
  '_LANGUAGE',
  '_MENTION',
  '_EVENTS',
  '_FROM',
  '_TO',
  '_',
  '_FILE',
  '_X',
]
const NAMES = [
  ...Object.keys(SETTINGS),
  ...CHANNEL.flatMap(end => [`ALERT_CHANNEL_OPS${end}`, `ALERT_CHANNEL_M${end}`]),
  ...['ALERT_CHANNEL_', 'ALERT_CHANNEL_ops', 'SCHEDULE_SYNC_CHANGES', 'SCHEDULE_', 'SCHEDULE_NOTHING'],
]
const isSecret = (name: string) =>
  /^ALERT_CHANNEL_[A-Z0-9]+(?:_SECRET|_MENTION)?$/.test(name) ||
  (SETTINGS as Record<string, Setting>)[name]?.secret === true

const NUMBERS = [
  '0',
  '-1',
  '-0',
  '1e999',
  '1e3',
  '0x10',
  '1_000',
  '１２',
  'NaN',
  'Infinity',
  '9007199254740993',
  '.5',
  '1.',
  '1,5',
  '+1',
  '0.1',
]
const ADDRESSES = [
  ...[
    'postgres://a:@',
    'postgres://a@[::1',
    'postgres://a:%zz@h/d',
    'postgres://h:99999/d',
    'postgres:',
    'mysql://a@h/d?ssl=%00',
  ],
  ...[
    'mysql://h',
    'files:/',
    'files://h/x',
    'files:/%2e%2e/%zz',
    'redis://:@h:6379/x',
    'rediss://h/99',
    'redis://h?x#y',
    'http://',
    'https://a b/',
  ],
  ...[
    'http://a@b:c@d/',
    'https://例え.jp/ü',
    'https://xn--/',
    'smtp://u:%40@h?tls=off',
    'smtp://h:25?tls=maybe',
    'smtps://',
    'javascript:alert(1)',
  ],
  ...[
    'https://oapi.dingtalk.com/robot/send',
    'https://oapi.dingtalk.com/robot/send?access_token=x',
    'dingtalk+https://h/x',
    'x+https://h',
  ],
  ...[
    'https://hooks.slack.com/services/x',
    'https://open.feishu.cn/open-apis/bot/v2/hook/x',
    'wecom+ftp://h',
  ],
]
const WORDS = [
  ...[
    'auto',
    'true',
    'off',
    'on',
    '*/5 * * * *',
    '* * * * * *',
    'a,b',
    ',,,',
    'a=1,a=2',
    '=',
    'employee/get=20',
    'employee/get=-1',
    '60s',
    '-1d',
  ],
  ...[
    'marker:',
    'marker:../x',
    'staff=3',
    'staff=0',
    'orders,accounts',
    'run.*',
    'groups:x=admin',
    ':=',
    'email:a@b=admin',
    'zh-CN',
    '::1,10.0.0.0/33',
  ],
  ...['ann@example.com', 'A <a@b>, "B, C" <c@d>', '<', 'a@b@c', '91000000SAMPLE0001'],
]
const value = fc.oneof(
  fc.constantFrom(...NUMBERS),
  fc.constantFrom(...ADDRESSES),
  fc.constantFrom(...WORDS),
  text(20_000, true),
  fc.tuple(fc.constantFrom(...ADDRESSES, ...WORDS), text(100, true)).map(([likely, more]) => likely + more),
  jsonValue(['name', 'address'], 100).map(value => JSON.stringify(value) ?? ''),
)

const inputs = fc.record<Given>({
  settings: fc.array(
    fc
      .record({
        name: fc.constantFrom(...NAMES),
        value,
        isInFile: fc.integer({ min: 0, max: 9 }).map(dice => dice === 0),
        at: fc.nat(100),
      })
      .map(({ at, ...given }) => {
        if (!isSecret(given.name)) return given
        const place = at % (given.value.length + 1)
        return { ...given, value: `${given.value.slice(0, place)}${SECRET}${given.value.slice(place)}` }
      }),
    { maxLength: 5 },
  ),
  missing: fc.oneof({ weight: 9, arbitrary: fc.constant(null) }, fc.constantFrom(...Object.keys(NEEDED))),
})

export const settings: Kind<Given> = {
  name: 'settings',
  what: 'settings with any values, given directly or in files',
  share: 300,
  few: 500,
  inputs,
  async open() {
    const folder = await temporaryFolder()
    return { meet: given => meet(given, folder), async [Symbol.asyncDispose]() {} }
  },
}

async function meet({ settings, missing }: Given, folder: string): Promise<string> {
  const env: Record<string, string> = { ...NEEDED }
  for (const [i, { name, value, isInFile }] of settings.entries()) {
    if (isInFile) await writeFile(join(folder, String(i)), value)
    if (isInFile) delete env[name]
    env[isInFile ? `${name}_FILE` : name] = isInFile ? join(folder, String(i)) : value
  }
  if (missing !== null) delete env[missing]
  try {
    const config = interruptibly(() => loadConfig(env))
    for (const held of leaves(config))
      must(typeof held !== 'number' || Number.isFinite(held), `a setting is ${held}`)
    must(typeof isEmbedded(env) === 'boolean', 'whether it is embedded is unknown')
    return 'taken'
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    must(error.problems.length > 0, 'settings are refused without a reason')
    for (const problem of error.problems.map(inEnglish)) {
      must(
        /[A-Z]{3,}/.test(problem) && !problem.includes('\n'),
        `no sentence that names a setting: ${problem}`,
      )
      // The name of a parameter is none, once the password is over.
      must(!problem.replace(/no parameter .*?; there/s, '').includes(SECRET), `a secret is shown: ${problem}`)
      must(
        /[a-z]{2}/.test(problem) &&
          !/undefined|\[object|Invalid input/.test(problem.replaceAll(/"(?:[^"\\]|\\.)*"/g, '')),
        `no sentence: ${problem}`,
      )
    }
    return 'refused'
  }
}

function leaves(value: unknown): unknown[] {
  if (value instanceof Map) return [...value].flatMap(leaves)
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(leaves) : [value]
}
