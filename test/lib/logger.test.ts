import { execFile, spawnSync } from 'node:child_process'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'

test('a log on a full disk ends no process', () => {
  const script = `
    import { createLogger } from './src/lib/logger.ts'
    const logger = createLogger({ level: 'info', pretty: false })
    for (const line of ['a', 'b']) logger.info(line)
    console.log('went on')`
  const command = '"$0" --input-type=module -e "$1" 2>/dev/full'
  const { stdout } = spawnSync('sh', ['-c', command, process.execPath, script], { encoding: 'utf8' })
  expect(stdout).toBe('went on\n')
})

/** Logs in a process of its own, since loggers write to standard error itself. */
async function logged(lines: string): Promise<Record<string, unknown>[]> {
  const script = `
    import { createLogger } from './src/lib/logger.ts'
    import { inLanguage } from './src/texts/failures.ts'
    import { message } from './src/texts/message.ts'
    const logger = createLogger({ level: 'info', pretty: false, say: (what, isForPerson) => inLanguage(isForPerson ? 'zh-CN' : 'en', what) })
    ${lines}`
  const { stderr } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', script])
  return stderr
    .trim()
    .split('\n')
    .map(line => JSON.parse(line))
}

test('a halt calls for a person in their language, and what machines read stays as it is', async () => {
  const [halted, over] = await logged(`
    const remedy = message('said.hr_unread_remedy')
    const reason = message('said.hr_unread_because', { reason: message('said.hr_silent', { reason: '57P01' }) })
    logger.child({ runId: 1 }).error(
      { scope: '*', category: 'hr_unavailable', remedy, msg: message('said.halted', { reason }) })
    logger.info({ remedy }, 'HR cannot be read')`)
  expect(halted).toMatchObject({
    runId: 1,
    scope: '*',
    category: 'hr_unavailable',
    remedy: expect.stringContaining('人事系统恢复后会自动继续。'),
    msg: '已停止：无法读取人事系统：人事数据库没有响应（57P01）；请检查 HR_DATABASE_URL 或 HR_SOURCES，以及服务器是否正常运行',
  })
  expect(over).toMatchObject({
    remedy: expect.stringMatching(/^Run `dirsync doctor`; work continues by itself once HR answers again\./),
    msg: 'HR cannot be read',
  })
})

test('what machines read has the words of the platform’s codes, not their keys', async () => {
  const [ended] = await logged(`
    const what = message('said.enterprise_halted', { code: 'E900' })
    const [meaning, remedy] = ['meaning', 'remedy'].map(part => [{ key: 'code.1000240002.' + part }])
    logger.info({ message: message('said.halted_because', { what, meaning, remedy }) }, 'run ended')`)
  expect(ended?.message).toMatch(/^Enterprise E900 is halted: The enterprise code is not .* Correct /)
})

test('an error is under one key, with its code or stack and trace id, and with nothing else of it', async () => {
  const [known, mistake, text] = await logged(`
    const row = { detail: 'Key (mobile)=(100) exists' }
    logger.warn({ error: Object.assign(new Error('refused'), { code: '1000210003', traceId: 't-1', ...row }) }, 'a')
    logger.warn({ error: new TypeError('no such member') }, 'b')
    logger.warn({ error: 'in words' }, 'c')`)
  expect(known?.error).toEqual({ name: 'Error', message: 'refused', code: '1000210003', traceId: 't-1' })
  expect(mistake?.error).toEqual({
    name: 'TypeError',
    message: 'no such member',
    stack: expect.stringContaining('TypeError: no such member'),
  })
  expect(text?.error).toEqual({ message: 'in words' })
})
