import type { Command } from 'commander'
import { TAXPAYER_NATURE, TAXPAYER_STATUS } from '../platform/states.ts'
import { limitOf, oneOf } from './arguments.ts'
import { openContext } from './context.ts'
import { enterpriseOf, stateText, taken } from './look-up.ts'
import { print, printJson, table } from './output.ts'

/** `dirsync taxpayers`: the taxpayers of an identification number. */
export function taxpayersCommand(program: Command): void {
  program
    .command('taxpayers')
    .summary('look up taxpayers')
    .description('look up the taxpayers of an identification number, of both natures')
    .argument('<identifier>', 'taxpayer identification number')
    .option('--name <name>', 'with this name alone')
    .option('--nature <nature>', '1 general, 2 small-scale; default both', oneOf('nature', ['1', '2']))
    .option('--enterprise <code>', 'enterprise (default PLATFORM_ENTERPRISE_CODE)')
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

interface Options {
  name?: string
  nature?: '1' | '2'
  enterprise?: string
  limit: number
  json?: true
}

async function taxpayers(identifier: string, options: Options): Promise<void> {
  const { json = false, limit, name, nature } = options
  const { orExplained } = await import('./look-up.ts')
  await using context = await openContext()
  const client = await context.platform()
  const ofNature = (taxpayer_nature: '1' | '2') =>
    client.taxpayers.list(
      {
        identifier,
        taxpayer_nature,
        ...(name === undefined ? {} : { taxpayer_name: name }),
        ...enterpriseOf(context, options.enterprise),
      },
      { priority: 1 },
    )
  // Without a nature the platform would ask for small-scale ones alone (section 4.13).
  async function* ofAll() {
    for (const one of nature ? [nature] : (['1', '2'] as const)) yield* ofNature(one)
  }
  const { rows, more } = await orExplained('taxpayer/findList', json, taken(ofAll(), limit))
  if (json) return printJson({ more, taxpayers: rows })
  if (rows.length === 0)
    return print(
      'There is no such taxpayer: check the number, --name and --nature. Of a group, name the enterprise: --enterprise CODE.',
    )
  process.stdout.write(
    table(
      [
        { title: 'NAME', of: row => row.taxpayer_name, gives: true },
        { title: 'IDENTIFIER', of: row => row.identifier ?? null },
        { title: 'NATURE', of: row => stateText(TAXPAYER_NATURE, row.taxpayer_nature) },
        { title: 'STATUS', of: row => stateText(TAXPAYER_STATUS, row.status) },
      ],
      rows,
    ),
  )
  print('', more ? `${rows.length} shown, and there are more (--limit).` : `${rows.length} in all.`)
}
