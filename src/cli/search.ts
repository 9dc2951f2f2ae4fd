import type { Command } from 'commander'
import { People } from '../console/people.ts'
import { search } from '../console/search/routes.ts'
import { openContext } from './context.ts'
import { see } from './definition.ts'
import { examples } from './output.ts'

/** `dirsync search`: what the console's search field finds. */
export function searchCommand(program: Command): void {
  program
    .command('search')
    .description('find people, departments, cases, runs, refunds, top-ups and payment orders')
    .argument(
      '<text>',
      'a name, user id, open id, work, mobile or other number, e-mail address, trace id or code of the platform',
    )
    .option('--json', 'print one JSON document')
    .addHelpText(
      'after',
      examples('dirsync search "Li Lei"', 'dirsync search 8000', 'dirsync search 1000220010'),
    )
    .action(async (text: string, options: { json?: true }) => {
      await using context = await openContext()
      const services = { ...context, people: new People(await context.hr(), context.logger) }
      await see(context, search(services), { params: {}, input: { q: text, typing: false } }, options)
    })
}
