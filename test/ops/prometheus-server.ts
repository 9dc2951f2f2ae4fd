import { type ChildProcess, spawn } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { killChild } from '../helpers/children.ts'
import { freePort } from '../helpers/free-port.ts'
import { program } from '../helpers/programs.ts'

/** The rules as they are shipped. */
export const RULES_FILE = join(import.meta.dirname, '../../ops/prometheus/dirsync.rules.yml')

interface PrometheusServer extends AsyncDisposable {
  /**
   * Asks its API, `/api/v1/…`.
   * @throws Error that says what is wrong with the request
   */
  ask<Data>(path: string, parameters?: Record<string, string>): Promise<Data>
}

/**
 * Starts Prometheus on a free port of 127.0.0.1 with the rules as they are shipped, and waits until it answers.
 * @param options.folder an empty one, for its configuration and data
 * @param options.targets addresses of consoles, `http://…`, all of one deployment, the job `dirsync`
 * @param options.seconds between two scrapes, and two judgements of the rules
 */
export async function launchPrometheus(options: {
  folder: string
  targets: readonly string[]
  seconds: number
  onSpawn?: (child: ChildProcess) => void
}): Promise<PrometheusServer> {
  const { folder, targets, seconds } = options
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  const config = join(folder, 'prometheus.yml')
  const interval = `${seconds}s`
  await writeFile(
    config,
    JSON.stringify({
      global: { scrape_interval: interval, scrape_timeout: interval, evaluation_interval: interval },
      rule_files: [RULES_FILE],
      scrape_configs: [
        { job_name: 'dirsync', static_configs: [{ targets: targets.map(target => new URL(target).host) }] },
      ],
    }),
  )
  const child = spawn(
    program('prometheus'),
    [
      `--config.file=${config}`,
      `--storage.tsdb.path=${join(folder, 'data')}`,
      `--web.listen-address=127.0.0.1:${port}`,
      '--log.level=warn',
    ],
    { stdio: ['ignore', 'ignore', 'pipe'] },
  )
  options.onSpawn?.(child)
  await ready(child, url)
  return {
    async ask<Data>(path: string, parameters: Record<string, string> = {}): Promise<Data> {
      const answer = await fetch(`${url}/api/v1/${path}?${new URLSearchParams(parameters)}`)
      const { status, data, error } = (await answer.json()) as { status: string; data: Data; error?: string }
      if (status !== 'success') throw new Error(`${error}: ${parameters.query}`)
      return data
    },
    [Symbol.asyncDispose]: () => killChild(child),
  }
}

async function ready(child: ChildProcess, url: string): Promise<void> {
  let output = ''
  child.stderr?.on('data', chunk => {
    output += chunk
  })
  let failure: unknown = null
  child.once('error', error => {
    failure = error
  })
  child.once('exit', code => {
    failure ??= new Error(`prometheus ended with ${code}: ${output}`)
  })
  for (;;) {
    if (failure) throw failure
    const answer = await fetch(`${url}/-/ready`).catch(() => null)
    if (answer?.ok) return
    await new Promise(resolve => setTimeout(resolve, 50))
  }
}
