import type { SafeHtml } from '@remix-run/html-template'
import { isThisMachine } from '../../lib/http-server.ts'
import { actorText } from '../../texts/actor.ts'
import { messagesIn } from '../../texts/message.ts'
import { COLON } from '../../texts/texts.ts'
import type { Ask } from '../ask.ts'
import type { SessionRow } from '../auth/sessions.ts'
import { LOCAL, type UserRow } from '../auth/users.ts'
import { ACCESS_ROLES, type AccessRole } from '../auth/viewer.ts'
import {
  type Block,
  joined,
  noRows,
  type Shown,
  type ShownColumn,
  tableOf,
  term,
  type Words,
} from '../shown.ts'
import { actionForm, type Field, tabs, timeText } from '../ui/parts.ts'
import { browserName } from './browser-name.ts'
import type { ProviderResult, SessionInput, UserList, UserResult } from './query.ts'

/** A page of this screen, with the others beside it. */
export function accessPage(
  { t }: Ask,
  current: 'users' | 'tokens' | 'sessions' | 'provider',
  shown: Omit<Shown, 'title'>,
): Shown {
  const at = (name: typeof current, href: string) => ({
    href,
    text: t(`access.${name}`),
    current: name === current,
  })
  const pages = [
    at('users', '/access'),
    at('tokens', '/access/tokens'),
    at('sessions', '/access/sessions'),
    at('provider', '/access/provider'),
  ]
  return {
    title: t(`access.${current}`),
    ...shown,
    blocks: [{ drawn: tabs(t('nav.access'), pages) }, ...shown.blocks],
  }
}

export function roleField({ t }: Ask, value: AccessRole): Field {
  return {
    name: 'role',
    label: t('access.role'),
    value,
    choices: ACCESS_ROLES.map(role => ({
      value: role,
      text: `${t(`role.${role}`)}: ${t(`access.may.${role}`)}`,
    })),
  }
}

const passwordField = ({ t }: Ask, required: boolean): Field => ({
  name: 'password',
  label: t('access.password'),
  type: 'password',
  autocomplete: 'new-password',
  maxlength: 256,
  required,
  hint: t(required ? 'access.password_hint' : 'access.password_or_link'),
})

// Users

/** Who may sign in? */
export function usersShown(ask: Ask, { items, restored_at }: UserList): Shown {
  const { t } = ask
  return accessPage(ask, 'users', {
    actions: [
      ...anotherLink(ask),
      actionForm(ask, {
        to: '/access/users',
        label: t('access.add_user'),
        role: 'admin',
        tone: 'main',
        warning: whereLinksOpen(ask),
        fields: [
          {
            name: 'name',
            id: 'new-user',
            label: t('auth.name'),
            required: true,
            maxlength: 100,
            autocomplete: 'off',
            hint: t('access.name_hint'),
          },
          roleField(ask, 'viewer'),
          passwordField(ask, false),
        ],
      }),
    ],
    blocks: [
      ...restoredNotice(ask, restored_at),
      tableOf(items, userColumns(ask), {
        caption: t('access.users'),
        empty: t('auth.no_users'),
        to: ({ name }) => `/access/users/${encodeURIComponent(name)}`,
      }),
    ],
  })
}

/** Whom the backup of a restored database may let in again. */
export function restoredNotice(ask: Ask, restoredAt: UserList['restored_at']): Block[] {
  const { t } = ask
  if (restoredAt === null) return []
  const title = t('access.restored', { time: timeText(ask, restoredAt) })
  return [{ notice: 'warn', title, todo: t('access.restored_todo') }]
}

/** Where a link that is made now can be opened, and what to set where that is this machine alone. */
function whereLinksOpen({ t, origin }: Ask): string {
  const opens = t('access.link_opens_at', { address: origin })
  return isThisMachine(URL.parse(origin)?.hostname ?? '') ? `${opens} ${t('access.link_here.todo')}` : opens
}

