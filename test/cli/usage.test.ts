import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect, test } from 'vitest'
import { widthOf } from '../../src/cli/output.ts'
import { VERSION } from '../../src/version.ts'
import { LEAST } from '../helpers/least-settings.ts'
import { dirsync, dirsyncProcess, type Run, wideLines } from './dirsync.ts'

const COMMANDS = [
  ['start'],
  ['migrate'],
  ['plan'],
  ['resync'],
  ['status'],
  ['runs'],
  ['employee'],
  ['approve'],
  ['reject'],
  ['cancel'],
  ['pause'],
  ['resume'],
  ['dead-letters'],
  ['dead-letters', 'list'],
  ['dead-letters', 'show'],
  ['dead-letters', 'retry'],
  ['dead-letters', 'ignore'],
  ['dead-letters', 'snooze'],
  ['dead-letters', 'wake'],
  ['dead-letters', 'undo'],
  ['dead-letters', 'assign'],
  ['dead-letters', 'comment'],
  ['dead-letters', 'export'],
  ['alerts'],
  ['alerts', 'list'],
  ['alerts', 'channels'],
  ['alerts', 'rules'],
  ['alerts', 'history'],
  ['alerts', 'test'],
  ['alerts', 'mute'],
  ['alerts', 'unmute'],
  ['alerts', 'quiet'],
  ['orders'],
  ['orders', 'list'],
  ['orders', 'show'],
  ['orders', 'record'],
  ['accounts'],
  ['taxpayers'],
  ['refund'],
  ['refund', 'send'],
  ['refund', 'list'],
  ['refund', 'show'],
  ['refund', 'settle'],
  ['refund', 'resolve'],
  ['topup'],
  ['topup', 'send'],
  ['topup', 'list'],
  ['topup', 'show'],
  ['topup', 'resolve'],
  ['platform'],
  ['doctor'],
  ['hr'],
  ['hr', 'init'],
  ['hr', 'check'],
  ['hr', 'install-trigger'],
  ['hr', 'remove-trigger'],
  ['users'],
  ['users', 'add'],
  ['users', 'list'],
  ['users', 'disable'],
  ['users', 'enable'],
  ['users', 'password'],
  ['users', 'role'],
  ['users', 'link'],
  ['tokens'],
  ['tokens', 'add'],
  ['tokens', 'list'],
  ['tokens', 'revoke'],
  ['switch-account'],
  ['emulator'],
]

/** Those that do nothing without an argument or an option. */
const LACKING = new Set([
  'employee',
  'approve',
  'reject',
  'pause',
  'dead-letters show',
  'dead-letters ignore',
  'dead-letters snooze',
  'dead-letters wake',
  'dead-letters assign',
  'dead-letters comment',
  'alerts mute',
  'alerts unmute',
  'orders show',
  'orders record',
  'taxpayers',
  'refund show',
  'refund settle',
  'refund resolve',
  'topup show',
  'topup resolve',
  'users add',
  'users disable',
  'users enable',
  'users password',
  'users role',
  'users notices',
  'tokens add',
  'tokens revoke',
])

test.each(COMMANDS.map(names => ({ names })))(
  'help of $names shows examples in 80 columns',
  async ({ names }) => {
    const help = await dirsync([...names, '--help'])
    expect(help).toMatchObject({ code: 0, stderr: '' })
    expect(help.stdout).toContain(`Usage: dirsync ${names.join(' ')}`)
    expect(help.stdout).toContain('Examples:')
    expect(wideLines(help.stdout)).toEqual([])
  },
)

test.each([
  ...COMMANDS.flatMap(([...names]) => (LACKING.has(names.join(' ')) ? [{ names }] : [])),
  { names: ['dead-letters', 'ignore', '7'] },
  { names: ['users', 'role', 'anna'] },
])('$names alone says what is missing, and what to type', async ({ names }) => {
  const refused = await dirsync(names)
  expectRefusal(
    refused,
    /^dirsync: (?:missing required argument|required option) .+\n {2}\S+: \S.+\n {2}For example:\n {2}dirsync /,
  )
  const [, example = ''] = /For example:\n {2}dirsync (.+)\n/.exec(refused.stderr) ?? []
  expect(example.startsWith(`${names.slice(0, 2).join(' ')} `)).toBe(true)
  expect(wideLines(refused.stderr)).toEqual([])
})

