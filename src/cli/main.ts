import { runProgram } from './program.ts'

// Whoever reads the output may have seen enough (`| head`).
process.stdout.on('error', error => {
  if ((error as NodeJS.ErrnoException).code !== 'EPIPE') throw error
  process.exit(0)
})

process.exitCode = await runProgram(process.argv.slice(2))
// What a stop had to leave behind must not keep the process: its work is in the outbox.
setTimeout(() => process.exit(), 500).unref()