/** The page of a link was sent anew, or the same colleague added twice: nobody can show the link again. */
function anotherLink(ask: Ask): SafeHtml[] {
  const said = ask.refused?.errors.flatMap(({ said }) => [...messagesIn(said)]) ?? []
  const name = said.find(({ key }) => key === 'said.user_invited')?.values?.name
  if (typeof name !== 'string') return []
  return [
    actionForm(ask, {
      to: `/access/users/${encodeURIComponent(name)}/link`,
      label: ask.t('access.another_link', { name }),
      role: 'admin',
      tone: 'main',
    }),
  ]
}

function userColumns({ t }: Ask): ShownColumn<UserRow>[] {
  return [
    { title: t('access.name'), kind: 'main', of: ({ name }) => name },
    { title: t('access.role'), of: ({ role }) => term('role', role) },
    { title: t('access.signs_in_by'), spare: true, of: user => t(`access.way.${wayOf(user)}`) },
    { title: t('access.state'), of: user => stateOf(t, user) },
    { title: t('access.sessions'), kind: 'number', spare: true, of: ({ sessions }) => sessions },
    {
      title: t('access.last_sign_in'),
      of: ({ last_sign_in_at: at }) => (at === null ? { soft: t('access.never') } : { since: at }),
    },
    { title: t('access.added'), spare: true, of: ({ created_at }) => ({ at: created_at }) },
  ]
}

/** A user without a password who is not `local` has a one-time link. */
function wayOf({ name, source }: UserRow): 'password' | 'oidc' | 'key' | 'link' {
  return source === 'key' && name !== LOCAL ? 'link' : source
}

function stateOf(t: Ask['t'], { barred }: UserRow): Words {
  return barred === null
    ? { tone: 'ok', text: t('access.state.enabled') }
    : { tone: 'off', text: t(`access.state.${barred}`) }
}

/** One user: what they may do, where they are signed in, and which tokens they added. */
export function userShown(ask: Ask, user: UserResult, sessions: SessionRow[], tokens: Block): Shown {
  const { t } = ask
  return {
    title: user.name,
    aside: stateOf(t, user),
    actions: userActions(ask, user),
    blocks: [
      {
        facts: [
          [t('access.role'), [term('role', user.role), COLON[ask.language], t(`access.may.${user.role}`)]],
          [t('access.signs_in_by'), t(`access.way.${wayOf(user)}`)],
          [
            t('access.last_sign_in'),
            user.last_sign_in_at === null ? t('access.never') : { since: user.last_sign_in_at, exact: true },
          ],
          [t('access.link'), user.link && linkWords(ask, user.link)],
          [
            t('access.told_at'),
            user.notice_mail === null && user.notice_mention === null
              ? { soft: t('access.told_nowhere') }
              : joined([user.notice_mail, user.notice_mention], ' · '),
          ],
          [t('access.added'), [{ at: user.created_at }, t('common.comma'), actorText(ask, user.created_by)]],
          [t('access.disabled_at'), user.disabled_at && { since: user.disabled_at, exact: true }],
          [t('access.rebinds_until'), user.rebinds_until && { since: user.rebinds_until, exact: true }],
          [t('access.no_role_since'), user.no_role_since && { since: user.no_role_since, exact: true }],
        ],
      },
      { section: t('access.sessions'), blocks: [sessionTable(ask, sessions, 'one')] },
      ...(user.tokens.length > 0 ? [{ section: t('access.tokens_of'), blocks: [tokens] }] : []),
    ],
  }
}

/** What has come of a link, and who made it. */
function linkWords(ask: Ask, link: NonNullable<UserResult['link']>): Words {
  const { t } = ask
  const { created_at, created_by, expires_at, opened_at } = link
  const state: Words =
    opened_at !== null
      ? [{ tone: 'ok', text: t('access.link.opened') }, ' ', { since: opened_at }]
      : expires_at > ask.now
        ? [{ tone: 'wait', text: t('access.link.good') }, ' ', { since: expires_at }]
        : [{ tone: 'off', text: t('access.link.over') }, ' ', { since: expires_at }]
  return [
    ...state,
    '; ',
    t('access.link.made'),
    ' ',
    { since: created_at },
    t('common.comma'),
    actorText(ask, created_by),
  ]
}

