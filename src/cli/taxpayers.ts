import type { Command } from 'commander'
import { limitOf, oneOf } from './arguments.ts'
import { say } from './language.ts'
import {
  ASKED_BY_PERSON,
  ENTERPRISE,
  firstOf,
  type LookUpOptions,
  lookUp,
  printShown,
  stateText,
} from './look-up.ts'
import { columnTitle, print, printJson, printTable } from './output.ts'

/** `dirsync taxpayers`: the taxpayers of an identification number. */
export function taxpayersCommand(program: Command): void {
  program
    .command('taxpayers')
    .description('look up the taxpayers of an identification number, of both natures')
    .argument('<identifier>', 'taxpayer identification number')
    .option('--name <name>', 'only those with this name')
    .option('--nature <nature>', '1 general, 2 small-scale (default both)', oneOf('nature', ['1', '2']))
    .option(...ENTERPRISE)
    .option('--limit <n>', 'how many to list', limitOf, 50)
    .option('--json', 'print one JSON document')
    .addHelpText(
      'after',
      `
Examples:
  dirsync taxpayers 91310000MA1FL0000X
  dirsync taxpayers 91310000MA1FL0000X --nature 1 --json`,
    )
    .action(taxpayers)
}

interface Options extends LookUpOptions {
  name?: string
  nature?: '1' | '2'
  limit: number
}

async function taxpayers(identifier: string, options: Options): Promise<void> {
  const { limit, name, nature } = options
  const query = { identifier, ...(name === undefined ? {} : { taxpayer_name: name }) }
  const { found } = await lookUp('taxpayer/findList', options, (client, enterprise) => {
    // Without a nature, the platform would return only small-scale taxpayers (section 4.13).
    async function* ofEach(natures: ('1' | '2')[]) {
      for (const taxpayer_nature of natures)
        yield* client.taxpayers.list({ ...query, taxpayer_nature, ...enterprise }, ASKED_BY_PERSON)
    }
    return firstOf(ofEach(nature ? [nature] : ['1', '2']), limit)
  })
  const { rows, more } = found
  if (options.json) return printJson({ more, taxpayers: rows })
  if (rows.length === 0) return print(say('shell.no_taxpayers'))
  printTable(rows, [
    { title: columnTitle('name'), of: row => row.taxpayer_name, gives: true },
    { title: columnTitle('identifier'), of: row => row.identifier ?? null },
    { title: columnTitle('nature'), of: row => stateText('taxpayer_nature', row.taxpayer_nature) },
    { title: columnTitle('status'), of: row => stateText('taxpayer_status', row.status) },
  ])
  printShown(rows, more)
}
