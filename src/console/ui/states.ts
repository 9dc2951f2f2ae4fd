import type { SafeHtml } from '@remix-run/html-template'
import type { RunState } from '../../sync/run.ts'
import { textOr } from '../../texts/texts.ts'
import type { Ask } from '../ask.ts'
import type { Words } from '../shown.ts'
import { state, type Tone } from './parts.ts'

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

function toneOfRun(name: string): Tone {
  return (RUN as Partial<Record<string, Tone>>)[name] ?? 'off'
}

export function runStatus(name: string): Words {
  return { tone: toneOfRun(name), text: { named: name, of: 'run_state' } }
}

export function runState(ask: Ask, name: string): SafeHtml {
  return state(toneOfRun(name), textOr(ask.language, `run_state.${name}`, name))
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

export function caseState(ask: Ask, name: string): SafeHtml {
  return state(CASE[name] ?? 'off', textOr(ask.language, `state.${name}`, name))
}
