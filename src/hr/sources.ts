import { type EmployeeKey, keyOfText, qualified } from '../directory/employee.ts'
import { within } from '../lib/waiting.ts'
import { message } from '../texts/message.ts'
import { type HrEmployeeRow, type HrSource, HrUnavailableError, noSourceHas } from './source.ts'

/** The part of HR that something concerns. */
export interface SourceScope {
  /** Name of the source; empty where there is only one, and for all of them together. */
  readonly name: string
  /** The enterprises that are its own; null: all. */
  readonly codes: readonly string[] | null
}

/** HR as a whole. */
export const WHOLE: SourceScope = { name: '', codes: null }

/** Names of sources by their enterprises. */
export type Owners = Readonly<Record<string, string>>

/** One HR system. */
export interface NamedSource extends SourceScope {
  readonly hr: HrSource
}

/** Looks up employees in HR. */
export type EmployeeLookup = Pick<HrSource, 'lookup'>

/** How long one of several sources may take to describe its columns while the others wait. */
const INSPECT_MS = 5000

function tooLate(): HrUnavailableError {
  return new HrUnavailableError(message('said.hr_away'))
}

type Rows = Map<string, HrEmployeeRow | 'duplicate'>

/** The result of a look-up in all sources. */
interface Asked {
  rows: Rows
  /** Sources that gave no answer, with the reason. */
  failures: { source: NamedSource; error: unknown }[]
}

/**
 * All the HR systems of a deployment: one, or several with enterprises of their own. Each has its own mapping, connections and
 * snapshot. A key is looked up only in the source of its enterprise.
 */
export class HrSources {
  readonly all: readonly NamedSource[]
  readonly #byCode: ReadonlyMap<string, NamedSource>

  /** @param sources codes are disjoint; a source with null for them is the only one */
  constructor(sources: readonly NamedSource[]) {
    this.all = sources
    this.#byCode = new Map(sources.flatMap(source => (source.codes ?? []).map(code => [code, source])))
  }

  /** HR with a single system. */
  static one(hr: HrSource): HrSources {
    return new HrSources([{ ...WHOLE, hr }])
  }

  /** Whether HR_SOURCES names them. */
  get areNamed(): boolean {
    return this.all.some(({ codes }) => codes !== null)
  }

  /** Whether any of them has departments: without a departments' mapping none is ever deleted. */
  get hasDepartments(): boolean {
    return this.all.some(({ hr }) => hr.hasDepartments)
  }

  /** The enterprises of all sources; empty where there is only one, which may have any. */
  get codes(): string[] {
    return [...this.#byCode.keys()]
  }

  /** The source of each enterprise; empty where there is one HR system. */
  get owners(): Owners {
    return Object.fromEntries([...this.#byCode].map(([code, { name }]) => [code, name]))
  }

  /** The source of an enterprise; null when it belongs to none. */
  of(enterpriseCode: string): NamedSource | null {
    const [first] = this.all
    return first?.codes === null ? first : (this.#byCode.get(enterpriseCode) ?? null)
  }

  named(name: string): NamedSource | null {
    return this.all.find(source => source.name === name) ?? null
  }

  /** Like `HrSource.lookup`, in the sources of the keys. Fails when one of them does, and for a key that belongs to none. */
  async lookup(keys: readonly EmployeeKey[], options: LookupOptions = {}): Promise<Rows> {
    const stray = keys.find(({ enterpriseCode }) => this.of(enterpriseCode) === null)
    if (stray) throw new HrUnavailableError(noSourceHas(stray.enterpriseCode))
    const { rows, failures } = await this.ask(keys, options)
    if (failures[0]) throw failures[0].error
    return rows
  }

  /**
   * The same, as far as sources answer. They are queried concurrently; one that `fingerprint` could not query, whose mapping is
   * therefore missing in its result, is not queried again.
   */
  async ask(keys: readonly EmployeeKey[], { mapping = null, ...options }: LookupOptions): Promise<Asked> {
    const owned = Map.groupBy(keys, ({ enterpriseCode }) => this.of(enterpriseCode))
    const asked: Asked = { rows: new Map(), failures: [] }
    await Promise.all(
      [...owned].map(async ([source, wanted]) => {
        if (source === null) return
        try {
          if (mapping?.includes('=') && mappingFor(source, mapping) === null) throw tooLate()
          const found = await source.hr.lookup(wanted, { ...options, mapping: mappingFor(source, mapping) })
          // With `anyEnterprise`, a source may also have rows of an enterprise that is another's.
          for (const [key, row] of found)
            if (this.of(keyOfText(key).enterpriseCode) === source) asked.rows.set(key, row)
        } catch (error) {
          asked.failures.push({ source, error })
        }
      }),
    )
    return asked
  }

  /**
   * The employees whom HR has by names that people use: a user id, in any enterprise, or `enterprise/userid`.
   * @param enterprises those that dirsync knows; with several sources, their own ones are taken instead
   */
  async find(
    names: readonly string[],
    enterprises: readonly string[],
    options: LookupOptions,
  ): Promise<{ keys: EmployeeKey[]; failures: Asked['failures'] }> {
    // Before the first slash may be the enterprise, or the user id has slashes itself.
    const userids = names.flatMap(name => [name, name.slice(name.indexOf('/') + 1)])
    const candidates = (this.areNamed ? this.codes : enterprises).flatMap(enterpriseCode =>
      userids.map(userid => ({ enterpriseCode, userid })),
    )
    const { rows, failures } = await this.ask(candidates, { ...options, anyEnterprise: true })
    const isNamed = ({ enterpriseCode, userid }: EmployeeKey) =>
      names.includes(userid) || names.includes(qualified(enterpriseCode, userid))
    return { keys: [...rows.keys()].map(keyOfText).filter(isNamed), failures }
  }

  /** The mappings in use, as recorded with a plan of all sources. A source that fails is left out if others answer. */
  async fingerprint(): Promise<string> {
    const looked = await Promise.allSettled(
      this.all.map(async ({ name, hr }) => {
        const inspected = hr.inspect()
        const { fingerprint } = await (this.areNamed ? within(INSPECT_MS, inspected, tooLate) : inspected)
        return { name, fingerprint }
      }),
    )
    const found = looked.flatMap(result => (result.status === 'fulfilled' ? [result.value] : []))
    const [failed] = looked.filter(result => result.status === 'rejected')
    if (found.length === 0) throw failed?.reason
    if (!this.areNamed) return found.map(({ fingerprint }) => fingerprint).join()
    return found.map(({ name, fingerprint }) => `${name}=${fingerprint}`).join(' ')
  }

  async close(): Promise<void> {
    await Promise.all(this.all.map(({ hr }) => hr.close()))
  }
}

/** The name under which processes of a deployment listen to a source's trigger: one of them does at a time. */
export function listenerOf(deployment: string, { name }: SourceScope): string {
  return name === '' ? deployment : `${deployment} ${name}`
}

type LookupOptions = Parameters<HrSource['lookup']>[1] & {}

/** The fingerprint for one source, from the text that `HrSources.fingerprint` or a plan of that source has written. */
export function mappingFor({ name, codes }: SourceScope, mapping: string | null): string | null {
  if (codes === null || !mapping?.includes('=')) return mapping
  const own = mapping.split(' ').find(part => part.startsWith(`${name}=`))
  return own === undefined ? null : own.slice(name.length + 1)
}
