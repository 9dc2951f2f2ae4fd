import { isEncoded } from '../../lib/text.ts'
import { type Message, message, SaidError } from '../../texts/message.ts'

/** The settings of HR in files, besides the folder. */
export interface FilesSettings {
  encoding: WantedEncoding
  complete: Completeness
  /** Where the last good delivery of each folder is kept. */
  keep: string
  /** The number of the row with the column names, by the table's lower-case name, where it cannot be detected. */
  headings: ReadonlyMap<string, number>
}

export const ENCODINGS = ['utf-8', 'gb18030', 'utf-16le', 'utf-16be'] as const
export type Encoding = (typeof ENCODINGS)[number]
/** Of files without a byte order mark. `auto`: detected for each. */
export type WantedEncoding = 'auto' | Encoding

/** How a delivery is known to be complete: by a file that is written last, or by no change for some time. */
export type Completeness = { marker: string } | { restMs: number }

const UNITS: Record<string, number> = { s: 1000, m: 60_000, h: 3_600_000 }

/** From `marker:_SUCCESS` or `60s`; null for anything else. */
export function completeness(text: string): Completeness | null {
  const [, marker] = /^marker:([^/\\\0]+)$/.exec(text) ?? []
  if (marker !== undefined && marker !== '.' && marker !== '..') return { marker }
  const [, count, unit] = /^(\d{1,5})([smh])$/.exec(text) ?? []
  return count === undefined ? null : { restMs: Number(count) * (UNITS[unit as string] as number) }
}

/** From `staff=3, staff_Sheet2=2`; null for anything else. */
export function headingRows(text: string): ReadonlyMap<string, number> | null {
  const entries = text.split(',').map(entry => /^\s*([^=]*[^=\s])\s*=\s*([1-9]\d{0,6})\s*$/.exec(entry))
  if (text.trim() !== '' && entries.includes(null)) return null
  return new Map(
    entries.flatMap(entry => (entry ? [[(entry[1] as string).toLowerCase(), Number(entry[2])]] : [])),
  )
}

export const FILES_DEFAULTS: FilesSettings = {
  encoding: 'auto',
  complete: { restMs: 60_000 },
  keep: '.dirsync/hr-files',
  headings: new Map(),
}

/** What is wrong with the address of a folder; null for a valid one. */
export function folderProblem(text: string): Message | null {
  const url = new URL(text)
  if (url.host !== '' || !url.pathname.startsWith('/') || url.pathname === '/')
    return message('said.wanted_folder')
  const isPath = url.search === '' && url.hash === '' && isEncoded(url.pathname)
  return isPath ? null : message('said.wanted_encoded_path')
}

/** The folder's path. @throws Error for an address that `folderProblem` rejects */
export function folderOf(text: string): string {
  const problem = folderProblem(text)
  if (problem) throw new SaidError(message('said.wanted_of', { what: 'HR_DATABASE_URL', wanted: problem }))
  return decodeURIComponent(new URL(text).pathname)
}
