import { defineConfig } from 'vitest/config'
import { unitTests } from './test/unit.ts'

/** `npm run test:unit`: the tests that need no server, in a few seconds. test/unit.ts says which they are. */
export default defineConfig({
  test: {
    include: unitTests().map(file => `test/${file}`),
    setupFiles: 'test/no-servers.ts',
    isolate: false,
    testTimeout: 10_000,
  },
})
