import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtemp, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { inject } from 'vitest'
import { killChild, registerChild } from './children.ts'
import { until } from './company.ts'
import { freePort } from './free-port.ts'
import { program } from './programs.ts'

/** Several Redis servers that belong together: a master with replicas under Sentinels, and a cluster. */

const MASTER = 'dirsync-master'
/** Of the servers that hold data; Sentinels have none. */
const PASSWORD = 'p@ss'
/** A Sentinel takes a master for dead after this long. */
const DOWN_AFTER_MS = 1000

interface Server {
  readonly port: number
  /** Kills it (`kill -9`). */
  kill(): Promise<void>
  /** Starts it again with what it had on disk. */
  start(): Promise<void>
}

/** @param lines of the configuration, which the server may rewrite */
async function launch(port: number, lines: string[], flags: string[] = []): Promise<Server> {
  const runFolder = inject('runFolder')
  const folder = await mkdtemp(join(runFolder, 'redis-'))
  const file = join(folder, 'redis.conf')
  await writeFile(file, [`port ${port}`, 'bind 127.0.0.1', `dir ${folder}`, ...lines, ''].join('\n'))
  let child: ChildProcess
  const start = async () => {
    child = spawn(program('redis'), [file, ...flags], { stdio: ['ignore', 'ignore', 'ignore'], cwd: folder })
    registerChild(runFolder, child)
    const access = flags.includes('--sentinel') ? {} : { password: PASSWORD }
    const answers = () =>
      ask(port, client => client.ping(), access).then(
        () => true,
        () => false,
      )
    await until(answers)
  }
  await start()
  return {
    port,
    start,
    kill: () => killChild(child),
  }
}

const DATA = [
  `requirepass ${PASSWORD}`,
  `masterauth ${PASSWORD}`,
  'save ""',
  'appendonly yes',
  'appendfsync no',
  'maxmemory-policy noeviction',
]

async function ask<T>(
  port: number,
  action: (client: Redis) => Promise<T>,
  access: { password?: string } = { password: PASSWORD },
): Promise<T> {
  const options = { maxRetriesPerRequest: 0, retryStrategy: () => null, ...access }
  const client = new Redis(port, '127.0.0.1', options)
  client.on('error', () => {}) // the command fails, too
  try {
    return await action(client)
  } finally {
    client.disconnect()
  }
}

/** A master with one replica, and three Sentinels that watch over them. */
export async function startSentinels() {
  const [first, second] = [await freePort(), await freePort()]
  const servers = [await launch(first, DATA), await launch(second, [...DATA, `replicaof 127.0.0.1 ${first}`])]
  const sentinels: Server[] = []
  for (let i = 0; i < 3; i++)
    sentinels.push(
      await launch(
        await freePort(),
        [
          `sentinel monitor ${MASTER} 127.0.0.1 ${first} 2`,
          `sentinel auth-pass ${MASTER} ${PASSWORD}`,
          `sentinel down-after-milliseconds ${MASTER} ${DOWN_AFTER_MS}`,
          `sentinel failover-timeout ${MASTER} 5000`,
        ],
        ['--sentinel'],
      ),
    )
  const [{ port: known } = { port: 0 }] = sentinels
  const askSentinel = <T>(action: (client: Redis) => Promise<T>) => ask(known, action, {})
  const masterPort = () =>
    askSentinel(async client => {
      const [, port] = (await client.call('SENTINEL', 'GET-MASTER-ADDR-BY-NAME', MASTER)) as [string, string]
      return Number(port)
    })
  // They know the replica and each other.
  await until(async () => {
    const answers = await Promise.all(
      ['SLAVES', 'SENTINELS'].map(what =>
        askSentinel(client => client.call('SENTINEL', what, MASTER) as Promise<unknown[]>),
      ),
    )
    return answers[0]?.length === 1 && answers[1]?.length === 2
  })
  return {
    url: `redis+sentinel://:${encodeURIComponent(PASSWORD)}@${sentinels.map(({ port }) => `127.0.0.1:${port}`).join(',')}/${MASTER}`,
    masterPort,
    /** Has the replica take over from a living master, which becomes its replica. */
    async switchOver(): Promise<void> {
      const before = await masterPort()
      await askSentinel(client => client.call('SENTINEL', 'FAILOVER', MASTER))
      await until(async () => (await masterPort()) !== before)
      const now = await masterPort()
      await until(async () => /state=online/.test(await ask(now, client => client.info('replication'))))
    },
    /** Kills the master; resolves when the replica has taken its place. */
    async failOver(): Promise<void> {
      const before = await masterPort()
      await servers.find(({ port }) => port === before)?.kill()
      await until(async () => (await masterPort()) !== before)
    },
    async [Symbol.asyncDispose]() {
      for (const server of [...sentinels, ...servers]) await server.kill()
    },
  }
}

const SLOTS = 16_384

/** A cluster of three masters. */
export async function startCluster() {
  const servers: Server[] = []
  const ports: [number, number][] = []
  for (let i = 0; i < 3; i++) {
    const [port, bus] = [await freePort(), await freePort()]
    ports.push([port, bus])
    servers.push(
      await launch(port, [
        ...DATA,
        'cluster-enabled yes',
        `cluster-port ${bus}`,
        'cluster-node-timeout 2000',
      ]),
    )
  }
  const bounds = ports.map((_, i) => Math.ceil((i * SLOTS) / ports.length))
  for (const [i, { port }] of servers.entries()) {
    const last = (bounds[i + 1] ?? SLOTS) - 1
    await ask(port, client => client.call('CLUSTER', 'ADDSLOTSRANGE', bounds[i] as number, last))
    const [firstPort, firstBus] = ports[0] as [number, number]
    if (i > 0) await ask(port, client => client.call('CLUSTER', 'MEET', '127.0.0.1', firstPort, firstBus))
  }
  const state = (port: number) => ask(port, client => client.call('CLUSTER', 'INFO') as Promise<string>)
  const isWhole = async () => {
    const states = await Promise.all(servers.map(({ port }) => state(port)))
    return states.every(said => said.includes('cluster_state:ok') && said.includes('cluster_known_nodes:3'))
  }
  await until(isWhole)
  return {
    url: `redis+cluster://:${encodeURIComponent(PASSWORD)}@${servers.map(({ port }) => `127.0.0.1:${port}`).join(',')}`,
    servers,
    isWhole,
    /** Resolves when the others take one for dead, as they tell clients. */
    calledDead(dead: Server): Promise<unknown> {
      const other = servers.find(server => server !== dead) as Server
      return until(async () => {
        const nodes = await ask(other.port, client => client.call('CLUSTER', 'NODES') as Promise<string>)
        return nodes.split('\n').some(line => line.includes(`:${dead.port}@`) && /\bfail\b(?!\?)/.test(line))
      })
    },
    /** Keys by the server that has them. */
    keys: () => Promise.all(servers.map(({ port }) => ask(port, client => client.keys('*')))),
    async [Symbol.asyncDispose]() {
      for (const server of servers) await server.kill()
    },
  }
}
