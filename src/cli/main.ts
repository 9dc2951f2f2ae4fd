import { expectStop } from './failure.ts'
import { runProgram } from './program.ts'

// The reader of the output may have closed it (`| head`), or its disk be full. The command then ends as if it was told to
// stop, and closes what it has opened. If it fails by itself, its exit code says so all the same.
let unheard: 'closed' | 'failed' | null = null
process.stdout.on('error', error => {
  if (unheard) return
  unheard = (error as NodeJS.ErrnoException).code === 'EPIPE' ? 'closed' : 'failed'
  process.exitCode ||= unheard === 'closed' ? 0 : 1
  if (unheard === 'failed') process.stderr.write(`dirsync: ${error.message}\n`)
  process.emit('SIGTERM', 'SIGTERM')
})
// What is said beside the result may go unheard; the work goes on.
process.stderr.on('error', () => {})

// As the first process of a container it would otherwise not hear a stop that comes so early, and be killed at work.
if (process.argv[2] === 'start') expectStop()

const code = await runProgram(process.argv.slice(2))
if (code !== 0 || !unheard) process.exitCode = code
// Where nothing is left to do, Node.js forgets its signal handlers some milliseconds before its end: a stop that is told once
// more would then kill it.
process.once('beforeExit', () => process.exit())
// Anything that a stop had to abandon must not keep the process alive: its work is in the outbox. What was printed is read first,
// however slowly.
process.stdout.write('', () => setTimeout(() => process.exit(), 500).unref())
