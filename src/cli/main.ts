import { expectStop } from './failure.ts'
import { runProgram } from './program.ts'

// The reader of the output may have closed it (`| head`). The command then ends as if it was told to stop, and closes
// what it has opened.
let isUnheard = false
process.stdout.on('error', error => {
  if ((error as NodeJS.ErrnoException).code !== 'EPIPE') throw error
  if (!isUnheard) process.emit('SIGTERM', 'SIGTERM')
  isUnheard = true
})

// As the first process of a container it would otherwise not hear a stop that comes so early, and be killed at work.
if (process.argv[2] === 'start') expectStop()

const code = await runProgram(process.argv.slice(2))
process.exitCode = isUnheard ? 0 : code
// Anything that a stop had to abandon must not keep the process alive: its work is in the outbox.
setTimeout(() => process.exit(), 500).unref()
