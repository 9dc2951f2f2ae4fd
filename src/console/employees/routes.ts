import { z } from 'zod'
import { EMPLOYEE_FIELDS } from '../../directory/employee.ts'
import { isOfHr } from '../../hr/source.ts'
import type { Ask } from '../ask.ts'
import { mayAs } from '../auth/viewer.ts'
import { action, read, reason } from '../endpoint.ts'
import { hrProblem, Problem } from '../problem.ts'
import type { Screen } from '../screen.ts'
import { inPath } from '../ui/paths.ts'
import { pageOf } from '../ui/shown.ts'
import { ByName, keysByName, listByKeys, NamedKeys } from './by-name.ts'
import { employeeLabel, resolveKey } from './key.ts'
import { employeesBody } from './list-view.ts'
import {
  EmployeeListQuery,
  EmployeeResult,
  type EmployeeServices,
  EmployeesQuery,
  EmployeesResult,
  readEmployee,
  readEmployees,
} from './query.ts'
import { RevealError, revealValues, WHOLE_ROW } from './reveal.ts'
import { readUnknownPeople } from './unknown.ts'
import { employeeShown, revealedBody } from './view.ts'

const params = z.object({
  key: z
    .string()
    .min(1)
    .describe('User id, or enterprise/userid, with `~1` for a slash and `~0` for a tilde'),
})
export const screen: Screen = {
  name: 'employees',
  topics: { employees: `select mark from tally where source = 'employee'` },
  endpoints: services => Object.values(employees(services)),
}

export function employees(services: EmployeeServices) {
  return {
    list: read({
      path: '/employees',
      role: 'viewer',
      summary: 'Employees by the beginning of their user id or name, by status, or by department',
      query: EmployeesQuery,
      result: EmployeesResult,
      run: (ask, { input }) => readEmployees(services, ask, input),
      page: async (ask, result, { input }) => ({
        title: ask.t('employees.title'),
        body: employeesBody(ask, result, input, await readUnknownPeople(services.pool)),
      }),
    }),
    byName: action({
      path: '/employees/by-name',
      role: 'reviewer',
      summary:
        'The keys of the people whom HR has by a name, for the filter `keys` of cases and plans; the name goes nowhere else',
      body: ByName,
      costly: true,
      secret: true,
      result: NamedKeys,
      run: (ask, { input }) => keysByName(services, ask, input),
      next: (_ask, { keys }, { input: { list = '' } }) => ({
        to: listByKeys(list, keys),
        notice: { key: 'by_name.found', values: { count: keys.length } },
      }),
    }),
    one: read({
      path: '/employees/:key',
      role: 'viewer',
      summary: 'One employee: HR field by field, how they stand step by step, cases, and stored data',
      params,
      query: EmployeeListQuery,
      result: EmployeeResult,
      async run({ marks }, { params, input }) {
        const key = await resolveKey(services, params.key)
        return readEmployee(services, key, { hr: input.hr === 'yes', run: input.run, marks })
      },
      shown: employeeShown,
    }),
    explain: action({
      path: '/employees/:key/explain',
      role: 'reviewer',
      summary: 'Reads HR and asks the platform: what would be sent now, field by field. Changes nothing',
      params,
      looks: 'explain',
      result: EmployeeResult,
      async run(_ask, { params }) {
        return readEmployee(services, await resolveKey(services, params.key), { hr: true, ask: true })
      },
      page: (ask, result) => pageOf(ask, employeeShown(ask, result)),
    }),
    sync: action({
      path: '/employees/:key/sync',
      role: 'reviewer',
      summary: 'Starts a run for this employee',
      params,
      starts: ({ run }) => `/runs/${run}`,
      result: z.object({ run: z.int(), key: z.string() }),
      async run(ask, { params }) {
        const key = await resolveKey(services, params.key)
        const name = employeeLabel(key)
        return { run: await ask.commands.resyncEmployees([name]), key: name }
      },
      next: (_ask, { run, key }) => ({
        to: `/employees/${inPath(key)}?run=${run}`,
        notice: { key: 'employees.sync_started', values: { run } },
      }),
    }),
    reveal: action({
      path: '/employees/:key/reveal',
      role: 'reviewer',
      summary:
        'One value of one employee as HR has it, unmasked; for admins the whole row. Recorded before it is read',
      params,
      body: z.object({
        field: z.enum([...EMPLOYEE_FIELDS, WHOLE_ROW]).describe('`all`: every field, for admins'),
        reason,
      }),
      costly: true,
      secret: true,
      result: z.object({
        value: z.string().nullable().describe('Of the field; null with `all`'),
        values: z.record(z.string(), z.string().nullable()).describe('By field'),
      }),
      async run(ask, { params, input }) {
        if (input.field === WHOLE_ROW && !mayAs(ask.viewer.role, 'admin'))
          throw new Problem('forbidden', '', { values: { role: ask.t('role.admin') } })
        const key = await resolveKey(services, params.key)
        const values = await reveal(services, ask, { key, ...input })
        return { value: values[input.field] ?? null, values }
      },
      async page(ask, { values }, { params, input: { reason } }) {
        const key = await resolveKey(services, params.key)
        const employee = await readEmployee(services, key, { hr: true, marks: ask.marks })
        return { title: employeeLabel(key), body: revealedBody(ask, employee, { reason, values }) }
      },
    }),
  }
}

async function reveal({ pool, hr }: EmployeeServices, ask: Ask, what: Parameters<typeof revealValues>[3]) {
  try {
    return await revealValues(pool, hr, ask.asker, what)
  } catch (error) {
    if (error instanceof RevealError)
      throw new Problem('invalid', ask.t(`employees.reveal.${error.code}`), { cause: error })
    if (isOfHr(error)) throw hrProblem(error)
    throw error
  }
}
