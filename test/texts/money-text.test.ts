import { expect, test } from 'vitest'
import { moneyText } from '../../src/texts/money-text.ts'

test.each([
  ['1012.5', undefined, 'CN¥1,012.50', '¥1,012.50'],
  ['0.00', 'CASH', 'CN¥0.00', '¥0.00'],
  ['5000.00', 'QUOTA', '5,000 of quota', '5,000 额度'],
  ['7.5', 'THIRD', '7.50 of third-party assets', '7.50 第三方资产'],
  ['7', 'LATER', '7 LATER', '7 LATER'],
  ['-12.50', undefined, '-CN¥12.50', '-¥12.50'],
  // More digits than a binary number has.
  [
    '90071992547409931234.56',
    undefined,
    'CN¥90,071,992,547,409,931,234.56',
    '¥90,071,992,547,409,931,234.56',
  ],
  ['1.005', undefined, 'CN¥1.005', '¥1.005'],
  ['1250.00', 'POINT', '1,250 points', '1,250 积分'],
  ['1.00', 'POINT', '1 point', '1 积分'],
  ['12.5', 'POINT', '12.50 points', '12.50 积分'],
  // It is not known what it is in.
  ['1012.5', null, '1,012.50', '1,012.50'],
  ['no amount', null, 'no amount', 'no amount'],
])('%s of %s is shown as %s, in Chinese as %s', (text, asset, english, chinese) => {
  expect([moneyText('en', text, asset), moneyText('zh-CN', text, asset)]).toEqual([english, chinese])
})
