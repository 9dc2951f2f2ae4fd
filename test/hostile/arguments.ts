import fc from 'fast-check'
import { dirsync } from '../cli/dirsync.ts'
import { type Kind, must } from './kind.ts'
import { text } from './texts.ts'

/*
 * Command lines, in the process of the test: the real program parses and runs them, where nothing that it could reach answers.
 */

interface CommandLine {
  /** By their places in the lists of what the help names. */
  words: (number | string)[]
  env: Record<string, string>
}

/** These go on until they are stopped. */
const SERVICES = new Set(['start', 'emulator'])
const NEVER_MS = 30_000
/** Of a command that others belong to, it is the whole answer. */
const USAGE = /^(?:Usage:|用法：) /

const NOWHERE = {
  DATABASE_URL: 'postgres://dirsync@127.0.0.1:9/dirsync',
  HR_DATABASE_URL: 'postgres://hr@127.0.0.1:9/hr',
  HR_EMPLOYEES_SQL: '/there/is/none.sql',
  PLATFORM_BASE_URL: 'http://127.0.0.1:9',
  PLATFORM_APP_ID: 'application',
  PLATFORM_APP_SECRET: 'hunter2hunter2',
}

const word = fc.oneof(
  { weight: 6, arbitrary: fc.nat(100_000) },
  fc.constantFrom(
    '1',
    '0',
    '-1',
    '--',
    '-',
    '',
    '1e3',
    '99999999999999999999',
    'e1',
    'E/e1',
    '--reason',
    'x',
    '2026-01-01',
    '3d',
    '-1d',
    '@',
    '=',
    '--x=y',
  ),
  text(3000).map(value => value.replaceAll('\0', '')),
)

export const commandLines: Kind<CommandLine> = {
  name: 'arguments',
  what: 'command lines of words from the help and of any others, with nothing that they could reach',
  share: 15,
  few: 150,
  inputs: fc.record({
    words: fc.array(word, { minLength: 1, maxLength: 7 }),
    env: fc.constantFrom<Record<string, string>>(NOWHERE, { ...NOWHERE, DIRSYNC_LANG: 'zh-CN' }),
  }),
  async open() {
    const commands = await wordsOf([])
    const words = new Map<string, string[]>()
    for (const name of commands) words.set(name, await wordsOf([name]))
    return { meet: line => meet(line, commands, words), async [Symbol.asyncDispose]() {} }
  },
}

/** The commands and options that a help names. */
async function wordsOf(args: string[]): Promise<string[]> {
  const { stdout } = await dirsync([...args, '--help'])
  const named = [...stdout.matchAll(/^ {2}(?:-\w, )?(--[\w-]+|[a-z][\w-]*)/gm)].map(([, name = '']) => name)
  return [...new Set(named)].filter(name => name !== 'dirsync' && !SERVICES.has(name))
}

async function meet(
  { words, env }: CommandLine,
  commands: string[],
  known: Map<string, string[]>,
): Promise<string> {
  const [first, ...rest] = words
  const command = typeof first === 'number' ? (commands[first % commands.length] ?? '') : (first ?? '')
  const own = known.get(command) ?? commands
  const args = [
    command,
    ...rest.map(word => (typeof word === 'number' ? (own[word % own.length] ?? '--json') : word)),
  ]
  if (args.some(arg => SERVICES.has(arg.trim()))) return 'left out'
  const never = Symbol('never')
  let timer: NodeJS.Timeout | undefined
  const slow = new Promise<typeof never>(resolve => {
    timer = setTimeout(() => resolve(never), NEVER_MS)
  })
  const run = await Promise.race([dirsync(args, env), slow])
  clearTimeout(timer)
  if (run === never) throw new Error(`it goes on and on: ${JSON.stringify(args)}`)
  const { code, stderr, stdout } = run
  const seen = `${JSON.stringify(args)}: ${code} ${stderr.slice(0, 500)}`
  must(code === 0 || code === 1 || code === 2, seen)
  must(
    !/\bat \S+ \(.*:\d+:\d+\)|node:internal|node_modules/.test(stderr + stdout),
    `a stack is shown: ${seen}`,
  )
  must(!(stderr + stdout).includes(env.PLATFORM_APP_SECRET ?? ''), `a secret is shown: ${seen}`)
  must(
    code === 0 || /^dirsync: \S/m.test(stderr) || USAGE.test(stderr) || stdout !== '',
    `it fails without a word: ${seen}`,
  )
  for (const line of stderr.split('\n'))
    must(
      line === '' || /^(?:dirsync: | |\{)/.test(line) || USAGE.test(stderr),
      `no sentence: ${JSON.stringify(line)} of ${seen}`,
    )
  return `exit ${code}`
}
