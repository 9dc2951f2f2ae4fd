import { hash } from 'node:crypto'
import { readdir, realpath, stat } from 'node:fs/promises'
import { extname, join, sep } from 'node:path'
import { hrAway } from '../errors.ts'
import type { Completeness } from './settings.ts'

/** What lies in the folder that HR is delivered to, and whether that is a whole delivery. */

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

/** Names under which programs write what they will move into its place. */
const UNFINISHED = /^[.~]|~$|\.(?:tmp|temp|part|partial|filepart|crdownload|swp|lock)$/i

export interface DataFile {
  /** Its name in the folder. */
  name: string
  /** What a mapping calls it: the name without its extension. */
  table: string
  format: Format
  /** Where it is read, symbolic links followed. */
  path: string
  bytes: number
  /** Changes with every change of its content, its name or its place. */
  state: string
  changedAt: Date
  /** When its content was written; a program that copies may set it. */
  writtenAt: Date
}

export interface Folder {
  /** Its path, symbolic links followed. */
  path: string
  /** By name. */
  files: DataFile[]
  /** Names of files that are no data, or not yet. */
  ignored: string[]
  /** Another one for every other set of files. */
  stamp: string
  /** When the marker was written; null where there is none. */
  markedAt: Date | null
  /** What keeps the files from being read at all. */
  problem: string | null
}

/** Looks at the folder; no file is opened. @throws HrUnavailableError */
export async function readFolder(folder: string, complete: Completeness): Promise<Folder> {
  try {
    const path = await realpath(folder)
    const entries = (await readdir(path, { withFileTypes: true })).map(({ name }) => name).sort()
    const marker = 'marker' in complete ? complete.marker : null
    const names = entries.filter(name => name !== marker && formatOf(name) !== undefined)
    const problems: string[] = []
    const files = (await Promise.all(names.map(name => dataFile(path, name, problems)))).filter(
      file => file !== null,
    )
    const tables = Map.groupBy(files, ({ table }) => table.toLowerCase())
    for (const [, [one, other]] of tables)
      if (one && other) problems.push(`the files ${one.name} and ${other.name} would be the same table`)
    return {
      path,
      files,
      ignored: entries.filter(name => name !== marker && !names.includes(name)),
      stamp: hash('sha256', JSON.stringify(files.map(({ state }) => state)), 'hex').slice(0, 32),
      markedAt: marker !== null && entries.includes(marker) ? (await stat(join(path, marker))).mtime : null,
      problem: problems[0] ?? null,
    }
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    throw hrAway(`${code ?? 'the folder cannot be read'}, ${folder}`, error)
  }
}

function formatOf(name: string): Format | undefined {
  if (UNFINISHED.test(name)) return undefined
  return FORMAT_OF.get(extname(name).slice(1).toLowerCase())
}

/** Null, and a problem, for what is no file, or lies elsewhere: a link must not make us read what is none of HR's. */
async function dataFile(folder: string, name: string, problems: string[]): Promise<DataFile | null> {
  try {
    const path = await realpath(join(folder, name))
    if (!path.startsWith(`${folder}${sep}`)) {
      problems.push(`the file ${name} is a symbolic link that leads out of the folder`)
      return null
    }
    const { size, mtimeNs, ctimeNs, ino, mtime, ctime, ...found } = await statOf(path)
    if (!found.isFile) {
      problems.push(`the file ${name} is not a regular file`)
      return null
    }
    return {
      name,
      table: name.slice(0, name.lastIndexOf('.')),
      format: formatOf(name) as Format,
      path,
      bytes: size,
      state: [name, size, mtimeNs, ctimeNs, ino].join(' '),
      changedAt: ctime,
      writtenAt: mtime,
    }
  } catch (error) {
    // Gone since the folder was listed, or a link to nowhere.
    problems.push(`the file ${name} cannot be read (${(error as NodeJS.ErrnoException).code})`)
    return null
  }
}

async function statOf(path: string) {
  const found = await stat(path, { bigint: true })
  const { mtimeNs, ctimeNs, ino, mtime, ctime } = found
  return { size: Number(found.size), mtimeNs, ctimeNs, ino, mtime, ctime, isFile: found.isFile() }
}

/**
 * Why the files are no whole delivery, as a sentence; null when they are one, as far as one can tell from outside.
 * @param last names of the files of the last good delivery
 * @param seenAt since when the folder has been seen as it is; its own clock may be ahead of ours
 * @param otherAt when it was last seen otherwise, if ever; its own clock may be behind ours
 */
export function incompleteness(
  { files, markedAt, problem }: Folder,
  complete: Completeness,
  last: readonly string[],
  { now, seenAt, otherAt }: { now: Date; seenAt: Date; otherAt: Date | null },
): string | null {
  if (problem !== null) return problem
  if (files.length === 0)
    return 'the folder has no file of data: .csv, .tsv, .json, .ndjson, .parquet or .xlsx'
  const missing = last.find(name => !files.some(file => file.name === name))
  if (missing !== undefined) return `the file ${missing}, which the last delivery had, is missing`
  if ('marker' in complete) {
    if (markedAt === null) return `the marker ${complete.marker} is missing`
    const newer = files.find(({ writtenAt }) => writtenAt > markedAt)
    return newer ? `the file ${newer.name} is newer than the marker ${complete.marker}` : null
  }
  const [latest] = [...files].sort((a, b) => b.changedAt.getTime() - a.changedAt.getTime())
  const changed = Math.min(latest?.changedAt.getTime() ?? 0, seenAt.getTime())
  const since = Math.max(changed, otherAt?.getTime() ?? 0)
  const rested = now.getTime() - since
  if (rested >= complete.restMs) return null
  const seconds = Math.max(0, Math.floor(rested / 1000))
  return `the file ${latest?.name} was still being written ${seconds} s ago, and a delivery is complete after ${complete.restMs / 1000} s without a change`
}
