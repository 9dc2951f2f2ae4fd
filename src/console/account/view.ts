import { html } from '@remix-run/html-template'
import { COLON } from '../../texts/texts.ts'
import { sessionTable } from '../access/view.ts'
import type { Ask } from '../ask.ts'
import { LOCAL } from '../auth/users.ts'
import { type Block, type Shown, term } from '../shown.ts'
import { preferenceForm } from '../ui/layout.ts'
import { actionForm, type Field } from '../ui/parts.ts'
import type { AccountResult } from './query.ts'

/** What may I do, how do I sign in, and where am I signed in? */
export function accountShown(ask: Ask, account: AccountResult): Shown {
  const { t } = ask
  return {
    title: t('account.title'),
    blocks: [
      {
        facts: [
          [t('auth.name'), account.name],
          [
            t('access.role'),
            [term('role', account.role), COLON[ask.language], t(`access.may.${account.role}`)],
          ],
        ],
      },
      passwordSection(ask, account),
      sessionSection(ask, account),
      {
        section: t('account.preferences'),
        blocks: [{ drawn: html`<div class="narrow">${preferenceForm(ask)}</div>` }],
      },
    ],
  }
}

function passwordSection(ask: Ask, { name, source }: AccountResult): Block {
  const { t } = ask
  const title = t('auth.password')
  if (source === 'oidc') return { section: title, blocks: [{ text: t('account.of_provider') }] }
  if (name === LOCAL) return { section: title, blocks: [{ text: t('account.of_local') }] }
  const isByLink = ask.viewer.via === 'key'
  const field = (name: string, autocomplete: Field['autocomplete'], hint?: string): Field => ({
    name,
    label: t(`account.${name as 'current' | 'password' | 'again'}`),
    type: 'password',
    required: true,
    maxlength: 256,
    ...(autocomplete ? { autocomplete } : {}),
    ...(hint ? { hint } : {}),
  })
  const form = actionForm(ask, {
    to: '/account/password',
    label: t(source === 'key' ? 'account.choose_password' : 'account.change_password'),
    role: 'viewer',
    tone: 'main',
    // Whoever came by a link needs it now.
    folded: !isByLink,
    fields: [
      ...(isByLink ? [] : [field('current', 'current-password')]),
      field('password', 'new-password', t('access.password_hint')),
      field('again', 'new-password'),
    ],
  })
  return {
    section: title,
    blocks: [
      ...(source === 'key'
        ? [{ notice: 'warn', title: t('account.no_password'), what: t('account.no_password.todo') } as const]
        : []),
      { drawn: html`<div class="${isByLink ? 'narrow' : 'row'}">${form}</div>` },
    ],
  }
}

function sessionSection(ask: Ask, { sessions }: AccountResult): Block {
  const { t } = ask
  return {
    section: t('access.sessions'),
    blocks: [
      sessionTable(ask, sessions, 'own'),
      ...(sessions.length > 1
        ? [
            {
              drawn: html`<div class="row">${actionForm(ask, {
                to: '/account/sessions/end',
                label: t('account.end_others'),
                role: 'viewer',
              })}</div>`,
            },
          ]
        : []),
    ],
  }
}
