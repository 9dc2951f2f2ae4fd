import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'

/** Dumps of released schemas, and the hashes of released migrations. */
export const RELEASED = new URL('./', import.meta.url)

export const MIGRATIONS = new URL('../../../src/migrations/', import.meta.url)

/** Hashes of the migrations as they were released, by version and file. */
export function released(): Record<string, Record<string, string>> {
  return JSON.parse(readFileSync(new URL('migrations.json', RELEASED), 'utf8'))
}

/** Hashes of the migrations as they are now. */
export function hashes(): Record<string, string> {
  return Object.fromEntries(
    readdirSync(MIGRATIONS)
      .sort()
      .map(file => [
        file,
        createHash('sha256')
          .update(readFileSync(new URL(file, MIGRATIONS)))
          .digest('hex'),
      ]),
  )
}
