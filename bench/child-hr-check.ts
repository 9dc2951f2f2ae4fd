import { createLogger } from '../src/lib/logger.ts'
import { checkHr } from '../src/workbench/check.ts'
import { answerParent } from './child.ts'
import type { Checked, CheckTask } from './hr-check.ts'
import { openHr } from './planned-database.ts'

// Runs one check and answers with its time and memory.
answerParent<CheckTask, Checked>(async ({ hr: url, employees }) => {
  const hr = openHr(url, createLogger({ level: 'warn', pretty: false }))
  const started = performance.now()
  const { rows } = await checkHr(hr, {
    codes: null,
    leaversAbound: () => false,
    signal: new AbortController().signal,
    read: () => {},
  })
  const seconds = (performance.now() - started) / 1000
  await hr.close()
  if (rows !== employees) throw new Error(`${rows} rows were checked, of ${employees}`)
  const { maxRSS, userCPUTime, systemCPUTime } = process.resourceUsage()
  const cpu = ((userCPUTime + systemCPUTime) / 1e6).toFixed(1)
  process.stderr.write(`${employees} rows checked in ${seconds.toFixed(1)} s, with ${cpu} s of CPU\n`)
  return { seconds, megabytes: maxRSS / 1024 }
})