test('every command that requires arguments is among them', async () => {
  const needing: string[] = []
  for (const names of COMMANDS) {
    const { stdout } = await dirsync([...names, '--help'])
    if (/^Usage: .* </m.test(stdout)) needing.push(names.join(' '))
  }
  expect(needing.filter(name => !LACKING.has(name))).toEqual([])
})

/** Of a line of help, what is prose: no flags, placeholders, commands, quoted words, lists of values and terms of the platform. */
const prose = (line: string) =>
  /^ {2,4}(?:dirsync|npx|curl|docker|-)/.test(line) && !/ {2}\S.*\p{Script=Han}/u.test(line)
    ? ''
    : line.replaceAll(/--?[a-z][\w-]*|<[^>]*>|\[[^\]]*\]|"[^"]*"|dirsync [a-z-]+(?: [a-z]+)?|open id/g, '')

test.each([{ names: [] as string[] }, ...COMMANDS.map(names => ({ names }))])(
  'help of $names is in Chinese with DIRSYNC_LANG=zh-CN, and nothing else has to be set',
  async ({ names }) => {
    const help = await dirsync([...names, '--help'], { DIRSYNC_LANG: 'zh-CN' })
    expect(help).toMatchObject({ code: 0, stderr: '' })
    expect(help.stdout).toContain(`用法： dirsync ${names.join(' ')}`)
    const lines = help.stdout.split('\n').slice(1)
    expect(lines.filter(line => /[a-z]{2,} [a-z]{2,}/.test(prose(line)))).toEqual([])
    expect(lines.filter(line => widthOf(line) > 80)).toEqual([])
  },
)

test.each<[string[], RegExp]>([
  [['status', '--fast'], /^dirsync: 未知的选项 '--fast'\n {2}（用法见 --help）\n$/],
  [['status', '--jsn'], /^dirsync: 未知的选项 '--jsn'\n {2}（您是否想输入 --json？）\n/],
  [['status', 'now'], /^dirsync: 参数过多：now\n/],
  [['dead-letters', 'burn'], /^dirsync: 未知的命令 'burn'\n/],
  [['resync', '--full', '--openids'], /^dirsync: 选项 '--full' 不能与 '--openids' 同时使用\n/],
  [
    ['employee'],
    /^dirsync: 缺少参数 'id'\n {2}id: 员工 ID，或“企业编码\/员工 ID”\n {2}例如：\n {2}dirsync employee e10172\n/,
  ],
  [
    ['pause'],
    /^dirsync: 缺少必需的选项 '--reason <text>'\n {2}reason: 原因；.*\n {2}例如：\n {2}dirsync pause /,
  ],
])('%j is refused in Chinese', async (args, words) => {
  const refused = await dirsync(args, { DIRSYNC_LANG: 'zh-CN' })
  expect(refused).toMatchObject({ code: 2, stdout: '' })
  expect(refused.stderr).toMatch(words)
})

test('the help of the program lists every command', async () => {
  const help = await dirsync(['--help'])
  expect(help.code).toBe(0)
  for (const [name] of COMMANDS) expect(help.stdout).toMatch(new RegExp(`^ {2}${name}[ |]`, 'm'))
  expect(wideLines(help.stdout)).toEqual([])
})

test('the help of the program loads no package but the one that reads the command line', () => {
  expect(packagesLoadedBy("(await import(file('program'))).runProgram(['--help'])")).toEqual(['commander'])
})

test('the status, which is looked at again and again, loads no client of HR or the platform', () => {
  const packages = packagesLoadedBy("import(file('status'))")
  expect(packages).toContain('pg')
  for (const client of ['undici', 'pg-copy-streams', 'mysql2', 'nodemailer', 'fastify'])
    expect(packages).not.toContain(client)
})

/** @param code `file` gives the address of a file of src/cli */
function packagesLoadedBy(code: string): string[] {
  const folder = pathToFileURL(join(import.meta.dirname, '../../src/cli')).href
  const script = `
    import { registerHooks } from 'node:module'
    registerHooks({ load(url, context, next) { console.error(url); return next(url, context) } })
    const file = name => '${folder}/' + name + '.ts'
    await ${code}`
  const { stderr } = spawnSync(process.execPath, ['--input-type=module', '--eval', script], {
    encoding: 'utf8',
  })
  const packages = [...stderr.matchAll(/node_modules\/((?:@[^/]+\/)?[^/]+)/g)].map(([, name = '']) => name)
  return [...new Set(packages)]
}

