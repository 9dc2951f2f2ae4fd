import { execFileSync } from 'node:child_process'
import { join } from 'node:path'

/** Runs `compose/new-deployment` of a copy of the project; what it prints. Throws when it refuses. */
export function newDeployment(folder: string, name: string): string {
  return execFileSync(join(folder, 'compose/new-deployment'), [name], { encoding: 'utf8', stdio: 'pipe' })
}
