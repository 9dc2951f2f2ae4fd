import { stripVTControlCharacters } from 'node:util'
import { Command, CommanderError } from 'commander'
import { MappingError } from '../hr/errors.ts'
import { environment, io, readSetting, write } from '../lib/io.ts'
import { message } from '../texts/message.ts'
import { VERSION } from '../version.ts'
import { exitCodeOf, linesOf, UsageError } from './failure.ts'

/** Adds one or several related commands, with options, help and action. */
type Add = (program: Command) => void

const decide = () => import('./decide.ts').then(file => file.decideCommands)

/**
 * The commands with their arguments, in the order of the help. The file of a command, and with it PostgreSQL, the
 * queue and so on, is loaded only when the command is called, so that help and usage errors appear at once.
 */
const COMMANDS: Record<string, [summary: string, load: () => Promise<Add>]> = {
  start: [
    'run the service, or one sync with --once',
    () => import('./start.ts').then(file => file.startCommand),
  ],
  migrate: [
    'bring the database schema up to date',
    () => import('./migrate.ts').then(file => file.migrateCommand),
  ],
  'plan [run]': [
    'show what a run would do, or a stored plan',
    () => import('./plan.ts').then(file => file.planCommand),
  ],
  resync: ['start a run now', () => import('./resync.ts').then(file => file.resyncCommand)],
  status: ['show where things stand', () => import('./status.ts').then(file => file.statusCommand)],
  'runs [run]': [
    'list the latest runs, or tell about one',
    () => import('./runs.ts').then(file => file.runsCommand),
  ],
  'employee <id>': [
    "tell one employee's story",
    () => import('./employee.ts').then(file => file.employeeCommand),
  ],
  'search <text>': [
    'find people, cases, runs and orders',
    () => import('./search.ts').then(file => file.searchCommand),
  ],
  'approve <run>': ['let a held run go on', decide],
  'reject <run>': ['end a held run; nothing is sent', decide],
  'cancel <run>': ['take back what a run has not sent yet', decide],
  pause: ['stop all calls to the platform', decide],
  resume: ['let calls go on after a pause', decide],
  'dead-letters|cases': [
    'review what failed',
    () => import('./dead-letters.ts').then(file => file.deadLettersCommand),
  ],
  alerts: [
    'see what is wrong, and who is told',
    () => import('./alerts.ts').then(file => file.alertsCommand),
  ],
  orders: ['look at payment orders', () => import('./orders.ts').then(file => file.ordersCommand)],
  accounts: [
    'show limit accounts and their balances',
    () => import('./accounts.ts').then(file => file.accountsCommand),
  ],
  'taxpayers <identifier>': [
    'look up taxpayers',
    () => import('./taxpayers.ts').then(file => file.taxpayersCommand),
  ],
  refund: [
    'refund an order, see what became of it',
    () => import('./refund.ts').then(file => file.refundCommand),
  ],
  topup: [
    'apply for points, see what became of it',
    () => import('./top-up.ts').then(file => file.topUpCommand),
  ],
  'platform [operation] [fields...]': [
    'call one operation of the platform',
    () => import('./platform.ts').then(file => file.platformCommand),
  ],
  doctor: [
    'check everything that has to be right',
    () => import('./doctor.ts').then(file => file.doctorCommand),
  ],
  hr: [
    'check HR, begin a mapping, install the trigger',
    () => import('./hr.ts').then(file => file.hrCommand),
  ],
  users: ['say who may use the console', () => import('./users.ts').then(file => file.usersCommand)],
  tokens: ['keep tokens of the API', () => import('./tokens.ts').then(file => file.tokensCommand)],
  'switch-account': [
    'switch to another platform account',
    () => import('./switch-account.ts').then(file => file.switchAccountCommand),
  ],
  emulator: [
    'run the stand-alone platform, for trials',
    () => import('./emulator.ts').then(file => file.emulatorCommand),
  ],
}

const namesOf = (usage: string) => usage.split(' ', 1).join().split('|')
const BY_NAME = new Map(
  Object.entries(COMMANDS).flatMap(([usage, [, load]]) => namesOf(usage).map(name => [name, load])),
)

/**
 * Runs one command, such as `['status', '--json']`.
 * @returns the exit code; failures have been printed on standard error
 */