function userActions(ask: Ask, user: UserResult) {
  const { t } = ask
  const { name, role, source, disabled_at } = user
  const to = (what: string) => `/access/users/${encodeURIComponent(name)}/${what}`
  const form = (what: string, options: Omit<Parameters<typeof actionForm>[1], 'to' | 'role'>) =>
    actionForm(ask, { to: to(what), role: 'admin', ...options })
  const isLocal = name === LOCAL
  const isOwn = (source !== 'oidc' || user.barred === 'no_provider') && !isLocal
  const hasKey =
    isLocal && user.link !== null && user.link.opened_at === null && user.link.expires_at > ask.now
  const password = form('password', { label: t('access.set_password'), fields: [passwordField(ask, true)] })
  if (disabled_at !== null)
    return [
      source === 'password'
        ? form('enable', {
            label: t('access.enable'),
            tone: 'main',
            folded: true,
            warning: t('access.enable.password'),
          })
        : form('enable', { label: t('access.enable'), tone: 'main' }),
      // Theirs may be why they are disabled.
      ...(source === 'password' ? [password] : []),
    ]
  return [
    ...(isOwn
      ? [
          form('role', { label: t('access.change_role'), fields: [roleField(ask, role)] }),
          form('link', {
            label: t('access.make_link'),
            folded: true,
            warning: `${t('access.make_link.warning')} ${whereLinksOpen(ask)}`,
          }),
          password,
        ]
      : []),
    form('notices', {
      label: t('access.set_notices'),
      fields: [
        {
          name: 'mail',
          label: t('access.notice_mail'),
          value: user.notice_mail ?? '',
          maxlength: 254,
          hint: t(source === 'oidc' ? 'access.notice_mail_of_provider' : 'access.notice_mail_hint'),
        },
        {
          name: 'mention',
          label: t('access.notice_mention'),
          value: user.notice_mention ?? '',
          maxlength: 100,
          hint: t('access.notice_mention_hint'),
        },
      ],
    }),
    ...(user.sessions > 0 || hasKey || user.rebinds_until !== null
      ? [
          form('sign-out', {
            label: t('access.end_all'),
            ...(isLocal && { folded: true, warning: t('access.end_all.keys') }),
            ...(user.rebinds_until !== null && { folded: true, warning: t('access.end_all.rebinds') }),
          }),
        ]
      : []),
    ...(isLocal
      ? []
      : [
          form('disable', {
            label: t('access.disable'),
            tone: 'danger',
            folded: true,
            warning: t('access.disable.warning'),
          }),
        ]),
  ]
}

/** A user who was just added. */
export function addedShown(ask: Ask, added: { user: string; role: AccessRole; url: string | null }): Shown {
  const { t } = ask
  const { user, url } = added
  if (url !== null) return linkShown(ask, { user, url })
  const what = t('access.user_added', { name: user, role: t(`role.${added.role}`) })
  return accessPage(ask, 'users', {
    blocks: [{ notice: 'info', title: what, what: t('access.tell_password') }],
  })
}

/** A link, which is shown this once. */
export function linkShown({ t }: Ask, { user, url }: { user: string; url: string }): Shown {
  return {
    title: t('access.link_of', { name: user }),
    blocks: [
      { notice: 'info', title: t('access.link_once', { name: user }), what: t('access.link_how') },
      ...(isThisMachine(URL.parse(url)?.hostname ?? '')
        ? [{ notice: 'warn', title: t('access.link_here'), what: t('access.link_here.todo') } as const]
        : []),
      { copy: url },
      {
        text: { to: `/access/users/${encodeURIComponent(user)}`, text: t('access.back_to', { name: user }) },
      },
    ],
  }
}

// Sessions

