import type { Readable } from 'node:stream'
import type { Message, Said } from '../texts/message.ts'
import type { FilesSettings } from './files/settings.ts'
import type { Dialect, Mapping, MappingFile } from './statement.ts'

/**
 * The interface of a kind of HR server. Everything else (which columns a mapping may have, look-ups, departments, dry runs) is
 * the same for all of them; docs/decisions/0025-hr-sources.md says what a new kind has to implement.
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
 *     birth_day, entry_day the day; of a timestamp, the day in China
 *     updated_at           as a timestamptz; one without a zone is China's time, a date its first moment
 *     closed_at            seconds since 1970, or a non-numeric text where the time has none
 *     array                its items, joined by commas; null items are left out
 *     json                 as the server prints it; the null of JSON is null
 *
 * A user id or an enterprise code that is a decimal keeps its zeros: it is a name. Neither ever holds the character 0, as none of
 * our keys can: it is left out of an enterprise code, and a user id that holds it is null.
 */
export interface HrServer {
  readonly kind: HrKind
  /** The settings that it is made from. */
  readonly settings: HrServerSettings
  /** The dialect of its SQL, for finding the single SELECT in a file. */
  readonly dialect: Dialect
  /** Runs queries on pooled connections; for look-ups, each of which sees the present. */
  readonly reader: HrReader
  /** How user ids and enterprise codes are compared in a column's own type; null: only by their text. */
  keyComparison(type: string): KeyComparison | null
  /**
   * Opens a dedicated read-only connection with a snapshot of HR.
   * @throws HrUnavailableError
   */
  open(options: SessionOptions): Promise<HrSession>
  /** Tables and views that the user may read, the largest first. @throws HrUnavailableError */
  tables(): Promise<HrTable[]>
  /** The facts that doctor reports about it. @throws HrUnavailableError */
  facts(): Promise<HrFacts>
  /**
   * The big tables that a query scans in full, by the server's own plan; where that is known, with the index that would avoid
   * it. Absent: nothing that a person could change.
   * @param userid the value of the query's condition that the index is to find
   * @throws HrUnavailableError, MappingError
   */
  readWhole?(query: HrQuery, userid: string): Promise<TableReadWhole[]>
  /** For delivered HR: what some mappings read of it. @throws HrUnavailableError */
  delivery?(mappings: readonly MappingFile[]): Promise<HrDelivery>
  /** Closes the reader's connections; the caller of `open` closes its session. */
  close(): Promise<void>
}

/** The settings of a server, in any process. */
export interface HrServerSettings {
  /** Its address, possibly with a password. */
  url: string
  /** How files are read, for HR in files. */
  files: FilesSettings
  /** The longest row that is read, in bytes. */
  rowLimit: number
}

/** `mysql` includes MariaDB; `files` are delivered files. */
export type HrKind = 'postgres' | 'mysql' | 'files'

export interface SessionOptions {
  /** The purpose of the connection, for the server's list of connections. */
  name: string
  /** Longest time for each statement, whatever settings the previous one made; null: no limit. */
  timeoutMs: number | null
  /** A run checks what it reads: neither a partial delivery nor the previous one will do. */
  isForRun?: boolean
}

/** Reads HR. Fails with HrUnavailableError, with MappingError at its position in the file, or with HrDataError. */
export interface HrReader {
  /** The columns that a SELECT returns. No row of it is read. */
  describe(mapping: MappingFile): Promise<DescribedColumn[]>
  /**
   * The rows of a query, as canonical text.
   * @param timeoutMs after which it is given up; default: as long as a job may wait
   */
  rows(query: HrQuery, timeoutMs?: number): Promise<HrValues[]>
}

/** A snapshot of HR. Sequential: each operation has to end before the next one begins. */
export interface HrSession extends HrReader {
  /** Streams the rows of a query, in the order of its SELECT. A caller that does not read it to its end closes the session. */
  lines(query: HrQuery): Promise<HrLines>
  /** Closes the connection, even during a query. Never fails; idempotent. */
  close(): Promise<void>
}

export type HrValues = (string | null)[]

export interface HrLines {
  /** COPY text format of PostgreSQL in UTF-8, a line per row. It does not read HR ahead of its consumer. */
  source: Readable
  /** Translates a failure of the source. */
  failureOf(error: Error): Error
}

