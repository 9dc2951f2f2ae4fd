import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { verifyNotification } from 'dirsync/platform'

/** Receives refund notifications (section 6): verified, kept, then answered with `success` and nothing else. */
const { PLATFORM_APP_ID = 'demo-application', PLATFORM_APP_SECRET = 's3cret', PORT = '8082' } = process.env
const seen = new Set<string>()
const server = createServer(async (request, response) => {
  const result = verifyNotification(await text(request), {
    appId: PLATFORM_APP_ID,
    appSecret: PLATFORM_APP_SECRET,
    signAlgorithm: 'sha256',
    now: Date.now(),
  })
  if (!result.ok) return response.end('fail')
  const { outer_refund_no, refund_amount } = result.notification
  if (!seen.has(outer_refund_no)) console.log(outer_refund_no, refund_amount)
  seen.add(outer_refund_no)
  response.end('success')
})
server.listen(Number(PORT), '127.0.0.1', () => {
  const { port } = server.address() as AddressInfo
  console.log(`listening on http://127.0.0.1:${port}`)
})
