import { html, type SafeHtml } from '@remix-run/html-template'
import { inLanguage } from '../../texts/failures.ts'
import type { Said } from '../../texts/message.ts'
import type { TextKey, TextValues } from '../../texts/texts.ts'
import { type BareTaste, bare } from '../ui/layout.ts'
import type { AccessRole } from './viewer.ts'

/** Pages for visitors who are not signed in. They work without JavaScript. */

/** The content of the sign-in page. */
export interface SignIn {
  /** The page to show afterwards. */
  to: string
  /** The name that was typed before. */
  name: string
  /** Whether people may sign in with passwords. */
  hasUsers: boolean
  /** Whether people may sign in at an identity provider. */
  hasOidc: boolean
  error?: { key: TextKey; values?: TextValues }
  notice?: TextKey
}

export function signInPage(taste: BareTaste, page: SignIn): SafeHtml {
  const { t } = taste
  const error = page.error
    ? html`<p class="alert bad" role="alert" id="error">${t(page.error.key, page.error.values)}</p>`
    : ''
  const notice = page.notice ? html`<p class="notice" role="status">${t(page.notice)}</p>` : ''
  const query = page.to === '/' ? '' : `?to=${encodeURIComponent(page.to)}`
  const form = html`<form method="post" action="/sign-in" class="sign-in">
<input type="hidden" name="to" value="${page.to}">
<div class="field"><label for="name">${t('auth.name')}</label>
<input id="name" name="name" value="${page.name}" autocomplete="username" autocapitalize="none" spellcheck="false"
  maxlength="100" required ${page.name === '' ? html`autofocus` : ''}></div>
<div class="field"><label for="password">${t('auth.password')}</label>
<input id="password" name="password" type="password" autocomplete="current-password" maxlength="256" required
  ${page.name === '' ? '' : html`autofocus`} ${page.error ? html`aria-describedby="error"` : ''}></div>
<button type="submit" class="main">${t('auth.submit')}</button>
</form>`
  const oidc = html`<p><a class="button${page.hasUsers ? '' : ' main'}" href="/sign-in/oidc${query}">${t('auth.oidc')}</a></p>`
  const noUsers = html`<h2>${t('auth.no_users')}</h2>
<p>${t('auth.first.key')}</p>
<pre><code>dirsync users link</code></pre>
<form method="get" action="/sign-in/key" class="sign-in">
<div class="field"><label for="key">${t('auth.key')}</label>
<input id="key" name="key" autocomplete="off" autocapitalize="none" spellcheck="false" maxlength="300" required></div>
<button type="submit" class="main">${t('auth.continue')}</button>
</form>
<p>${t('auth.no_users.remedy')}</p>
<pre><code>dirsync users add NAME --role admin</code></pre>`
  const ways = [page.hasUsers ? form : null, page.hasOidc ? oidc : null].filter(way => way !== null)
  return wrap(taste, t('auth.title'), [
    error,
    notice,
    ways.length === 0
      ? noUsers
      : ways.length === 1
        ? ways
        : [form, html`<p class="or">${t('auth.or')}</p>`, oidc],
  ])
}

/**
 * Asks for a click before it uses the key: a link preview that fetches the address must not use it up.
 * @param first offers to make the first administrator; null: there are users already
 */
export function keyPage(taste: BareTaste, key: string, first: First | null): SafeHtml {
  const { t } = taste
  const asLocal = html`<p>${t('auth.key.text')}</p>
<form method="post" action="/sign-in/key" class="sign-in">
<input type="hidden" name="key" value="${key}">
<button type="submit" class="${first ? '' : 'main'}" ${first ? '' : html`autofocus`}>${t('auth.submit')}</button>
</form>`
  if (first === null) return wrap(taste, t('auth.key.title'), [asLocal])
  const error = first.error
    ? html`<p class="alert bad" role="alert" id="error">${inLanguage(taste.language, first.error)}</p>`
    : ''
  return wrap(taste, t('auth.first.title'), [
    html`<p>${t('auth.first.text')}</p>${error}
<form method="post" action="/sign-in/first" class="sign-in">
<input type="hidden" name="key" value="${key}">
<div class="field"><label for="name">${t('auth.name')}</label>
<input id="name" name="name" value="${first.name}" autocomplete="username" autocapitalize="none" spellcheck="false"
  maxlength="100" required ${first.error ? html`aria-describedby="error"` : ''}></div>
<div class="field"><label for="password">${t('auth.password')}</label>
<input id="password" name="password" type="password" autocomplete="new-password" maxlength="256" required
  aria-describedby="password-hint"><small id="password-hint">${t('access.password_hint')}</small></div>
<div class="field"><label for="again">${t('account.again')}</label>
<input id="again" name="again" type="password" autocomplete="new-password" maxlength="256" required></div>
<button type="submit" class="main">${t('auth.first.submit')}</button>
</form>
<h2>${t('auth.first.or')}</h2>`,
    asLocal,
  ])
}

/** What was typed about the first administrator, and why it was refused. */
export interface First {
  name: string
  error?: Said
}

/** Asks for a click as well. @param holder whom the link signs in */
export function linkPage(
  taste: BareTaste,
  key: string,
  holder: { name: string; role: AccessRole },
): SafeHtml {
  const { t } = taste
  return wrap(taste, t('auth.link.title'), [
    html`<p>${t('auth.link.text', { name: holder.name, role: t(`role.${holder.role}`) })}</p>
<form method="post" action="/sign-in/link" class="sign-in">
<input type="hidden" name="key" value="${key}">
<button type="submit" class="main" autofocus>${t('auth.submit')}</button>
</form>`,
  ])
}

/** Why a sign-in was refused. Each reason has a text, and a second one that says what to do. */
type Refusal =
  | 'auth.key.used'
  | 'auth.link.used'
  | 'auth.first.late'
  | `auth.oidc.${'away' | 'refused' | 'expired' | 'no_role' | 'disabled' | 'taken'}`

/** What went wrong and what to do about it, with a link back. */
export function refusalPage(
  taste: BareTaste,
  key: Refusal,
  options: { values?: TextValues; command?: string } = {},
): SafeHtml {
  const { t } = taste
  return wrap(taste, t(key), [
    html`<p>${t(`${key}.remedy`, options.values)}</p>`,
    options.command ? html`<pre><code>${options.command}</code></pre>` : '',
    html`<p><a href="/sign-in">${t('auth.again')}</a></p>`,
  ])
}

/**
 * Page that goes on to the identity provider, to end the session there too. It is a link, since form-action forbids a
 * form to lead to another host.
 */
export function signedOutPage(taste: BareTaste, url: string): SafeHtml {
  const { t } = taste
  return wrap(taste, t('auth.oidc.sign_out'), [
    html`<p>${t('auth.oidc.sign_out.text')}</p>
<p><a class="button" href="${url}">${t('auth.oidc.sign_out.continue')}</a></p>
<p><a href="/sign-in">${t('auth.again')}</a></p>`,
  ])
}

function wrap(taste: BareTaste, title: string, parts: (SafeHtml | string | SafeHtml[])[]): SafeHtml {
  const body = html`<h1>${title}</h1>
${parts}`
  return bare(taste, { title, body })
}
