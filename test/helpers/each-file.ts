// Runs with every test file.
import { join } from 'node:path'
import { afterAll } from 'vitest'
import { COMPILE_CACHE, endLeaked } from './process.ts'

// Another file in this process may have gone elsewhere.
process.chdir(join(import.meta.dirname, '../..'))
// Children that dirsync starts compile nothing anew, as when bin/dirsync has started it.
process.env.NODE_COMPILE_CACHE = COMPILE_CACHE

afterAll(endLeaked)
