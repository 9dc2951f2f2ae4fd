import { hash, randomUUID } from 'node:crypto'
import { chmod, mkdir, readdir, rename, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { Logger } from 'pino'
import { message, type Said, saidBy } from '../../texts/message.ts'
import { HrDeliveryError, HrUnavailableError } from '../errors.ts'
import { duckDbError, type Instance, openKept } from './duckdb.ts'
import { toHrError } from './errors.ts'
import {
  type DataFile,
  datedName,
  type Folder,
  filesOf,
  type HiddenFile,
  hiddenFile,
  incompleteness,
  isSameTable,
  readFolder,
  type Seen,
} from './folder.ts'
import { type KeptTable, keptTables, readIn, rootOf, UNOPENED } from './read-in.ts'
import type { FilesSettings } from './settings.ts'

/*
 * The last complete delivery of a folder, kept as a DuckDB database with a table for each file. The files that some mapping
 * reads are checked, loaded as soon as they are complete, beside the kept delivery, and replace it with one rename: a reader
 * sees one or the other. If a file of them is incomplete or unreadable, none of them replaces the one before it.
 */

/** A kept delivery, open for reading. */
export interface Kept {
  stamp: string
  path: string
  instance: Instance
  tables: readonly KeptTable[]
}

/** The tables of a query: lower-case names; null: it may be any of them. */
export type Tables = ReadonlySet<string> | null

interface Reading {
  tables: Tables
  /** Only if it is also the folder's current content. */
  isForRun?: boolean
  /** How long to wait for a delivery that is being loaded, if there is an older one. */
  timeoutMs?: number | undefined
}

export class Deliveries {
  readonly folder: string
  readonly #settings: FilesSettings
  /** Where its deliveries are kept. */
  readonly #place: string
  readonly #logger: Logger
  /** The delivery opened last, and those that still have readers. */
  #kept: Kept | null = null
  readonly #readers = new Map<Kept, number>()
  /** The state of each file, since when, and when it was last different. */
  #seen = new Map<string, Seen & { state: string }>()
  #lookedAt: Date | null = null
  /** The file of which the log has said that it is not read. */
  #hidden: string | null = null
  /** By tables: files that were not taken, and until when they are not read again. */
  readonly #refused = new Map<string, Refused & { states: string }>()
  readonly #refreshing = new Map<string, Promise<RefreshResult>>()
  #last: Promise<unknown> = Promise.resolve()
  #reading: Promise<Folder> | undefined

  constructor(folder: string, settings: FilesSettings, logger: Logger) {
    this.folder = folder
    this.#settings = settings
    const { encoding, headings } = settings
    // The first word distinguishes versions that would not understand each other's deliveries.
    const how = ['messages', folder, encoding, ...[...headings].flat()].join(' ')
    const name = hash('sha256', how, 'hex').slice(0, 16)
    this.#place = join(settings.keep, name)
    this.#logger = logger
  }

  /** Runs `work` on the last good delivery. @throws HrDeliveryError, HrUnavailableError */
  async read<T>(reading: Reading, work: (kept: Kept) => Promise<T>): Promise<T> {
    const kept = await this.take(reading)
    try {
      return await work(kept)
    } finally {
      this.release(kept)
    }
  }

  /** Like `read`, for longer; to be returned by `release`. */
  async take({ tables, isForRun = false, timeoutMs }: Reading): Promise<Kept> {
    const refreshing = this.refresh(tables)
    const mayWait = timeoutMs === undefined || !hasTables(this.#kept, tables)
    // Use the one open then: another process' delivery may have replaced the current one.
    const refreshed = await (mayWait
      ? refreshing
      : Promise.race([refreshing, afterMs(timeoutMs, () => ({ kept: this.#kept, problem: null }))]))
    const { kept, problem } = refreshed
    if (kept === null || (problem !== null && (isForRun || !hasTables(kept, tables))))
      throw new HrDeliveryError(this.folder, problem)
    this.#readers.set(kept, (this.#readers.get(kept) ?? 0) + 1)
    return kept
  }

  release(kept: Kept): void {
    const readers = (this.#readers.get(kept) ?? 1) - 1
    if (readers > 0) this.#readers.set(kept, readers)
    else {
      this.#readers.delete(kept)
      if (kept !== this.#kept) kept.instance.closeSync()
    }
  }

  /** Checks the folder, and loads new and complete files. Concurrent callers get the same answer. */
  refresh(tables: Tables): Promise<RefreshResult> {
    const what = inText(tables)
    const refreshing =
      this.#refreshing.get(what) ??
      this.#last
        .then(() => this.#refresh(tables))
        .catch(error => {
          throw toHrError(error)
        })
        .finally(() => this.#refreshing.delete(what))
    this.#refreshing.set(what, refreshing)
    this.#last = refreshing.catch(() => undefined)
    return refreshing
  }

  /** The folder, or why it cannot be read. @throws HrUnavailableError when nothing is kept either */
  async reachFolder(): Promise<Folder | Error> {
    try {
      return await this.#readFolder()
    } catch (error) {
      await this.#openLast()
      if (this.#kept === null) throw error
      return error as Error
    }
  }

  close(): void {
    this.#replace(null)
  }

  /** Concurrent callers share one reading: a folder that hangs keeps one thread. */
  #readFolder(): Promise<Folder> {
    this.#reading ??= readFolder(this.folder, this.#settings.complete).finally(() => {
      this.#reading = undefined
    })
    return this.#reading
  }

  async #refresh(tables: Tables): Promise<RefreshResult> {
    const folder = await this.reachFolder()
    if (folder instanceof Error)
      return { kept: this.#kept, problem: saidBy(folder), stamp: null, ignored: [], hidden: null }
    const now = new Date()
    this.#noteSeen(folder, now)
    await this.#openLast()
    const files = filesOf(folder, tables)
    const hidden = hiddenFile(folder, files, now)
    if (hidden && hidden.file !== this.#hidden)
      this.#logger.warn(hidden, 'a file is not read although it came later: another one is dated ahead')
    this.#hidden = hidden?.file ?? null
    const looked = { stamp: statesOf(files), ignored: folder.ignored, hidden }
    const problem = this.#incompleteness(folder, files, tables, now)
    if (problem !== null) return { ...looked, kept: this.#kept, problem }
    const before = this.#kept
    if (before === null || !files.every(file => isCurrent(before, file)) || !areNamed(before, tables)) {
      const refused = await this.#tryReadIn(folder, files, tables)
      if (refused !== null) return { ...looked, kept: this.#kept, problem: refused }
    }
    const kept = this.#kept
    return { ...looked, kept, problem: (kept && brokenOf(kept, files, tables)?.problem) ?? null }
  }

  #noteSeen({ files }: Folder, now: Date): void {
    const seen = new Map<string, Seen & { state: string }>()
    for (const { name, state } of files) {
      const before = this.#seen.get(name)
      const isSame = before?.state === state
      seen.set(name, isSame ? before : { state, at: now, otherAt: this.#lookedAt })
    }
    this.#seen = seen
    this.#lookedAt = now
  }

  #incompleteness(folder: Folder, files: readonly DataFile[], tables: Tables, now: Date): Said | null {
    const kept = this.#kept
    // A dated file is followed by a later one; an older one was there before.
    const isFollowed = (table: KeptTable) => {
      const { file } = table
      const root = rootOf(table, files)
      const dated = datedName(file.slice(0, file.lastIndexOf('.')))
      const since = dated && isSameTable(dated.table, root) ? dated.date : ''
      return files.some(other => isSameTable(other.table, root) && (other.dated?.date ?? '') >= since)
    }
    const gone = kept && tables && tablesOf(kept, tables).find(table => table.isThere && !isFollowed(table))
    if (gone && folder.files.length > 0) return message('said.file_missing', { file: gone.file })
    const seen = (name: string) => this.#seen.get(name) ?? { at: now, otherAt: null }
    const isKept = kept !== null && files.length > 0 && files.every(file => isCurrent(kept, file))
    return isKept ? null : incompleteness(folder, files, this.#settings.complete, { now, seen })
  }

  /** Opens the newest kept delivery, unless it is open already: another process may have kept it. */
  async #openLast(): Promise<void> {
    const place = this.#place
    const names = (await readdir(place).catch(() => [])).filter(name => name.endsWith(EXTENSION))
    // If only the open one exists, there is nothing to check.
    if (names.length === 1 && names[0] === `${this.#kept?.stamp}${EXTENSION}`) return
    const dated = await Promise.all(
      names.map(async name => ({
        name,
        at: (await stat(join(place, name)).catch(() => null))?.mtimeMs ?? 0,
      })),
    )
    const stamp = dated.sort((a, b) => b.at - a.at)[0]?.name.slice(0, -EXTENSION.length)
    // It was removed, so that it is forgotten.
    if (stamp === undefined) this.#replace(null)
    if (stamp === undefined || stamp === this.#kept?.stamp) return
    try {
      this.#replace(await openDelivery(join(place, `${stamp}${EXTENSION}`), stamp))
    } catch (error) {
      if (error instanceof HrUnavailableError) throw error
      // Gone meanwhile, or of another version of DuckDB: as if it had never been kept.
      this.#logger.warn({ error: { code: duckDbError(error)?.type } }, 'a kept delivery cannot be opened')
    }
  }

  /** Private, whichever process made it. */
  async #makePlace(): Promise<void> {
    try {
      await mkdir(this.#place, { recursive: true, mode: 0o700 })
      await chmod(this.#place, 0o700)
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException
      throw new HrUnavailableError(
        message('said.delivery_unkept', { folder: this.#settings.keep, reason: code ?? '' }),
      )
    }
  }

  #replace(kept: Kept | null): void {
    const before = this.#kept
    this.#kept = kept
    if (before && !this.#readers.has(before)) before.instance.closeSync()
  }

  /** Like `#readIn`; what it refused, or where it failed and an older delivery is there, is not tried again at once. */
  async #tryReadIn(folder: Folder, files: readonly DataFile[], tables: Tables): Promise<Said | null> {
    const [what, states] = [inText(tables), statesOf(files)]
    const before = this.#refused.get(what)
    if (before?.states === states && performance.now() < before.until) return before.problem
    let refused: Refused | null
    try {
      refused = await this.#readIn(folder, files, tables)
    } catch (error) {
      if (this.#kept === null) throw error
      refused = { problem: saidBy(toHrError(error)), until: performance.now() + TRY_AGAIN_MS }
    }
    if (refused) this.#refused.set(what, { ...refused, states })
    else this.#refused.clear()
    return refused === null ? null : refused.problem
  }

  /** Replaces the kept delivery with new files, unless a wanted one that it has is now broken. Null, or why that is no delivery. */
  async #readIn(folder: Folder, files: readonly DataFile[], wanted: Tables): Promise<Refused | null> {
    const place = this.#place
    await this.#makePlace()
    const work = join(place, `.${randomUUID()}`)
    const startedAt = performance.now()
    await mkdir(work, { mode: 0o700 })
    // Of a file that is gone only a table stays that was read, and that a mapping named.
    const stays = ({ file, isThere, isNamed }: KeptTable) =>
      (isThere && isNamed) || folder.files.some(({ name }) => name === file)
    const kept = this.#kept
    const before = kept && { path: kept.path, tables: kept.tables.filter(stays) }
    const isNamed = (table: string) =>
      wanted?.has(table.toLowerCase()) ||
      (kept?.tables.some(({ name, isNamed }) => isNamed && isSameTable(name, table)) ?? false)
    try {
      const { database, tables } = await readIn(
        { path: folder.path, files, isNamed, before },
        this.#settings,
        work,
      )
      const broken = brokenOf({ tables }, files, wanted)
      const refused = broken?.problem && {
        problem: broken.problem,
        until: broken.state === UNOPENED ? performance.now() + TRY_AGAIN_MS : Number.POSITIVE_INFINITY,
      }
      if (refused && broken.isThere) return refused
      // One that others have begun may be of before the files were read.
      await this.#reading?.catch(() => undefined)
      const now = await this.#readFolder()
      const isSame = (file: DataFile) => now.files.some(({ state }) => state === file.state)
      if (!files.every(isSame)) return { problem: message('said.delivery_changed'), until: 0 }
      await chmod(database, 0o600)
      const stamp = hash('sha256', JSON.stringify(tables), 'hex').slice(0, 32)
      const path = join(place, `${stamp}${EXTENSION}`)
      await rename(database, path)
      this.#replace(await openDelivery(path, stamp))
      await this.#forgetOthers(place, stamp)
      const read = tables.map(({ file, rows, problem }) => `${file} (${problem === null ? rows : 'unread'})`)
      const tookMs = Math.round(performance.now() - startedAt)
      this.#logger.info({ files: read.join(', '), tookMs }, 'a delivery was read in')
      return refused ?? null
    } finally {
      await rm(work, { recursive: true, force: true })
    }
  }

  /** Readers of an older one have it open. Leftovers of a process that died are a day old. */
  async #forgetOthers(place: string, stamp: string): Promise<void> {
    for (const name of await readdir(place)) {
      if (name.startsWith(`${stamp}.`)) continue
      const at = (await stat(join(place, name)).catch(() => null))?.mtimeMs ?? 0
      if (name.startsWith('.') && Date.now() - at < 24 * 3_600_000) continue
      await rm(join(place, name), { recursive: true, force: true })
    }
  }
}

/** Why files are no delivery, and until when their states tell so, by `performance.now()`. */
interface Refused {
  problem: Said
  until: number
}

const EXTENSION = '.duckdb'
/** While a disk is full, loading a whole delivery for every look-up would only keep the disk busy. */
const TRY_AGAIN_MS = 30_000

/** The result of checking the folder. */
export interface RefreshResult {
  /** The last good delivery, if any. */
  kept: Kept | null
  /** Why the folder's current content is not it. */
  problem: Said | null
  /** Identifies the delivery by the files that are read. Null when the folder cannot be read. */
  stamp: string | null
  /** Names of files without data. */
  ignored: readonly string[]
  /** See `HrDelivery`. */
  hidden: HiddenFile | null
}

/** The tables of a delivery that a query reads; one that could never be read stands for the sheets that its workbook may have. */
export function tablesOf({ tables }: Pick<Kept, 'tables'>, wanted: Tables): KeptTable[] {
  if (wanted === null) return [...tables]
  const names = new Set(tables.map(({ name }) => name.toLowerCase()))
  const isWanted = ({ name, isThere }: KeptTable) => {
    const table = name.toLowerCase()
    const isItsSheet = (other: string) => !names.has(other) && other.startsWith(`${table}_`)
    return wanted.has(table) || (!isThere && [...wanted].some(isItsSheet))
  }
  return tables.filter(isWanted)
}

/** A table that a query reads and that does not have the content of its file, which is one of the given. */
function brokenOf(
  kept: Pick<Kept, 'tables'>,
  files: readonly DataFile[],
  wanted: Tables,
): KeptTable | undefined {
  const isOne = ({ root }: KeptTable) => files.some(({ table }) => isSameTable(table, root))
  return tablesOf(kept, wanted).find(table => table.problem !== null && isOne(table))
}

/** Whether all tables of a query exist, of whichever delivery. */
function hasTables(kept: Kept | null, wanted: Tables): boolean {
  if (kept === null || wanted === null) return kept !== null
  return [...wanted].every(table =>
    kept.tables.some(({ name, isThere }) => isThere && name.toLowerCase() === table),
  )
}

/** Whether the kept table was made from the file's current state, or says why that failed. */
function isCurrent({ tables }: Kept, { table, state }: DataFile): boolean {
  const made = tables.filter(({ root }) => isSameTable(root, table))
  return made.length > 0 && made.every(({ state: then }) => then === state)
}

/** Whether all tables of a query are marked as named by a mapping: those stay when they are missing. */
function areNamed({ tables }: Kept, wanted: Tables): boolean {
  return tables.every(({ name, isNamed }) => isNamed || !wanted?.has(name.toLowerCase()))
}

function inText(tables: Tables): string {
  return tables === null ? '*' : [...tables].sort().join('\n')
}

function statesOf(files: readonly DataFile[]): string {
  return hash('sha256', JSON.stringify(files.map(({ state }) => state).sort()), 'hex').slice(0, 32)
}

async function afterMs<T>(ms: number, value: () => T): Promise<T> {
  const { promise, resolve } = Promise.withResolvers<T>()
  setTimeout(() => resolve(value()), ms).unref()
  return promise
}

async function openDelivery(path: string, stamp: string): Promise<Kept> {
  const instance = await openKept(path)
  try {
    const connection = await instance.connect()
    const tables = await keptTables(connection)
    connection.closeSync()
    return { stamp, path, instance, tables }
  } catch (error) {
    instance.closeSync()
    throw error
  }
}
