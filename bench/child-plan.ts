import { createPool } from '../src/lib/database.ts'
import { createLogger } from '../src/lib/logger.ts'
import { answerParent } from './child.ts'
import { planChanges } from './plan.ts'
import type { PlanTask } from './plan-memory.ts'
import { openHr } from './planned-database.ts'

// Plans once and answers with this process' peak of resident memory in MB.
answerParent<PlanTask, number>(async ({ url, hr: hrUrl, sql, employees, changed }) => {
  const logger = createLogger({ level: 'warn', pretty: false })
  const hr = openHr(hrUrl, logger, sql)
  const pool = createPool(url, { max: 2, name: 'bench', logger })
  await planChanges(pool, hr, { employees, changed }, logger)
  await hr.close()
  await pool.end()
  return process.resourceUsage().maxRSS / 1024
})
