// Runs with every test file.
import { afterAll } from 'vitest'
import { endLeaked } from './process.ts'

afterAll(endLeaked)
