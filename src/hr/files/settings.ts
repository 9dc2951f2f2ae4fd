/** What is set about HR in files, besides the folder. */
export interface FilesSettings {
  encoding: WantedEncoding
  complete: Completeness
  /** Where the last good delivery of each folder is kept. */
  keep: string
}

export const ENCODINGS = ['utf-8', 'gb18030', 'utf-16le', 'utf-16be'] as const
export type Encoding = (typeof ENCODINGS)[number]
/** `auto`: each file is looked at. */
export type WantedEncoding = 'auto' | Encoding

/** What says that a delivery is complete: a file that is written last, or that nothing has changed for a time. */
export type Completeness = { marker: string } | { restMs: number }

const UNITS: Record<string, number> = { s: 1000, m: 60_000, h: 3_600_000 }

/** From `marker:_SUCCESS` or `60s`; null for anything else. */
export function completeness(text: string): Completeness | null {
  const [, marker] = /^marker:([^/\\\0]+)$/.exec(text) ?? []
  if (marker !== undefined && marker !== '.' && marker !== '..') return { marker }
  const [, count, unit] = /^(\d{1,5})([smh])$/.exec(text) ?? []
  return count === undefined ? null : { restMs: Number(count) * (UNITS[unit as string] as number) }
}

/** As where nothing is set. */
export const FILES_DEFAULTS: FilesSettings = {
  encoding: 'auto',
  complete: { restMs: 60_000 },
  keep: '.dirsync/hr-files',
}

/** What is wrong with an address of a folder; null when nothing is. */
export function folderProblem(text: string): string | null {
  const url = new URL(text)
  if (url.host !== '' || !url.pathname.startsWith('/') || url.pathname === '/')
    return 'should name a folder by its whole path, as in files:/srv/hr'
  return url.search === '' && url.hash === ''
    ? null
    : 'should have ? and # of the path percent-encoded, and no parameters'
}

/** The folder's path. @throws Error for an address that `folderProblem` objects to */
export function folderOf(text: string): string {
  const problem = folderProblem(text)
  if (problem) throw new Error(`The address of HR's files ${problem}`)
  return decodeURIComponent(new URL(text).pathname)
}
