import { runProgram } from './program.ts'

// Whoever reads the output may have seen enough (`| head`). The command ends as if it was told to stop, so that it closes what
// it has opened.
let isUnheard = false
process.stdout.on('error', error => {
  if ((error as NodeJS.ErrnoException).code !== 'EPIPE') throw error
  if (!isUnheard) process.emit('SIGTERM', 'SIGTERM')
  isUnheard = true
})

const code = await runProgram(process.argv.slice(2))
process.exitCode = isUnheard ? 0 : code
// What a stop had to leave behind must not keep the process: its work is in the outbox.
setTimeout(() => process.exit(), 500).unref()
