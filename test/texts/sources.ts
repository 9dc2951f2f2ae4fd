import { glob, readFile } from 'node:fs/promises'

const ROOT = new URL('../../', import.meta.url)

/** The text of all TypeScript and SQL in these folders. */
export async function sourcesOf(folders: string[], wanted: (path: string) => boolean): Promise<string> {
  const texts: string[] = []
  for (const folder of folders)
    for await (const path of glob(`${folder}/**/*.{ts,sql}`, { cwd: ROOT }))
      if (wanted(path)) texts.push(await readFile(new URL(path, ROOT), 'utf8'))
  return texts.join('\n')
}
