import { readdir, realpath, stat } from 'node:fs/promises'
import { extname, join, sep } from 'node:path'
import { type Message, message } from '../../texts/message.ts'
import { HrUnavailableError } from '../errors.ts'
import type { Completeness } from './settings.ts'

/** The content of the delivery folder, and whether it is a complete delivery. */

export type Format = 'csv' | 'json' | 'parquet' | 'xlsx'

const FORMAT_OF = new Map<string, Format>([
  ['csv', 'csv'],
  ['tsv', 'csv'],
  ['json', 'json'],
  ['ndjson', 'json'],
  ['jsonl', 'json'],
  ['parquet', 'parquet'],
  ['xlsx', 'xlsx'],
])

const KINDS = [...FORMAT_OF.keys()].map(kind => `.${kind}`).join(', ')

/** Names that programs use while writing a file, before moving it into place. */
const UNFINISHED = /^[.~]|~$|\.(?:tmp|temp|part|partial|filepart|crdownload|swp|lock)$/i

export interface DataFile {
  /** Its name in the folder. */
  name: string
  /** Its name in a mapping: the name without its extension, or with `{latest}` in place of its date. */
  table: string
  /** For a name with a date: the name of its table with `{latest}` in the date's place, and the date's digits. */
  dated: { table: string; date: string } | null
  format: Format
  /** The path to read, with symbolic links resolved. */
  path: string
  bytes: number
  /** Changes with its content, its name or its place. */
  state: string
  changedAt: Date
  /** When its content was written; a copying program may set it. */
  writtenAt: Date
  /** Why it cannot be read at all. */
  problem: Message | null
}

export interface Folder {
  /** Its path, with symbolic links resolved. */
  path: string
  /** By name. */
  files: DataFile[]
  /** Names of files without data, or unfinished ones. */
  ignored: string[]
  /** When the marker was written; null without one. */
  markedAt: Date | null
}

/** Lists the folder; no file is opened. @throws HrUnavailableError */
export async function readFolder(folder: string, complete: Completeness): Promise<Folder> {
  try {
    const path = await realpath(folder)
    const entries = (await readdir(path, { withFileTypes: true })).map(({ name }) => name).sort()
    const marker = 'marker' in complete ? complete.marker : null
    const names = entries.filter(name => name !== marker && formatOf(name) !== undefined)
    const files: DataFile[] = []
    // One after the other: on a share that hangs, each would keep one of the few threads that read files for the whole process.
    for (const name of names) files.push(await dataFile(path, name))
    return {
      path,
      files,
      ignored: entries.filter(name => name !== marker && !names.includes(name)),
      markedAt: marker !== null && entries.includes(marker) ? (await stat(join(path, marker))).mtime : null,
    }
  } catch (error) {
    const reason = (error as NodeJS.ErrnoException).code ?? message('said.folder_silent')
    throw new HrUnavailableError(message('said.folder_away', { folder, reason }), { cause: error })
  }
}

function formatOf(name: string): Format | undefined {
  if (UNFINISHED.test(name)) return undefined
  return FORMAT_OF.get(extname(name).slice(1).toLowerCase())
}

/** Anything that is not a file inside the folder is a problem: a link must not make us read other data than HR's. */
async function dataFile(folder: string, name: string): Promise<DataFile> {
  const table = name.slice(0, name.lastIndexOf('.'))
  const file = { name, table, dated: datedName(table), format: formatOf(name) as Format }
  const unread = (problem: Message): DataFile => {
    const never = new Date(0)
    const state = `${name} ${problem.key}`
    return { ...file, path: '', bytes: 0, state, changedAt: never, writtenAt: never, problem }
  }
  try {
    const path = await realpath(join(folder, name))
    if (!path.startsWith(`${folder}${sep}`)) return unread(message('said.file_link', { file: name }))
    const { size, mtimeNs, ctimeNs, ino, mtime, ctime, ...found } = await statOf(path)
    if (!found.isFile) return unread(message('said.file_irregular', { file: name }))
    return {
      ...file,
      path,
      bytes: size,
      state: [name, size, mtimeNs, ctimeNs, ino].join(' '),
      changedAt: ctime,
      writtenAt: mtime,
      problem: null,
    }
  } catch (error) {
    // Gone since the folder was listed, or a dangling link.
    const reason = (error as NodeJS.ErrnoException).code ?? ''
    return unread(message('said.file_unreadable', { file: name, reason }))
  }
}

/** A day, perhaps with a time, in the formats that exports use in file names. */
const DATE =
  /(?<!\d)(\d{4})([-_.]?)(0[1-9]|1[0-2])\2(0[1-9]|[12]\d|3[01])(?:[-_.T ]?([01]\d|2[0-3])[-_.:]?([0-5]\d)(?:[-_.:]?([0-5]\d))?)?(?!\d)/

