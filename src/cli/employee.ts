import type { Command } from 'commander'
import { employeesNamed } from '../console/employees/key.ts'
import type { EmployeeResult } from '../console/employees/query.ts'
import { employees } from '../console/employees/routes.ts'
import { employeeShown } from '../console/employees/view.ts'
import { People } from '../console/people.ts'
import { Problem } from '../console/problem.ts'
import { message } from '../texts/message.ts'
import { employeeName } from './arguments.ts'
import { type CommandContext, openContext } from './context.ts'
import { runEndpoint, shellAsk } from './definition.ts'
import { FailedError } from './failure.ts'
import { printJson } from './output.ts'
import { printScreen } from './shown.ts'

/** `dirsync employee`: the story of one employee. */
export function employeeCommand(program: Command): void {
  program
    .command('employee')
    .description(
      "tell one employee's story: HR against the platform, work, attempts, dead letters, payment orders",
    )
    .argument('<id>', 'user id, or enterprise/userid', employeeName)
    .option('--json', 'print one JSON document')
    .addHelpText(
      'after',
      `
Asks HR and the platform. Personal data is masked.

Examples:
  dirsync employee e10172
  dirsync employee E200/e10172 --json`,
    )
    .action(async (name: string, options: { json?: true }) => {
      await using context = await openContext()
      const employee = await explained(context, name)
      if (options.json) printJson(employee)
      else printScreen(employeeShown(shellAsk(context), employee), context.program)
    })
}

/** How long HR may take; nothing else waits for it. */
const HR_MS = 60_000

/**
 * An employee as HR and the platform have them now.
 * @throws FailedError if neither HR nor dirsync knows one of this name, UsageError if there are several
 */
export async function explained(context: CommandContext, name: string): Promise<EmployeeResult> {
  const hr = await context.hr()
  const services = { ...context, hr, people: new People(hr, context.logger), hrMs: HR_MS }
  const { keys, silent } = await employeesNamed(services, name)
  if (keys.length === 0)
    throw silent.length === 0
      ? new FailedError(message('said.knows_nobody', { names: name }), { cause: new Problem('not_found') })
      : new FailedError(message('said.dirsync_knows_no', { name, unread: silent }))
  return runEndpoint(context, employees(services).explain, { params: { key: name }, input: {} })
}
