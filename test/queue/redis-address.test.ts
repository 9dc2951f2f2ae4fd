import { expect, test } from 'vitest'
import { parseRedisAddress, redisPlace } from '../../src/queue/redis-address.ts'

test.each([
  ['redis://localhost:6379/2', { kind: 'single', url: 'redis://localhost:6379/2' }],
  ['rediss://:pass@cache', { kind: 'single', url: 'rediss://:pass@cache' }],
  [
    'redis+sentinel://one:26379,two/the-master',
    {
      kind: 'sentinel',
      sentinels: [
        { host: 'one', port: 26379 },
        { host: 'two', port: 26379 },
      ],
      master: 'the-master',
      db: 0,
      isTls: false,
    },
  ],
  [
    'rediss+sentinel://anna:p%40ss@[::1]:7000/main/3',
    {
      kind: 'sentinel',
      sentinels: [{ host: '::1', port: 7000 }],
      master: 'main',
      db: 3,
      username: 'anna',
      password: 'p@ss',
      isTls: true,
    },
  ],
  [
    'redis+cluster://:secret@one:7001,two:7002',
    {
      kind: 'cluster',
      nodes: [
        { host: 'one', port: 7001 },
        { host: 'two', port: 7002 },
      ],
      password: 'secret',
      isTls: false,
    },
  ],
])('%s is understood', (text, address) => {
  expect(parseRedisAddress(text)).toEqual(address)
})

test.each([
  ['Sentinels without the name of their master', 'redis+sentinel://one:26379,two:26379'],
  ['a cluster with a database', 'redis+cluster://one:7001/2'],
  ['a port that is none', 'redis+cluster://one:99999'],
  ['an empty host', 'redis+cluster://one:7001,'],
  ['a password that is not encoded', 'redis+cluster://:50%@one:7001'],
  ['another protocol', 'sentinel://one:26379/main'],
])('%s is refused', (_, text) => {
  expect(parseRedisAddress(text)).toBeNull()
})

test.each([
  ['cache:6379/0', ['redis://cache', 'rediss://anna:p%40ss@Cache:6379/', 'redis://cache:6379/0?family=6']],
  ['[::1]:7000/2', ['redis://:pass@[::1]:7000/2']],
  [
    'one:26379,two:26379/main/0',
    ['redis+sentinel://two,one:26379/main', 'rediss+sentinel://anna:p%40ss@One,two/main/0'],
  ],
  ['one:7001,two:6379', ['redis+cluster://two,one:7001', 'redis+cluster://:pass@ONE:7001,two:6379']],
])('%s is the same place, however it is written', (place, texts) => {
  expect(texts.map(redisPlace)).toEqual(texts.map(() => place))
})