export function datedName(table: string): DataFile['dated'] {
  const [written, year, , ...rest] = DATE.exec(table) ?? []
  if (written === undefined) return null
  return { table: table.replace(written, '{latest}'), date: [year, ...rest].join('').padEnd(14, '0') }
}

/** Whether two names are of the same table: capitals do not count. */
export function isSameTable(one: string, other: string): boolean {
  return one.toLowerCase() === other.toLowerCase()
}

/**
 * The files of some tables. Of files whose names differ only in a date, the latest one is `{latest}`; an older one counts where
 * it is named.
 * @param tables lower-case names; null: all
 */
export function filesOf({ files }: Folder, tables: ReadonlySet<string> | null): DataFile[] {
  const latest = files.flatMap(file => {
    const { dated } = file
    if (dated === null) return []
    const group = files.filter(other => other.dated && isSameTable(other.dated.table, dated.table))
    return group.some(other => (other.dated?.date ?? '') > dated.date)
      ? []
      : [{ ...file, table: dated.table }]
  })
  const all = [...files, ...latest]
  const wanted =
    tables === null
      ? [...files.filter(({ dated }) => dated === null), ...latest]
      : [...tables].flatMap(table => {
          const exact = all.filter(file => isSameTable(file.table, table))
          // Possibly a sheet of a workbook.
          const ofSheet = ({ format, table: book }: DataFile) =>
            format === 'xlsx' && table.startsWith(`${book.toLowerCase()}_`)
          return exact.length > 0 ? exact : all.filter(ofSheet)
        })
  const unique = [...new Set(wanted)]
  return unique.map(file => {
    const other = unique.find(({ name, table }) => name !== file.name && isSameTable(table, file.table))
    if (!other) return file
    const [one = '', two = ''] = [file.name, other.name].sort()
    return { ...file, problem: message('said.files_twice', { file: one, other: two }) }
  })
}

/** A file that `{latest}` does not mean although it was written later: the one that it means is dated ahead. */
export interface HiddenFile {
  file: string
  by: string
}

/** A zone may be a day ahead. */
const AHEAD_MS = 2 * 86_400_000

/** @param read the files that are read */
export function hiddenFile({ files }: Folder, read: readonly DataFile[], now: Date): HiddenFile | null {
  const ahead = new Date(now.getTime() + AHEAD_MS).toISOString().replace(/\D/g, '').slice(0, 14)
  for (const { name, table, dated, writtenAt } of read) {
    if (dated === null || !isSameTable(dated.table, table) || dated.date < ahead) continue
    const hidden = files.find(
      other => other.dated && isSameTable(other.dated.table, table) && other.writtenAt > writtenAt,
    )
    if (hidden) return { file: hidden.name, by: name }
  }
  return null
}

async function statOf(path: string) {
  const found = await stat(path, { bigint: true })
  const { mtimeNs, ctimeNs, ino, mtime, ctime } = found
  return { size: Number(found.size), mtimeNs, ctimeNs, ino, mtime, ctime, isFile: found.isFile() }
}

/** Since when a file has been in its current state, and when it was last seen in another, if ever. */
export interface Seen {
  at: Date
  otherAt: Date | null
}

/**
 * Why some files are not a complete delivery; null when they are, as far as can be seen from outside.
 * @param files those that are read
 * @param seen of each file: its own clock may be ahead of ours, or behind, as far as it was seen to change
 */
export function incompleteness(
  { files: all, markedAt }: Folder,
  files: readonly DataFile[],
  complete: Completeness,
  { now, seen }: { now: Date; seen: (name: string) => Seen },
): Message | null {
  if (all.length === 0) return message('said.delivery_empty', { names: KINDS })
  const unread = files.find(({ problem }) => problem !== null)
  if (unread) return unread.problem
  if ('marker' in complete) {
    const { marker } = complete
    if (markedAt === null) return message('said.marker_missing', { file: marker })
    const newer = files.find(({ writtenAt }) => writtenAt > markedAt)
    return newer ? message('said.marker_old', { file: newer.name, marker }) : null
  }
  const rested = ({ name, changedAt }: DataFile) => {
    const { at, otherAt } = seen(name)
    const changed = Math.min(changedAt.getTime(), at.getTime())
    return now.getTime() - Math.max(changed, otherAt?.getTime() ?? 0)
  }
  const [latest] = [...files].sort((a, b) => rested(a) - rested(b))
  if (latest === undefined || rested(latest) >= complete.restMs) return null
  return message('said.file_writing', {
    file: latest.name,
    count: Math.max(0, Math.floor(rested(latest) / 1000)),
    limit: complete.restMs / 1000,
  })
}
