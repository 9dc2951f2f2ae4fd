import type { Readable } from 'node:stream'
import type { Mapping, MappingFile } from './mapping.ts'
import type { Dialect } from './statement.ts'

/**
 * What a kind of HR server has to be able to do. Everything else (which columns a mapping may have, look-ups, departments,
 * dry runs) is the same for all of them; docs/decisions/0025-hr-sources.md tells what a new kind has to write.
 *
 * Values leave a server as canonical text, the same for the same value whichever server it comes from:
 *
 *     text                 as it is; `userid`, `enterprise_code` and `active` without blanks (U+0020) around them
 *     integer              digits, with `-` before them
 *     decimal              without zeros at the end of its fraction, never with an exponent
 *     float                the fewest digits that give the same number; an exponent below 1e-4 and from 1e15 on, as in 1e+15
 *     boolean              t or f
 *     date                 yyyy-MM-dd
 *     timestamp            yyyy-MM-dd hh:mm:ss, with a fraction where there is one, without zeros at its end
 *     timestamptz          the same in China's time, followed by +08
 *     birth_day, entry_day the day; of a moment, the day in China
 *     updated_at           as a timestamptz; one without a zone is China's time, a date its first moment
 *     closed_at            seconds since 1970, or a text that is no number where the moment has none
 *     array                its items, joined by commas; those that are null are left out
 *     json                 as the server prints it
 *
 * A user id that is a decimal keeps its zeros: it is a name. `enterprise_code` and `userid` never hold the character 0, as no
 * key of ours can: it is left out of an enterprise code, and a user id that holds it is null.
 */
export interface HrServer {
  readonly kind: HrKind
  /** How its SQL is read, to find one SELECT in a file. */
  readonly dialect: Dialect
  /** Answers questions on connections that are kept; for look-ups, each of which sees the present. */
  readonly reader: HrReader
  /** How user ids and enterprise codes are compared in a column's own type; null: only by their text. */
  keyComparison(type: string): KeyComparison | null
  /**
   * Opens a connection of its own that shows HR as it is at one moment and can write nothing.
   * @throws HrUnavailableError
   */
  open(options: SessionOptions): Promise<HrSession>
  /** Tables and views that the user may read, the largest first. @throws HrUnavailableError */
  tables(): Promise<HrTable[]>
  /** What doctor tells about it. @throws HrUnavailableError */
  facts(): Promise<HrFacts>
  /** Of HR that is handed over as a whole: which delivery is there, null while none is complete. */
  delivery?(): Promise<string | null>
  /** Closes the reader's connections; sessions are closed by whoever opened them. */
  close(): Promise<void>
}

/** `mysql` is MariaDB as well; `files` are files that were handed over. */
export type HrKind = 'postgres' | 'mysql' | 'files'

export interface SessionOptions {
  /** What the connection is for, as the server's list of connections shows it. */
  name: string
  /** Longest time for each statement, whatever the one before it has set; null: there is no limit. */
  timeoutMs: number | null
  /** What it reads is judged by a run: HR that was handed over only in part will not do, nor what was there before. */
  isForRun?: boolean
}

/** Reads HR. Fails with HrUnavailableError, with MappingError at its place in the file, or with HrDataError. */
export interface HrReader {
  /** The columns that a SELECT returns. No row of it is read. */
  describe(mapping: MappingFile): Promise<DescribedColumn[]>
  /**
   * The rows of a query, as canonical text.
   * @param timeoutMs after which it is given up; absent: after as long as a job may wait
   */
  rows(query: HrQuery, timeoutMs?: number): Promise<HrValues[]>
}

/** HR at one moment. One thing at a time: each has to end before the next one begins. */
export interface HrSession extends HrReader {
  /** Streams the rows of a query, in the order of its SELECT. Whoever does not read it to its end closes the session. */
  lines(query: HrQuery): Promise<HrLines>
  /** Closes the connection, whatever it is at. Never fails; idempotent. */
  close(): Promise<void>
}

export type HrValues = (string | null)[]

export interface HrLines {
  /** COPY text format of PostgreSQL in UTF-8, a line per row. It reads no more of HR than is taken from it. */
  source: Readable
  /** What a failure of the source means. */
  failureOf(error: Error): Error
}

/** Which rows and columns of a mapping are wanted. */
export interface HrQuery {
  mapping: Mapping
  /** Canonical names. One that is not mapped is null in every row; `enterprise_code` is the default one. */
  columns: readonly string[]
  /** Enterprise code of rows that have none, or a blank one. */
  defaultEnterprise: string
  /** Only rows with `updated_at` at or after this moment; ignored when it is not mapped. */
  since?: Date | undefined
  /** Not more rows than this, whichever. */
  limit?: number
  /** All of them must hold. */
  where?: readonly KeyCondition[]
  /** Each different row once, followed by how many of it there are. */
  counted?: boolean
}

/** Rows whose key column has one of the values. It may also let others through that the server holds to be equal. */
export interface KeyCondition {
  column: 'userid' | 'enterprise_code'
  /** `type`: compared in the column's own type, so that an index on it serves; `text`: by its canonical text. */
  by: 'type' | 'text'
  /** At least one, none with the character 0. */
  values: readonly string[]
}

export interface KeyComparison {
  /** Whether a key's text can be a value of this type at all; one that cannot is nobody's key. */
  holds(text: string): boolean
  /** Values print in one way only, without blanks: a key that equality does not find is not there. */
  isExact: boolean
}

/** A column of a mapping as the server describes it. */
export interface DescribedColumn {
  name: string
  /** The server's own name for its type, for people and for the mapping's fingerprint. */
  type: string
  shape: ColumnShape
}

/**
 * What a column's values are like, as far as it decides what it may be mapped to: `moment` is a date or a timestamp, and
 * what is `other`, such as bytes, can be mapped to nothing.
 */
export type ColumnShape = 'plain' | 'moment' | 'array' | 'json' | 'other'

/** A table or a view, before anything is mapped. */
export interface HrTable {
  /** As people name it, with its schema where it has to be. */
  name: string
  /** The same as a SELECT names it, in quotes where it needs them. */
  sql: string
  /** About how many rows it has; null where the server does not know. */
  rows: number | null
  /** The columns that the user may read; absent: all of them. */
  readable?: readonly string[]
}

export interface HrFacts {
  /** Product and version, such as `PostgreSQL 18.4`. */
  product: string
  /** The server's own word for whether a session can only read, such as `on`. */
  readOnly: string
  /** How many tables the user may write to, if a session did not forbid it. */
  writableTables: number
  /** A sentence about how sessions are set up, where the server's own settings may be others; absent: there is nothing to tell. */
  session?: string
  /** Of HR in files: what was delivered last, and why what lies there now is not it. */
  delivery?: { files: string; problem: string | null; ignored: readonly string[] }
  /** Names of the server's settings that give SQL another meaning, and that mappings are read without. */
  unheeded?: readonly string[]
}
