import type { RunState } from '../../sync/runs/run.ts'
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
