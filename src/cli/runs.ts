import type { Command } from 'commander'
import { RunQuery } from '../console/runs/query.ts'
import { runs } from '../console/runs/routes.ts'
import { numberOf } from './arguments.ts'
import { openContext } from './context.ts'
import { see, seeList, withQuery } from './definition.ts'
import { examples } from './output.ts'

/** `dirsync runs`: the latest runs, or the story of one. */
export function runsCommand(program: Command): void {
  const command = program
    .command('runs')
    .description('list the latest runs, or tell the story of one')
    .argument('[run]', 'number of a run', numberOf('run'))
  const query = withQuery(command, RunQuery, { limit: 20 })
  command
    .addHelpText(
      'after',
      examples(
        'dirsync runs',
        'dirsync runs --by people --since 7d',
        'dirsync runs 12     its plan, what came of it, who asked, its dead letters',
      ),
    )
    .action(async (id: number | undefined, options) => {
      await using context = await openContext()
      const { list, one } = runs(context)
      if (id === undefined) await seeList(context, list, query(options), options)
      else await see(context, one, { params: { id }, input: {} }, options)
    })
}
