import { html, type SafeHtml } from '@remix-run/html-template'
import type { Language, Translate } from '../../texts/texts.ts'

/** A page without the frame, for whoever is not signed in. */
export function bare(
  ask: { t: Translate; language: Language; theme: 'auto' | 'light' | 'dark' },
  page: { title: string; body: SafeHtml },
): SafeHtml {
  return html`<!doctype html>
<html lang="${ask.language}" data-theme="${ask.theme}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${page.title} – dirsync</title>
</head>
<body>
<main>${page.body}</main>
</body>
</html>
`
}
