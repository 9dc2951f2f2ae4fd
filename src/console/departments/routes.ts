import { z } from 'zod'
import { action, type Endpoint, read, reason } from '../endpoint.ts'
import { StartedRuns, startedRuns } from '../runs/query.ts'
import { startedPath, toStarted } from '../runs/routes.ts'
import type { Screen } from '../screen.ts'
import type { Services } from '../services.ts'
import {
  DeletionsResult,
  DepartmentsQuery,
  DepartmentsResult,
  readDeletions,
  readDepartmentPage,
} from './query.ts'
import { deletionsBody, departmentsBody } from './view.ts'

export const screen: Screen = { name: 'departments', endpoints: departments }

function departments(services: Services): Endpoint[] {
  return [
    read({
      path: '/departments',
      role: 'viewer',
      summary: 'One level of the department tree, and the departments about to be deleted',
      query: DepartmentsQuery,
      result: DepartmentsResult,
      run: (_ask, { input }) => readDepartmentPage(services, input),
      page: (ask, result) => ({
        title: ask.t('departments.title'),
        body: departmentsBody(ask, result, services.hr),
      }),
    }),
    read({
      path: '/departments/run',
      role: 'operator',
      summary: 'What a run that deletes departments would do now. Reads HR, changes nothing',
      result: DeletionsResult,
      costly: true,
      run: () => readDeletions(services),
      page: (ask, result) => ({
        title: ask.t('departments.run'),
        body: deletionsBody(ask, result, services.hr),
      }),
    }),
    action({
      path: '/departments/run',
      role: 'operator',
      summary: 'Starts a run that deletes the departments that HR closed',
      body: z.object({ reason }),
      starts: startedPath,
      result: StartedRuns,
      run: async (ask, { input }) => startedRuns(await ask.commands.deleteDepartments(input.reason)),
      next: (_ask, started) =>
        started.runs.length > 1
          ? toStarted(started)
          : {
              to: `/runs/${started.run}`,
              notice: { key: 'departments.run_started', values: { run: started.run } },
            },
    }),
  ]
}
