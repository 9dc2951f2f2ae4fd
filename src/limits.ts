import type { Config } from './config.ts'
import type { PlannerOptions } from './sync/plan-kind.ts'

/** What a run may do without asking anybody, as the settings say. */
export function limitsOf(config: Config): PlannerOptions['limits'] {
  return {
    gate: { maxFewerRows: config.GATE_MAX_FEWER_ROWS, maxEmptied: config.GATE_MAX_EMPTIED },
    breaker: { count: config.BREAKER_EMPLOYEES, percent: config.BREAKER_EMPLOYEES_PERCENT },
    departments: { count: config.BREAKER_DEPARTMENTS, percent: config.BREAKER_DEPARTMENTS_PERCENT },
    departmentGraceMs: config.DEPARTMENT_GRACE_HOURS * 3_600_000,
    sweepIntervalMs: config.SWEEP_INTERVAL_MINUTES * 60_000,
  }
}
