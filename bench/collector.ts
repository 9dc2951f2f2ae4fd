import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

/**
 * A collector of traces that accepts everything and keeps nothing. Answers GET with the number of bytes it has
 * received.
 */
let bytes = 0
const server = createServer(async (request, response) => {
  for await (const chunk of request) bytes += chunk.length
  response.end(request.method === 'GET' ? String(bytes) : undefined)
})
server.listen(0, '127.0.0.1', () => {
  console.log(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
})
