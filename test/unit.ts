import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, normalize, relative } from 'node:path'

/*
 * Which tests are unit tests (`npm run test:unit`): those that need no server. A test file is one when neither it nor
 * anything that it imports from test/ imports a helper that opens a server or a process. It may use any file of src/.
 */

const TESTS = import.meta.dirname

/** Whoever imports one of these, by value, needs more than the process itself. */
const NEEDS_A_SERVER =
  /^(?:(?:node:)?(?:child_process|dgram|http|https|net|worker_threads)|bullmq|ioredis|pg|undici|fastify)$|\/(?:emulator|trial|cli)\/|\/helpers\/(?!helpers\.test)/

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

function needsAServer(file: string, seen = new Set<string>()): boolean {
  seen.add(file)
  return importsOf(file).some(target => {
    if (NEEDS_A_SERVER.test(target)) return true
    if (!target.startsWith('.')) return false
    const path = normalize(join(dirname(file), target))
    return !relative(TESTS, path).startsWith('..') && !seen.has(path) && needsAServer(path, seen)
  })
}

function importsOf(file: string): string[] {
  return [...readFileSync(file, 'utf8').matchAll(IMPORT)].map(
    ([, direct, dynamic]) => direct ?? dynamic ?? '',
  )
}
