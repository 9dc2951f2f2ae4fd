import type { EmployeePreview, FieldPreview } from '../sync/preview-employee.ts'
import { colours } from './colours.ts'
import type { EmployeeView } from './look-at-employee.ts'
import { print, printArrow, printText } from './output.ts'
import { table } from './table.ts'

const STANDINGS: Record<FieldPreview['standing'], string> = {
  in_step: 'in step',
  to_send: 'to be sent',
  held_back: 'held back',
  invalid: 'invalid',
  unknown: '',
}

const IN_HR: Record<EmployeePreview['hr'], string> = {
  present: 'HR has the employee.',
  left: 'HR says that the employee has left: nothing is sent.',
  absent: 'HR has no row for the employee: nothing is sent.',
  duplicate: 'HR delivers the employee more than once: nothing is sent.',
  invalid: 'The HR row breaks rules: nothing is sent until it is corrected.',
}

const ON_PLATFORM: Record<EmployeeView['platform'], string> = {
  in_service: 'The platform has the employee in service.',
  absent: 'The platform has no such employee in service.',
  unknown: '',
}

/** HR against the platform, field by field; every value is masked already. */
export function printView({ preview, hrError, platform, platformError }: EmployeeView): void {
  if (hrError) print(colours.yellow(`  HR cannot be asked: ${hrError}`))
  if (preview) print(`  ${IN_HR[preview.hr]}`)
  if (platformError) printText(`The platform did not answer: ${platformError}`)
  else print(`  ${ON_PLATFORM[platform]}`)
  if (!preview || preview.fields.length === 0) return
  print('')
  process.stdout.write(
    table(
      [
        { title: 'FIELD', of: row => row.field },
        { title: 'HR', of: row => row.hr, gives: true },
        {
          title: 'PLATFORM',
          of: row => (row.platform === undefined ? 'not told' : row.platform),
          gives: true,
        },
        { title: 'STANDING', of: row => STANDINGS[row.standing], paint: paintStanding },
      ],
      preview.fields,
    ),
  )
  for (const { message } of preview.problems) printArrow(message)
  for (const { field, standing, note } of preview.fields)
    if (note !== null && standing !== 'invalid') printArrow(`${field}: ${note}`)
}

function paintStanding(cell: string, { standing }: FieldPreview): string {
  if (standing === 'to_send') return colours.cyan(cell)
  if (standing === 'held_back') return colours.yellow(cell)
  return standing === 'invalid' ? colours.red(cell) : cell
}
