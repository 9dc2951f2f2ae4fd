import { qualified } from '../../src/directory/employee.ts'
import { enterpriseOf, keyOf } from './stage.ts'

/** A row of HR's table. */
export interface Department {
  /** Code of the department above it. */
  parent: string | null
  active: boolean
}

/** The code above each code, whether HR still has them or not. The platform never deletes the one that is above all others. */
export type Tree = Readonly<Record<string, string | null>>

/** That of each enterprise of the simulation. */
export const TREE: Tree = { D0: null, D1: 'D0', D2: 'D1', D3: 'D0' }

export function codesOf(enterprise: string): string[] {
  return Object.keys(TREE).map(code => qualified(enterprise, code))
}

/** Those directly below one. */
export function childrenOf(tree: Tree, name: string): string[] {
  return Object.keys(tree)
    .filter(code => tree[code] === keyOf(name))
    .map(code => qualified(enterpriseOf(name), code))
}

/** What HR has and the platform holds, by name, at this moment. */
export interface Directory {
  tree: Tree
  hr: {
    departments: ReadonlyMap<string, Department>
    people: ReadonlyMap<string, { dept_code: string; active: boolean }>
  }
  platform: {
    departments: ReadonlySet<string>
    employees: ReadonlyMap<string, { dept_code: string | null }>
  }
}

/**
 * Holds each deletion against what could be known. A worker reads HR, perhaps once for several jobs, then what is known of the
 * platform, and then it calls: no reason to keep the department may have lasted from that reading until the call. The simulation
 * has it look as things happen, `test/chaos` afterwards, by what HR and the platform have written down.
 */
export class DepartmentWatch {
  /** Employees of whom no plan can have known yet: where the platform has them cannot be known either. */
  readonly unplanned = new Set<string>()
  readonly #directory: Directory
  readonly #graceMs: number
  #clock = 0
  #passed = 0
  /** When each reason to keep a department was absent last. */
  readonly #absent = new Map<string, number>()
  /** When a department was first closed or gone, in seconds that have passed. */
  readonly #gone = new Map<string, number>()
  /** When a worker last began to read a source. */
  readonly #read = new Map<string, number>()
  /** When the reading began that serves a worker for a department. */
  readonly #begun = new Map<string, number>()

  constructor(directory: Directory, graceMs: number) {
    this.#directory = directory
    this.#graceMs = graceMs
  }

  reset(): void {
    for (const map of [this.#absent, this.#gone, this.#read, this.#begun, this.unplanned]) map.clear()
    this.#passed = 0
  }

  /** Something has changed, in HR or on the platform. @param seconds that have passed */
  look(seconds = 0): void {
    this.#clock += 1
    this.#passed += seconds
    const { hr, platform } = this.#directory
    if (hr.departments.size === 0) return
    const inHr = departmentsOf([...hr.people].filter(([, { active }]) => active))
    const known = [...platform.employees].filter(([name]) => !this.unplanned.has(name))
    const onPlatform = departmentsOf(known)
    for (const name of new Set([...hr.departments.keys(), ...platform.departments])) {
      if (!hr.departments.get(name)?.active)
        // Where the clock is put back, they are gone from then on.
        this.#gone.set(name, Math.min(this.#passed, this.#gone.get(name) ?? this.#passed))
      const reasons = this.#reasonsFor(name, inHr, onPlatform)
      for (const reason of REASONS)
        if (!reasons.includes(reason)) this.#absent.set(`${name} ${reason}`, this.#clock)
    }
  }

  /** A plan has been written that saw these employees. */
  plans(names: readonly string[]): void {
    for (const name of names) this.unplanned.delete(name)
    this.look()
  }

  reads(worker: string, source: string): void {
    this.look()
    this.#read.set(`${worker} ${source}`, this.#clock)
  }

  /** A worker is given the department, of a source that it may have read. */
  begins(worker: string, name: string, source = ''): void {
    this.look()
    const read = this.#read.get(`${worker} ${source}`)
    this.#begun.set(`${worker} ${name}`, read ?? this.#clock)
  }

  /** Why a worker must not delete a department. @param waits whether it is to wait for the end of the grace period */
  objections(worker: string, name: string, waits = true): string[] {
    this.look()
    const begun = this.#begun.get(`${worker} ${name}`) ?? 0
    return REASONS.filter(
      reason =>
        (this.#absent.get(`${name} ${reason}`) ?? -1) < begun &&
        (waits || reason !== 'its time has not come'),
    )
  }

  #reasonsFor(name: string, inHr: ReadonlySet<string>, onPlatform: ReadonlySet<string>): Reason[] {
    const {
      tree,
      hr: { departments },
      platform: { departments: kept },
    } = this.#directory
    const gone = this.#gone.get(name)
    const holds: Record<Reason, boolean> = {
      'HR has it': departments.get(name)?.active === true,
      'HR has employees in it': inHr.has(name),
      'the platform has employees in it': onPlatform.has(name),
      'there are others below it': childrenOf(tree, name).some(child => kept.has(child)),
      'its time has not come': gone === undefined || this.#passed - gone < this.#graceMs / 1000,
    }
    return REASONS.filter(reason => holds[reason])
  }
}

/** Those that employees are in. */
function departmentsOf(employees: Iterable<[string, { dept_code: string | null }]>): Set<string> {
  const names = new Set<string>()
  for (const [employee, { dept_code }] of employees)
    if (dept_code !== null) names.add(qualified(enterpriseOf(employee), dept_code))
  return names
}

const REASONS = [
  'HR has it',
  'HR has employees in it',
  'the platform has employees in it',
  'there are others below it',
  'its time has not come',
] as const
type Reason = (typeof REASONS)[number]
