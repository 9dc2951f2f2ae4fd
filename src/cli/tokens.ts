import type { Command } from 'commander'
import { type ApiToken, addToken, listTokens, revokeToken, tokenName } from '../console/auth/tokens.ts'
import { ACCESS_ROLES, type AccessRole } from '../console/auth/viewer.ts'
import { longTime, zoneName } from '../lib/time-text.ts'
import { futureOf, oneOf } from './arguments.ts'
import { openContext } from './context.ts'
import { named, namedWithValue, say, who } from './language.ts'
import { columnTitle, examples, print, printAside, printJson, printTable, shortTime } from './output.ts'

/** `dirsync tokens`: bearer tokens of the API. */
export function tokensCommand(program: Command): void {
  const command = program
    .command('tokens')
    .description('keep tokens of the API: add, list, revoke')
    .addHelpText(
      'after',
      `
A program sends its token as "Authorization: Bearer …" and may do what the role
of the token may. A token is shown once; only its hash is kept.

Examples:
  dirsync tokens add monitoring --role viewer --expires 90d
  dirsync tokens list
  dirsync tokens revoke monitoring`,
    )

  command
    .command('add')
    .description('add a token and print it, once')
    .argument('<name>', 'what it is for; the audit shows it', tokenName)
    .requiredOption(
      '--role <role>',
      `what it may do: ${ACCESS_ROLES.join(', ')}`,
      oneOf('role', ACCESS_ROLES),
    )
    .requiredOption('--expires <when>', 'when it ends, such as 90d, 12h or 2027-01-31', futureOf('--expires'))
    .option('--json', 'print one JSON document')
    .addHelpText(
      'after',
      examples(
        'dirsync tokens add monitoring --role viewer --expires 90d',
        'dirsync tokens add nightly --role operator --expires 2027-01-31',
      ),
    )
    .action(add)

  command
    .command('list')
    .description('list the tokens, the newest first')
    .option('--json', 'print one JSON document')
    .addHelpText('after', examples('dirsync tokens list'))
    .action(list)

  command
    .command('revoke')
    .description('make a token worthless at once')
    .argument('<name>', 'name of the token')
    .option('--json', 'print one JSON document')
    .addHelpText('after', examples('dirsync tokens revoke monitoring'))
    .action(revoke)
}

async function add(name: string, options: { role: AccessRole; expires: Date; json?: true }): Promise<void> {
  await using context = await openContext()
  const { role, expires } = options
  const token = await addToken(context.pool, context.actor, { name, role, expiresAt: expires })
  if (options.json) return printJson({ name, role, expires_at: expires, token })
  print(token)
  const until = `${longTime(expires)} ${zoneName(expires)}`
  printAside(say('shell.token.keep', { until, role: namedWithValue('role', role) }))
}

async function list(options: { json?: true }): Promise<void> {
  await using context = await openContext()
  const tokens = await listTokens(context.pool)
  if (options.json) return printJson({ items: tokens, next: null })
  if (tokens.length === 0) return print(say('shell.token.none'))
  printTable(tokens, [
    { title: columnTitle('name'), of: token => token.name, gives: true },
    { title: columnTitle('role'), of: token => named('role', token.role) },
    { title: columnTitle('state'), of: token => say(`shell.token.${stateOf(token)}`) },
    { title: columnTitle('ends'), of: token => shortTime(token.expires_at) },
    { title: columnTitle('last_used'), of: token => shortTime(token.last_used_at) },
    { title: columnTitle('added_by'), of: token => who(token.created_by), gives: true, spare: true },
  ])
}

function stateOf({ revoked_at, expires_at }: ApiToken): 'revoked' | 'expired' | 'good' {
  if (revoked_at) return 'revoked'
  return expires_at <= new Date() ? 'expired' : 'good'
}

async function revoke(name: string, options: { json?: true }): Promise<void> {
  await using context = await openContext()
  await revokeToken(context.pool, context.actor, name)
  if (options.json) printJson({ name, revoked: true })
  else print(say('shell.token.revoked_now', { name }))
}
