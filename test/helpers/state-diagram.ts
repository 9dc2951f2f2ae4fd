import { readFileSync } from 'node:fs'
import { join } from 'node:path'

interface Transition {
  event: string
  from: readonly string[]
  to: readonly string[]
}

/**
 * The transitions as a diagram of Mermaid's.
 * @param options.outside the state of what does not exist
 * @param options.groups states that are drawn as one, by the name of that
 * @param options.ends states in which it is over for good, though it is still there
 */
export function stateDiagram(
  transitions: readonly Transition[],
  {
    outside,
    groups = {},
    ends = [],
  }: { outside: string; groups?: Record<string, readonly string[]>; ends?: readonly string[] },
): string {
  const nodeOf = (state: string) => {
    if (state === outside) return '[*]'
    return Object.keys(groups).find(name => groups[name]?.includes(state)) ?? state
  }
  const arrows = new Map<string, Set<string>>()
  for (const { event, from, to } of transitions)
    for (const one of from)
      for (const other of to) {
        const arrow = `${nodeOf(one)} --> ${nodeOf(other)}`
        arrows.set(arrow, (arrows.get(arrow) ?? new Set()).add(event))
      }
  return [
    'stateDiagram-v2',
    ...Object.entries(groups).map(([name, states]) => `    state "${states.join(', ')}" as ${name}`),
    ...[...arrows].map(([arrow, events]) => `    ${arrow}: ${[...events].join(' / ')}`),
    ...ends.map(state => `    ${state} --> [*]`),
  ].join('\n')
}

/** The diagram that follows a heading of ARCHITECTURE.md. */
export function documentedDiagram(heading: string): string | undefined {
  const text = readFileSync(join(import.meta.dirname, '../../ARCHITECTURE.md'), 'utf8')
  const [, section] = text.split(`\n${heading}\n`)
  return section?.match(/```mermaid\n([\s\S]*?)\n```/)?.[1]
}
