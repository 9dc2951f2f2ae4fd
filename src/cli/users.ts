import { createInterface, type Interface } from 'node:readline'
import { Writable } from 'node:stream'
import type { Command } from 'commander'
import { access } from '../console/access/routes.ts'
import type { Ask } from '../console/ask.ts'
import { REBIND_HOURS, rebindUser } from '../console/auth/oidc-users.ts'
import { createLinkKey } from '../console/auth/sign-in-key.ts'
import { userName } from '../console/auth/users.ts'
import { ACCESS_ROLES, type AccessRole } from '../console/auth/viewer.ts'
import { io } from '../lib/io.ts'
import { runningConsole } from '../sync/processes/process.ts'
import { message } from '../texts/message.ts'
import { oneOf } from './arguments.ts'
import { type CommandContext, openContext } from './context.ts'
import { act, runEndpoint, see, shellAsk } from './definition.ts'
import { FailedError, UsageError } from './failure.ts'
import { namedWithValue, said, say } from './language.ts'
import { examples, print, printAside, printJson } from './output.ts'

const roleOf = oneOf('role', ACCESS_ROLES)
const ROLE_HELP = `what they may do: ${ACCESS_ROLES.join(', ')}`

/** `dirsync users`: who may use the console. */
export function usersCommand(program: Command): void {
  const command = program
    .command('users')
    .description(
      'say who may use the console: add, list, disable, enable, password, role, notices, sign-out, link, rebind',
    )
    .addHelpText(
      'after',
      `
A viewer looks, a reviewer decides about cases, an operator starts and stops
runs, an admin moves money and sees the audit; each may do what those before
may. Whoever signs in at the identity provider (OIDC_ISSUER) needs no user here,
and is listed once signed in.

Examples:
  dirsync users add anna --role admin
  dirsync users list
  dirsync users disable anna`,
    )

  withName(command.command('add').description('add a user, with a password that is asked for'))
    .requiredOption('--role <role>', ROLE_HELP, roleOf)
    .option('--link', 'print a one-time link, with which they choose a password themselves')
    .addHelpText(
      'after',
      `
At a terminal the password is asked for twice; otherwise it is the first line of
standard input. It has 12 characters or more.

Examples:
  dirsync users add anna --role reviewer
  dirsync users add anna --role reviewer --link
  dirsync users add anna --role reviewer < password.txt`,
    )
    .action(add)

  command
    .command('list')
    .description('list the users, with their roles and sessions')
    .option('--json', 'print one JSON document')
    .addHelpText('after', examples('dirsync users list'))
    .action(async (options: Options) => {
      await using context = await openContext()
      const { items } = await see(context, access(context).users, { params: {}, input: {} }, options)
      if (!options.json && items.length === 0)
        print(said(message('doctor.add_user', { command: context.program })))
    })

  withName(command.command('disable').description('keep a user from signing in, and end their sessions'))
    .addHelpText('after', examples('dirsync users disable anna'))
    .action(async (name: string, options: Options) => {
      await using context = await openContext()
      const disabled = await act(context, access(context).disable, { params: { name }, input: {} }, options)
      if (!options.json) print(...disabled.tokens.map(token => `  ${context.program} tokens revoke ${token}`))
    })

  withName(command.command('enable').description('let a disabled user sign in again'))
    .addHelpText('after', examples('dirsync users enable anna'))
    .action(async (name: string, options: Options) => {
      await using context = await openContext()
      await act(context, access(context).enable, { params: { name }, input: {} }, options)
    })

  withName(command.command('password').description('give a user another password, and end their sessions'))
    .addHelpText(
      'after',
      examples('dirsync users password anna', 'dirsync users password anna < password.txt'),
    )
    .action(async (name: string, options: Options) => {
      await using context = await openContext()
      const input = { password: await askPassword() }
      await act(context, access(context).password, { params: { name }, input }, options)
    })

  withName(command.command('role').description('give a user another role, from their next request on'))
    .argument('<role>', ROLE_HELP, roleOf)
    .addHelpText('after', examples('dirsync users role anna operator'))
    .action(async (name: string, role: AccessRole, options: Options) => {
      await using context = await openContext()
      await act(context, access(context).role, { params: { name }, input: { role } }, options)
    })

  withName(
    command.command('notices').description('say where a user is told of the cases that are assigned to them'),
  )
    .option('--mail <address>', 'by mail to this address')
    .option(
      '--mention <channel:id>',
      'without a mail address: by a mention in the chat of this alert channel',
    )
    .addHelpText(
      'after',
      `
What is not given is forgotten. Who signs in at the identity provider has the
address that it gives.

Examples:
  dirsync users notices anna --mail anna@example.com
  dirsync users notices anna --mention ops:anna
  dirsync users notices anna --mail ""`,
    )
    .action(
      async (name: string, { mail, mention, ...options }: Options & { mail?: string; mention?: string }) => {
        if (mail === undefined && mention === undefined)
          throw new UsageError(message('said.mail_or_mention', { clear: '--mail ""' }))
        await using context = await openContext()
        await act(context, access(context).notices, { params: { name }, input: { mail, mention } }, options)
      },
    )

  withName(command.command('sign-out').description('end all sessions of a user'))
    .addHelpText('after', examples('dirsync users sign-out anna'))
    .action(async (name: string, options: Options) => {
      await using context = await openContext()
      await act(context, access(context).signOut, { params: { name }, input: {} }, options)
    })

  command
    .command('link')
    .description('print an address that signs in once: as an admin, or as one user')
    .argument('[name]', 'name of the user', userName)
    .option('--json', 'print one JSON document')
    .addHelpText(
      'after',
      `
Without a name it is for whoever has locked everybody out, or makes the first
user in the browser: good for one sign-in within 24 hours, as the user local.
A later one, or the end of the sessions of local, makes it worthless.
With a name, that user is signed in, within 72 hours, and may choose another
password. It is recorded who asked for it.

Examples:
  dirsync users link
  dirsync users link anna`,
    )
    .action(link)

  withName(
    command.command('rebind').description('let the next sign-in at the identity provider be this user'),
  )
    .addHelpText(
      'after',
      `
For an identity provider that has moved or was replaced: its accounts are others,
and people are told that their name belongs to another user. Within 72 hours,
whoever signs in there first with this name is this user from then on, with the
role that they have there and no password here. Somebody who can choose a name
there could take it: once the user has come, or by any other command about them,
such as users sign-out, it is over.

Examples:
  dirsync users rebind anna`,
    )
    .action(async (name: string, options: Options) => {
      await using context = await openContext()
      if (context.config.OIDC_ISSUER === null) throw new UsageError(message('said.no_provider'))
      await rebindUser(context.pool, context.actor, name)
      if (options.json) printJson({ user: name, hours: REBIND_HOURS })
      else print(say('shell.user.rebinds', { name, hours: REBIND_HOURS }))
    })
}

