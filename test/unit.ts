import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, normalize, relative } from 'node:path'

/*
 * Which tests are unit tests (`npm run test:unit`): those that need no server. A test file is one when neither it nor
 * anything that it imports from test/ imports a helper that opens a server or a process. It may use any file of src/.
 */

const TESTS = import.meta.dirname

/** A file that imports one of these, by value, needs more than the process itself. */
const NEEDS_A_SERVER =
  /^(?:(?:node:)?(?:child_process|dgram|http|https|net|worker_threads)|bullmq|ioredis|pg|undici|fastify|smtp-server)$|\/(?:emulator|trial|cli)\/|\/helpers\/(?!helpers\.test)/

/** Folders in which everything is about files outside the program, or about whole processes. */
const NEVER = /^(?:bin|compose|docs|e2e|examples|helpers|trial)\//

const IMPORT =
  /(?:^|[;}\n])\s*(?:import|export)\s+(?!type\b)(?:[^'"();]*?\sfrom\s+)?['"]([^'"]+)['"]|\bimport\(\s*['"]([^'"]+)['"]/g

/** Paths of all unit tests, relative to test/. */
export function unitTests(): string[] {
  return readdirSync(TESTS, { recursive: true, encoding: 'utf8' })
    .filter(file => file.endsWith('.test.ts') && !NEVER.test(file) && !needsAServer(join(TESTS, file)))
    .sort()
}

/** A file, and all that it imports of test/, directly or not. */
export function reachOf(file: string, reached = new Set<string>()): Set<string> {
  reached.add(file)
  for (const target of importsOf(file)) {
    const path = normalize(join(dirname(file), target))
    const isOfTests = target.startsWith('.') && !relative(TESTS, path).startsWith('..') && existsSync(path)
    if (isOfTests && !reached.has(path)) reachOf(path, reached)
  }
  return reached
}

function needsAServer(file: string): boolean {
  return [...reachOf(file)].some(reached => importsOf(reached).some(target => NEEDS_A_SERVER.test(target)))
}

function importsOf(file: string): string[] {
  return [...readFileSync(file, 'utf8').matchAll(IMPORT)].map(
    ([, direct, dynamic]) => direct ?? dynamic ?? '',
  )
}
