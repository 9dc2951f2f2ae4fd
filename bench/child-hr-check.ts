import { createLogger } from '../src/lib/logger.ts'
import { checkHr } from '../src/workbench/check.ts'
import { answerParent } from './child.ts'
import type { CheckTask } from './hr-check.ts'
import { openHr } from './planned-database.ts'

// Checks once and answers with this process' peak of resident memory in MB.
answerParent<CheckTask, number>(async ({ hr: url, employees }) => {
  const hr = openHr(url, createLogger({ level: 'warn', pretty: false }))
  const started = performance.now()
  const { rows } = await checkHr(hr, { codes: null, signal: new AbortController().signal, read: () => {} })
  await hr.close()
  if (rows !== employees) throw new Error(`${rows} rows were checked, of ${employees}`)
  process.stderr.write(`${employees} rows checked in ${Math.round(performance.now() - started)} ms\n`)
  return process.resourceUsage().maxRSS / 1024
})
