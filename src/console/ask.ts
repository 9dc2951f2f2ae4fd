import type { FastifyRequest } from 'fastify'
import type { Pool } from '../lib/database.ts'
import { ownZone } from '../lib/time-text.ts'
import { type Asker, Commands } from '../sync/runs/commands.ts'
import type { Language, Translate } from '../texts/texts.ts'
import { languageOf, translator } from '../texts/texts.ts'
import { type AccessRole, mayAs, type Viewer } from './auth/viewer.ts'
import { Marks } from './marks.ts'
import type { FieldError } from './problem.ts'

/** Colour schemes; `auto` follows the operating system. */
export const THEMES = ['auto', 'light', 'dark'] as const
export type Theme = (typeof THEMES)[number]

/** Display preferences of a visitor, signed in or not. */
export interface Taste {
  readonly language: Language
  readonly t: Translate
  readonly theme: Theme
  /** IANA name of the viewer's time zone; UTC until the browser has sent it. */
  readonly zone: string
}

/** One request by a signed-in user: who asks, from where, and in which language, theme and zone to answer. */
export interface Ask extends Taste {
  readonly viewer: Viewer
  /** Identifies the session of a browser without revealing its secret; null: a token, or the shell. */
  readonly session: string | null
  /** Where people reach the console, for addresses to pass on; empty: the shell does not know. */
  readonly origin: string
  /** For the audit: `console:`, `api:` or `cli:` with the name, and the address that the request came from. */
  readonly asker: Asker
  /** What the user can change, in their name. Each command is recorded before it takes effect. */
  readonly commands: Commands
  /** Path and query of the page, for links back. */
  readonly url: string
  /** The page whose form was sent, to go on there; null: it is not known, or cannot be looked at. */
  readonly from: string | null
  readonly now: Date
  /** Where the page names people and departments. */
  readonly marks: Marks
  /** Whether people can be found by their names. */
  readonly findsNames: boolean
  /** True if this console cannot change anything. */
  readonly readOnly: boolean
  may(role: AccessRole): boolean
  /** Within a row of a table, of which each moment would be a stop of the Tab key. */
  readonly inRow?: true
  /** The input that was refused, for its form to show again. */
  readonly refused?: Refused
}

/** Whether a higher role would help a person: where nothing can be changed, none does. */
export function lacksRole({ viewer, readOnly }: Ask, role: AccessRole): boolean {
  return !readOnly && !mayAs(viewer.role, role)
}

/** Whether a page of a list other than its first is asked for. */
export function isLaterPage({ url }: Pick<Ask, 'url'>): boolean {
  return new URL(url, 'http://console').searchParams.has('cursor')
}

/** Input that was refused. */
export interface Refused {
  /** Whether it was part of an address: the page is shown without it. */
  readonly isFilter: boolean
  /** Where its form was sent, without the query. */
  readonly to: string
  /** As it was typed. */
  readonly values: Readonly<Record<string, unknown>>
  readonly errors: readonly FieldError[]
}

/** Cookies that hold preferences. They hold no secrets, and pages work without them. */
export const COOKIES = { language: 'dirsync_lang', theme: 'dirsync_theme', zone: 'dirsync_zone' } as const

type Cookies = Record<string, string | undefined>

export function tasteOf(request: FastifyRequest): Taste {
  const cookies: Cookies = request.cookies ?? {}
  const language = languageOf(cookies[COOKIES.language] ?? request.headers['accept-language'])
  const theme = THEMES.find(name => name === cookies[COOKIES.theme]) ?? 'auto'
  return { language, t: translator(language), theme, zone: zoneOf(cookies[COOKIES.zone]) }
}

const zones = new Map<string, string>()

/**
 * The viewer's zone if this Node.js knows it by a name, else the zone of this process. Formats are kept for each, so thousands of
 * offsets from UTC are not permitted.
 */
function zoneOf(name: string | undefined): string {
  if (!name || name.length > 60 || !/^[a-z]/i.test(name)) return ownZone()
  const known = zones.get(name)
  if (known) return known
  try {
    const zone = new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions().timeZone
    if (zones.size < 1000) zones.set(name, zone)
    return zone
  } catch {
    return ownZone()
  }
}

export function askOf(
  request: FastifyRequest,
  viewer: Viewer,
  {
    pool,
    readOnly,
    publicUrl,
    refused,
    from = null,
    marks = new Marks(),
    findsNames = false,
  }: {
    pool: Pool
    readOnly: boolean
    publicUrl: string | null
    refused?: Refused | undefined
    from?: string | null
    marks?: Marks
    findsNames?: boolean
  },
): Ask {
  const via = viewer.via === 'token' ? 'api' : 'console'
  const asker = { actor: `${via}:${viewer.name}`, address: request.ip }
  return {
    ...tasteOf(request),
    viewer,
    session: request.sessionId,
    origin: publicUrl === null ? `${request.protocol}://${request.host}` : new URL(publicUrl).origin,
    asker,
    commands: new Commands(pool, asker),
    url: request.url,
    from,
    now: new Date(),
    marks,
    findsNames,
    readOnly,
    ...(refused ? { refused } : {}),
    may: role => !readOnly && mayAs(viewer.role, role),
  }
}
