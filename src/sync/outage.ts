import type { PlatformError } from '../platform/errors.ts'

/** How many different entities in a row must fail for want of the platform before it counts as away for everybody. */
const ENTITIES = 5

/**
 * Tells one employee's trouble from the platform being away: failures of transport of different entities, with no answer
 * of the platform in between. During an outage nobody's attempts are spent, so that it leaves no flood of dead letters.
 */
export class OutageDetector {
  readonly #failed = new Set<string>()

  /** Notes a failure; true when the platform is away. */
  failed(entity: string, error: PlatformError): boolean {
    if (error.kind === 'business') {
      this.#failed.clear()
      return false
    }
    this.#failed.add(entity)
    return this.#failed.size >= ENTITIES
  }

  /** The platform answered. */
  answered(): void {
    this.#failed.clear()
  }
}
