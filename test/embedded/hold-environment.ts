// A process that opens the embedded default in the folder given, prints its settings, and keeps it until told to end.
import { pino } from 'pino'
import { openEmbedded } from '../../src/embedded/environment.ts'

const [directory = '', fresh] = process.argv.slice(2)
const logger = pino(pino.destination({ dest: 2, sync: true }))
const environment = await openEmbedded({ directory, fresh: fresh === 'fresh', logger })
const keepAlive = setInterval(() => {}, 60_000)
process.once('SIGTERM', async () => {
  await environment.close()
  clearInterval(keepAlive)
})
console.log(`open ${JSON.stringify(environment.settings)}`)
