import { runProgram } from './program.ts'

// The reader of the output may have closed it (`| head`). The command then ends as if it was told to stop, and closes
// what it has opened.
let isUnheard = false
process.stdout.on('error', error => {
  if ((error as NodeJS.ErrnoException).code !== 'EPIPE') throw error
  if (!isUnheard) process.emit('SIGTERM', 'SIGTERM')
  isUnheard = true
})

const code = await runProgram(process.argv.slice(2))
process.exitCode = isUnheard ? 0 : code
// Anything that a stop had to abandon must not keep the process alive: its work is in the outbox.
setTimeout(() => process.exit(), 500).unref()
