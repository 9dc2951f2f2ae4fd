import { qualified } from '../../src/directory/employee.ts'
import type { SimulatedHr } from './hr.ts'
import type { SimulatedPlatform } from './platform.ts'
import { PRESENT, type Process } from './process.ts'
import { enterpriseOf } from './stage.ts'

/** A row of HR's table. */
export interface Department {
  /** Code of the department above it. */
  parent: string | null
  active: boolean
}

/** Those of each enterprise, by code. The platform never deletes the one that is above all others. */
export const TREE: Readonly<Record<string, string | null>> = { D0: null, D1: 'D0', D2: 'D1', D3: 'D0' }

export function codesOf(enterprise: string): string[] {
  return Object.keys(TREE).map(code => qualified(enterprise, code))
}

/** Those directly below one, whether HR still has them or not. */
export function childrenOf(name: string): string[] {
  return codesOf(enterpriseOf(name)).filter(
    child => qualified(enterpriseOf(name), TREE[child.slice(-2)] ?? '') === name,
  )
}

/**
 * Holds each deletion against what could be known. A worker reads HR, perhaps once for several jobs, then what is known of the
 * platform, and then it calls: no reason to keep the department may have lasted from that reading until the call.
 */
export class DepartmentWatch {
  readonly #hr: SimulatedHr
  readonly #platform: SimulatedPlatform
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

  constructor(hr: SimulatedHr, platform: SimulatedPlatform) {
    this.#hr = hr
    this.#platform = platform
  }

  reset(): void {
    for (const map of [this.#absent, this.#gone, this.#read, this.#begun]) map.clear()
    this.#passed = 0
  }

  /** Something has changed, in HR or on the platform. @param seconds that have passed */
  look(seconds = 0): void {
    this.#clock += 1
    this.#passed += seconds
    if (this.#hr.departments.size === 0) return
    for (const name of new Set([...this.#hr.departments.keys(), ...this.#platform.departments])) {
      if (!this.#hr.departments.get(name)?.active)
        // Where the clock is put back, they are gone from then on.
        this.#gone.set(name, Math.min(this.#passed, this.#gone.get(name) ?? this.#passed))
      const reasons = this.#reasonsFor(name)
      for (const reason of REASONS)
        if (!reasons.includes(reason)) this.#absent.set(`${name} ${reason}`, this.#clock)
    }
  }

  reads(process: Process, source: string): void {
    this.look()
    this.#read.set(`${process.name} ${source}`, this.#clock)
  }

  /** A worker is given the department. */
  begins(process: Process, name: string): void {
    this.look()
    const read = this.#read.get(`${process.name} ${this.#hr.sourceOf(name)}`)
    this.#begun.set(`${process.name} ${name}`, read ?? this.#clock)
  }

  /** Why a process must not delete a department. */
  objections(process: Process, name: string): string[] {
    this.look()
    const begun = this.#begun.get(`${process.name} ${name}`) ?? 0
    const waited = process.settings.limits.departmentGraceMs > 0
    return REASONS.filter(
      reason =>
        (this.#absent.get(`${name} ${reason}`) ?? -1) < begun &&
        (waited || reason !== 'its time has not come'),
    )
  }

  #reasonsFor(name: string): Reason[] {
    const { departments, people } = this.#hr
    const { employees, departments: kept } = this.#platform
    const isIn = ([employee, { dept_code }]: [string, { dept_code: string }]) =>
      qualified(enterpriseOf(employee), dept_code) === name
    const gone = this.#gone.get(name)
    const holds: Record<Reason, boolean> = {
      'HR has it': departments.get(name)?.active === true,
      'HR has employees in it': [...people].some(row => isIn(row) && row[1].active),
      'the platform has employees in it': [...employees].some(isIn),
      'there are others below it': childrenOf(name).some(child => kept.has(child)),
      'its time has not come':
        gone === undefined || this.#passed - gone < PRESENT.limits.departmentGraceMs / 1000,
    }
    return REASONS.filter(reason => holds[reason])
  }
}

const REASONS = [
  'HR has it',
  'HR has employees in it',
  'the platform has employees in it',
  'there are others below it',
  'its time has not come',
] as const
type Reason = (typeof REASONS)[number]
