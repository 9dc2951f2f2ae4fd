import { readFile, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { dirsync } from '../cli/dirsync.ts'
import { createTestDatabase } from '../helpers/postgres.ts'
import { temporaryFolder } from '../helpers/temporary-folder.ts'
import { blocksOf, ROOT } from './pages.ts'

/** A line of the page stands for one that was printed; … at its end for whatever comes there. */
function isShown(line: string, printed: string): boolean {
  return line.endsWith(' …') ? printed.startsWith(line.slice(0, -2)) : line === printed.trimEnd()
}

test('docs/workbench.md shows what its commands print', async () => {
  await using hr = await createTestDatabase()
  const folder = await temporaryFolder()
  const env: Record<string, string> = { HR_DATABASE_URL: hr.url }
  process.chdir(folder)
  await symlink(join(ROOT, 'examples'), join(folder, 'examples'))
  const run = async (command: string) => {
    const [, ...args] = command.replace(/^npx /, '').split(' ')
    // Enter, for every question.
    const { stdout, stderr } = await dirsync(args, env, '\n'.repeat(20))
    return `${stdout}${stderr}`.replaceAll(folder, '/srv/dirsync')
  }
  const blocks = blocksOf('docs/workbench.md')
  expect(blocks.map(({ language }) => language)).toEqual(['sh', 'console', 'sh', 'console', 'console'])
  for (const { language, text } of blocks) {
    const [first = '', ...lines] = text.trimEnd().split('\n')
    if (language === 'sh')
      for (const command of [first, ...lines]) {
        const [, file] = /^psql .* --file (\S+)$/.exec(command) ?? []
        if (file) await hr.pool.query(await readFile(join(ROOT, file), 'utf8'))
        else if (command.startsWith('export '))
          for (const setting of command.split(' ').slice(1)) {
            const [name = '', value = ''] = setting.split('=')
            env[name] = value
          }
        else await run(command)
      }
    else {
      const printed = (await run(first.replace(/^\$ /, ''))).split('\n')
      let at = 0
      for (const line of lines.filter(shown => shown.trim() !== '…')) {
        const found = printed.findIndex((text, i) => i >= at && isShown(line, text))
        expect(found, `${line}\n— is not printed there:\n${printed.slice(at).join('\n')}`).not.toBe(-1)
        at = found + 1
      }
    }
  }
})
