// Runs with every test file.
import { join } from 'node:path'
import { afterAll } from 'vitest'
import { endLeaked } from './process.ts'

// Another file in this process may have gone elsewhere.
process.chdir(join(import.meta.dirname, '../..'))

afterAll(endLeaked)
