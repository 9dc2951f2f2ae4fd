import { randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { isPassword } from '../../src/console/auth/password.ts'
import { addToken, revokeToken } from '../../src/console/auth/tokens.ts'
import { deregister, heartbeat } from '../../src/sync/processes/process.ts'
import { createDeployment } from '../helpers/deployment.ts'
import { duringFile } from '../helpers/during.ts'
import { dirsync } from './dirsync.ts'
import { atTerminal } from './terminal.ts'

const deployment = duringFile(createDeployment)

/** Runs a command with this on its standard input. */
const typed = (args: string[], input: string) => dirsync(args, deployment.settings, input)
const run = (...args: string[]) => dirsync(args, deployment.settings)

async function hashOf(name: string): Promise<string> {
  const { rows } = await deployment.own.pool.query<{ password_hash: string }>(
    'select password_hash from dirsync.console_user where name = $1',
    [name],
  )
  return rows[0]?.password_hash ?? ''
}

async function lastCommand() {
  const { rows } = await deployment.own.pool.query(
    'select name, arguments, requested_by from dirsync.command order by id desc limit 1',
  )
  return rows[0]
}

async function plantSession(name: string): Promise<void> {
  await deployment.own.pool.query(
    `insert into dirsync.console_session (id_hash, user_name, via, expires_at, address, user_agent)
     values (sha256(gen_random_uuid()::text::bytea), $1, 'password', now() + interval '1 hour', '::1', 'test')`,
    [name],
  )
}

describe('dirsync users', () => {
  test('add takes the first line of standard input as the password, and is recorded', async () => {
    const added = await typed(
      ['users', 'add', 'Anna', '--role', 'reviewer'],
      'correct horse battery\nnoise\n',
    )
    expect(added).toMatchObject({ code: 0, stdout: 'anna may sign in, as reviewer.\n', stderr: '' })
    const hash = await hashOf('anna')
    expect(hash).toMatch(/^\$scrypt\$ln=15,r=8,p=3\$/)
    expect(await isPassword('correct horse battery', hash)).toBe(true)
    expect(await isPassword('correct horse batterY', hash)).toBe(false)
    expect(await lastCommand()).toEqual({
      name: 'users add',
      arguments: { user: 'anna', role: 'reviewer' },
      requested_by: expect.stringMatching(/\(cli:.+\)$/),
    })
  })

  test.each([
    ['a short password', ['users', 'add', 'ben', '--role', 'viewer'], 'too short\n', /12 to 256 characters/],
    ['no password', ['users', 'add', 'ben', '--role', 'viewer'], '', /give the password on standard input/],
    ['a name that is taken', ['users', 'add', 'ANNA', '--role', 'viewer'], `${'x'.repeat(12)}\n`, /already/],
    [
      'the name of one-time keys',
      ['users', 'add', 'local', '--role', 'viewer'],
      `${'x'.repeat(12)}\n`,
      /local/,
    ],
  ])('add refuses %s', async (_, args, input, sentence) => {
    const refused = await typed(args, input)
    expect(refused).toMatchObject({ code: 2, stdout: '' })
    expect(refused.stderr).toMatch(sentence)
  })

  test('add asks twice at a terminal, and shows nothing of what is typed', { tags: 'script' }, async () => {
    const terminal = atTerminal(['users', 'add', 'cara', '--role', 'viewer'], deployment.settings)
    await terminal.shows(/Password \(12 characters or more\): /)
    terminal.type('a secret nobody sees\r')
    await terminal.shows(/Once more: /)
    terminal.type('a secret nobody sees\r')
    const { code, screen } = await terminal.ended
    expect(code).toBe(0)
    expect(screen).toContain('cara may sign in, as viewer.')
    expect(screen).not.toContain('secret')
    expect(await isPassword('a secret nobody sees', await hashOf('cara'))).toBe(true)
  })

  test('two different passwords change nothing', { tags: 'script' }, async () => {
    const terminal = atTerminal(['users', 'add', 'dora', '--role', 'viewer'], deployment.settings)
    await terminal.shows(/Password/)
    terminal.type('a secret nobody sees\r')
    await terminal.shows(/Once more: /)
    terminal.type('a secret nobody seed\r')
    const { code, screen } = await terminal.ended
    expect(code).toBe(2)
    expect(screen).toContain('the two passwords differ')
    expect(await hashOf('dora')).toBe('')
  })

  test('Ctrl-C at the question changes nothing', { tags: 'script' }, async () => {
    const terminal = atTerminal(['users', 'add', 'dora', '--role', 'viewer'], deployment.settings)
    await terminal.shows(/Password/)
    terminal.type('\x03')
    const { code, screen } = await terminal.ended
    expect(code).not.toBe(0)
    expect(screen).not.toMatch(/\n\s+at /)
    expect(await hashOf('dora')).toBe('')
  })

  test('notices without an option changes nothing, and with an empty one says that nobody is told', async () => {
    await typed(['users', 'add', 'nora', '--role', 'viewer'], 'correct horse battery\n')
    const addresses = async () =>
      (
        await deployment.own.pool.query(
          `select notice_mail as mail, notice_mention as mention from dirsync.console_user where name = 'nora'`,
        )
      ).rows[0]
    const set = await run('users', 'notices', 'nora', '--mail', 'nora@example.com')
    expect(set).toMatchObject({ code: 0, stdout: 'Where nora is told of their cases has been set.\n' })
    const refused = await run('users', 'notices', 'nora')
    expect(refused).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining('--mail ""') })
    expect(await addresses()).toEqual({ mail: 'nora@example.com', mention: null })
    const cleared = await run('users', 'notices', 'nora', '--mail', '')
    expect(cleared).toMatchObject({ code: 0, stdout: expect.stringContaining('nora is no longer told') })
    expect(await addresses()).toEqual({ mail: null, mention: null })
  })

  test('rebind lets the next sign-in of that name at the identity provider be this user, if one is set', async () => {
    await typed(['users', 'add', 'ravi', '--role', 'viewer'], 'correct horse battery\n')
    const none = await run('users', 'rebind', 'ravi')
    expect(none).toMatchObject({ code: 2, stderr: expect.stringContaining('OIDC_ISSUER') })
    const settings = {
      ...deployment.settings,
      CONSOLE_URL: 'https://dirsync.example',
      OIDC_ISSUER: 'https://login.example',
      OIDC_CLIENT_ID: 'dirsync',
      OIDC_CLIENT_SECRET: 'a-secret-of-the-client',
      OIDC_ROLES: 'groups:dirsync-admins=admin',
    }
    const rebound = await dirsync(['users', 'rebind', 'Ravi'], settings)
    expect(rebound).toMatchObject({ code: 0, stdout: expect.stringContaining('within 72 hours') })
    expect(await lastCommand()).toMatchObject({ name: 'users rebind', arguments: { user: 'ravi' } })
  })

  test('a shell without the settings of the identity provider takes no user from a console that has them', async () => {
    const { pool } = deployment.own
    const issuer = 'https://login.example'
    await pool.query(
      `insert into dirsync.console_user (name, source, role, issuer, subject, provider)
       values ('olga', 'oidc', 'viewer', $1, 'o-1', $1), ('otto', 'oidc', 'viewer', 'https://old.example', 'o-2', 'https://old.example')`,
      [issuer],
    )
    const me = { id: randomUUID(), host: 'host', pid: 1, roles: ['console'], version: '1', pacer: null }
    await heartbeat(pool, { ...me, oidcIssuer: `${issuer}/` })
    const refusal = expect.stringMatching(/a console that runs with OIDC_ISSUER=https:\/\/login\.example\//)
    for (const args of [
      ['link', 'olga'],
      ['role', 'olga', 'admin'],
    ])
      expect(await run('users', ...args)).toMatchObject({ code: 2, stdout: '', stderr: refusal })
    expect(await typed(['users', 'password', 'olga'], 'another long password\n')).toMatchObject({
      code: 2,
      stderr: refusal,
    })
    const { rows } = await pool.query(
      `select source, role, subject from dirsync.console_user where name = 'olga'`,
    )
    expect(rows).toEqual([{ source: 'oidc', role: 'viewer', subject: 'o-1' }])
    // That console knows nothing of the provider which has moved, and soon there is none.
    expect((await run('users', 'link', 'otto')).code).toBe(0)
    await deregister(pool, me.id)
    expect((await run('users', 'link', 'olga')).code).toBe(0)
  })

  test('disable ends the sessions, enable lets in again, role and password change', async () => {
    await typed(['users', 'add', 'emil', '--role', 'viewer'], 'correct horse battery\n')
    await plantSession('emil')
    expect((await run('users', 'disable', 'emil', '--json')).json()).toEqual({
      user: 'emil',
      disabled: true,
      sessions_ended: 1,
      tokens: [],
    })
    expect(await lastCommand()).toMatchObject({ name: 'users disable', arguments: { user: 'emil' } })
    expect((await run('users', 'enable', 'emil')).stdout).toBe('emil may sign in again.\n')
    expect((await run('users', 'role', 'emil', 'operator', '--json')).json()).toEqual({
      user: 'emil',
      role: 'operator',
    })
    await plantSession('emil')
    expect((await typed(['users', 'password', 'emil'], 'another long password\n')).stdout).toBe(
      'emil has another password; 1 session ended.\n',
    )
    expect(await isPassword('another long password', await hashOf('emil'))).toBe(true)
    const users = (await run('users', 'list', '--json')).json().items
    const emil = users.find((user: { name: string }) => user.name === 'emil')
    expect(emil).toMatchObject({ role: 'operator', source: 'password', disabled_at: null, sessions: 0 })
    expect(JSON.stringify(users)).not.toContain('scrypt')
    expect((await run('users', 'list')).stdout).toMatch(/emil +operator +password +enabled/)
  })

  test('disable names the good tokens that they added, and the command that revokes each', async () => {
    await typed(['users', 'add', 'finn', '--role', 'admin'], 'correct horse battery\n')
    const { pool } = deployment.own
    const add = async (name: string, by: string) => {
      const role = 'admin'
      await addToken(pool, by, { name, role, expiresAt: new Date(Date.now() + 3_600_000) })
    }
    await add('finn-old', 'console:finn')
    await add('of-the-old', 'api:token:finn-old')
    await revokeToken(pool, 'test', 'finn-old')
    // Another one by that name is not theirs.
    await add('finn-old', 'console:emil')
    await add('of-another', 'api:token:finn-old')
    await add('finn-new', 'cli:finn')
    await add('of-finns', 'console:finnja')
    const disabled = await run('users', 'disable', 'finn')
    const lines = disabled.stdout.split('\n')
    expect(disabled.stdout).toMatch(
      /^finn may not sign in any more; 0 sessions ended\. 2 tokens that they added stay/,
    )
    expect(lines.slice(1)).toEqual([
      expect.stringMatching(/^ {2}(?:npx )?dirsync tokens revoke finn-new$/),
      expect.stringMatching(/^ {2}(?:npx )?dirsync tokens revoke of-the-old$/),
      '',
    ])
    const again = await run('users', 'disable', 'finn', '--json')
    expect(again.json().tokens).toEqual(['finn-new', 'of-the-old'])
    await pool.query('delete from dirsync.api_token')
  })

  test('a change of an unknown user is refused', async () => {
    const refused = await run('users', 'disable', 'nobody')
    expect(refused).toMatchObject({ code: 1, stdout: '' })
    expect(refused.stderr).toContain('there is no user "nobody"')
  })

  test('link names no port where the console takes any free one', async () => {
    const link = await run('users', 'link')
    expect(link.stdout).toMatch(/^\/sign-in\/key\?key=[\w-]+\n$/)
    expect(link.stderr).toContain("Put the console's address in front, which\ndirsync start prints.\n")
  })

  test('link prints an address with a one-time key, and is recorded', async () => {
    const settings = { ...deployment.settings, CONSOLE_PORT: '8099' }
    const { url } = (await dirsync(['users', 'link', '--json'], settings)).json()
    expect(url).toMatch(/^http:\/\/127\.0\.0\.1:8099\/sign-in\/key\?key=[\w-]{43}$/)
    expect(await lastCommand()).toMatchObject({ name: 'users link' })
    const { rows } = await deployment.own.pool.query(
      'select encode(hash, $1) as hash from dirsync.sign_in_key',
      ['hex'],
    )
    expect(JSON.stringify(rows)).not.toContain(url.split('key=')[1])
  })
})

