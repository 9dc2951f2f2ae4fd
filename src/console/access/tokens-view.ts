import type { SafeHtml } from '@remix-run/html-template'
import { actorText } from '../../texts/actor.ts'
import type { Ask } from '../ask.ts'
import { SCOPES, type Scope } from '../auth/scope.ts'
import type { TokenRow } from '../auth/tokens.ts'
import type { AccessRole } from '../auth/viewer.ts'
import { type Block, type Shown, tableOf, term, type Words } from '../shown.ts'
import { actionForm } from '../ui/parts.ts'
import type { TokenList } from './query.ts'
import { accessPage, restoredNotice, roleField } from './view.ts'

const PERIODS = ['30d', '90d', '180d', '365d'] as const

/** Which programs may use the API? */
export function tokensShown(ask: Ask, { items, restored_at }: TokenList): Shown {
  const { t } = ask
  return accessPage(ask, 'tokens', {
    actions: [
      actionForm(ask, {
        to: '/access/tokens',
        label: t('access.add_token'),
        role: 'admin',
        tone: 'main',
        fields: [
          {
            name: 'name',
            label: t('access.name'),
            required: true,
            maxlength: 64,
            autocomplete: 'off',
            hint: t('access.token_name_hint'),
          },
          roleField(ask, 'viewer'),
          {
            name: 'expires',
            label: t('access.expires'),
            value: '90d',
            choices: PERIODS.map(period => ({
              value: period,
              text: t('access.days', { count: Number.parseInt(period, 10) }),
            })),
          },
          {
            name: 'scopes',
            label: t('access.limit'),
            choices: SCOPES.map(scope => ({ value: scope, text: scopeText(t, scope) })),
            several: [],
            placeholder: t('access.scope.none'),
          },
        ],
      }),
    ],
    blocks: [...restoredNotice(ask, restored_at), tokenTable(ask, items)],
  })
}

export function tokenTable(ask: Ask, tokens: readonly TokenRow[]): Block {
  const { t } = ask
  return tableOf(
    tokens,
    [
      { title: t('access.name'), kind: 'main', of: ({ name }) => name },
      { title: t('access.role'), of: ({ role }) => term('role', role) },
      { title: t('access.state'), of: token => stateOf(t, token, ask.now) },
      { title: t('access.scopes'), gives: true, of: ({ scopes }) => scopesText(ask, scopes) },
      { title: t('access.ends'), of: ({ expires_at }) => ({ at: expires_at }) },
      {
        title: t('access.last_used'),
        spare: true,
        of: ({ last_used_at: at }) => (at === null ? { soft: t('access.never') } : { since: at }),
      },
      {
        title: t('access.added_by'),
        gives: true,
        of: ({ created_by }) => actorText(ask, created_by),
      },
      {
        title: t('access.actions'),
        only: 'page',
        of: token => (isGood(token, ask.now) ? { drawn: revokeForm(ask, token) } : null),
      },
    ],
    { caption: t('access.tokens'), empty: t('access.no_tokens'), todo: t('access.no_tokens.todo') },
  )
}

function isGood({ revoked_at, expires_at }: TokenRow, now: Date): boolean {
  return revoked_at === null && expires_at > now
}

function stateOf(t: Ask['t'], token: TokenRow, now: Date): Words {
  if (token.revoked_at !== null) return { tone: 'off', text: t('access.token.revoked') }
  return isGood(token, now)
    ? { tone: 'ok', text: t('access.token.good') }
    : { tone: 'off', text: t('access.token.expired') }
}

function revokeForm(ask: Ask, { name }: TokenRow): SafeHtml {
  return actionForm(ask, {
    to: `/access/tokens/${encodeURIComponent(name)}/revoke`,
    label: ask.t('access.revoke'),
    role: 'admin',
    tone: 'danger',
  })
}

/** What a token is limited to, in words. */
export function scopesText(ask: Pick<Ask, 't' | 'language'>, scopes: readonly Scope[] | null): string {
  if (scopes === null) return ask.t('access.scope.none')
  return new Intl.ListFormat(ask.language).format(scopes.map(scope => scopeText(ask.t, scope)))
}

function scopeText(t: Ask['t'], scope: Scope): string {
  if (scope === 'read') return t('access.scope.read')
  const [tag, reads] = scope.split(':') as [Exclude<Scope, 'read' | `${string}:read`>, 'read'?]
  return t(reads ? 'access.scope.look' : 'access.scope.act', { screen: t(`nav.${tag}`) })
}

/** A token, which is shown this once. */
export function tokenShown(
  ask: Ask,
  added: { name: string; role: AccessRole; scopes: Scope[] | null; expires_at: Date; token: string },
): Shown {
  const { t } = ask
  return {
    title: t('access.token_of', { name: added.name }),
    blocks: [
      { notice: 'info', title: t('access.token_once'), what: t('access.token_how') },
      { copy: added.token },
      {
        facts: [
          [t('access.role'), term('role', added.role)],
          [t('access.scopes'), scopesText(ask, added.scopes)],
          [t('access.ends'), { at: added.expires_at }],
        ],
      },
      { text: { to: '/access/tokens', text: t('access.back_to_tokens') } },
    ],
  }
}
