export interface Rule {
  /** Folders (ending in /, with all that is below) and files that may be imported, the folder itself aside. */
  may: string[]
  /** Of these files, types alone. */
  types?: string[]
}

/** What every folder but emulator/ makes messages with. */
export const MESSAGE = 'src/texts/message.ts'

/** Where the application lies. */
export const PRODUCTION = ['src/', 'jobs/', 'emulator/']
const SHARED_TYPES = ['src/config.ts', 'src/settings/kinds.ts', 'src/lib/logger.ts']
const BELOW_SYNC = ['src/lib/', 'src/directory/', 'src/hr/', 'src/platform/', 'src/pacing/', 'src/queue/']
const SYNC = [...BELOW_SYNC, 'src/sync/']
/** A folder of the engine, and those of its neighbours that it may import. */
const sync = (...neighbours: string[]) => ({
  may: [...BELOW_SYNC, ...neighbours.map(name => `src/sync/${name}/`)],
  types: SHARED_TYPES,
})
/** What the slices that people meet may import. */
const SLICES = [...SYNC, 'src/money/', 'src/mirrors/', 'src/texts/']

/** Who may import whom. The same table stands in ARCHITECTURE.md. */
export const RULES: Record<string, Rule> = {
  'src/lib/': { may: [], types: SHARED_TYPES },
  'src/directory/': { may: ['src/lib/'] },
  'src/hr/': { may: ['src/lib/', 'src/directory/'], types: SHARED_TYPES },
  'src/pacing/': { may: ['src/lib/'], types: SHARED_TYPES },
  'src/platform/': { may: ['src/lib/', 'src/directory/', 'src/pacing/'], types: SHARED_TYPES },
  'src/queue/': { may: ['src/lib/'], types: SHARED_TYPES },
  'src/sync/runs/': sync(),
  'src/sync/processes/': sync(),
  'src/sync/outbox/': sync('processes'),
  'src/sync/cases/': sync('runs', 'outbox'),
  'src/sync/plan/': sync('runs', 'outbox', 'cases'),
  'src/sync/settle/': sync('runs', 'outbox', 'cases'),
  'src/sync/work/': sync('runs', 'processes', 'outbox', 'plan', 'settle'),
  'src/sync/health/': sync('runs', 'processes', 'outbox', 'cases'),
  'src/sync/': { may: SYNC, types: SHARED_TYPES },
  'src/workbench/': { may: ['src/lib/', 'src/directory/', 'src/hr/'] },
  'jobs/': { may: [...SYNC, 'src/config.ts'], types: SHARED_TYPES },
  'src/money/': { may: [...SYNC, 'src/mirrors/'], types: SHARED_TYPES },
  'src/mirrors/': { may: SYNC, types: SHARED_TYPES },
  'src/texts/': { may: ['src/lib/', 'src/directory/', 'src/pacing/', 'src/platform/'] },
  'src/alerts/': { may: SLICES, types: SHARED_TYPES },
  'src/doctor/': {
    may: [...SLICES, 'src/alerts/', 'jobs/', 'src/settings/', 'src/config.ts', 'src/connections.ts'],
    types: SHARED_TYPES,
  },
  'src/console/': { may: [...SLICES, 'src/doctor/', 'src/alerts/'], types: SHARED_TYPES },
  'src/trial/': { may: [], types: SHARED_TYPES },
  'emulator/': { may: [] },
  'src/cli/': { may: PRODUCTION },
  'src/settings/': {
    may: [
      'src/lib/',
      'src/hr/files/settings.ts',
      'src/hr/mysql/address.ts',
      'src/platform/operation.ts',
      'src/queue/redis-address.ts',
      'src/sync/runs/mirror-kind.ts',
      'src/console/auth/viewer.ts',
      'src/alerts/',
    ],
  },
  'src/config.ts': { may: ['src/lib/', 'src/hr/source-list.ts', 'src/alerts/', 'src/settings/'] },
  // The composition root: main.ts and the files beside it.
  'src/*.ts': { may: PRODUCTION },
}
