import type { PlatformError } from '../../platform/errors.ts'

/** How many different entities in a row must fail for want of the platform before it counts as away for all. */
const ENTITIES = 5

/**
 * Tells one employee's trouble from an outage of the platform: transport failures of different entities, without an answer of
 * the platform in between. During an outage no attempts are spent, so that it leaves no flood of dead letters.
 */
export class OutageDetector {
  readonly #failed = new Set<string>()

  /** Records a failure; true when the platform is away. */
  failed(entity: string, error: PlatformError): boolean {
    if (error.kind === 'business') {
      this.#failed.clear()
      return false
    }
    this.#failed.add(entity)
    return this.#failed.size >= ENTITIES
  }

  answered(): void {
    this.#failed.clear()
  }
}