test('the version is the one of package.json', async () => {
  const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'))
  expect(await dirsyncProcess(['--version'])).toMatchObject({ code: 0, stdout: `${version}\n` })
})

const REFUND = ['refund', 'send', '--order', 'app-1', '--amount', '1.00', '--reason', 'x']

/** None of these gets as far as the settings: what they say is about the argument. */
test.each([
  ['no command', [], /Usage: dirsync/],
  ['an unknown option', ['status', '--fast'], /unknown option '--fast'/],
  ['too many arguments', ['status', 'now'], /too many arguments/],
  ['an unknown role', ['start', '--roles', 'scheduler,boss'], /scheduler, worker, console/],
  ['one sync without a worker', ['start', '--once', '--roles', 'scheduler'], /needs the roles/],
  ['two kinds of runs at once', ['resync', '--full', '--openids'], /cannot be used with/],
  ['an empty employee', ['resync', '--employee', ''], /is not an employee/],
  ['an employee without end', ['plan', '--employee', 'e'.repeat(200)], /is not an employee/],
  ['a full plan of one employee', ['plan', '--full', '--employee', 'e1'], /cannot be used with/],
  ['a max age without a full run', ['resync', '--max-age', '6h'], /--max-age works only with --full/],
  ['a max age that is no time', ['plan', '--full', '--max-age', '6'], /--max-age holds "6"/],
  ['a run that is no number', ['approve', 'seven'], /"seven" is not a run number/],
  ['a run of zero', ['reject', '0'], /"0" is not a run number/],
  ['no run', ['approve'], /missing required argument 'run'/],
  ['a run beyond all numbers', ['runs', '99999999999999999999'], /is not a run number/],
  ['an unknown kind of run', ['runs', '--kind', 'all'], /there is no kind "all": choose one of changes/],
  ['a wrong limit', ['runs', '--limit', 'all'], /--limit holds "all"/],
  ['the help of a misspelt command', ['staus', '--help'], /unknown command 'staus'\n.*Did you mean status\?/],
  ['help for a misspelt command', ['help', 'statuss'], /unknown command 'statuss'\n.*Did you mean status\?/],
  ['the help of a misspelt subcommand', ['cases', 'shwo', '--help'], /unknown command 'shwo'\n.*mean show\?/],
  ['a command of a group', ['retry', '17'], /unknown command 'retry'\n.*Did you mean dead-letters retry\?/],
  ['a command of two groups', ['send'], /unknown command 'send'\n.*mean refund send \/ topup send\?/],
  ['no subcommand', ['dead-letters'], /Usage: dirsync dead-letters/],
  ['an unknown subcommand', ['dead-letters', 'burn'], /unknown command 'burn'/],
  ['a wrong dead letter', ['dead-letters', 'show', '1.5'], /"1.5" is not a case number/],
  [
    'an unknown state',
    ['dead-letters', 'list', '--state', 'dead'],
    /there is no state "dead": choose one of open/,
  ],
  [
    'a wrong age',
    ['cases', 'list', '--older-than', 'soon'],
    /--older-than holds "soon": give a time such as/,
  ],
  [
    'a wrong age of a field that is two words in the API',
    ['cases', 'list', '--younger-than', 'soon'],
    /--younger-than holds "soon": give a time such as/,
  ],
  [
    'a wrong kind',
    ['cases', 'list', '--entity', 'team'],
    /there is no entity "team": choose one of employee/,
  ],
  ['a case of no number', ['cases', 'show'], /For example:\s+dirsync dead-letters show 17/],
  ['nothing to retry', ['dead-letters', 'retry'], /give either the numbers of cases, or --category\n/],
  ['a retry of both', ['dead-letters', 'retry', '1', '--category', 'x'], /either the numbers/],
  ['nothing to undo', ['dead-letters', 'undo'], /give either the number of a case, or --bulk\n/],
  ['an ignore without reason', ['dead-letters', 'ignore', '1'], /--reason/],
  ['an ignore with an empty reason', ['dead-letters', 'ignore', '1', '--reason', ' '], /--reason is empty/],
  ['an assignment to whom', ['dead-letters', 'assign', '1'], /either --to and a name, or --nobody/],
  ['an assignment to both', ['dead-letters', 'assign', '1', '--to', 'x', '--nobody'], /either --to/],
  ['a comment without text', ['dead-letters', 'comment', '1'], /--text/],
  ['a snooze without end', ['dead-letters', 'snooze', '1'], /--until/],
  ['a snooze until nonsense', ['dead-letters', 'snooze', '1', '--until', 'soon'], /--until holds "soon"/],
  [
    'a snooze until yesterday',
    ['dead-letters', 'snooze', '1', '--until', '2020-01-01'],
    /which is in the past/,
  ],
  [
    'a limit without a held run',
    ['plan', '--limit', '5'],
    /--limit works only with the number of a held run/,
  ],
  ['two formats at once', ['dead-letters', 'export', '--csv', '--json'], /either --csv or --json/],
  [
    'an unknown operation',
    ['platform', 'employee/fire'],
    /there is no operation "employee\/fire": there are token/,
  ],
  ['an unknown field', ['platform', 'employee/get', '--name', 'x'], /"--name" is not a field.*--userid/],
  [
    'a field of an operation that has none',
    ['platform', 'token/create', '--foo', '1'],
    /^dirsync: (?:token\/create takes no fields, and "--foo" is not one of its options|token\/create 没有字段，.*)$/m,
  ],
  ['a field without value', ['platform', 'employee/get', '--userid'], /--userid needs a value/],
  [
    'a field in place of a value',
    ['platform', 'employee/get', '--userid', '--mobile=1'],
    /--userid needs a value/,
  ],
  ['a question in place of a reason', ['pause', '--reason', '--help'], /--reason needs a value/],
  [
    'an option of other commands in place of an employee',
    ['resync', '--employee', '--yes'],
    /--employee needs a value/,
  ],
  ['a field twice', ['platform', 'employee/get', '--userid', 'a', '--userid=b'], /given twice/],
  [
    'a day that is none',
    ['orders', 'list', '--from', '2026-02-30'],
    /--from holds "2026-02-30".*a day such as/,
  ],
  [
    'days in the wrong order',
    ['orders', 'list', '--from', '2026-11-02', '--to', '2026-11-01'],
    /--from 2026-11-02 lies after --to 2026-11-01/,
  ],
  ['a taxpayer without number', ['taxpayers'], /missing required argument 'identifier'/],
  ['a wrong nature', ['taxpayers', 'x', '--nature', '3'], /there is no nature "3": choose one of 1, 2/],
  ['an empty refund', ['refund', 'send'], /missing: --order, --amount, --reason/],
  ['a top-up without account', ['topup', 'send', '--amount', '1.00'], /missing: --account/],
  ['a request that is no file', [...REFUND, '--json', '/nowhere.json'], /--json names "\/nowhere.json"/],
  [
    'a body that is no JSON',
    ['platform', 'seller/v3/pay/syncRefund', '--tradeInfo', '{'],
    /--tradeInfo should be/,
  ],
  ['a yes where there is no question', ['platform', 'employee/get', '--yes'], /"--yes" is not a field/],
  [
    'a wrong outcome',
    ['refund', 'resolve', 'a', '--as', 'paid', '--reason', 'x'],
    /choices are accepted, rejected/,
  ],
  [
    'an outcome without reason',
    ['topup', 'resolve', 'a', '--as', 'accepted', '--reason', ' '],
    /--reason is empty/,
  ],
  [
    'a state that no top-up has',
    ['topup', 'list', '--state', 'notified'],
    /Allowed choices are requested, unknown, accepted, rejected\.|choose one of requested, unknown, accepted, rejected\n/,
  ],
  ['a user without role', ['users', 'add', 'anna'], /--role/],
  [
    'a user of an unknown role',
    ['users', 'add', 'anna', '--role', 'boss'],
    /there is no role "boss": choose/,
  ],
  ['a user name with blanks', ['users', 'add', 'anna lin', '--role', 'viewer'], /is not a user name/],
  ['a token without end', ['tokens', 'add', 'ci', '--role', 'viewer'], /--expires/],
  [
    'a token until nonsense',
    ['tokens', 'add', 'ci', '--role', 'viewer', '--expires', 'later'],
    /--expires holds "later"/,
  ],
  [
    'a token until yesterday',
    ['tokens', 'add', 'ci', '--role', 'viewer', '--expires', '2020-01-01'],
    /which is in the past/,
  ],
  [
    'an unknown command of alerts',
    ['alerts', 'burn'],
    /there is no command "burn": choose one of list, chan/,
  ],
  [
    'an unknown rule',
    ['alerts', 'unmute', 'held'],
    /there is no rule "held": choose one of halt, paused, held_run/,
  ],
  ['a mute without reason', ['alerts', 'mute', 'halt', '--for', '4h'], /--reason/],
  [
    'a mute without end',
    ['alerts', 'mute', 'halt', '--reason', 'x'],
    /give either --for, such as 4h, or --until/,
  ],
  [
    'a mute with two ends',
    ['alerts', 'mute', 'halt', '--for', '4h', '--until', '2099-01-01', '--reason', 'x'],
    /give either --for/,
  ],
  ['a mute for nonsense', ['alerts', 'mute', 'halt', '--for', 'long', '--reason', 'x'], /--for holds "long"/],
  [
    'a mute until yesterday',
    ['alerts', 'mute', 'halt', '--until', '2020-01-01', '--reason', 'x'],
    /which is in the past/,
  ],
  ['a history since nonsense', ['alerts', 'history', '--since', 'ever'], /--since holds "ever"/],
  ['quiet hours that are none', ['alerts', 'quiet', '22-7'], /should be hours such as 22:00-07:00, or off/],
  ['quiet hours without end', ['alerts', 'quiet', '22:00-22:00'], /should be hours such as/],
  ['money without a word', REFUND, /no terminal to ask on: give --yes to send the refund/],
  [
    'money without a word by its operation',
    ['platform', 'enterprise/account/applyCharge'],
    /give --yes to send the top-up without a question/,
  ],
  [
    'an emulator with an empty secret',
    ['emulator', '--secret-file', '/dev/null'],
    /--secret-file holds "\/dev\/null"/,
  ],
  [
    'a filter of another mapping',
    ['plan', '--mapping', 'x.sql', '--reason', 'left'],
    /--reason works only with the number of a held run/,
  ],
  ['a mapping without a name', ['plan', '--mapping', ''], /^dirsync: "" (?:cannot be read|无法读取)/],
  ['a wrong port', ['emulator', '--secret', 's', '--port', 'high'], /--port holds "high"/],
] as const)('%s is refused with one sentence, in English and in Chinese', async (_, args, sentence) => {
  expectRefusal(await dirsync(args), sentence)
  const inChinese = await dirsync(args, { DIRSYNC_LANG: 'zh-CN' })
  expectRefusal(inChinese, /\p{Script=Han}/u)
  expect(
    inChinese.stderr.split('\n').filter(line => /[a-z]{2,} [a-z]{2,} [a-z]{2,}/.test(prose(line))),
  ).toEqual([])
})

