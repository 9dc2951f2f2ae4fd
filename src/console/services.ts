import type { Config, Environment } from '../config.ts'
import type { HrSources } from '../hr/sources.ts'
import type { Pool } from '../lib/database.ts'
import type { Logger } from '../lib/logger.ts'
import type { PlatformClient } from '../platform/client.ts'
import { Commands } from '../sync/commands.ts'
import type { Ask } from './ask.ts'

/** What screens work with. */
export interface Services {
  readonly config: Config
  /** The console's own connections: a busy worker does not slow a page. */
  readonly pool: Pool
  readonly hr: HrSources
  /** The platform, behind the pacer that all processes share; connected when somebody first needs it. */
  platform(): PlatformClient
  /** Where the settings came from: shown to administrators without secrets, and examined by the doctor. */
  readonly env: Environment
  /** How a person types the program, for hints. */
  readonly program: string
  readonly logger: Logger
}

/** What somebody may ask for, in their name: everything is recorded before it takes effect. */
export function commandsOf({ pool }: Services, ask: Ask): Commands {
  return new Commands(pool, ask.asker)
}