/** The wanted rows and columns of a mapping. */
export interface HrQuery {
  mapping: Mapping
  /** Canonical names. One that is not mapped is null in every row; `enterprise_code` is the default one. */
  columns: readonly string[]
  /** Enterprise code of rows without one, or with a blank one. */
  defaultEnterprise: string
  /** Only rows with `updated_at` at or after this time, or without any; ignored when it is not mapped. */
  since?: Date | undefined
  /** With `since`: rows without a time are left out. */
  datedOnly?: boolean
  /** Most rows, in any order. */
  limit?: number
  /** All of them must hold. */
  where?: readonly KeyCondition[]
  /** One of them must hold, at least. */
  any?: readonly KeyCondition[]
  /** Each distinct row once, followed by its count. */
  counted?: boolean
}

/** Columns by which people are searched for. */
export const SEARCHED = ['name', 'corp_code', 'mobile', 'email'] as const
export type Searched = (typeof SEARCHED)[number]
/** A column of people, with the texts to look for there. */
/** @param ends what it may end with, too */
export type SearchedBy = readonly [column: Searched, texts: readonly string[], ends?: readonly string[]]

/** Rows whose column has one of the values. It may also match others that the server considers equal. */
export interface KeyCondition {
  column: 'userid' | 'enterprise_code' | 'dept_code' | Searched
  /**
   * `type`: compared in the column's own type, so that an index on it serves; `text`: by its canonical text; `beginning`: its
   * text begins with the value, in lower case, whatever its own capitals; `word`: one of its words does; `end`: it ends so.
   */
  by: 'type' | 'text' | 'beginning' | 'word' | 'end'
  /** At least one, none with the character 0. */
  values: readonly string[]
}

export interface KeyComparison {
  /** Whether a key's text can be a value of this type at all; otherwise no row has it. */
  holds(text: string): boolean
  /** No value has blanks around it: a key that equality does not find does not exist. */
  isExact: boolean
}

/** A column of a mapping as the server describes it. */
export interface DescribedColumn {
  name: string
  /** The server's own name for its type, for people and for the mapping's fingerprint. */
  type: string
  shape: ColumnShape
  /** The SELECT does not write the name: it is data, such as the first line of a file, and may be a person's. */
  isData?: boolean
}

/**
 * The shape of a column's values, which decides what it may be mapped to: `moment` is a date or a timestamp, and `other`, such
 * as bytes, cannot be mapped.
 */
export type ColumnShape = 'plain' | 'moment' | 'array' | 'json' | 'other'

/** A table or a view, before any mapping. */
export interface HrTable {
  /** Its name for people, with its schema if needed. */
  name: string
  /** The same for a SELECT, in quotes if needed. */
  sql: string
  /** Approximate number of rows; null when the server does not know it. */
  rows: number | null
  /** The columns that the user may read; default: all of them. */
  readable?: readonly string[]
}

/** A table that a look-up of one employee scans in full. */
export interface TableReadWhole {
  /** Its name in a statement. */
  table: string
  /** Approximate number of rows; null for a foreign table, which holds its rows elsewhere. */
  rows: number | null
  /** The statement that creates an index for it; null when the plan does not tell which one. */
  index: string | null
}

/** Most connections for look-ups; every session has one more of its own. */
export const LOOKUP_CONNECTIONS = 4
/** The default time limit of a look-up. */
export const LOOKUP_MS = 120_000

/** A smaller table is scanned in less time than a round trip takes. */
export const MANY_ROWS = 5000

/** A delivery, as far as it is read. */
export interface HrDelivery {
  /** Identifies the delivery; null while the current one is incomplete. */
  stamp: string | null
  /** What is read: files with their rows and encodings, and when the newest of them was written; null while there is nothing. */
  files: Message | null
  writtenAt: Date | null
  /** Why the current content is not it. */
  problem: Said | null
  /** Names of files without data. */
  ignored: readonly string[]
  /** A file that is not read although it was written later than the one in its place, which is dated ahead. */
  hidden: { file: string; by: string } | null
}

export interface HrFacts {
  /** Product and version, such as `PostgreSQL 18.4`. */
  product: string
  /** The server's own word for whether a session is read-only, such as `on`; or in ours, why it is. */
  readOnly: string | Message
  /** How many tables the user may write to, if a session did not forbid it. */
  writableTables: number
  /** How sessions are set up, where the server's own settings may differ; absent: nothing to report. */
  session?: Message
  /** Tables of which a policy shows the user only some rows, and perhaps none. */
  hidden?: readonly string[]
  /** Names of the server's settings that change the meaning of SQL, and that mappings are read without. */
  unheeded?: readonly string[]
}
