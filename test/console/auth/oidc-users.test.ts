import { describe, expect, test } from 'vitest'
import { readNoticeAddresses } from '../../../src/alerts/notices.ts'
import type { OidcPerson } from '../../../src/console/auth/oidc.ts'
import { admitPerson, rebindUser } from '../../../src/console/auth/oidc-users.ts'
import { openSession } from '../../../src/console/auth/sessions.ts'
import {
  createLinkKey,
  createSignInKey,
  createUserLink,
  latestLink,
  useSignInKey,
} from '../../../src/console/auth/sign-in-key.ts'
import {
  disableUser,
  enableUser,
  findUser,
  setNotices,
  setPassword,
  setRole,
  signOutUser,
} from '../../../src/console/auth/users.ts'
import type { AccessRole } from '../../../src/console/auth/viewer.ts'
import { assignableUsers } from '../../../src/console/cases/query.ts'
import { duringFile } from '../../helpers/during.ts'
import { createTestDatabase } from '../../helpers/postgres.ts'
import { PASSWORD, plantUser } from '../console-under-test.ts'

const database = duringFile(() => createTestDatabase({ migrated: true }))
const ISSUER = 'https://idp.example/realm'

/** Somebody comes back from the provider. */
const comes = (name: string, subject: string, more: Partial<OidcPerson> = {}) =>
  admitPerson(database.pool, {
    ...{ provider: ISSUER, issuer: ISSUER, subject, name, mail: null, role: 'reviewer', idToken: 't' },
    ...more,
  })
const find = (name: string, provider: string | null = ISSUER) => findUser(database.pool, name, provider)

/** Which requests about a user were recorded as no change, the oldest first. */
async function alreadyOf(command: string, user: string) {
  const { rows } = await database.pool.query(
    `select arguments -> 'already' as already from dirsync.command
     where name = $1 and arguments ->> 'user' = $2 order by id`,
    [command, user],
  )
  return rows.map(({ already }) => already)
}

describe('a name that may be bound anew', () => {
  test.each<[string, (name: string) => Promise<unknown>]>([
    ['another password', name => setPassword(database.pool, 'test', name, `${PASSWORD}!`, ISSUER)],
    ['a link', name => createUserLink(database.pool, 'test', name, ISSUER)],
    ['the end of all sessions', name => signOutUser(database.pool, 'test', name)],
    [
      'being disabled',
      async name => {
        await disableUser(database.pool, 'test', name)
        await enableUser(database.pool, 'test', name)
      },
    ],
  ])('no longer may be after %s', async (what, act) => {
    const name = what.replaceAll(' ', '-')
    await plantUser(database.pool, name, 'admin')
    await rebindUser(database.pool, 'cli:root', name)
    expect((await find(name)).rebinds_until).toEqual(expect.any(Date))
    await act(name)
    expect((await find(name)).rebinds_until).toBeNull()
    expect(await comes(name, 'stranger')).toMatchObject({ refused: 'taken', name })
  })

  test.each<[string, (name: string) => Promise<unknown>]>([
    ['users sign-out', name => signOutUser(database.pool, 'test', name)],
    ['users enable', name => enableUser(database.pool, 'test', name)],
    ['users role', name => setRole(database.pool, 'test', name, 'admin', ISSUER)],
  ])(
    'no longer may be after %s, which is recorded as a change though nothing else was one',
    async (command, act) => {
      const name = command.replaceAll(' ', '-')
      await plantUser(database.pool, name, 'admin')
      await rebindUser(database.pool, 'cli:root', name)
      for (let round = 0; round < 2; round += 1) await act(name)
      expect(await alreadyOf(command, name)).toEqual([null, true])
    },
  )

  test('no longer may be once its user has come', async () => {
    await comes('olga', 'olga-1')
    await rebindUser(database.pool, 'cli:root', 'olga')
    expect(await comes('olga', 'olga-1')).toEqual({ name: 'olga' })
    expect(await comes('olga', 'olga-2')).toMatchObject({ refused: 'taken', name: 'olga' })
  })
})

describe('a user whom the provider gives no role any more', () => {
  const left = async (name: string) => {
    await comes(name, name, { role: 'admin', mail: `${name}@example.com` })
    await comes(name, name, { role: null })
  }

  test('is told of no case, and given none', async () => {
    await left('kurt')
    expect((await readNoticeAddresses(database.pool, ['kurt'])).size).toBe(0)
    expect(await assignableUsers(database.pool)).not.toContain('kurt')
  })

  test.each([
    ['link', (name: string) => createUserLink(database.pool, 'test', name, null)],
    ['password', (name: string) => setPassword(database.pool, 'test', name, PASSWORD, null)],
  ])('is a viewer once let in by a %s without that provider', async (what, letIn) => {
    await left(`left-${what}`)
    await letIn(`left-${what}`)
    expect(await find(`left-${what}`, null)).toMatchObject({ role: 'viewer', barred: null })
  })

  test('may be given another role where that provider is not set, and only there', async () => {
    await left('lena')
    await expect(setRole(database.pool, 'test', 'lena', 'viewer', ISSUER)).rejects.toThrow(
      'identity provider',
    )
    await setRole(database.pool, 'test', 'lena', 'viewer', null)
    expect(await find('lena', null)).toMatchObject({ role: 'viewer' })
  })

  test.each<AccessRole>(['operator', 'admin'])(
    'keeps the role %s that an administrator gave without that provider',
    async role => {
      const name = `kept-${role}`
      await left(name)
      await setRole(database.pool, 'test', name, role, null)
      await createUserLink(database.pool, 'test', name, null)
      await setPassword(database.pool, 'test', name, PASSWORD, null)
      expect(await find(name, null)).toMatchObject({ role, barred: null, no_role_since: null })
      expect(await alreadyOf('users role', name)).toEqual([null])
    },
  )
})

