import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { MAX_FORM_BYTES, verifyNotification } from 'dirsync/platform'

/** Receives refund notifications (section 6): verified, kept, then answered with `success` and nothing else. */
const { PLATFORM_APP_ID = 'demo-application', PLATFORM_APP_SECRET = 's3cret', PORT = '8082' } = process.env
const seen = new Set<string>()
const server = createServer((request, response) => {
  answerTo(request).then(
    answer => response.end(answer),
    // It broke off, or is longer than any notification: there is nothing to answer.
    () => response.destroy(),
  )
})
server.listen(Number(PORT), '127.0.0.1', () => {
  const { port } = server.address() as AddressInfo
  console.log(`listening on http://127.0.0.1:${port}`)
})

async function answerTo(request: IncomingMessage): Promise<string> {
  const result = verifyNotification(await bodyOf(request), {
    appId: PLATFORM_APP_ID,
    appSecret: PLATFORM_APP_SECRET,
    signAlgorithm: 'sha256',
    now: Date.now(),
  })
  if (!result.ok) return 'fail'
  const { outer_refund_no, refund_amount } = result.notification
  if (!seen.has(outer_refund_no)) console.log(outer_refund_no, refund_amount)
  seen.add(outer_refund_no)
  return 'success'
}

/** The body; anyone may send one, so that no more is read than a notification can have. */
async function bodyOf(request: IncomingMessage): Promise<string> {
  let body = ''
  for await (const piece of request.setEncoding('utf8')) {
    body += piece
    if (body.length > MAX_FORM_BYTES) throw new Error('too long')
  }
  return body
}
