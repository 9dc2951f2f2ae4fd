import { type CatalogueEntry, CIRCUMSTANCES, PLATFORM_CODES } from '../../platform/codes.ts'
import { saidTexts } from './said.ts'

/** The entries of the platform's catalogue keep their sentences, under `code.<number>` or `circumstance.<name>`. */
type Sentences<Prefix extends string, Entries extends Readonly<Record<number | string, CatalogueEntry>>> = {
  readonly [Key in keyof Entries & (number | string) as `${Prefix}.${Key}.meaning`]: Entries[Key]['meaning']
} & {
  readonly [Key in keyof Entries & (number | string) as `${Prefix}.${Key}.remedy`]: Entries[Key]['remedy']
} & {
  readonly [Key in keyof Entries & (number | string) as Entries[Key] extends { remedyBesideHr: string }
    ? `${Prefix}.${Key}.remedy_beside_hr`
    : never]: string
}

function sentences<
  const Prefix extends string,
  const Entries extends Readonly<Record<number | string, CatalogueEntry>>,
>(prefix: Prefix, entries: Entries) {
  return Object.fromEntries(
    Object.entries(entries).flatMap(([key, { meaning, remedy, remedyBesideHr }]) => [
      [`${prefix}.${key}.meaning`, meaning],
      [`${prefix}.${key}.remedy`, remedy],
      ...(remedyBesideHr === undefined ? [] : [[`${prefix}.${key}.remedy_beside_hr`, remedyBesideHr]]),
    ]),
  ) as Sentences<Prefix, Entries>
}

export const failures = {
  ...sentences('code', PLATFORM_CODES),
  ...sentences('circumstance', CIRCUMSTANCES),
  ...saidTexts,
} as const
