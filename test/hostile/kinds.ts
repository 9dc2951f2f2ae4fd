import { has } from '../helpers/programs.ts'
import { platformAnswers } from './answers.ts'
import { commandLines } from './arguments.ts'
import { departments } from './departments.ts'
import { emulatorRequests } from './emulator.ts'
import { hrFiles } from './hr-files.ts'
import type { AnyKind } from './kind.ts'
import { mappings } from './mappings.ts'
import { notifications } from './notifications.ts'
import { pastedInFiles, pastedInMariadb } from './other-selects.ts'
import { receiver } from './receiver.ts'
import { consoleRoutes } from './routes.ts'
import { hrRows } from './rows.ts'
import { pastedSelects } from './selects.ts'
import { settings } from './settings.ts'

/** Every kind, in the order in which they are tried. */
export const KINDS: readonly AnyKind[] = [
  platformAnswers,
  pastedSelects,
  ...(has('mariadb') ? [pastedInMariadb] : []),
  pastedInFiles,
  consoleRoutes,
  notifications,
  receiver,
  emulatorRequests,
  hrRows,
  departments,
  hrFiles,
  settings,
  mappings,
  commandLines,
]
