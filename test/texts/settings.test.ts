import { expect, test } from 'vitest'
import { CHANNEL_SETTINGS } from '../../src/alerts/channel-settings.ts'
import { ConfigError, type Environment, loadConfig } from '../../src/config.ts'
import { describeSettings } from '../../src/doctor/settings.ts'
import { inLanguage } from '../../src/texts/failures.ts'
import { meanings } from '../../src/texts/zh-CN/meanings.ts'
import { LEAST } from '../helpers/least-settings.ts'
import { expectEachInChinese } from './chinese.ts'

function complaints(env: Environment): string[] {
  try {
    loadConfig({ ...LEAST, ...env })
  } catch (error) {
    if (error instanceof ConfigError) return error.problems.map(problem => inLanguage('zh-CN', problem))
  }
  throw new Error('the settings were accepted')
}

test.each<[string, Environment, string[]]>([
  [
    'that is missing',
    { HR_EMPLOYEES_SQL: undefined, PLATFORM_APP_ID: undefined },
    [
      '缺少设置：HR_EMPLOYEES_SQL、PLATFORM_APP_ID（请设置；或取消设置 DATABASE_URL、HR_DATABASE_URL 和 PLATFORM_BASE_URL，以内嵌方式运行）',
    ],
  ],
  [
    'of another form',
    { REDIS_URL: 'localhost', PLATFORM_RATE_LIMIT: 'fast', LOG_LEVEL: 'loud' },
    [
      'REDIS_URL 的值为 ***，但应为 redis://host:6379、redis+sentinel://host:26379,host:26379/master 或 redis+cluster://host:6379,host:6379，也可将 redis 换成 rediss',
      'PLATFORM_RATE_LIMIT 的值为 "fast"，但应为数字，或为 auto',
      'LOG_LEVEL 的值为 "loud"，但应为以下之一：trace、debug、info、warn、error、silent',
    ],
  ],
  [
    'of a channel',
    { ALERT_CHANNEL_OPS: 'mailto:x', ALERT_CHANNEL_OPS_LEAST: 'loud' },
    [
      'ALERT_CHANNEL_OPS_LEAST 的值为 "loud"，但应为以下之一：info、warning、critical',
      'ALERT_CHANNEL_OPS 的值为 ***，但应为以 https://、http://、smtps:// 或 smtp:// 开头的地址，必要时在前面注明类型，例如 dingtalk+https://',
    ],
  ],
])('a setting %s is complained about in Chinese too', (_, env, expected) => {
  expect(complaints(env)).toEqual(expected)
})

test('what every setting means stands in Chinese too, and nothing else does', () => {
  const described = [...describeSettings(LEAST, loadConfig(LEAST)), ...Object.values(CHANNEL_SETTINGS)]
  expectEachInChinese(
    described.map(({ meaning }) => meaning),
    meanings,
  )
})
