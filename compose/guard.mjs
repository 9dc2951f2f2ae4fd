// Lets the demo's deployment start only as a demo: its secrets are known to everybody.
// Usage: node compose/guard.mjs [host that only the demo has] [seconds to wait for it]; DIRSYNC_DEPLOYMENT names the deployment.
import { lookup } from 'node:dns/promises'
import { setTimeout as delay } from 'node:timers/promises'

const [host = 'emulator', seconds = '15'] = process.argv.slice(2)
const deployment = process.env.DIRSYNC_DEPLOYMENT || 'demo'

if (deployment === 'demo' && !(await exists(host, Number(seconds) * 1000))) {
  console.error(
    'guard: nothing is set up here, and the demo runs only with its profile. ' +
      'For the demo: docker compose --profile demo up. For your own HR and platform: compose/new-deployment production',
  )
  process.exitCode = 2
}

/** The name appears when the demo's container is connected to the network, which may take a moment. */
async function exists(name, milliseconds) {
  const deadline = Date.now() + milliseconds
  for (;;) {
    const address = await lookup(name).catch(() => null)
    if (address) return true
    if (Date.now() >= deadline) return false
    await delay(250)
  }
}
