import type { Config, Environment } from '../config.ts'
import type { HrSources } from '../hr/sources.ts'
import type { Pool } from '../lib/database.ts'
import type { Logger } from '../lib/logger.ts'
import type { PlatformClient } from '../platform/client.ts'
import type { People } from './people.ts'

/** What screens have access to. */
export interface Services {
  readonly config: Config
  /** The console's own connections, so that a busy worker does not slow a page. */
  readonly pool: Pool
  readonly hr: HrSources
  /** What HR says of the people on a page. */
  readonly people: People
  /** The platform, behind the pacer that all processes share; connected on first use. */
  platform(): PlatformClient
  /** The environment with the settings: shown to administrators without secrets, and examined by the doctor. */
  readonly env: Environment
  /** How a person types the program's name, for hints. */
  readonly program: string
  readonly logger: Logger
}
