import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { inject } from 'vitest'
import { ROOT } from '../docs/pages.ts'
import { registerChild } from '../helpers/children.ts'
import { until } from '../helpers/company.ts'
import { program } from '../helpers/programs.ts'
import { temporaryFolder } from '../helpers/temporary-folder.ts'
import { launchPrometheus } from './prometheus-server.ts'

/** Runs promtool or amtool. Returns how it ended and all that it printed. */
export async function runTool(
  name: 'promtool' | 'amtool',
  args: string[],
): Promise<{ code: number; output: string }> {
  const tool = program(name === 'amtool' ? 'alertmanager' : 'prometheus', name)
  try {
    const { stdout, stderr } = await promisify(execFile)(tool, args, { cwd: join(ROOT, 'ops/prometheus') })
    return { code: 0, output: stdout + stderr }
  } catch (error) {
    const { code, stdout, stderr } = error as { code: number | string; stdout: string; stderr: string }
    if (typeof code !== 'number') throw error
    return { code, output: stdout + stderr }
  }
}

/** An alert as Prometheus has it now. */
interface PrometheusAlert {
  labels: Record<string, string>
  state: 'pending' | 'firing'
}

/** One series of an answer: its labels, and the latest value. */
interface Sample {
  metric: Record<string, string>
  value: number
}

/** A real Prometheus that scrapes and judges every second. */
export interface Prometheus extends AsyncDisposable {
  /** @throws Error that says what is wrong with the expression */
  query(expr: string): Promise<Sample[]>
  alerts(): Promise<PrometheusAlert[]>
  /** Resolves when every target has been scraped since now, and the rules have been judged on what that brought. */
  judged(): Promise<void>
}

/** @param targets addresses of consoles, `http://…`, all of one deployment */
export async function startPrometheus(targets: readonly string[]): Promise<Prometheus> {
  const server = await launchPrometheus({
    folder: await temporaryFolder(),
    targets,
    seconds: 3,
    onSpawn: child => registerChild(inject('runFolder'), child),
  })
  return {
    async query(query) {
      type Result = { metric: Record<string, string>; value: [number, string] }[]
      const { result } = await server.ask<{ result: Result }>('query', { query })
      return result.map(({ metric, value }) => ({ metric, value: Number(value[1]) }))
    },
    async alerts() {
      return (await server.ask<{ alerts: PrometheusAlert[] }>('alerts')).alerts
    },
    async judged() {
      const asked = Date.now()
      await until(async () => {
        type Target = { health: string; lastScrape: string }
        const { activeTargets } = await server.ask<{ activeTargets: Target[] }>('targets')
        // A scrape may take too long on a busy machine; the next one is awaited then.
        const isFresh = ({ health, lastScrape }: Target) => health === 'up' && Date.parse(lastScrape) > asked
        return activeTargets.length > 0 && activeTargets.every(isFresh)
      })
      const scraped = Date.now()
      await until(async () => {
        const { groups } = await server.ask<{ groups: { lastEvaluation: string }[] }>('rules')
        return groups.every(({ lastEvaluation }) => Date.parse(lastEvaluation) > scraped)
      })
    },
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  }
}
