import { PassThrough } from 'node:stream'
import { expect, test } from 'vitest'
import { confirm, needsQuestion } from '../../src/cli/request.ts'

const stream = (isTTY: boolean) => Object.assign(new PassThrough(), { isTTY })
const { signal } = new AbortController()
const terminal = () => ({ input: stream(true), output: stream(true) })

test('asks on a terminal, not with --yes, and refuses where nobody can be asked', () => {
  expect(needsQuestion('refund', false, terminal())).toBe(true)
  expect(needsQuestion('refund', true, terminal())).toBe(false)
  for (const [input, output] of [
    [true, false],
    [false, true],
  ] as const)
    expect(() => needsQuestion('refund', false, { input: stream(input), output: stream(output) })).toThrow(
      /give --yes to send the refund without a question/,
    )
})

test.each(['y\n', 'Yes\n', ' y \r\n'])('%j is a yes', async typed => {
  const { input, output } = terminal()
  input.write(typed)
  await confirm(['  amount  10.00'], 'Send it?', signal, { input, output })
  expect(String(output.read())).toMatch(/^ {2}amount {2}10\.00\n[\s\S]*Send it\? \[y\/N\] /)
})

test.each(['\n', 'n\n', 'yess\n', '10.00\n', '\x03', '\x04'])('%j is a no', async typed => {
  const { input, output } = terminal()
  input.write(typed)
  await expect(confirm([], 'Send it?', signal, { input, output })).rejects.toThrow('nothing was sent')
})

test('the end of the input is a no', async () => {
  const { input, output } = terminal()
  input.end()
  await expect(confirm([], 'Send it?', signal, { input, output })).rejects.toThrow('nothing was sent')
})

test('a question that is taken back is a no', async () => {
  const { input, output } = terminal()
  await expect(confirm([], 'Send it?', AbortSignal.timeout(20), { input, output })).rejects.toThrow(
    'nothing was sent',
  )
})
