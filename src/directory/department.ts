/** A department: its latest state in HR and dirsync's record of it. */
export interface KnownDepartment {
  enterpriseCode: string
  deptCode: string
  parentCode: string | null
  /** False when HR marks it closed. */
  active: boolean
  /** When HR closed it, or when the closing was first noticed; null while it is active. */
  closedAt: Date | null
  /** Since when HR lacks it; null while HR has it. */
  missingSince: Date | null
  /** True when the platform confirmed the deletion. */
  deleted: boolean
  /** True when no run plans its deletion: a case of it waits for a retry, or a person has rejected or yet to decide it. */
  setAside: boolean
  /** Employees in it, in HR and in the known state of the platform, together. */
  employees: number
}

export interface DueDeletion {
  enterpriseCode: string
  deptCode: string
  /** 0 for departments without children; a parent's wave is higher than each of its children's. */
  wave: number
}

/**
 * The departments to delete, children before parents: closed or missing for longer than the grace period, without employees,
 * and without a descendant that stays.
 * @param graceMs milliseconds that must have passed since the closing
 */
export function planDeletions(departments: KnownDepartment[], now: Date, graceMs: number): DueDeletion[] {
  const key = (enterprise: string, code: string) => JSON.stringify([enterprise, code])
  const idOf = (department: KnownDepartment) => key(department.enterpriseCode, department.deptCode)
  const children = new Map<string, KnownDepartment[]>()
  for (const department of departments) {
    if (department.parentCode === null || department.deleted) continue
    const parent = key(department.enterpriseCode, department.parentCode)
    const siblings = children.get(parent)
    if (siblings) siblings.push(department)
    else children.set(parent, [department])
  }
  const expired = (department: KnownDepartment) => {
    // A department that HR closed first and dropped later counts from its closing.
    const since = (department.active ? null : department.closedAt) ?? department.missingSince
    return since !== null && now.getTime() - since.getTime() > graceMs
  }
  const waves = new Map<string, number | null>()
  /** Wave of a department that may be deleted, null of one that stays, once those of its children are known. */
  const waveAbove = (department: KnownDepartment, below: readonly string[]): number | null => {
    if (department.setAside || department.employees > 0 || !expired(department)) return null
    let wave = 0
    for (const child of below) {
      const own = waves.get(child) ?? null
      if (own === null) return null
      wave = Math.max(wave, own + 1)
    }
    return wave
  }
  /** The same, with its children's first. A cycle stays. It calls itself nowhere: HR's tree may be deeper than our stack. */
  const waveOf = (department: KnownDepartment): number | null => {
    const open = [department]
    for (let at = open.at(-1); at; at = open.at(-1)) {
      const id = idOf(at)
      const below = children.get(id) ?? []
      if (waves.has(id)) {
        waves.set(id, waveAbove(at, below.map(idOf)))
        open.pop()
      } else {
        waves.set(id, null)
        for (const child of below) open.push(child)
      }
    }
    return waves.get(idOf(department)) ?? null
  }
  return departments
    .filter(department => !department.deleted)
    .flatMap(department => {
      const wave = waveOf(department)
      return wave === null
        ? []
        : [{ enterpriseCode: department.enterpriseCode, deptCode: department.deptCode, wave }]
    })
    .sort((a, b) => a.wave - b.wave)
}