function withName(command: Command): Command {
  return command.argument('<name>', 'name of the user', userName).option('--json', 'print one JSON document')
}

interface Options {
  json?: true
}

async function add(name: string, options: Options & { role: AccessRole; link?: true }): Promise<void> {
  await using context = await openContext()
  const password = options.link ? undefined : await askPassword()
  const { addUser } = access(context)
  const asked = { params: {}, input: { name, role: options.role, password } }
  const added = await runEndpoint(context, addUser, asked, await askWithConsole(context))
  if (options.json) return printJson(added)
  const sentence = say('access.user_added', { name, role: namedWithValue('role', added.role) })
  if (added.url === null) print(sentence)
  else {
    printAside(sentence)
    printLink(added.url, context, 72)
  }
}

async function link(name: string | undefined, options: Options): Promise<void> {
  await using context = await openContext()
  const ask = await askWithConsole(context)
  const url =
    name === undefined
      ? `${ask.origin}/sign-in/key?key=${await createLinkKey(context.pool, context.actor)}`
      : (await runEndpoint(context, access(context).link, { params: { name }, input: {} }, ask)).url
  if (options.json) return printJson({ url })
  printLink(url, context, name === undefined ? 24 : 72)
}

/** With port 0, as in the trial, only the console that runs knows its address. */
async function askWithConsole(context: CommandContext): Promise<Ask> {
  const ask = shellAsk(context)
  return ask.origin === '' ? { ...ask, origin: (await runningConsole(context.pool)) ?? '' } : ask
}

function printLink(
  url: string,
  { config: { CONSOLE_URL, CONSOLE_PORT } }: CommandContext,
  hours: number,
): void {
  print(url)
  const isGuessed = CONSOLE_URL === null && CONSOLE_PORT !== 0
  const where = url.startsWith('/') ? 'unknown' : isGuessed ? 'guessed' : 'known'
  printAside(say('shell.user.link', { where, hours }))
}

/**
 * Asks for a password twice without echo, or reads the first line of standard input if that is not a terminal.
 * @throws UsageError if there is none, or the two differ
 */
async function askPassword(): Promise<string> {
  if (!io().stdin.isTTY) {
    using lines = createInterface({ input: io().stdin })
    const line = await nextLine(lines)
    if (line === null || line === '') throw new UsageError(message('said.no_terminal_for_password'))
    return line
  }
  const silence = new Writable({ write: (_chunk, _encoding, done) => done() })
  // In terminal mode, readline writes the echo to its output, which is discarded here.
  using lines = createInterface({ input: io().stdin, output: silence, terminal: true })
  const ask = async (question: string) => {
    io().stderr.write(question)
    const line = await nextLine(lines)
    io().stderr.write('\n')
    if (line === null) throw new FailedError(message('said.nothing_changed'))
    return line
  }
  const first = await ask(say('shell.user.password'))
  if ((await ask(say('shell.user.once_more'))) !== first)
    throw new UsageError(message('said.passwords_differ'))
  return first
}

/** The next line; null at the end of the input and at Ctrl-C. */
function nextLine(lines: Interface): Promise<string | null> {
  return new Promise(resolve => {
    lines.once('line', resolve)
    lines.once('close', () => resolve(null))
    lines.once('SIGINT', () => resolve(null))
  })
}
