import { expect, test } from 'vitest'
import { listeningUrl, listenTrouble } from '../../src/lib/http-server.ts'
import { inEnglish } from '../../src/texts/message.ts'

const AT = { host: '127.0.0.1', port: 80 }

test.each([
  [{ code: 'EADDRINUSE', syscall: 'listen' }, 'PORT_TAKEN', /^X_PORT holds 80 .* another port/],
  [{ code: 'EACCES', syscall: 'listen' }, 'ADDRESS_REFUSED', /^X_PORT holds 80 .* above 1023/],
  [{ code: 'EADDRNOTAVAIL', syscall: 'listen' }, 'ADDRESS_REFUSED', /^X_HOST holds "127.0.0.1"/],
  [{ code: 'ENOTFOUND', syscall: 'getaddrinfo' }, 'ADDRESS_REFUSED', /^X_HOST holds "127.0.0.1"/],
])('%j is told as %s', (error, trouble, message) => {
  const found = listenTrouble('X', AT, Object.assign(new Error(), error))
  expect(found?.trouble).toBe(trouble)
  expect(inEnglish(found?.what ?? [])).toMatch(message)
})

test('an error about something else is not explained', () => {
  expect(listenTrouble('X', AT, new TypeError('a mistake'))).toBeNull()
})

test.each([
  ['127.0.0.1', 'http://127.0.0.1:1'],
  ['0.0.0.0', 'http://localhost:1'],
  ['::', 'http://localhost:1'],
  ['::1', 'http://[::1]:1'],
])('a server on %s is found at %s', (host, url) => {
  expect(listeningUrl(host, 1)).toBe(url)
})