export async function runProgram(args: string[]): Promise<number> {
  const inChinese = await help()
  const program = await createProgram(args, inChinese)
  const called = calledOf(program, args)
  const isJson = asksForJson(called, args)
  const texts: string[] = []
  if (isJson)
    for (const command of new Set([program, called]))
      command.configureOutput({ writeOut: text => texts.push(text) })
  try {
    assertValues(called, args)
    await program.parseAsync(unknownIn(program, args) ?? withoutJson(called, args), { from: 'user' })
    return 0
  } catch (error) {
    if (error instanceof CommanderError) {
      // Help and version are not failures; everything else that commander rejects is wrong usage.
      if (error.exitCode === 0) {
        const what = error.code === 'commander.version' ? 'version' : 'help'
        if (isJson) (await import('./output.ts')).printJson({ [what]: texts.join('').trimEnd() })
        return 0
      }
      const sentence = /^error: (.*)$/s.exec(error.message)?.[1]
      if (sentence === undefined) return 2
      const what = error.code === 'commander.unknownCommand' ? await orInGroup(sentence) : sentence
      if (isJson) (await import('./output.ts')).printJsonFailure(new UsageError(what))
      tell(refusal(what, error.code, called, inChinese))
      return 2
    }
    if (isJson) (await import('./output.ts')).printJsonFailure(error)
    if (error instanceof MappingError) await tellMistake(error)
    else
      tell(
        linesOf(error)
          .map((await import('./language.ts')).said)
          .join('\n'),
      )
    return exitCodeOf(error)
  }
}

type HelpInChinese = typeof import('./help.ts')

/** The help in Chinese if DIRSYNC_LANG asks for it, whatever other settings say; null: English, as it stands in the commands. */
async function help(): Promise<HelpInChinese | null> {
  const wish = readSetting(environment(), 'DIRSYNC_LANG')
  if (!('value' in wish) || !/^zh/i.test(wish.value)) return null
  const { speak } = await import('./language.ts')
  speak('zh-CN')
  return import('./help.ts')
}

/** The command that the arguments call. */
function calledOf(program: Command, args: string[]): Command {
  return args.reduce(
    (called, arg) =>
      called.commands.find(command => [command.name(), ...command.aliases()].includes(arg)) ?? called,
    program,
  )
}

/** The arguments up to a command that does not exist; null: there is none. For commander, a wish for help comes before that. */
function unknownIn(program: Command, args: string[]): string[] | null {
  const names = args.filter(arg => arg !== 'help')
  let called: Command | undefined = program
  for (const [i, name] of names.entries()) {
    if (called.commands.length === 0 || name.startsWith('-')) return null
    called = called.commands.find(command => [command.name(), ...command.aliases()].includes(name))
    if (!called) return names.slice(0, i + 1)
  }
  return null
}

/** Commander's words about an unknown command, or which one of a group it may be, such as `dead-letters retry`. */
async function orInGroup(sentence: string): Promise<string> {
  const [unknown = ''] = sentence.split('\n', 1)
  const all = new Command().enablePositionalOptions()
  for (const load of new Set(BY_NAME.values())) (await load())(all)
  const names = all.commands.flatMap(group =>
    group.commands
      .filter(command => unknown.endsWith(` '${command.name()}'`))
      .map(command => `${group.name()} ${command.name()}`),
  )
  if (names.length === 0) return sentence
  const { said } = await import('./language.ts')
  return `${unknown}\n${said(message('doctor.meant', { setting: names.join(' / ') }))}`
}

/** The arguments as commander takes them: for its command help, `--json` is the name of a command. */
function withoutJson(called: Command, args: string[]): string[] {
  const isHelp = called.commands.length > 0 && args.includes('help')
  return isHelp ? args.filter(arg => arg !== '--json') : args
}

/**
 * For commander, `--reason --json` is the reason `--json`. Whoever means that writes `--reason=--json`.
 * @throws UsageError if an option, of this command or any, stands where the value of another one should
 */
function assertValues(called: Command, args: string[]): void {
  const options = called.createHelp().visibleOptions(called)
  const optionOf = (arg = '') => options.find(({ long, short }) => arg === long || arg === short)
  const isOption = (arg = '') => arg.startsWith('--') || optionOf(arg) !== undefined
  const name = args.find((arg, i) => optionOf(arg)?.required && isOption(args[i + 1]))
  if (name !== undefined) throw new UsageError(message('said.needs_a_value', { name }))
}

