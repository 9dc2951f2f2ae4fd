import { once } from 'node:events'
import { type AddressInfo, connect, createServer } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { startLink } from './link.ts'

/** A client that is linked to a server, which says back what it hears. */
async function linked() {
  const server = createServer(socket => socket.on('error', () => {}).pipe(socket)).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const link = await startLink(`tcp://127.0.0.1:${(server.address() as AddressInfo).port}`)
  const client = connect(Number(new URL(link.url).port), '127.0.0.1')
  client.on('error', () => {})
  let heard = ''
  client.setEncoding('utf8').on('data', text => {
    heard += text
  })
  onTestFinished(async () => {
    await link[Symbol.asyncDispose]()
    server.close()
  })
  await once(client, 'connect')
  return { link, client, heard: () => heard }
}

test('what was sent over a slow link arrives in its order, also when it is fast again meanwhile', async () => {
  const { link, client, heard } = await linked()
  link.delay(300)
  client.write('slow ')
  link.pass()
  client.write('fast')
  await expect.poll(heard).toBe('slow fast')
})

test('a silent link hands on later what was sent meanwhile', async () => {
  const { link, client, heard } = await linked()
  client.write('before ')
  await expect.poll(heard).toBe('before ')
  link.silence()
  client.write('meanwhile')
  const other = connect(Number(new URL(link.url).port), '127.0.0.1')
  await once(other, 'connect')
  expect(heard()).toBe('before ')
  link.pass()
  await expect.poll(heard).toBe('before meanwhile')
  other.destroy()
})

test('a cut resets connections, and new ones work', async () => {
  const { link, client, heard } = await linked()
  client.write('there')
  await expect.poll(heard).toBe('there')
  expect(link.ports()).toHaveLength(1)
  const closed = new Promise(resolve => client.once('close', resolve))
  link.cut()
  await closed
  const again = connect(Number(new URL(link.url).port), '127.0.0.1')
  again.write('again')
  const [answer] = await once(again, 'data')
  expect(String(answer)).toBe('again')
  again.destroy()
})
