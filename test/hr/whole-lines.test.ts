import fc from 'fast-check'
import { expect, test } from 'vitest'
import { WholeLines } from '../../src/hr/scan.ts'
import { HrDataError } from '../../src/hr/source.ts'
import { message } from '../../src/texts/message.ts'

const COLUMNS = ['enterprise_code', 'userid', 'name', 'remark']

const whole = (limit: number) => new WholeLines('employees.sql', COLUMNS, limit)

function split(bytes: Buffer, places: readonly number[]): Buffer[] {
  const ends = [...new Set(places.map(place => place % (bytes.length + 1)))].sort((a, b) => a - b)
  return [...ends, bytes.length].map((end, i) => bytes.subarray(ends[i - 1] ?? 0, end))
}

test('however the bytes are cut into chunks, whole lines come out, and all of them', () => {
  const line = fc.string({ unit: fc.constantFrom('a', '\t', 'é', '中'), maxLength: 20 })
  fc.assert(
    fc.property(fc.array(line), fc.array(fc.nat()), (lines, places) => {
      const bytes = Buffer.from(lines.map(text => `${text}\n`).join(''))
      const stream = whole(1000)
      const chunks = split(bytes, places).map(chunk => Buffer.from(stream.push(Buffer.from(chunk))))
      expect(Buffer.concat(chunks)).toEqual(bytes)
      for (const chunk of chunks) expect(chunk.length === 0 || chunk.at(-1) === 10).toBe(true)
    }),
  )
})

test('a row may be as long as the limit, and no longer, however it is cut', () => {
  const row = (length: number) => Buffer.from(`\te7\tAnn\t${'x'.repeat(length - '\te7\tAnn\t'.length)}\n`)
  const refused = new HrDataError(
    'employees.sql',
    message('said.row_too_long', { userid: 'e7', limit: 1, column: 'remark' }),
  )
  const around = [Buffer.from('\te1\tBen\t\n'), Buffer.from('\te9\tCem\t\n')] as const
  fc.assert(
    fc.property(fc.array(fc.nat()), places => {
      const read = (length: number) => {
        const stream = whole(1024)
        const bytes = Buffer.concat([around[0], row(length), around[1]])
        return Buffer.concat(split(bytes, places).map(chunk => Buffer.from(stream.push(Buffer.from(chunk)))))
      }
      expect(read(1024).length).toBe(around[0].length + 1025 + around[1].length)
      expect(() => read(1025)).toThrow(refused)
    }),
  )
})

test('a row that never ends is given up at the limit, whatever is still to come', () => {
  const stream = whole(1024 * 1024)
  let pushed = 0
  const chunk = Buffer.alloc(64 * 1024, 'x')
  const push = () => {
    for (;;) {
      stream.push(chunk)
      pushed += chunk.length
    }
  }
  expect(push).toThrow('a row is longer than 1024 kB, above all in enterprise_code')
  expect(pushed).toBe(1024 * 1024)
})