describe('dirsync tokens', () => {
  test('add prints the token once, list shows all but that, revoke makes it worthless', async () => {
    const added = await run('tokens', 'add', 'monitoring', '--role', 'viewer', '--expires', '90d')
    expect(added.code).toBe(0)
    const token = added.stdout.trim()
    expect(token).toMatch(/^dirsync_[\w-]{43}$/)
    expect(added.stderr).toMatch(/good until [\d-]+ [\d:]+ UTC\S*, as\s+viewer/)
    expect(await lastCommand()).toMatchObject({
      name: 'tokens add',
      arguments: { token: 'monitoring', role: 'viewer', expires: expect.any(String) },
    })

    const again = await run('tokens', 'add', 'monitoring', '--role', 'admin', '--expires', '1d')
    expect(again).toMatchObject({ code: 2, stdout: '' })

    const listed = await run('tokens', 'list', '--json')
    expect(listed.json()).toMatchObject({
      items: [{ name: 'monitoring', role: 'viewer', revoked_at: null }],
      next: null,
    })
    expect(listed.stdout).not.toContain(token)
    const table = (await run('tokens', 'list')).stdout
    expect(table).toMatch(/monitoring +viewer +good/)
    expect(table).toMatch(/ADDED BY.*\n.*\(shell\)/)

    expect((await run('tokens', 'revoke', 'monitoring')).code).toBe(0)
    expect((await run('tokens', 'list')).stdout).toMatch(/monitoring +viewer +revoked/)
    expect((await run('tokens', 'revoke', 'monitoring')).code).toBe(1)
  })
})
