import { PassThrough } from 'node:stream'
import { expect, test } from 'vitest'
import { confirm, needsQuestion } from '../../src/cli/request.ts'
import { type Io, withIo } from '../../src/lib/io.ts'
import { message } from '../../src/texts/message.ts'

const stream = (isTTY: boolean) => Object.assign(new PassThrough(), { isTTY })
const { signal } = new AbortController()
const terminal = (input = true, output = true) => {
  const streams = { input: stream(input), output: stream(output) }
  const io = { stdin: streams.input, stderr: streams.output } as unknown as Io
  return { ...streams, at: <T>(ask: () => T) => withIo(io, ask) }
}

test('asks on a terminal, not with --yes, and refuses if it cannot ask', () => {
  expect(terminal().at(() => needsQuestion(message('said.refund'), false))).toBe(true)
  expect(terminal().at(() => needsQuestion(message('said.refund'), true))).toBe(false)
  for (const [input, output] of [
    [true, false],
    [false, true],
  ] as const)
    expect(() => terminal(input, output).at(() => needsQuestion(message('said.refund'), false))).toThrow(
      /give --yes to send the refund without a question/,
    )
})

test.each(['y\n', 'Yes\n', ' y \r\n'])('%j is a yes', async typed => {
  const { input, output, at } = terminal()
  input.write(typed)
  await at(() => confirm(['  amount  10.00'], 'Send it?', signal))
  expect(String(output.read())).toMatch(/^ {2}amount {2}10\.00\n[\s\S]*Send it\? \[y\/N\] /)
})

test.each(['\n', 'n\n', 'yess\n', '10.00\n', '\x03', '\x04'])('%j is a no', async typed => {
  const { input, at } = terminal()
  input.write(typed)
  await expect(at(() => confirm([], 'Send it?', signal))).rejects.toThrow('nothing was sent')
})

test('the end of the input is a no', async () => {
  const { input, at } = terminal()
  input.end()
  await expect(at(() => confirm([], 'Send it?', signal))).rejects.toThrow('nothing was sent')
})

test('a question that is taken back is a no', async () => {
  const { at } = terminal()
  await expect(at(() => confirm([], 'Send it?', AbortSignal.timeout(20)))).rejects.toThrow('nothing was sent')
})