/** Who is signed in? */
export function sessionsShown(
  ask: Ask,
  { items, next }: { items: SessionRow[]; next: string | null },
  { user }: SessionInput,
): Shown {
  const { t } = ask
  return accessPage(ask, 'sessions', {
    blocks: [
      ...(user === undefined
        ? []
        : [
            {
              text: [
                t('access.only_of', { name: user }),
                ' ',
                { to: '/access/sessions', text: t('common.all') },
              ],
            },
          ]),
      sessionTable(ask, items, user === undefined ? 'many' : 'one'),
      { next },
    ],
  })
}

/** @param of oneself, of one user, or of many, who are named */
export function sessionTable(ask: Ask, sessions: readonly SessionRow[], of: 'own' | 'one' | 'many'): Block {
  const { t } = ask
  const [path, role] = of === 'own' ? (['/account', 'viewer'] as const) : (['/access', 'admin'] as const)
  return tableOf(
    sessions,
    [
      ...(of === 'many'
        ? [{ title: t('access.name'), kind: 'main', of: ({ user }: SessionRow) => user } as const]
        : []),
      ...sessionColumns(ask),
      {
        title: t('access.actions'),
        only: 'page',
        of: ({ id }) =>
          id === ask.session
            ? { soft: t('access.this_session') }
            : {
                drawn: actionForm(ask, {
                  to: `${path}/sessions/${id}/end`,
                  label: t('access.end'),
                  role,
                }),
              },
      },
    ],
    {
      caption: t('access.sessions'),
      ...noRows(ask, t(of === 'many' ? 'access.no_sessions' : 'access.no_sessions_of')),
      ...(of !== 'own' && { to: ({ user }: SessionRow) => `/access/users/${encodeURIComponent(user)}` }),
    },
  )
}

function sessionColumns(ask: Ask): ShownColumn<SessionRow>[] {
  const { t } = ask
  return [
    { title: t('access.since'), of: ({ created_at }) => ({ since: created_at }) },
    { title: t('access.last_seen'), of: ({ last_seen_at }) => ({ since: last_seen_at }) },
    { title: t('access.address'), of: ({ address }) => ({ code: address }) },
    { title: t('access.browser'), of: ({ user_agent }) => browserWords(ask, user_agent) },
    {
      title: t('access.signed_in_by'),
      spare: true,
      of: ({ user, via }) => t(`access.way.${wayOfSession(user, via)}`),
    },
  ]
}

/** How a session began: with a key or a link, which are the same but for their user. */
export function wayOfSession<Via extends string>(user: string, via: Via): Via | 'opened_link' {
  return via === 'key' && user !== LOCAL ? 'opened_link' : via
}

/** Such as `Firefox on Linux`. */
function browserWords({ t }: Ask, userAgent: string): Words {
  const { browser, system } = browserName(userAgent)
  if (browser === null) return { clip: userAgent === '' ? t('access.unknown_browser') : userAgent }
  return system === null ? browser : t('access.browser_on', { browser, system })
}

// The identity provider

/** Which groups of the company may do what? */
export function providerShown(ask: Ask, { issuer, claim, roles, lines }: ProviderResult): Shown {
  const { t } = ask
  return accessPage(ask, 'provider', {
    blocks:
      issuer === null
        ? [
            tableOf([], [], {
              caption: '',
              empty: t('access.no_provider'),
              todo: t('access.no_provider.todo'),
            }),
            { copy: lines.join('\n') },
          ]
        : [
            { text: t('access.provider.about') },
            {
              facts: [
                [t('access.issuer'), { code: issuer }],
                [t('access.claim'), claim && { code: claim }],
              ],
            },
            tableOf(
              roles,
              [
                { title: t('access.claim_value'), kind: 'main', of: ({ value }) => ({ code: value }) },
                { title: t('access.role'), of: ({ role }) => term('role', role) },
                { title: t('access.may'), of: ({ role }) => t(`access.may.${role}`) },
              ],
              { caption: t('access.provider') },
            ),
            { text: t('settings.line') },
            { copy: lines.join('\n') },
          ],
  })
}
