import { spawn } from 'node:child_process'
import { connect, createServer } from 'node:net'
import { describe, expect, test } from 'vitest'
import { unitTests } from './unit.ts'

describe('npm run test:unit', () => {
  test('runs the tests of pure decisions, and none that needs a server', () => {
    const files = unitTests()
    expect(files.length).toBeGreaterThan(30)
    expect(files).toContain('directory/desired.test.ts')
    expect(files).toContain('sync/safety.test.ts')
    expect(files).not.toContain('sync/engine.test.ts')
    expect(files.filter(file => /^(?:e2e|cli|emulator)\//.test(file))).toEqual([])
  })

  test('refuses whatever connects, listens or starts a process', async () => {
    await import('./no-servers.ts')
    expect(() => connect(1)).toThrow('needs no server')
    expect(() => createServer().listen(0)).toThrow('needs no server')
    expect(() => spawn('true')).toThrow('needs no server')
  })
})
