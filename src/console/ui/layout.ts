import { html, type SafeHtml } from '@remix-run/html-template'
import { inLanguage } from '../../texts/failures.ts'
import { LANGUAGES, type Translate } from '../../texts/texts.ts'
import { type Ask, type Refused, type Taste, THEMES } from '../ask.ts'
import { mayAs } from '../auth/viewer.ts'
import type { NavEntry, Page } from '../endpoint.ts'
import type { BadgeList } from '../screen.ts'
import { asset } from './assets.ts'
import { alert, copyButton } from './parts.ts'

/** The name of each language, in that language. */
export const LANGUAGE_NAMES = { en: 'English', 'zh-CN': '简体中文' } as const

/** What the frame shows around the page. */
export interface Frame {
  /** The name that people use for the deployment. */
  deployment: string
  /** The navigation, with counts such as that of open cases. */
  entries: readonly { name: NavEntry; badge: number; list?: BadgeList | undefined }[]
  /** The entry that the page belongs to, if it does. */
  current: NavEntry | null
  /** Why work stands still, if it does. */
  bar: SafeHtml
  /** Shown once, about the action just taken. */
  notice: string | null
  version: string
}

/** A whole page of the console, for a signed-in user. */
export function layout(ask: Ask, page: Page, frame: Frame): SafeHtml {
  const { t } = ask
  return document(
    ask,
    `${page.title} · ${frame.deployment}`,
    html`<a class="skip" href="#content">${t('common.skip')}</a>
      <header class="top">
        <a class="brand" href="/"><span class="mark" aria-hidden="true"></span>dirsync <span class="deployment">${frame.deployment}</span></a>
        <form class="search" action="/search" role="search">
          <input type="search" name="q" aria-label="${t('common.search')}" autocomplete="off"
            placeholder="${t(mayAs(ask.viewer.role, 'reviewer') ? 'common.search_what' : 'common.search_what_viewer')}"
            title="${t('common.search_hint')}" maxlength="100" required data-search>
          <kbd aria-hidden="true">/</kbd>
          <div class="typed" role="group" aria-label="${t('search.title')}" hidden></div>
        </form>
        <details class="menu">
          <summary>${ask.viewer.name}</summary>
          <div class="menu-body">
            <p>${t('common.signed_in_as', { name: ask.viewer.name, role: t(`role.${ask.viewer.role}`) })}</p>
            ${ask.session === null ? '' : html`<p><a href="/account">${t('account.title')}</a></p>`}
            ${preferenceForm(ask)}
            <p class="soft"><small>${t('common.keys')}</small></p>
            <form method="post" action="/sign-out"><button>${t('common.sign_out')}</button></form>
          </div>
        </details>
      </header>
      <nav class="side" aria-label="${t('common.navigation')}">
        <button type="button" class="screens-button" popovertarget="screens">${t('common.menu')}</button>
        <div id="screens" popover>
          <ul>${frame.entries.map(entry => navItem(ask, entry, frame.current))}</ul>
          <p class="version">dirsync ${frame.version}<br>${t('common.times_in', { zone: ask.zone })}</p>
        </div>
      </nav>
      <main id="content" tabindex="-1">
        ${frame.bar}
        <p class="banner" role="status" data-when="stale" hidden>${t('common.stale')}</p>
        <p class="banner" role="status" data-when="signed-out" hidden>${t('common.signed_out')} <a href="">${t('common.sign_in_again')}</a></p>
        ${ask.readOnly ? html`<p class="banner">${t('common.read_only')}</p>` : ''}
        <div class="flashes" role="status">${frame.notice === null ? '' : flash(ask, frame.notice)}</div>
        ${frame.current === null ? '' : crumbs(ask, frame.current, page.title)}
        ${ask.refused ? refusedNotice(ask, ask.refused) : ''}
        ${page.body}
      </main>`,
  )
}

function flash({ t }: Ask, text: string): SafeHtml {
  return html`<div class="notice" data-flash><span>${text}</span><button type="button" class="dismiss" aria-label="${t('common.dismiss')}" hidden>×</button></div>`
}

/** Of a screen's own address: it shows one thing of its list. */
const ONE = /[?&](job|operation)=./

