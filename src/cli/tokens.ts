import type { Command } from 'commander'
import { access } from '../console/access/routes.ts'
import { SCOPES, type Scope } from '../console/auth/scope.ts'
import { tokenName } from '../console/auth/tokens.ts'
import { ACCESS_ROLES, type AccessRole } from '../console/auth/viewer.ts'
import { longTime, zoneName } from '../lib/time-text.ts'
import { futureOf, oneOf } from './arguments.ts'
import { openContext } from './context.ts'
import { act, runEndpoint, see } from './definition.ts'
import { namedWithValue, say } from './language.ts'
import { examples, print, printAside, printJson } from './output.ts'

/** `dirsync tokens`: bearer tokens of the API. */
export function tokensCommand(program: Command): void {
  const command = program
    .command('tokens')
    .description('keep tokens of the API: add, list, revoke')
    .addHelpText(
      'after',
      `
A program sends its token as "Authorization: Bearer …" and may do what the role
of the token may; --scope limits it further. A token is shown once; only its
hash is kept.

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
    .option('--scope <scopes>', 'limit it further: read, or screens such as cases or cases:read', scopesOf)
    .option('--json', 'print one JSON document')
    .addHelpText(
      'after',
      examples(
        'dirsync tokens add monitoring --role viewer --expires 90d',
        'dirsync tokens add nightly --role operator --expires 2027-01-31',
        'dirsync tokens add tickets --role reviewer --scope read,cases --expires 90d',
      ),
    )
    .action(add)

  command
    .command('list')
    .description('list the tokens, the newest first')
    .option('--json', 'print one JSON document')
    .addHelpText('after', examples('dirsync tokens list'))
    .action(async (options: { json?: true }) => {
      await using context = await openContext()
      await see(context, access(context).tokens, { params: {}, input: {} }, options)
    })

  command
    .command('revoke')
    .description('make a token worthless at once')
    .argument('<name>', 'name of the token')
    .option('--json', 'print one JSON document')
    .addHelpText('after', examples('dirsync tokens revoke monitoring'))
    .action(async (name: string, options: { json?: true }) => {
      await using context = await openContext()
      await act(context, access(context).revokeToken, { params: { name }, input: {} }, options)
    })
}

interface Added {
  role: AccessRole
  expires: Date
  scope?: Scope[]
  json?: true
}

async function add(name: string, { role, expires, scope: scopes, json }: Added): Promise<void> {
  await using context = await openContext()
  const added = await runEndpoint(context, access(context).addToken, {
    params: {},
    input: { name, role, expires, scopes },
  })
  if (json) return printJson(added)
  print(added.token)
  const until = `${longTime(expires)} ${zoneName(expires)}`
  printAside(say('shell.token.keep', { until, role: namedWithValue('role', role) }))
}

/** `read,cases` as a list. @throws UsageError */
function scopesOf(text: string): Scope[] {
  return text.split(',').map(scope => oneOf('scope', SCOPES)(scope.trim()))
}
