import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

export const ROOT = join(import.meta.dirname, '../..')

/** Pages for people, relative to the root. */
export const PAGES = [
  'README.md',
  'README.zh-CN.md',
  'ARCHITECTURE.md',
  'CHANGELOG.md',
  'CONTRIBUTING.md',
  'examples/hr/README.md',
  ...readdirSync(join(ROOT, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter(name => name.endsWith('.md'))
    .map(name => `docs/${name}`),
]

export function pageOf(file: string): string {
  return readFileSync(join(ROOT, file), 'utf8')
}

interface Block {
  page: string
  language: string
  text: string
}

/** The blocks of code in a page. */
export function blocksOf(file: string): Block[] {
  return [...pageOf(file).matchAll(/^```(\w+)\n([\s\S]*?)^```$/gm)].map(([, language = '', text = '']) => ({
    page: file,
    language,
    text,
  }))
}

/** A page without its blocks of code. */
export function proseOf(file: string): string {
  return pageOf(file).replace(/^```\w+\n[\s\S]*?^```$/gm, '')
}

/** Texts between backticks, outside blocks. */
export function spansOf(file: string): string[] {
  return [...proseOf(file).matchAll(/`([^`\n]+)`/g)].map(([, text = '']) => text)
}

/** Rows of the table under a heading, cells trimmed, header left out. */
export function tableUnder(page: string, heading: string): string[][] {
  const section = page.split(`\n## ${heading}\n`)[1]?.split('\n## ')[0] ?? ''
  const rows = section.split('\n').filter(line => line.startsWith('|'))
  return rows.slice(2).map(row =>
    row
      .split('|')
      .slice(1, -1)
      .map(cell => cell.trim()),
  )
}

/** The anchors that GitHub gives a page's headings. */
export function anchorsOf(file: string): string[] {
  return [...proseOf(file).matchAll(/^#+ (.+)$/gm)].map(([, title = '']) =>
    title
      .toLowerCase()
      .replace(/[^\w -]/g, '')
      .replaceAll(' ', '-'),
  )
}
