import { createLogger } from '../src/logger.ts'
import { createPool } from '../src/store/pool.ts'
import { transaction } from '../src/store/transaction.ts'
import { answerParent } from './child.ts'
import { planUnchanged } from './plan.ts'
import type { PlanTask } from './plan-memory.ts'
import { openHr } from './planned-database.ts'

// Plans once and answers with this process' peak of resident memory in MB.
answerParent<PlanTask, number>(async ({ url, employees }) => {
  const logger = createLogger({ level: 'warn', pretty: false })
  const hr = openHr(url, logger)
  const pool = createPool(url, { max: 1, name: 'bench', logger })
  await transaction(pool, db => planUnchanged(db, hr, employees))
  await hr.close()
  await pool.end()
  return process.resourceUsage().maxRSS / 1024
})
