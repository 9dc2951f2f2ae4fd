import { once } from 'node:events'
import { describe, expect, onTestFinished, test } from 'vitest'
import { type HrSource, HrUnavailableError } from '../../../src/hr/source.ts'
import { startTcpProxy } from '../../queue/tcp-proxy.ts'
import { type Contract, errorOf, failureOf, key, linesOf } from './source-under-test.ts'

const LOST =
  /^the HR server, or something on the way to it, closed the connection \(.*\); if it happens again/
const SIMPLE = "select 1 as userid, 'n' as name"

export function failureContract(contract: Contract): void {
  const { kind } = contract
  const many = () =>
    `select n as userid, '${'x'.repeat(200)}' as name from ${contract.place.numbers(3_000_000)}`

  /** Whatever is asked, HR is away. */
  const expectAway = async (source: HrSource, message: RegExp | string) => {
    const questions = [
      () => source.scan({}),
      () => source.inspect(),
      () => source.lookup([key('1')]),
      () => source.snapshot(10_000),
    ]
    for (const ask of questions) {
      const error = await errorOf(ask())
      expect(error).toBeInstanceOf(HrUnavailableError)
      expect(error.message).toMatch(message)
    }
  }

  describe('HR is away', () => {
    test('where no server answers', async () => {
      await expectAway(
        contract.source(SIMPLE, { url: kind.wrong.address }),
        /^(?:the HR database does not answer|the folder .* cannot be read) \(/,
      )
    })

    contract.test('logins', 'where the password is wrong', async () => {
      const url = kind.wrong.password?.(contract.place.url) ?? ''
      await expectAway(
        contract.source(SIMPLE, { url }),
        /^the HR database refuses the login \(.*\); check user, password and database in HR_DATABASE_URL or HR_SOURCES$/,
      )
    })

    contract.test('databases', 'where the server has no such database', async () => {
      const url = kind.wrong.database?.(contract.place.url) ?? ''
      await expectAway(
        contract.source(SIMPLE, { url }),
        // MySQL tells a user without rights no more than that.
        kind.name === 'MariaDB'
          ? /^the HR user has no right to this database, or there is none of this name \(ER_DBACCESS_DENIED_ERROR\); check user/
          : /^the HR server has no such database \(/,
      )
    })

    contract.test('connections', 'where the server ends the connection of a scan', async () => {
      const scan = await contract.source(many()).scan({})
      const failure = failureOf(scan)
      await once(scan.stream, 'data')
      await contract.place.endConnections()
      expect(await failure).toMatchObject({ code: 'HR_UNAVAILABLE', message: expect.stringMatching(LOST) })
      await contract.gone()
    })

    contract.test('connections', 'where a connection ends in the middle of a row', async () => {
      await using proxy = await startTcpProxy(contract.place.url)
      const scan = await contract.source(many(), { url: proxy.url }).scan({})
      const failure = failureOf(scan)
      await once(scan.stream, 'data')
      proxy.hangUp()
      expect(await failure).toMatchObject({ code: 'HR_UNAVAILABLE', message: expect.stringMatching(LOST) })
      await contract.gone()
    })

    contract.test('connections', 'where the network breaks, until it is mended', async () => {
      await using proxy = await startTcpProxy(contract.place.url)
      const table = await contract.place.table('reached', { id: 'integer' }, [['1']])
      const lookups = contract.source(`select id as userid, 'n' as name from ${table}`, { url: proxy.url })
      expect((await lookups.lookup([key('1')])).size).toBe(1)
      const scan = await contract.source(many(), { url: proxy.url }).scan({})
      const failure = failureOf(scan)
      await once(scan.stream, 'data')
      await proxy.refuse()
      expect(await failure).toBeInstanceOf(HrUnavailableError)
      await expect(lookups.lookup([key('1')])).rejects.toBeInstanceOf(HrUnavailableError)
      await proxy.accept()
      await expect.poll(() => found(lookups)).toBe(1)
    })

    contract.test('restart', 'while the server restarts, and then back by itself', async () => {
      const table = await contract.place.table('restarted', { id: 'integer' }, [['1']])
      const lookups = contract.source(`select id as userid, 'n' as name from ${table}`)
      expect(await found(lookups)).toBe(1)
      const scan = await contract.source(many()).scan({})
      const failure = failureOf(scan)
      await once(scan.stream, 'data')
      await contract.place.restart()
      expect(await failure).toBeInstanceOf(HrUnavailableError)
      await expect.poll(() => found(lookups)).toBe(1)
      expect(await linesOf(await lookups.scan({}))).toHaveLength(1)
    })
  })

  describe('HR is too slow', () => {
    const slow = () => `select 1 as userid, ${kind.slow} as name`

    contract.test('slow SELECT', 'for a person who waits: the error comes in time', async () => {
      const source = contract.source(slow())
      const startedAt = performance.now()
      await expect(source.lookup([key('1')], { timeoutMs: 1000 })).rejects.toMatchObject({
        code: 'HR_UNAVAILABLE',
        message: "HR's server needed more than 1 s for the SELECT, and stopped it",
      })
      expect(performance.now() - startedAt).toBeLessThan(15_000)
    })

    contract.test('slow SELECT', 'for a dry run, which is told so', async () => {
      const source = contract.source(slow())
      const snapshot = await source.snapshot(1000)
      onTestFinished(() => snapshot[Symbol.asyncDispose]())
      const mapping = await snapshot.inspect((await source.mappingFiles()).employees)
      const failure = failureOf(await snapshot.scan(mapping, new AbortController().signal))
      expect(await failure).toMatchObject({
        code: 'HR_UNAVAILABLE',
        message: "HR's server needed more than 1 s for the SELECT, and stopped it",
      })
      await contract.gone()
    })
  })

  describe('doctor is told', () => {
    const facts = async (url = contract.place.url) => {
      const server = contract.place.serverAt(url)
      onTestFinished(() => server.close())
      return server.facts()
    }

    test('what answers, and that it is only read', async () => {
      const { product, readOnly } = await facts()
      expect(product).toMatch(/^[\w ]+ \d+(\.\d+)+/)
      expect(readOnly).not.toBe('')
    })

    contract.test('rights', 'to how many tables its user may write', async () => {
      const before = (await facts()).writableTables
      await contract.place.table('writable', { id: 'integer' }, [])
      await contract.place.allowWriting('writable')
      expect((await facts()).writableTables).toBe(before + 1)
    })

    test('that nothing answers', async () => {
      await expect(facts(kind.wrong.address)).rejects.toBeInstanceOf(HrUnavailableError)
    })
  })
}

/** How many employees a source finds; null while HR is away. */
async function found(source: HrSource): Promise<number | null> {
  try {
    return (await source.lookup([key('1')])).size
  } catch (error) {
    if (error instanceof HrUnavailableError) return null
    throw error
  }
}
