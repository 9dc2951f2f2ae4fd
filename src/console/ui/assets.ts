import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'

const require = createRequire(import.meta.url)
const packageFile = (name: string, file: string) =>
  join(dirname(require.resolve(`${name}/package.json`)), file)
const own = (file: string) => join(import.meta.dirname, '../assets', file)

/** Files that pages load: our own, and those of two libraries from node_modules. */
const FILES: Record<string, { path: string; type: string }> = {
  'console.css': { path: own('console.css'), type: 'text/css; charset=utf-8' },
  'console.js': { path: own('console.js'), type: 'text/javascript; charset=utf-8' },
  'icon.svg': { path: own('icon.svg'), type: 'image/svg+xml' },
  'htmx.min.js': {
    path: packageFile('htmx.org', 'dist/htmx.min.js'),
    type: 'text/javascript; charset=utf-8',
  },
  'uPlot.iife.min.js': {
    path: packageFile('uplot', 'dist/uPlot.iife.min.js'),
    type: 'text/javascript; charset=utf-8',
  },
  'uPlot.min.css': { path: packageFile('uplot', 'dist/uPlot.min.css'), type: 'text/css; charset=utf-8' },
}

interface Asset {
  type: string
  content: Buffer
  /** Part of the asset's address, and derived from its content, so that browsers may cache it for ever. */
  version: string
}

/** Read once, when the console is loaded: some 120 kB. */
const ASSETS = new Map<string, Asset>(
  Object.entries(FILES).map(([name, { path, type }]) => {
    const content = readFileSync(path)
    const version = createHash('sha256').update(content).digest('hex').slice(0, 12)
    return [name, { type, content, version }]
  }),
)

export function assetOf(name: string): Asset | undefined {
  return ASSETS.get(name)
}

/** The address of an asset. */
export function asset(name: string): string {
  const found = ASSETS.get(name)
  if (!found) throw new Error(`there is no asset ${name}`)
  return `/assets/${name}?v=${found.version}`
}
