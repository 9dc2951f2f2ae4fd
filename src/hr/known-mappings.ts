import type { EmployeeMapping } from './mapping.ts'

/** As many as may be in use at a time: of the plans that are carried out, of one that is held, of one that came to nothing. */
const KEPT = 4
/** A fingerprint that this process could not find is looked for again after this long. */
const LOOK_AGAIN_MS = 5000

/** The employees' mappings that this process has seen, by fingerprint. */
export class KnownMappings {
  readonly #mappings = new Map<string, EmployeeMapping>()
  #missed = { fingerprint: '', until: 0 }

  find(fingerprint: string): EmployeeMapping | undefined {
    return this.#mappings.get(fingerprint)
  }

  add(mapping: EmployeeMapping): void {
    this.#mappings.delete(mapping.fingerprint)
    this.#mappings.set(mapping.fingerprint, mapping)
    const [oldest] = this.#mappings.keys()
    if (this.#mappings.size > KEPT && oldest !== undefined) this.#mappings.delete(oldest)
  }

  forget(mapping: EmployeeMapping): void {
    this.#mappings.delete(mapping.fingerprint)
  }

  /** Whether it is time to look at HR and the file for an unknown fingerprint; every so often, not for every key. */
  isWorthALook(fingerprint: string): boolean {
    const now = performance.now()
    if (this.#missed.fingerprint === fingerprint && now < this.#missed.until) return false
    this.#missed = { fingerprint, until: now + LOOK_AGAIN_MS }
    return true
  }
}
