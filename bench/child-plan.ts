import { createPool } from '../src/lib/database.ts'
import { createLogger } from '../src/lib/logger.ts'
import { answerParent } from './child.ts'
import { planChanges } from './plan.ts'
import type { Planned } from './plan-first.ts'
import type { PlanTask } from './plan-memory.ts'
import { openHr } from './planned-database.ts'

// Plans once and answers with the time that it took, and this process' peak of resident memory.
answerParent<PlanTask, Planned>(async ({ url, hr: hrUrl, sql, employees, changed }) => {
  const logger = createLogger({ level: 'warn', pretty: false })
  const hr = openHr(hrUrl, logger, sql)
  const pool = createPool(url, { max: 2, name: 'bench', logger })
  const { seconds } = await planChanges(pool, hr, { employees, changed }, logger)
  await hr.close()
  await pool.end()
  return { seconds, megabytes: process.resourceUsage().maxRSS / 1024 }
})
