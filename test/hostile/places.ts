import { readFile } from 'node:fs/promises'
import { Redis } from 'ioredis'
import type pg from 'pg'
import { expect } from 'vitest'
import { openSession } from '../../src/console/auth/sessions.ts'
import { addToken } from '../../src/console/auth/tokens.ts'
import type { AccessRole } from '../../src/console/auth/viewer.ts'
import type { MailServer } from '../alerts/channels/mail-server.ts'
import { plantUser } from '../console/console-under-test.ts'
import type { DirsyncProcess } from '../helpers/process.ts'
import { findPlanted, type Sort } from './planted.ts'

/* All that dirsync writes or shows, as text, place by place. */

/** What others on the machine can see of processes. */
export async function aboutProcesses(processes: DirsyncProcess[]): Promise<string> {
  const files = processes.flatMap(({ pid }) =>
    ['cmdline', 'environ', 'comm'].map(file => `/proc/${pid}/${file}`),
  )
  return (await Promise.all(files.map(file => readFile(file, 'latin1')))).join('\n')
}

/** Every row of every table, with bytes as the characters that they may be; the queue of BullMQ, too. */
export async function databaseText(db: pg.Pool): Promise<string> {
  const { rows: tables } = await db.query<{ sql: string }>(`
    select format('select concat_ws('' | '', %s) as row from %s', string_agg(
      format(case when atttypid = 'bytea'::regtype then 'encode(%I, ''escape'')' else '%I::text' end, attname), ', '), attrelid::regclass) as sql
    from pg_attribute join pg_class c on c.oid = attrelid
    where relkind in ('r', 'm') and relnamespace::regnamespace::text !~ '^(pg_|information_schema)' and attnum > 0 and not attisdropped
    group by attrelid`)
  const texts: string[] = []
  for (const { sql } of tables)
    for (const { row } of (await db.query<{ row: string }>(sql)).rows) texts.push(row)
  return texts.join('\n')
}

/** How to read all that a key has, by its type. */
const READS: Record<string, [command: string, ...more: string[]]> = {
  string: ['get'],
  hash: ['hgetall'],
  list: ['lrange', '0', '-1'],
  set: ['smembers'],
  zset: ['zrange', '0', '-1', 'withscores'],
  stream: ['xrange', '-', '+'],
}

/** Every key of a Redis with all that it has. */
export async function redisText(url: string): Promise<string> {
  const client = new Redis(url)
  try {
    const texts: string[] = []
    for (const key of await client.keys('*')) {
      const read = READS[await client.type(key)]
      if (read === undefined) throw new Error(`a type that is not read: ${key}`)
      const [command, ...more] = read
      texts.push(key, JSON.stringify(await client.call(command, key, ...more)))
    }
    return texts.join('\n')
  } finally {
    client.disconnect()
  }
}

/** Whatever is written to Redis from now on. */
export async function monitor(url: string): Promise<{ client: Redis; lines: string[] }> {
  const lines: string[] = []
  const client = await new Redis(url).monitor()
  client.on('monitor', (_time: string, args: string[]) => lines.push(args.join(' ')))
  return { client, lines }
}

/** Settings of a channel that mails everything to the server. */
export function mailChannel({ port }: MailServer): Record<string, string> {
  return {
    ...{ ALERT_CHANNEL_MAIL: `smtp://127.0.0.1:${port}?tls=off`, ALERT_CHANNEL_MAIL_LEAST: 'info' },
    ...{ ALERT_CHANNEL_MAIL_FROM: 'dirsync@example.com', ALERT_CHANNEL_MAIL_TO: 'ops@example.com' },
  }
}

/** The mails as they arrived, and as they are read. */
export function mailText({ arrivals }: MailServer): string {
  return arrivals.map(({ raw, mail: { text, html } }) => `${raw}\n${text}\n${html}`).join('\n')
}

export type Browser = (method: 'GET' | 'POST', path: string, form?: Record<string, string>) => Promise<string>

export async function signIn(db: pg.Pool, origin: string, role: AccessRole): Promise<Browser> {
  const name = `the-${role}`
  await plantUser(db as never, name, role)
  const secret = await openSession(
    db as never,
    { name, via: 'password' },
    { address: '127.0.0.1', userAgent: 'test', former: null },
  )
  return async (method, path, form) => {
    const answer = await fetch(new URL(path, origin), {
      method,
      headers: { cookie: `dirsync=${secret}`, 'sec-fetch-site': 'same-origin', accept: 'text/html' },
      ...(form && { body: new URLSearchParams(form) }),
    })
    return `${JSON.stringify([...answer.headers])}${await answer.text()}`
  }
}

