// A process that opens the embedded PostgreSQL in the folder given, says so, and keeps it until it is told to end.
import { startEmbeddedPostgres } from '../../src/embedded/postgres.ts'

const [dataDir = ''] = process.argv.slice(2)
const server = await startEmbeddedPostgres({ dataDir, mode: 'test' })
const keepAlive = setInterval(() => {}, 60_000)
process.once('SIGTERM', async () => {
  await server.stop()
  clearInterval(keepAlive)
})
console.log(`open ${server.url('postgres')}`)
