import { hash, randomUUID } from 'node:crypto'
import { chmod, mkdir, readdir, rename, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { Logger } from 'pino'
import { HrDeliveryError, HrUnavailableError } from '../errors.ts'
import { duckDbError, type Instance, openKept } from './duckdb.ts'
import { toHrError } from './errors.ts'
import { type Folder, incompleteness, readFolder } from './folder.ts'
import { readIn } from './read-in.ts'
import type { FilesSettings } from './settings.ts'
import { FileProblem } from './text.ts'

/*
 * The last good delivery of a folder, kept as a DuckDB database with a table for each file. A new one is read in as soon as it
 * is complete, beside the one before, and takes its place with one rename: whoever reads sees one or the other. Deliveries
 * that are not complete, or that hold a file which cannot be read, never become one.
 */

/** A kept delivery, open for reading. */
export interface Kept {
  stamp: string
  instance: Instance
  files: KeptFile[]
}

export interface KeptFile {
  name: string
  tables: string[]
  rows: number
  /** Of its text; null for Parquet and XLSX, which have none. */
  encoding: string | null
}

export class Deliveries {
  readonly folder: string
  readonly #settings: FilesSettings
  /** Where its deliveries are kept. */
  readonly #place: string
  readonly #logger: Logger
  /** What was opened last, and those that somebody still reads. */
  #kept: Kept | null = null
  readonly #readers = new Map<Kept, number>()
  /** The folder as it is, since it is so, and when it was last otherwise. */
  #seen = { stamp: '', at: new Date(0), otherAt: null as Date | null }
  #lookedAt: Date | null = null
  /** A delivery that turned out to be of no use: it is not read in again. Where that is not its fault, not before long. */
  #refused: { stamp: string; problem: string; until: number } | null = null
  #looking: Promise<Look> | null = null

  constructor(folder: string, settings: FilesSettings, logger: Logger) {
    this.folder = folder
    this.#settings = settings
    const name = hash('sha256', `${folder} ${settings.encoding}`, 'hex').slice(0, 16)
    this.#place = join(settings.keep, name)
    this.#logger = logger
  }

  /**
   * Has some work done on the last good delivery.
   * @param options.isForRun only if that is also what lies in the folder now
   * @param options.timeoutMs after which a delivery that is being read in is not waited for, where there is an older one
   * @throws HrDeliveryError, HrUnavailableError
   */
  async read<T>(
    options: { isForRun?: boolean; timeoutMs?: number | undefined },
    work: (kept: Kept) => Promise<T>,
  ): Promise<T> {
    const kept = await this.take(options)
    try {
      return await work(kept)
    } finally {
      this.release(kept)
    }
  }

  /** As `read`, for longer; to be given back by `release`. */
  async take({
    isForRun = false,
    timeoutMs,
  }: {
    isForRun?: boolean
    timeoutMs?: number | undefined
  }): Promise<Kept> {
    const looking = this.look()
    // Whichever is open then: another process' delivery may have taken the place of the one that is open now.
    const look = await (this.#kept !== null && timeoutMs !== undefined
      ? Promise.race([looking, after(timeoutMs, () => ({ kept: this.#kept, problem: null }))])
      : looking)
    const { kept, problem } = look
    if (kept === null || (isForRun && problem !== null)) throw new HrDeliveryError(this.folder, problem)
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

  /** Looks at the folder, and reads in what is new and complete. Whoever asks meanwhile gets the same answer. */
  look(): Promise<Look> {
    this.#looking ??= this.#look()
      .catch(error => {
        throw toHrError(error)
      })
      .finally(() => {
        this.#looking = null
      })
    return this.#looking
  }

  close(): void {
    this.#replace(null)
  }

  async #look(): Promise<Look> {
    const { complete } = this.#settings
    let folder: Folder
    try {
      folder = await readFolder(this.folder, complete)
    } catch (error) {
      await this.#openLast(null)
      if (this.#kept === null) throw error
      return { folder: null, kept: this.#kept, problem: (error as Error).message }
    }
    const now = new Date()
    if (folder.stamp !== this.#seen.stamp)
      this.#seen = { stamp: folder.stamp, at: now, otherAt: this.#lookedAt }
    this.#lookedAt = now
    await this.#openLast(folder.stamp)
    const last = this.#kept
    if (last?.stamp === folder.stamp && folder.problem === null) return { folder, kept: last, problem: null }
    const names = last?.files.map(({ name }) => name) ?? []
    const { at: seenAt, otherAt } = this.#seen
    let problem = incompleteness(folder, complete, names, { now, seenAt, otherAt })
    const isMissing = names.some(name => !folder.files.some(file => file.name === name))
    if (problem !== null && isMissing) problem += `; if it is no longer delivered, remove ${this.#place}`
    const { stamp } = folder
    if (this.#refused?.stamp === stamp && performance.now() < this.#refused.until)
      problem ??= this.#refused.problem
    if (problem !== null) return { folder, kept: last, problem }
    try {
      problem = await this.#readIn(folder)
      if (problem !== null) this.#refused = { stamp, problem, until: Number.POSITIVE_INFINITY }
    } catch (error) {
      if (last === null) throw error
      problem = toHrError(error).message
      this.#refused = { stamp, problem, until: performance.now() + TRY_AGAIN_MS }
    }
    return { folder, kept: this.#kept, problem }
  }

  /** Opens the last good delivery, if it is another one than is open: another process may have kept it. */
  async #openLast(wanted: string | null): Promise<void> {
    const place = this.#place
    const names = (await readdir(place).catch(() => [])).filter(name => name.endsWith(EXTENSION))
    // The one that is open, where it is still there, needs no look at the others.
    if (this.#kept?.stamp === wanted && names.includes(`${wanted}${EXTENSION}`)) return
    const dated = await Promise.all(
      names.map(async name => ({
        name,
        at: (await stat(join(place, name)).catch(() => null))?.mtimeMs ?? 0,
      })),
    )
    const newest = dated.sort((a, b) => b.at - a.at)[0]?.name
    const name = names.includes(`${wanted}${EXTENSION}`) ? `${wanted}${EXTENSION}` : newest
    const stamp = name?.slice(0, -EXTENSION.length)
    // Somebody has removed it, to have it forgotten.
    if (stamp === undefined) this.#replace(null)
    if (stamp === undefined || stamp === this.#kept?.stamp) return
    try {
      this.#replace(await opened(join(place, `${stamp}${EXTENSION}`), stamp))
    } catch (error) {
      if (error instanceof HrUnavailableError) throw error
      // Gone meanwhile, or of another version of DuckDB: as if it had never been kept.
      this.#logger.warn({ reason: duckDbError(error)?.type }, 'a kept delivery cannot be opened')
    }
  }

  /** Private, whoever made it. */
  async #makePlace(): Promise<void> {
    try {
      await mkdir(this.#place, { recursive: true, mode: 0o700 })
      await chmod(this.#place, 0o700)
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException
      throw new HrUnavailableError(
        `HR's deliveries cannot be kept in ${this.#settings.keep} (${code}); set HR_FILES_KEEP to a folder that may be written`,
      )
    }
  }

  #replace(kept: Kept | null): void {
    const before = this.#kept
    this.#kept = kept
    if (before && !this.#readers.has(before)) before.instance.closeSync()
  }

  /** Keeps a new delivery in place of the last one. Null, or what is wrong with it. */
  async #readIn(folder: Folder): Promise<string | null> {
    const place = this.#place
    await this.#makePlace()
    const work = join(place, `.${randomUUID()}`)
    const startedAt = performance.now()
    await mkdir(work, { mode: 0o700 })
    try {
      const database = await readIn(folder, this.#settings, work)
      const now = await readFolder(this.folder, this.#settings.complete)
      if (now.stamp !== folder.stamp) return 'its files changed while they were read'
      await chmod(database, 0o600)
      await rename(database, join(place, `${folder.stamp}${EXTENSION}`))
      this.#replace(await opened(join(place, `${folder.stamp}${EXTENSION}`), folder.stamp))
      await this.#forgetOthers(place, folder.stamp)
      const files = this.#kept?.files.map(({ name, rows }) => `${name} (${rows})`).join(', ')
      const tookMs = Math.round(performance.now() - startedAt)
      this.#logger.info({ files, tookMs }, 'a delivery was read in')
      return null
    } catch (error) {
      if (error instanceof FileProblem) return error.message
      throw error
    } finally {
      await rm(work, { recursive: true, force: true })
    }
  }

  /** Whoever still reads an older one has it open. What a process left behind when it died is a day old. */
  async #forgetOthers(place: string, stamp: string): Promise<void> {
    for (const name of await readdir(place)) {
      if (name.startsWith(`${stamp}.`)) continue
      const at = (await stat(join(place, name)).catch(() => null))?.mtimeMs ?? 0
      if (name.startsWith('.') && Date.now() - at < 24 * 3_600_000) continue
      await rm(join(place, name), { recursive: true, force: true })
    }
  }
}

const EXTENSION = '.duckdb'
/** Where a disk is full, reading in all of a delivery for every look-up would keep nobody but the disk busy. */
const TRY_AGAIN_MS = 30_000

/** What a look at the folder came to. */
export interface Look {
  /** Null where it cannot be read. */
  folder: Folder | null
  /** The last good delivery, if there is any. */
  kept: Kept | null
  /** Why what lies in the folder is not it. */
  problem: string | null
}

async function after<T>(ms: number, value: () => T): Promise<T> {
  const { promise, resolve } = Promise.withResolvers<T>()
  setTimeout(() => resolve(value()), ms).unref()
  return promise
}

async function opened(path: string, stamp: string): Promise<Kept> {
  const instance = await openKept(path)
  try {
    const connection = await instance.connect()
    const reader = await connection.runAndReadAll(
      'select name, array_to_string(tables, chr(10)), rows::varchar, encoding from dirsync.contents order by name',
    )
    connection.closeSync()
    const files = (reader.getRows() as (string | null)[][]).map(([name, tables, rows, encoding]) => ({
      name: name ?? '',
      tables: (tables ?? '').split('\n'),
      rows: Number(rows),
      encoding: encoding ?? null,
    }))
    return { stamp, instance, files }
  } catch (error) {
    instance.closeSync()
    throw error
  }
}
