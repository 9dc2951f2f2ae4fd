import { defineConfig } from 'vitest/config'
import unit from '../../vitest.unit.config.ts'

/** The unit tests of the folders whose code is mutated. */
const FOLDERS = ['directory', 'money', 'pacing', 'platform', 'sync']
const include = unit.test?.include?.filter(file => FOLDERS.includes(file.split('/')[1] ?? '')) ?? []

/** Changed code counts its way through every test, which takes several times as long. */
const testTimeout = 60_000

export default defineConfig({ ...unit, test: { ...unit.test, include, testTimeout } })
