import { createServer } from 'node:net'

/** An answer of `employee/get`, of realistic length. */
const BODY = JSON.stringify({
  code: 0,
  msg: 'OK',
  data: {
    userid: 'e00000001',
    corp_code: 'W1',
    name: 'Baden Figor',
    gender: 1,
    card_type: 2,
    card_no: 'P00000001',
    email: 'staff1@example.com',
    mobile_area: 86,
    mobile: '13000000001',
    remark: null,
    dept_code: 'D1',
    dept_name: 'D1',
    level: 'G1',
    category: null,
    birth_day: '1990-01-01',
    entry_day: '2020-01-01',
    time_created: '2020-01-01 00:00:00',
    time_active: null,
  },
})
const ANSWER = Buffer.from(
  `HTTP/1.1 200 OK\r\ncontent-type: application/json;charset=UTF-8\r\ncontent-length: ${Buffer.byteLength(BODY)}\r\nx-trace-id: 0\r\ndate: Thu, 01 Jan 2026 00:00:00 GMT\r\n\r\n${BODY}`,
)
const TOKEN_BODY = JSON.stringify({
  code: 0,
  msg: 'OK',
  data: { access_token: 'bench-token', expires_in: 7200 },
})
const TOKEN = Buffer.from(
  `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${TOKEN_BODY.length}\r\n\r\n${TOKEN_BODY}`,
)

/**
 * The minimal HTTP server: every request gets the same answer. It reads only the length of a request, so that it is
 * faster than any client, and a benchmark of clients measures the clients.
 */
const server = createServer({ noDelay: true }, socket => {
  let rest = ''
  socket.setEncoding('latin1')
  socket.on('error', () => {})
  socket.on('data', (chunk: string) => {
    rest += chunk
    for (let end = rest.indexOf('\r\n\r\n'); end !== -1; end = rest.indexOf('\r\n\r\n')) {
      const [, length = '0'] = /\r\ncontent-length: (\d+)/i.exec(rest.slice(0, end)) ?? []
      const next = end + 4 + Number(length)
      if (rest.length < next) return
      socket.write(rest.startsWith('POST /token/create') ? TOKEN : ANSWER)
      rest = rest.slice(next)
    }
  })
})
server.listen(0, '127.0.0.1', () => {
  const address = server.address()
  console.log(`http://127.0.0.1:${typeof address === 'object' ? address?.port : address}`)
})
