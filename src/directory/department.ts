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
  /** True when its deletion is a dead letter that waits for a retry. */
  parked: boolean
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
  /** Wave of a department that may be deleted, null of one that stays. A cycle stays. */
  const waveOf = (department: KnownDepartment): number | null => {
    const id = key(department.enterpriseCode, department.deptCode)
    const known = waves.get(id)
    if (known !== undefined) return known
    waves.set(id, null)
    if (department.parked || department.employees > 0 || !expired(department)) return null
    const below = (children.get(id) ?? []).map(waveOf)
    if (below.includes(null)) return null
    const wave = below.reduce<number>((highest, one) => Math.max(highest, (one ?? 0) + 1), 0)
    waves.set(id, wave)
    return wave
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