/** Where a page below a screen belongs: the screen, what the page is a part of, and the page. */
function crumbs({ t, url }: Ask, current: NavEntry, title: string): SafeHtml {
  const [path = ''] = url.split('?')
  if (path === `/${current}` && !ONE.test(url)) return html``
  const [, parent, id] = /^\/(\w+)\/(\d+)\/./.exec(path) ?? []
  return html`<nav class="crumbs" aria-label="${t('common.crumbs')}"><ol>
    <li><a href="/${current}">${t(`nav.${current}`)}</a></li>
    ${id === undefined ? '' : html`<li><a href="/${parent}/${id}">${id}</a></li>`}
    <li aria-current="page"><bdi>${title}</bdi></li>
  </ol></nav>`
}

/** Input that was refused is told above the page as well, since its form may be further down. */
function refusedNotice({ t, language, zone }: Ask, { isFilter, errors }: Refused): SafeHtml {
  return alert(
    'bad',
    t(isFilter ? 'error.filter' : 'error.invalid'),
    html`<ul>${errors.map(({ said }) => html`<li>${inLanguage(language, said, zone)}</li>`)}</ul>`,
  )
}

function navItem(
  { t }: Ask,
  { name, badge, list }: Frame['entries'][number],
  current: Frame['current'],
): SafeHtml {
  const count = t('common.count', { count: badge })
  const inside = badge > 0 && !list ? html` <span class="badge">${count}</span>` : ''
  const beside =
    badge > 0 && list ? html` <a class="badge" href="${list.href}" title="${t(list.title)}">${count}</a>` : ''
  return html`<li><a href="/${name}"${name === current ? html` aria-current="page"` : ''}>${t(
    `nav.${name}`,
  )}${inside}</a>${beside}</li>`
}

/** The form for language and colours. */
export function preferenceForm({ t, language, theme }: BareTaste): SafeHtml {
  const option = (value: string, text: string, chosen: string) =>
    html`<option value="${value}"${value === chosen ? html` selected` : ''}>${text}</option>`
  return html`<form method="post" action="/preferences" class="preferences">
    <label>${t('common.language')} <select name="language">${LANGUAGES.map(name =>
      option(name, LANGUAGE_NAMES[name], language),
    )}</select></label>
    <label>${t('common.theme')} <select name="theme">${THEMES.map(name =>
      option(name, t(`common.theme_${name}`), theme),
    )}</select></label>
    <button>${t('common.apply_preferences')}</button>
  </form>`
}

/** Display preferences for a page without the frame. */
export type BareTaste = Pick<Taste, 't' | 'language' | 'theme'>

/** A page without the frame: for signing in, and for errors before that. */
export function bare(taste: BareTaste, page: { title: string; body: SafeHtml }): SafeHtml {
  return document(
    taste,
    `${page.title} · dirsync`,
    html`<main id="content" class="bare">
      <p class="brand"><span class="mark" aria-hidden="true"></span>dirsync</p>
      ${page.body}
      <details class="bare-menu"><summary>${taste.t('common.language')} · ${taste.t('common.theme')}</summary>${preferenceForm(taste)}</details>
    </main>`,
  )
}

/** The body of an error page: what is wrong, and what to do about it. */
export function problemBody(
  t: Translate,
  problem: { title: string; detail: string; remedy: string; reference?: string; back?: string | null },
): SafeHtml {
  return html`<div class="problem">
    <h1>${problem.title}</h1>
    ${problem.detail ? html`<p>${problem.detail}</p>` : ''}
    ${problem.remedy ? html`<p class="todo">${problem.remedy}</p>` : ''}
    ${problem.reference ? html`<p><code>${problem.reference}</code> ${copyButton({ t }, problem.reference)}</p>` : ''}
    ${problem.back ? html`<p><a href="${problem.back}">${t('error.back_there')}</a></p>` : ''}
    <p><a href="/">${t('error.back')}</a></p>
  </div>`
}

function document(taste: BareTaste, title: string, body: SafeHtml): SafeHtml {
  return html`<!doctype html>
<html lang="${taste.language}" data-theme="${taste.theme}">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <meta name="color-scheme" content="${taste.theme === 'auto' ? 'light dark' : taste.theme}">
    <meta name="htmx-config" content='{"includeIndicatorCSS": false, "history": false, "morphIgnore": ["data-htmx-powered", "open"], "noSwap": [204, 304, "4xx", "5xx"]}'>
    <title>${title}</title>
    <link rel="icon" href="${asset('icon.svg')}">
    <link rel="stylesheet" href="${asset('uPlot.min.css')}">
    <link rel="stylesheet" href="${asset('console.css')}">
    <script src="${asset('htmx.min.js')}" defer></script>
    <script src="${asset('uPlot.iife.min.js')}" defer></script>
    <script src="${asset('console.js')}" defer></script>
  </head>
  <body>${body}</body>
</html>
`
}
