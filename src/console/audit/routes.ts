import { download, type Endpoint, read, today } from '../endpoint.ts'
import type { Screen } from '../screen.ts'
import type { Services } from '../services.ts'
import { commandNames } from './entries.ts'
import { AuditFilter, AuditInput, AuditList, everyCommand, readAudit } from './query.ts'
import { auditBody, commandName } from './view.ts'

const CSV_COLUMNS = [
  'id',
  'requested_at',
  'requested_by',
  'address',
  'name',
  'meaning',
  'run_id',
  'dead_letter_id',
  'reason',
  'arguments',
] as const

export const screen: Screen = {
  name: 'audit',
  role: 'admin',
  topics: { audit: 'select max(id)::text from dirsync.command' },
  endpoints: audit,
}

function audit({ pool }: Services): Endpoint[] {
  return [
    read({
      path: '/audit',
      role: 'admin',
      summary: 'Who asked for what, when, from where and why, the latest first',
      query: AuditInput,
      result: AuditList,
      run: (ask, { input }) => readAudit(pool, ask, input),
      page: async (ask, result, { input }) => ({
        title: ask.t('audit.title'),
        body: auditBody(ask, { ...result, input, names: await commandNames(pool) }),
      }),
    }),
    download({
      path: '/audit.csv',
      tag: 'audit',
      role: 'admin',
      summary: 'Everything that matches the filters, as CSV; meanings in the language of the caller',
      query: AuditFilter,
      fileName: () => `audit-${today()}.csv`,
      columns: () => CSV_COLUMNS,
      async *rows(ask, { input }) {
        for await (const command of everyCommand(pool, ask, input))
          yield { ...command, meaning: commandName(ask, command.name) }
      },
    }),
  ]
}
