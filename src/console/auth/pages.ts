import { html, type SafeHtml } from '@remix-run/html-template'
import type { TextKey, TextValues } from '../../texts/texts.ts'
import { type BareTaste, bare } from '../ui/layout.ts'

/** Pages for visitors who are not signed in. They work without JavaScript. */

/** The content of the sign-in page. */
export interface SignIn {
  /** The page to show afterwards. */
  to: string
  /** The name that was typed before. */
  name: string
  /** Whether any user has a password. */
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
<p>${t('auth.no_users.remedy')}</p>
<pre><code>dirsync users add NAME --role admin</code></pre>
<p>${t('auth.link.remedy')}</p>
<pre><code>dirsync users link</code></pre>`
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

/** Asks for a click before it uses the key: a link preview that fetches the address must not use it up. */
export function keyPage(taste: BareTaste, key: string): SafeHtml {
  const { t } = taste
  return wrap(taste, t('auth.key.title'), [
    html`<p>${t('auth.key.text')}</p>
<form method="post" action="/sign-in/key" class="sign-in">
<input type="hidden" name="key" value="${key}">
<button type="submit" class="main" autofocus>${t('auth.submit')}</button>
</form>`,
  ])
}

/** Why a sign-in was refused. Each reason has a text, and a second one that says what to do. */
type Refusal =
  | 'auth.key.used'
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