test('a user signs in at the provider that is set, by whichever of its addresses the token or the setting names it', async () => {
  const [tenant, common] = ['https://login.example/tenant/v2.0', 'https://login.example/common/v2.0']
  await comes('enno', 'enno', { issuer: tenant, provider: common })
  for (const present of [tenant, common]) expect((await find('enno', present)).barred).toBeNull()
  expect((await find('enno', 'https://other.example')).barred).toBe('no_provider')
  // An earlier version did not keep through which setting they came.
  await database.pool.query(`update dirsync.console_user set provider = null where name = 'enno'`)
  expect((await find('enno', common)).barred).toBeNull()
  const password = setPassword(database.pool, 'test', 'enno', PASSWORD, common)
  await expect(password).rejects.toThrow('signs in at the identity provider')
})

test('the same address for notices once more is recorded as no change', async () => {
  await plantUser(database.pool, 'mia', 'reviewer')
  for (let round = 0; round < 2; round += 1)
    await setNotices(database.pool, 'test', 'mia', { mail: 'mia@example.com', mention: null })
  expect(await alreadyOf('users notices', 'mia')).toEqual([null, true])
})

test('the latest key of local is a good one, else the one made last', async () => {
  const { pool } = database
  await useSignInKey(pool, await createLinkKey(pool, 'cli:root'), '')
  await pool.query(
    `update dirsync.sign_in_key set created_at = now() - interval '30 days', expires_at = now() - interval '29 days'`,
  )
  await useSignInKey(pool, await createSignInKey(pool), '')
  expect(await latestLink(pool, 'local')).toMatchObject({ created_by: 'start' })
  await createLinkKey(pool, 'cli:root')
  await createSignInKey(pool)
  expect(await latestLink(pool, 'local')).toMatchObject({ created_by: 'cli:root' })
})

describe('a sign-in at the provider', () => {
  test.each<[string, (name: string) => Promise<unknown>]>([
    ['password', name => setPassword(database.pool, 'test', name, PASSWORD, null)],
    ['link', name => createUserLink(database.pool, 'test', name, null)],
    ['no role', name => comes(name, name, { role: null })],
    [
      'another person',
      async name => {
        await rebindUser(database.pool, 'cli:root', name)
        await comes(name, `${name}-2`)
      },
    ],
  ])('opens no session once another change came first: %s', async (what, change) => {
    const name = `late-${what.replaceAll(' ', '-')}`
    await comes(name, name)
    const open = () =>
      openSession(
        database.pool,
        { name, via: 'oidc', person: { issuer: ISSUER, subject: name, idToken: 't' } },
        { address: '127.0.0.1', userAgent: '', former: null },
      )
    expect(await open()).toEqual(expect.any(String))
    await change(name)
    expect(await open()).toBeNull()
  })
})

describe('the last administrator', () => {
  const demote = (name: string, asker: string) =>
    setRole(database.pool, 'test', name, 'viewer', ISSUER, { guard: { asker, provider: ISSUER } })
  const alone = async (name: string) => {
    await database.pool.query(`update dirsync.console_user set disabled_at = coalesce(disabled_at, now())`)
    await plantUser(database.pool, name, 'admin')
  }

  test('stays beside one who came with an earlier version through a provider that has moved', async () => {
    await alone('petra')
    await comes('quentin', 'quentin', { issuer: 'https://old.example', role: 'admin' })
    await database.pool.query(`update dirsync.console_user set provider = null where name = 'quentin'`)
    await expect(demote('petra', 'petra')).rejects.toThrow('last administrator')
    await database.pool.query(`update dirsync.console_user set issuer = $1 where name = 'quentin'`, [ISSUER])
    await demote('petra', 'petra')
  })

  test('stays beside one who asks, who came with an earlier version through a provider of another issuer', async () => {
    await alone('sara')
    await comes('tom', 'tom', { issuer: 'https://tenant.example', role: 'admin' })
    await database.pool.query(`update dirsync.console_user set provider = null where name = 'tom'`)
    await expect(demote('sara', 'sara')).rejects.toThrow('last administrator')
    await demote('sara', 'tom')
  })

  test('stays beside one who asks without a password, but for local', async () => {
    await alone('rosa')
    for (const name of ['guest', 'local'])
      await database.pool.query(
        `insert into dirsync.console_user (name, source, role) values ($1, 'key', 'admin')
         on conflict (name) do update set role = 'admin', disabled_at = null`,
        [name],
      )
    await expect(demote('rosa', 'guest')).rejects.toThrow('last administrator')
    await demote('rosa', 'local')
  })
})
