import { readFile } from 'node:fs/promises'
import { setTimeout as delay } from 'node:timers/promises'

const EXEC_TRIES = 50

/** Tells a process from a later one with the same id, across restarts of the machine too; null when it is dead. */
export async function birthOf(pid: number): Promise<string | null> {
  try {
    const [boot, stat] = await Promise.all([
      readFile('/proc/sys/kernel/random/boot_id', 'utf8'),
      readFile(`/proc/${pid}/stat`, 'utf8'),
    ])
    // The command's name, in parentheses, may hold anything; start time is the 20th value after it.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    return fields[0] === 'Z' ? null : `${boot.trim()} ${fields[19]}`
  } catch {
    return null // no such process
  }
}

/**
 * Whose process an id in a file is by now: `ours` has `argument` (a path that only our program is given) on its
 * command line; a `stranger` got the id after our process died.
 */
export async function identify(pid: number, argument: string): Promise<'ours' | 'stranger' | 'none'> {
  const read = () => readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')
  let command = await read()
  // A living process has no command line for the moment in which it becomes another program (exec).
  for (let tries = 0; command === '' && tries < EXEC_TRIES && (await birthOf(pid)) !== null; tries += 1) {
    await delay(1)
    command = await read()
  }
  if (command === '') return 'none' // dead, a zombie, or hidden from us
  return command.split('\0').includes(argument) ? 'ours' : 'stranger'
}
