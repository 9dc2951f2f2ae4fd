import type { RunState } from '../../sync/runs/run.ts'
import type { Ask } from '../ask.ts'
import type { Words } from '../shown.ts'
import type { Tone } from './parts.ts'

/* How states of the domain are shown: the tone decides shape and colour, the catalogue the word. */

const RUN: Record<RunState, Tone> = {
  requested: 'wait',
  planning: 'busy',
  held: 'warn',
  running: 'busy',
  done: 'ok',
  failed: 'bad',
  source_suspect: 'bad',
  rejected: 'off',
  superseded: 'off',
  cancelled: 'off',
}

export function runStatus(name: string): Words {
  return {
    tone: (RUN as Partial<Record<string, Tone>>)[name] ?? 'off',
    text: { named: name, of: 'run_state' },
  }
}

const CASE: Record<string, Tone> = {
  open: 'warn',
  blocked: 'warn',
  retry_scheduled: 'wait',
  awaiting_activation: 'wait',
  retrying: 'busy',
  snoozed: 'off',
  ignored: 'off',
  resolved: 'ok',
}

export function caseStatus(name: string): Words {
  return { tone: CASE[name] ?? 'off', text: { named: name, of: 'state' } }
}

/** How a department stands in HR and on the platform. */
export function departmentState(
  { t }: Ask,
  row: { active: boolean; missing_since: Date | null; deleted_at: Date | null },
): Words {
  if (row.deleted_at !== null) return { tone: 'off', text: t('departments.deleted') }
  if (!row.active) return { tone: 'wait', text: t('departments.closed') }
  return row.missing_since === null
    ? { tone: 'ok', text: t('departments.open') }
    : { tone: 'warn', text: t('departments.missing') }
}
