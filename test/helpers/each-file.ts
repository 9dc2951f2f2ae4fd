// Runs with every test file, also where files share a process.
import { afterAll } from 'vitest'
import { endLeaked } from './process.ts'

afterAll(endLeaked)
