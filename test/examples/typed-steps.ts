import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { expect, inject, onTestFinished } from 'vitest'
import { registerChild } from '../helpers/children.ts'
import { controlOf } from '../helpers/emulator-control.ts'
import { freePort } from '../helpers/free-port.ts'
import { temporaryFolder } from '../helpers/temporary-folder.ts'

const ROOT = join(import.meta.dirname, '../..')

/** What each step of the README types, by its number. */
async function stepsOfReadme(example: string): Promise<Map<number, string>> {
  const readme = await readFile(join(ROOT, `examples/${example}/README.md`), 'utf8')
  const steps = readme.split(/^(?=\d+\. )/m).slice(1)
  return new Map(
    steps.map(step => [
      Number.parseInt(step, 10),
      [...step.matchAll(/```sh\n([\s\S]*?)```/g)].map(([, typed]) => typed).join('\n'),
    ]),
  )
}

/**
 * The steps of an example's README and the platform that they start.
 * @param more environment of the shells beside the usual
 */
export async function typedSteps(example: string, more: Record<string, string>) {
  const steps = await stepsOfReadme(example)
  const folder = await temporaryFolder()
  const port = await freePort()
  const control = controlOf(`http://127.0.0.1:${port}`)
  const env: NodeJS.ProcessEnv = {
    PATH: `${join(ROOT, 'node_modules/.bin')}:${process.env.PATH}`,
    HOME: folder,
    LANG: 'C.UTF-8',
    ...more,
  }
  /** Types steps into a shell of their own, as they stand there but for addresses, ports and places of files. */
  const type = (...numbers: number[]) => {
    const typed = numbers.map(number => steps.get(number)?.replaceAll('/tmp/', `${folder}/`)).join('\n')
    // npx would look for what has to be compiled at every command: test/bin/dirsync.test.ts shows that it runs the same.
    const script = typed.replaceAll('8090', String(port)).replaceAll('npx dirsync', join(ROOT, 'bin/dirsync'))
    const child = spawn('bash', ['-euo', 'pipefail', '-c', script], {
      cwd: ROOT,
      env,
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true,
    })
    registerChild(inject('runFolder'), child)
    onTestFinished(() => {
      try {
        if (child.pid !== undefined) process.kill(-child.pid, 'SIGTERM')
      } catch {
        // it has ended
      }
    })
    return child
  }
  return {
    numbers: [...steps.keys()],
    /** Environment of the shells from now on. */
    env,
    type,
    /** As {@link type}; waits until the shell has ended well. @returns what it printed */
    async typeToEnd(...numbers: number[]): Promise<string> {
      const child = type(...numbers)
      const printed = Promise.all([text(child.stdout), text(child.stderr)])
      const [code] = await once(child, 'close')
      const [out, err] = await printed
      expect(code, `${out}\n${err}`).toBe(0)
      return out
    },
    /** An employee as the platform holds it; undefined also while there is no platform. */
    async employee(userid: string): Promise<{ name: string } | undefined> {
      const state = await control('GET', `state?userid=${userid}`).catch(() => undefined)
      return state?.employees[0]
    },
  }
}