const NOWHERE = 'postgres://dirsync@127.0.0.1:1/dirsync'

test.each([
  ['an unknown option', ['status', '--json', '--fast'], 'invalid', /^unknown option '--fast'$/],
  ['a missing argument', ['approve', '--json'], 'invalid', /^missing required argument 'run'$/],
  ['a wrong value before it', ['runs', '--limit', 'all', '--json'], 'invalid', /^--limit holds "all"/],
  ['an unknown operation', ['platform', 'employee/fire', '--json'], 'invalid', /^there is no operation/],
  ['money without a word', [...REFUND, '--json'], 'invalid', /there is no terminal to ask on/],
  ...[
    ['dead-letters', 'ignore', '1', '--reason'],
    ['dead-letters', 'list', '--enterprise'],
    ['pause', '--reason'],
    ['resync', '--employee'],
    ['plan', '--employee'],
    ['platform', 'employee/get', '--userid'],
  ].map(args => {
    const sentence = new RegExp(`^${args.at(-1)} needs a value$`)
    return [
      `an option in place of a value: ${args.join(' ')}`,
      [...args, '--json'],
      'invalid',
      sentence,
    ] as const
  }),
  ['wrong settings', ['status', '--json'], 'CONFIG_INVALID', /^DATABASE_URL/],
  ['a database that is away', ['status', '--json'], 'database', /^dirsync's own database does not answer/],
] as const)('%s is also told to programs', async (what, args, code, sentence) => {
  const settings = {
    DIRSYNC_LANG: 'zh-CN',
    ...LEAST,
    DATABASE_URL: what === 'wrong settings' ? 'db' : NOWHERE,
  }
  const refused = await dirsync(args, settings)
  expect(refused.code).toBe(code === 'database' ? 1 : 2)
  expect(refused.json()).toEqual({ error: { code, message: expect.stringMatching(sentence) } })
  expect(refused.stderr).toMatch(/^dirsync: .*\p{Script=Han}/u)
})

test.each([
  [['help'], /^Usage: dirsync \[options\] .*\nExit codes: 0 done/s],
  [['help', 'status'], /^Usage: dirsync status /],
  [['status', '--help'], /^Usage: dirsync status /],
  [['tokens', 'help'], /^Usage: dirsync tokens /],
  [['platform', 'employee/get', '--help'], /^Usage: dirsync platform employee\/get /],
] as const)(
  '%j gives programs its text in a document, with the exit code of the text',
  async (args, text) => {
    const help = await dirsync(args)
    expect(help).toMatchObject({ code: 0, stdout: expect.stringMatching(text), stderr: '' })
    const forPrograms = await dirsync([...args, '--json'])
    expect(forPrograms).toMatchObject({ code: 0, stderr: '' })
    expect(forPrograms.json()).toEqual({ help: help.stdout.trimEnd() })
  },
)

test('the version is given to programs in a document', async () => {
  expect((await dirsync(['--version', '--json'])).json()).toEqual({ version: VERSION })
})

test('an unknown command is refused with one sentence by the process', async () => {
  expectRefusal(await dirsyncProcess(['plann']), /unknown command 'plann'.*\n.*plan/)
})

test('output that cannot be written, as on a full disk, fails with one sentence; without stderr the exit code remains', () => {
  const launcher = join(import.meta.dirname, '../../bin/dirsync')
  const run = (command: string) =>
    spawnSync('sh', ['-c', command, launcher], { encoding: 'utf8', env: { PATH: process.env.PATH } })
  const unwritten = run('"$0" --help >/dev/full')
  expect(unwritten).toMatchObject({ status: 1, stderr: expect.stringMatching(/^dirsync: ENOSPC: .*\n$/) })
  expect(run('"$0" plann 2>/dev/full').status).toBe(2)
})

test.each([
  ['doctor', 1],
  ['plann --json', 2],
  ['--version', 0],
])('a reader who has gone leaves the exit code of %j as it is', (command, code) => {
  const launcher = join(import.meta.dirname, '../../bin/dirsync')
  const script = `{ "$0" ${command}; echo "$?" >&3; } 3>&2 2>/dev/null | true`
  const env = { PATH: process.env.PATH, DATABASE_URL: 'nonsense' }
  expect(spawnSync('sh', ['-c', script, launcher], { encoding: 'utf8', env }).stderr).toBe(`${code}\n`)
})

function expectRefusal({ code, stdout, stderr }: Omit<Run, 'json'>, sentence: RegExp): void {
  expect(code).toBe(2)
  expect(stdout).toMatch(/^(?:\{"error":.*\n)?$/)
  expect(stderr).toMatch(sentence)
  expect(stderr).not.toMatch(/\n\s+at /)
}

test('the operations are those of the specification', async () => {
  const list = await dirsync(['platform'])
  const named = list.stdout.match(/(?<=^ {2})\S+\/\S+$/gm)
  expect(named).toHaveLength(13)
  expect(list.stdout).toContain('Fields of one: `npx dirsync platform OPERATION --help`')
  expect((await dirsync(['platform', '--json'])).json()).toEqual(named)
})

test('an option without a sentence of its own lists what it takes', async () => {
  for (const [command, option, value] of [
    ['runs', '--kind', 'openids'],
    ['runs', '--state', 'source_suspect'],
    ['plan', '--reason', 'vanished'],
  ] as const)
    expect((await dirsync([command, '--help'])).stdout).toMatch(
      new RegExp(`${option} <\\w+> +\\(choices: [^)]*"${value}"`),
    )
})
