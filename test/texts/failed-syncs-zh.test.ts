import { describe, expect, onTestFinished, test } from 'vitest'
import { migrate } from '../../src/lib/migrate.ts'
import { messagesOf, PLATFORM_CODES } from '../../src/platform/codes.ts'
import { inLanguage } from '../../src/texts/failures.ts'
import { message } from '../../src/texts/message.ts'
import { storeTexts } from '../../src/texts/store.ts'
import { LANGUAGES } from '../../src/texts/texts.ts'
import { createTestDatabase } from '../helpers/postgres.ts'
import { fail } from '../sync/planted.ts'
import { StoreUnderTest } from '../sync/store-under-test.ts'
import { STORED } from './stored.ts'

const store = new StoreUnderTest()

describe('failed_syncs_zh', () => {
  test('says in Chinese what failed, on what, and what to do', async () => {
    const { meaning, remedy } = messagesOf(PLATFORM_CODES[1002218007], true)
    await fail(store, {
      field: 'mobile',
      message: [meaning, message('said.platform_says', { words: 'mobile exists' })],
      remedy,
    })
    const [row] = await store.rows('select * from dirsync.failed_syncs_zh')
    expect(row).toMatchObject({
      entity: 'employee',
      entity_name: '员工',
      operation_name: '更新员工',
      field_name: '手机号',
      category: 'duplicate_mobile',
      category_name: '手机号重复',
      state_name: '待处理',
      message: '企业中已有其他员工使用该手机号。平台返回：“mobile exists”。',
      remedy:
        '请查明手机号归属（见“受阻于”；为空时，可能是区号不同的员工），在人事系统中更正，或在平台上更正后重试；其他字段不受影响。',
    })
  })

  test('has the columns of failed_syncs, and the names beside them', async () => {
    const columns = async (view: string) =>
      (
        await store.rows(
          `select attname as name from pg_attribute
           where attrelid = 'dirsync.${view}'::regclass and attnum > 0 order by attnum`,
        )
      ).map(row => (row as { name: string }).name)
    const names = ['entity_name', 'operation_name', 'field_name', 'category_name', 'state_name']
    const chinese = await columns('failed_syncs_zh')
    expect(chinese.filter(name => !names.includes(name))).toEqual(await columns('failed_syncs'))
    expect(chinese).toEqual(expect.arrayContaining(names))
  })

  test('falls back to the words of others where no texts are stored', async () => {
    await fail(store)
    await store.pool.query('delete from dirsync.text')
    onTestFinished(async () => void (await storeTexts(store.pool)))
    const [plain] = await store.rows('select category, message, remedy, state from dirsync.failed_syncs')
    const [row] = await store.rows(
      'select category_name as category, message, remedy, state_name as state from dirsync.failed_syncs_zh',
    )
    expect(row).toEqual(plain)
  })
})

describe('dirsync.in_language', () => {
  test.each(LANGUAGES)('says the same as console and shell: %s', async language => {
    const { rows } = await store.pool.query<{ said: string }>(
      `select dirsync.in_language($1, one) as said
       from jsonb_array_elements($2) with ordinality as s (one, n) order by n`,
      [language, JSON.stringify(STORED)],
    )
    expect(rows.map(({ said }) => said)).toEqual(STORED.map(stored => inLanguage(language, stored)))
  })
})

describe('the stored texts', () => {
  test('are those of the catalogue, whatever stood there, and are written once', async () => {
    await using database = await createTestDatabase()
    await migrate(database.pool)
    expect(await storeTexts(database.pool)).toBeGreaterThan(2 * Object.keys(PLATFORM_CODES).length)
    expect(await storeTexts(database.pool)).toBe(0)
    await database.pool.query(
      `update dirsync.text set text = 'other' where key = 'state.open';
       insert into dirsync.text (language, key, text) values ('en', 'state.gone', 'gone')`,
    )
    expect(await storeTexts(database.pool)).toBe(3)
    const { rows } = await database.pool.query(
      `select language, text from dirsync.text where key in ('state.open', 'state.gone') order by 1`,
    )
    expect(rows).toEqual([
      { language: 'en', text: 'open' },
      { language: 'zh-CN', text: '待处理' },
    ])
  })
})
