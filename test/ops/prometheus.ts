import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { inject } from 'vitest'
import { ROOT } from '../docs/pages.ts'
import { registerChild } from '../helpers/children.ts'
import { until } from '../helpers/company.ts'
import { freePort } from '../helpers/free-port.ts'
import { temporaryFolder } from '../helpers/temporary-folder.ts'

/** Programs of Prometheus, and Debian's packages that bring them. */
const PACKAGES = {
  promtool: 'prometheus',
  prometheus: 'prometheus',
  amtool: 'prometheus-alertmanager',
}

/** The rules as they are shipped. */
export const RULES_FILE = join(ROOT, 'ops/prometheus/dirsync.rules.yml')

/** Runs promtool or amtool. Returns how it ended and all that it printed. */
export async function runTool(
  program: 'promtool' | 'amtool',
  args: string[],
): Promise<{ code: number; output: string }> {
  try {
    const { stdout, stderr } = await promisify(execFile)(program, args, { cwd: join(ROOT, 'ops/prometheus') })
    return { code: 0, output: stdout + stderr }
  } catch (error) {
    const { code, stdout, stderr } = error as { code: number | string; stdout: string; stderr: string }
    if (typeof code !== 'number') throw asMissing(program, error)
    return { code, output: stdout + stderr }
  }
}

function asMissing(program: keyof typeof PACKAGES, error: unknown): unknown {
  if ((error as { code?: unknown }).code !== 'ENOENT') return error
  const debian = `apt-get install --no-install-recommends ${PACKAGES[program]}`
  return new Error(`The tests of ops/ need ${program}: install it, Debian: ${debian}`)
}

/** An alert as Prometheus has it now. */
interface PrometheusAlert {
  labels: Record<string, string>
  annotations: Record<string, string>
  state: 'pending' | 'firing'
}

/** One series of an answer: its labels, and the latest value. */
export interface Sample {
  metric: Record<string, string>
  value: number
}

/** A real Prometheus that scrapes and judges every second. */
export interface Prometheus extends AsyncDisposable {
  readonly url: string
  /** @throws Error that says what is wrong with the expression */
  query(expr: string): Promise<Sample[]>
  alerts(): Promise<PrometheusAlert[]>
  /** Resolves when every target has been scraped since now, and the rules have been judged on what that brought. */
  judged(): Promise<void>
}

/**
 * Starts Prometheus on a free port of 127.0.0.1, with its data in a temporary folder and the rules as they are shipped.
 * @param targets addresses of consoles, `http://…`, all of one deployment
 */
export async function startPrometheus(targets: readonly string[]): Promise<Prometheus> {
  const folder = await temporaryFolder()
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  const config = join(folder, 'prometheus.yml')
  await writeFile(
    config,
    JSON.stringify({
      global: { scrape_interval: '1s', scrape_timeout: '1s', evaluation_interval: '1s' },
      rule_files: [RULES_FILE],
      scrape_configs: [
        { job_name: 'dirsync', static_configs: [{ targets: targets.map(target => new URL(target).host) }] },
      ],
    }),
  )
  const child = spawn(
    'prometheus',
    [
      `--config.file=${config}`,
      `--storage.tsdb.path=${join(folder, 'data')}`,
      `--web.listen-address=127.0.0.1:${port}`,
      '--log.level=warn',
    ],
    { stdio: ['ignore', 'ignore', 'pipe'] },
  )
  const stop = await readyOf(child, url)

  const ask = async <Data>(path: string, parameters: Record<string, string> = {}): Promise<Data> => {
    const answer = await fetch(`${url}/api/v1/${path}?${new URLSearchParams(parameters)}`)
    const { status, data, error } = (await answer.json()) as { status: string; data: Data; error?: string }
    if (status !== 'success') throw new Error(`${error}: ${parameters.query}`)
    return data
  }
  return {
    url,
    async query(query) {
      type Result = { metric: Record<string, string>; value: [number, string] }[]
      const { result } = await ask<{ result: Result }>('query', { query })
      return result.map(({ metric, value }) => ({ metric, value: Number(value[1]) }))
    },
    async alerts() {
      return (await ask<{ alerts: PrometheusAlert[] }>('alerts')).alerts
    },
    async judged() {
      const from = Date.now()
      const after = (moment: string) => Date.parse(moment) > from
      await until(async () => {
        const { activeTargets } = await ask<{ activeTargets: { lastScrape: string }[] }>('targets')
        return activeTargets.length > 0 && activeTargets.every(({ lastScrape }) => after(lastScrape))
      })
      const scraped = Date.now()
      await until(async () => {
        const { groups } = await ask<{ groups: { lastEvaluation: string }[] }>('rules')
        return groups.every(({ lastEvaluation }) => Date.parse(lastEvaluation) > scraped)
      })
    },
    [Symbol.asyncDispose]: stop,
  }
}

/** Waits until it answers. Returns what ends it. */
async function readyOf(child: ChildProcess, url: string): Promise<() => Promise<void>> {
  registerChild(inject('runFolder'), child)
  let output = ''
  child.stderr?.on('data', chunk => {
    output += chunk
  })
  const ended = new Promise<never>((_, reject) => {
    child.once('error', error => reject(asMissing('prometheus', error)))
    child.once('exit', code => reject(new Error(`prometheus ended with ${code}: ${output}`)))
  })
  ended.catch(() => {}) // once it is ready nobody waits for this
  const ready = until(() =>
    fetch(`${url}/-/ready`).then(
      answer => answer.ok,
      () => false,
    ),
  )
  await Promise.race([ready, ended])
  return async () => {
    if (child.exitCode !== null || child.signalCode !== null) return
    const exited = once(child, 'exit')
    child.kill('SIGKILL')
    await exited
  }
}
