import { aliveProcesses, missingAmong, NEEDED_ROLES } from '../sync/processes/process.ts'
import { areInForce } from '../sync/runs/sources.ts'
import { type Message, message } from '../texts/message.ts'
import type { CommandContext } from './context.ts'
import { UsageError } from './failure.ts'

/** That the processes which plan or send have other HR sources than this command; null: they have the same, or none runs. */
export async function sourcesDiffer({
  pool,
  config,
}: Pick<CommandContext, 'pool' | 'config'>): Promise<Message | null> {
  if (await areInForce(pool, { all: config.sources }, '')) return null
  const missing = missingAmong(await aliveProcesses(pool))
  return missing.length === NEEDED_ROLES.length ? null : message('said.sources_differ')
}

/**
 * The one HR source that a command is about.
 * @param name the value of `--source`
 * @throws UsageError if there is no such source, or it is ambiguous which one is meant
 */
export function oneSource<Source extends { name: string }>(
  sources: readonly Source[],
  name: string | undefined,
): Source {
  const named = namedSource(sources, name)
  if (named) return named
  const [only, ...others] = sources
  if (only && others.length === 0) return only
  throw new UsageError(message('said.name_a_source', { names: namesOf(sources) }))
}

/**
 * The source of `--source`; null without it.
 * @throws UsageError if there is none of that name
 */
export function namedSource<Source extends { name: string }>(
  sources: readonly Source[],
  name: string | undefined,
): Source | null {
  if (name === undefined) return null
  const found = sources.find(source => source.name === name && name !== '')
  if (found) return found
  throw new UsageError(
    sources.every(source => source.name === '')
      ? message('said.source_only_with_sources')
      : message('said.no_source_of_name', { name: JSON.stringify(name), names: namesOf(sources) }),
  )
}

function namesOf(sources: readonly { name: string }[]): string[] {
  return sources.map(({ name }) => name)
}
