import type { Command } from 'commander'
import type { EveryRow } from '../platform/client.ts'
import type { Taxpayer } from '../platform/operations/account.ts'
import { limitOf, oneOf } from './arguments.ts'
import { say } from './language.ts'
import {
  ASKED_BY_PERSON,
  ENTERPRISE,
  firstOf,
  type LookUpOptions,
  lookUp,
  shownText,
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
    async function* ofEach(natures: ('1' | '2')[]): EveryRow<Taxpayer> {
      let missing = 0
      for (const taxpayer_nature of natures) {
        const rows = client.taxpayers.list({ ...query, taxpayer_nature, ...enterprise }, ASKED_BY_PERSON)
        const short = yield* rows
        missing += short === null ? 0 : short.counted - short.found
      }
      return missing === 0 ? null : { counted: missing, found: 0 }
    }
    return firstOf(ofEach(nature ? [nature] : ['1', '2']), limit)
  })
  const { rows, ...rest } = found
  if (options.json) return printJson({ ...rest, taxpayers: rows })
  if (rows.length === 0) return print(rest.more ? shownText(found) : say('shell.no_taxpayers'))
  printTable(rows, [
    { title: columnTitle('name'), of: row => row.taxpayer_name, gives: true },
    { title: columnTitle('identifier'), of: row => row.identifier ?? null },
    { title: columnTitle('nature'), of: row => stateText('taxpayer_nature', row.taxpayer_nature) },
    { title: columnTitle('status'), of: row => stateText('taxpayer_status', row.status) },
  ])
  print('', shownText(found))
}
