import { platformAnswers } from './answers.ts'
import { departments } from './departments.ts'
import type { AnyKind } from './kind.ts'
import { notifications } from './notifications.ts'
import { consoleRoutes } from './routes.ts'
import { hrRows } from './rows.ts'
import { pastedSelects } from './selects.ts'

/** Every kind, in the order in which they are tried. */
export const KINDS: readonly AnyKind[] = [
  platformAnswers,
  pastedSelects,
  consoleRoutes,
  notifications,
  hrRows,
  departments,
]
