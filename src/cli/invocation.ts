import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'
import type { Environment } from '../config.ts'

/** How a person types the program: `dirsync` where it is installed (the image), `npx dirsync` in a checkout. */
export function invocation(env: Environment): 'dirsync' | 'npx dirsync' {
  const folders = (env.PATH ?? '')
    .split(delimiter)
    // npm puts these on the path of what it runs, and they are not there for the person.
    .filter(folder => folder !== '' && !/node_modules\/\.bin\/?$/.test(folder))
  return folders.some(folder => isExecutable(join(folder, 'dirsync'))) ? 'dirsync' : 'npx dirsync'
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK)
    return true
  } catch {
    return false
  }
}
