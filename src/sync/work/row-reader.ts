import { type EmployeeKey, keyText } from '../../directory/employee.ts'
import { HrUnavailableError } from '../../hr/source.ts'
import { mappingFor, type NamedSource } from '../../hr/sources.ts'
import { Batcher } from '../../lib/batcher.ts'
import { within } from '../../lib/waiting.ts'
import { message } from '../../texts/message.ts'
import type { Claim } from '../outbox/claim.ts'
import type { HrRow } from './reconcile-employee.ts'

/** How long one of several sources may take to look up rows: meanwhile its jobs occupy worker capacity that other sources need. */
const LOOK_UP_MS = 30_000

/** Reads a source's rows for the jobs on employees, with one query for all that are wanted at the same moment. */
export class RowReader {
  readonly #source: NamedSource
  readonly #batcher: Batcher<RowWanted, HrRow>

  constructor(source: NamedSource) {
    this.#source = source
    this.#batcher = new Batcher(
      wanted => {
        const rows = lookUpRows(source, wanted)
        return source.codes ? within(LOOK_UP_MS, rows, tooLate) : rows
      },
      { maxBatch: 500 },
    )
  }

  /** @throws HrUnavailableError, HrDataError, MappingError */
  row(key: EmployeeKey, { sourceHash, heldHash, mapping }: Claim): Promise<HrRow> {
    const isInHr = sourceHash !== null || heldHash !== null
    return this.#batcher.submit({ key, isInHr, mapping: mappingFor(this.#source, mapping) })
  }
}

interface RowWanted {
  key: EmployeeKey
  /** As far as plans have seen. */
  isInHr: boolean
  /** As of `HrSource.lookup`: all workers read with the mapping of the plan that passed. */
  mapping: string | null
}

async function lookUpRows({ hr }: NamedSource, wanted: RowWanted[]): Promise<HrRow[]> {
  const rows = new Map<RowWanted, HrRow>()
  // There is one mapping, except while a plan with another one passes.
  for (const [mapping, group] of Map.groupBy(wanted, item => item.mapping)) {
    const inHr = new Set(group.filter(({ isInHr }) => isInHr).map(({ key }) => keyText(key)))
    const found = await hr.lookup(
      group.map(({ key }) => key),
      { mapping, expected: missing => missing.filter(key => inHr.has(keyText(key))) },
    )
    for (const item of group) rows.set(item, found.get(keyText(item.key)) ?? null)
  }
  return wanted.map(item => rows.get(item) ?? null)
}

function tooLate(): HrUnavailableError {
  return new HrUnavailableError(message('said.hr_late', { seconds: LOOK_UP_MS / 1000 }))
}