/** Whether the answer should be a JSON document. Some commands take the file of a request after the option instead. */
function asksForJson(called: Command, args: string[]): boolean {
  const takesFile = !called.options.some(({ long, optional }) => long === '--json' && !optional)
  return args.some((arg, i) => arg === '--json' && !(takesFile && !(args[i + 1] ?? '--').startsWith('--')))
}

/** A usage error in commander's words. If something is missing, it also says what that is and what to type. */
function refusal(what: string, code: string, called: Command, inChinese: HelpInChinese | null): string {
  const inWords = inChinese?.chinese ?? (text => text)
  const missing =
    code === 'commander.missingArgument'
      ? called.registeredArguments.find(argument => what.includes(`'${argument.name()}'`))
      : code === 'commander.missingMandatoryOptionValue'
        ? called.options.find(({ flags }) => what.includes(`'${flags}'`))
        : undefined
  const told = missing
    ? [`${missing.name()}: ${inWords(missing.description)}`, inWords('For example:'), exampleOf(called)]
    : []
  return [inChinese?.refusal(what) ?? what, ...told, inWords('(run with --help for the usage)')]
    .join('\n')
    .replaceAll('\n', '\n  ')
}

/** An example in the help of a command. */
function exampleOf(command: Command): string {
  const help: string[] = []
  command.configureOutput({ writeOut: text => help.push(text) }).outputHelp()
  // An example may continue on the next line, or be followed by a description.
  const examples = help.join('').split(/(?<!\\)\n/)
  const own =
    examples.find(line => line.startsWith('  dirsync ') && line.includes(` ${command.name()} `)) ?? ''
  return own.replace(/(?<=[^\n ]) {2,}\S.*$/, '').trim()
}

/** Prints an error in a mapping, with its line. The server's words are already in the message. */
async function tellMistake(error: MappingError): Promise<void> {
  const { excerptOf } = await import('./excerpt.ts')
  const { said } = await import('./language.ts')
  const { plain } = await import('./output.ts')
  tell([plain(said(error.said)), ...(await excerptOf(error)).map(line => ` ${line}`)].join('\n'))
}

function tell(sentence: string): void {
  if (!sentence) return
  const [first = '', ...rest] = sentence.split('\n')
  // Each wrong setting has a line of its own; indented lines belong to the one before.
  const lines = [`dirsync: ${first}`, ...rest.map(line => (line.startsWith(' ') ? line : `dirsync: ${line}`))]
  const text = `${lines.join('\n')}\n`
  // Colours are chosen for standard output, which may be a terminal while standard error is a file.
  write(io().stderr, io().stderr.isTTY ? text : stripVTControlCharacters(text))
}

/** The program with the command that the arguments call; of the others it has only name and summary. */
export async function createProgram(args: string[], inChinese: HelpInChinese | null): Promise<Command> {
  const program = new (inChinese?.ChineseCommand ?? Command)('dirsync')
    .description(
      'Keeps the employee directory of an enterprise-benefits platform in sync with an HR database.',
    )
    .version(VERSION)
    .configureOutput({
      outputError: () => {},
      writeOut: text => io().stdout.write(text),
      writeErr: text => write(io().stderr, text),
    })
    .configureHelp({ sortSubcommands: false, showGlobalOptions: false })
    .enablePositionalOptions()
    .addHelpText(
      'after',
      `
Examples:
  dirsync start --once                     sync everything once, and end
  dirsync resync --employee e10172 --wait  sync one employee now
  dirsync dead-letters list                see what failed
  dirsync doctor                           see what is wrong with the settings

Exit codes: 0 done, 1 failed or held, 2 wrong usage or setting.`,
    )
    .exitOverride()
    .hook('postAction', async () => (await import('./output.ts')).printZone())
  const called = args.find(arg => BY_NAME.has(arg))
  const load = called === undefined ? undefined : BY_NAME.get(called)
  for (const [usage, [summary, loads]] of Object.entries(COMMANDS)) {
    if (program.commands.some(command => namesOf(usage).includes(command.name()))) continue
    if (loads === load) (await load())(program)
    else program.command(usage).summary(summary)
  }
  return program
}
