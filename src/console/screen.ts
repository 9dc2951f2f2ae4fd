import type { TextKey } from '../texts/texts.ts'
import type { AccessRole } from './auth/viewer.ts'
import type { Endpoint, NavEntry } from './endpoint.ts'
import type { Services } from './services.ts'

/** Where a count beside an entry leads, if the screen shows more than it counts. */
export interface BadgeList {
  href: string
  /** What it counts. */
  title: TextKey
}

/** A screen of the console: an entry of the navigation, and what belongs to it. */
export interface Screen {
  /** Its path, and its heading in the API's description. `nav.<name>` is its text in the navigation. */
  name: NavEntry
  /** The role that sees it in the navigation; default: everyone who is signed in. */
  role?: AccessRole
  /** The count beside its entry: a value in SQL, how to count where that is no number, and the list of just what it counts. */
  badge?: { sql: string; count?: (value: never) => number; list?: BadgeList }
  /**
   * What parts of pages follow, by name. Each is a text in SQL that changes whenever the data does; it reads some hundred rows
   * at most. `tally` has a `mark` for each `source` of `dirsync.tally`.
   */
  topics?: Readonly<Record<string, string>>
  /** Its pages, forms and routes of the API. */
  endpoints(services: Services): Endpoint[]
}
