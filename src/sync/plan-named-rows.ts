import type { ClientBase } from 'pg'
import { type EmployeeKey, keyText } from '../core/employee.ts'
import { rowHash, rowIsActive } from '../core/row-hash.ts'
import { trips } from '../core/safety.ts'
import type { HrSource } from '../hr/source.ts'
import { compare, fillStageWith, makeStage } from '../store/employee-plan.ts'
import { awaitReplan } from '../store/held-run.ts'
import { lastSweep, type PlannedRun } from '../store/run.ts'
import { duplicatesMessage, type EmployeePlanLimits, heldMessage } from './plan-employees.ts'

/**
 * Plans a `changes` run of the rows that HR's trigger named, as `planEmployees` does one of all. Whoever HR no longer has is
 * left to a run that reads every row, since only that can tell a leaver from a mapping that broke.
 * @throws HrUnavailableError, HrDataError, MappingError
 */
export async function planNamedRows(
  db: ClientBase,
  hr: HrSource,
  candidates: readonly EmployeeKey[],
  limits: Pick<EmployeePlanLimits, 'breaker'>,
): Promise<PlannedRun> {
  const { fingerprint: mapping } = await hr.inspect()
  const found = await hr.lookup(candidates, { mapping, anyEnterprise: true })
  const duplicates = candidates.filter(key => found.get(keyText(key)) === 'duplicate')
  if (duplicates.length > 0)
    return {
      state: 'source_suspect',
      sweep: false,
      message: `${duplicatesMessage(duplicates.map(({ userid }) => userid))}. Nothing was enqueued.`,
    }
  const staged = candidates.flatMap(key => {
    const row = found.get(keyText(key))
    if (row === undefined || row === 'duplicate') return []
    return [{ ...key, active: rowIsActive(row), hash: rowHash(Object.keys(row), row) }]
  })
  await makeStage(db)
  await fillStageWith(db, staged)
  const { inScope, reasons, sample, changing } = await compare(db, {
    everything: false,
    maxAgeMs: null,
    sweep: false,
    replans: await awaitReplan(db),
  })
  const planned = { sweep: false, inScope, plan: { reasons, sample }, mapping }
  const total = (await lastSweep(db))?.statistics.rows ?? inScope
  if (trips(limits.breaker, changing, total))
    return { ...planned, state: 'held', message: heldMessage(changing, total, limits.breaker) }
  return { ...planned, state: 'running' }
}