/** Of pages that differ in their query alone. */
const MOST_ALIKE = 8

/** Every page and download that links lead to. */
export async function everyPage(browse: Browser): Promise<string> {
  const waiting = ['/']
  const known = new Set(waiting)
  const alike = new Map<string, number>()
  const texts: string[] = []
  for (let path = waiting.shift(); path !== undefined; path = waiting.shift()) {
    const text = await browse('GET', path)
    texts.push(path, text)
    for (const [, found = ''] of text.matchAll(/(?:href|hx-get|src)="(\/[^"#]*)/g)) {
      const link = found.replaceAll('&amp;', '&')
      const [screen = '', query] = link.split('?')
      const before = alike.get(screen) ?? 0
      if (known.has(link) || /^\/(assets|events|sign-)/.test(link)) continue
      if (query !== undefined && before >= MOST_ALIKE) continue
      known.add(link)
      alike.set(screen, before + (query === undefined ? 0 : 1))
      waiting.push(link)
    }
  }
  return texts.join('\n')
}

/** What the addresses of single things stand for: SQL for their names, as the API has them. */
const NAMES: Record<string, string> = {
  cases: 'select id from dirsync.dead_letter',
  runs: 'select id from dirsync.sync_run',
  employees: 'select userid from dirsync.employee',
  refunds: 'select outer_refund_no from dirsync.refund',
  topups: 'select external_code from dirsync.topup',
  bulk: 'select id from dirsync.bulk_action',
  'dry-runs': 'select id from dirsync.dry_run',
  rules: 'select distinct rule from dirsync.alert',
}
/** Of single things of a kind. */
const MOST_OF_A_KIND = 40
const QUERIES: Record<string, string[]> = {
  '/api/v1/money': ['?kind=topups'],
  '/api/v1/search': ['?q=e0', '?q=D1', '?q=test'],
}

/** What a viewer's token gets from every address of the API that can be read. */
export async function everyAnswer(db: pg.Pool, origin: string): Promise<string> {
  const expiresAt = new Date(Date.now() + 86_400_000)
  const token = await addToken(db as never, 'test', { name: 'the-viewer', role: 'viewer', expiresAt })
  const ask = async (path: string) => {
    const answer = await fetch(new URL(path, origin), { headers: { authorization: `Bearer ${token}` } })
    return { headers: JSON.stringify([...answer.headers]), text: await answer.text() }
  }
  const { paths } = JSON.parse((await ask('/api/v1/openapi.json')).text)
  const texts: string[] = []
  for (const [path, { get }] of Object.entries<{ get?: { 'x-role': AccessRole } }>(paths)) {
    // Those for others are refused; test/console/access.test.ts has them. The stream of events never ends.
    if (get?.['x-role'] !== 'viewer' || path.endsWith('/events')) continue
    const [collection] = /[^/]+(?=\/\{)/.exec(path) ?? []
    const sql = collection === undefined ? `select ''` : NAMES[collection]
    if (sql === undefined) throw new Error(`nothing is known to stand in ${path}`)
    const { rows } = await db.query<{ name: string }>(
      `select name::text from (${sql}) t (name) limit ${MOST_OF_A_KIND}`,
    )
    for (const { name } of rows)
      for (const query of ['', ...(QUERIES[path] ?? [])]) {
        const asked = path.replace(/\{\w+\}/, encodeURIComponent(name)) + query
        const { headers, text } = await ask(asked)
        texts.push(asked, headers, text)
      }
  }
  return texts.join('\n')
}

/** Each place has something, and of what was planted nothing but what it may have. */
export function expectOnlyAllowed(
  places: Record<string, string>,
  allowed: Record<string, readonly Sort[]>,
): void {
  for (const [place, text] of Object.entries(places))
    expect(text.length, `what ${place} has`).toBeGreaterThan(100)
  const found = Object.entries(places).map(([place, text]) => [
    place,
    [...findPlanted(text)].filter(([sort]) => !allowed[place]?.includes(sort)),
  ])
  expect(Object.fromEntries(found.filter(([, sorts]) => sorts?.length !== 0))).toEqual({})
}
