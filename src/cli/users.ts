import { createInterface, type Interface } from 'node:readline'
import { Writable } from 'node:stream'
import type { Command } from 'commander'
import { createLinkKey } from '../console/auth/sign-in-key.ts'
import {
  addUser,
  disableUser,
  enableUser,
  listUsers,
  setPassword,
  setRole,
  userName,
} from '../console/auth/users.ts'
import { ACCESS_ROLES, type AccessRole } from '../console/auth/viewer.ts'
import { io } from '../lib/io.ts'
import { message } from '../texts/message.ts'
import { oneOf } from './arguments.ts'
import { openContext } from './context.ts'
import { FailedError, UsageError } from './failure.ts'
import { named, namedWithValue, said, say } from './language.ts'
import { columnTitle, examples, print, printAside, printJson, printTable, shortTime } from './output.ts'

const roleOf = oneOf('role', ACCESS_ROLES)
const ROLE_HELP = `what they may do: ${ACCESS_ROLES.join(', ')}`

/** `dirsync users`: who may use the console. */
export function usersCommand(program: Command): void {
  const command = program
    .command('users')
    .description('say who may use the console: add, list, disable, enable, password, role, link')
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
    .addHelpText(
      'after',
      `
At a terminal the password is asked for twice; otherwise it is the first line of
standard input. It has 12 characters or more.

Examples:
  dirsync users add anna --role reviewer
  dirsync users add anna --role reviewer < password.txt`,
    )
    .action(add)

  command
    .command('list')
    .description('list the users, with their roles and sessions')
    .option('--json', 'print one JSON document')
    .addHelpText('after', examples('dirsync users list'))
    .action(list)

  withName(command.command('disable').description('keep a user from signing in, and end their sessions'))
    .addHelpText('after', examples('dirsync users disable anna'))
    .action(disable)

  withName(command.command('enable').description('let a disabled user sign in again'))
    .addHelpText('after', examples('dirsync users enable anna'))
    .action(enable)

  withName(command.command('password').description('give a user another password, and end their sessions'))
    .addHelpText(
      'after',
      examples('dirsync users password anna', 'dirsync users password anna < password.txt'),
    )
    .action(password)

  withName(command.command('role').description('give a user another role, from their next request on'))
    .argument('<role>', ROLE_HELP, roleOf)
    .addHelpText('after', examples('dirsync users role anna operator'))
    .action(role)

  command
    .command('link')
    .description('print an address that signs in as an admin, once')
    .option('--json', 'print one JSON document')
    .addHelpText(
      'after',
      `
For whoever has locked everybody out. The address is good for one sign-in within
24 hours, as the user local. It is recorded who asked for it.

Examples:
  dirsync users link`,
    )
    .action(link)
}

function withName(command: Command): Command {
  return command.argument('<name>', 'name of the user', userName).option('--json', 'print one JSON document')
}

interface Options {
  json?: true
}

async function add(name: string, options: Options & { role: AccessRole }): Promise<void> {
  await using context = await openContext()
  await addUser(context.pool, context.actor, { name, role: options.role, password: await askPassword() })
  if (options.json) printJson({ user: name, role: options.role })
  else print(say('shell.user.added', { name, role: namedWithValue('role', options.role) }))
}

async function list(options: Options): Promise<void> {
  await using context = await openContext()
  const users = await listUsers(context.pool)
  if (options.json) return printJson({ items: users, next: null })
  if (users.length === 0)
    return print(say('auth.no_users'), said(message('doctor.add_user', { command: context.program })))
  printTable(users, [
    { title: columnTitle('name'), of: user => user.name, gives: true },
    { title: columnTitle('role'), of: user => named('role', user.role) },
    { title: columnTitle('signs_in_by'), of: user => say(`shell.signs_in_by.${user.source}`) },
    {
      title: columnTitle('state'),
      of: user => say(`shell.user.${user.disabled_at ? 'disabled' : 'enabled'}`),
    },
    { title: columnTitle('sessions'), of: user => user.sessions, align: 'right' },
    { title: columnTitle('last_sign_in'), of: user => shortTime(user.last_sign_in_at) },
    { title: columnTitle('added'), of: user => shortTime(user.created_at), spare: true },
  ])
}

async function disable(name: string, options: Options): Promise<void> {
  await using context = await openContext()
  const sessions = await disableUser(context.pool, context.actor, name)
  if (options.json) printJson({ user: name, disabled: true, sessions_ended: sessions })
  else print(say('shell.user.kept_out', { name, sessions }))
}

async function enable(name: string, options: Options): Promise<void> {
  await using context = await openContext()
  await enableUser(context.pool, context.actor, name)
  if (options.json) printJson({ user: name, disabled: false })
  else print(say('shell.user.let_in', { name }))
}

async function password(name: string, options: Options): Promise<void> {
  await using context = await openContext()
  const sessions = await setPassword(context.pool, context.actor, name, await askPassword())
  if (options.json) printJson({ user: name, sessions_ended: sessions })
  else print(say('shell.user.password_set', { name, sessions }))
}

async function role(name: string, role: AccessRole, options: Options): Promise<void> {
  await using context = await openContext()
  await setRole(context.pool, context.actor, name, role)
  if (options.json) printJson({ user: name, role })
  else print(say('shell.user.role_set', { name, role: namedWithValue('role', role) }))
}

async function link(options: Options): Promise<void> {
  await using context = await openContext()
  const { CONSOLE_URL, CONSOLE_PORT } = context.config
  const key = await createLinkKey(context.pool, context.actor)
  // With port 0, as in the trial, only the listening process knows the address.
  const address = CONSOLE_URL ?? (CONSOLE_PORT === 0 ? '' : `http://127.0.0.1:${CONSOLE_PORT}`)
  const url = `${address}/sign-in/key?key=${key}`
  if (options.json) return printJson({ url })
  print(url)
  const where = CONSOLE_URL === null ? (address === '' ? 'unknown' : 'guessed') : 'known'
  printAside(say('shell.user.link', { where }))
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
