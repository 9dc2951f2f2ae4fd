import { readdir, readFile } from 'node:fs/promises'
import { onlyRow, type Pool } from '../src/lib/database.ts'

/** Linux counts processor time in ticks of a hundredth of a second. */
const TICK_MICROSECONDS = 10_000

/**
 * Processor time that a process and all below it have used, in microseconds, also what children used that have ended.
 * Reads `/proc`, so Linux only.
 */
export async function processorTime(pid: number): Promise<number> {
  const stats = await Promise.all(
    (await readdir('/proc')).filter(name => /^\d+$/.test(name)).map(name => statOf(Number(name))),
  )
  const below = (parent: number): ProcessStat[] =>
    stats.flatMap(stat => (stat?.parent === parent ? [stat, ...below(stat.pid)] : []))
  const own = await statOf(pid)
  return [...(own ? [own] : []), ...below(pid)].reduce((sum, stat) => sum + stat.ticks, 0) * TICK_MICROSECONDS
}

/** Peak resident memory of a process, in MB; 0 once it has ended. */
export async function peakMemory(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '')
  return Number(/^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1] ?? 0) / 1024
}

/** The server process of a pool's PostgreSQL, which is on this machine: its others are below it. */
export async function postmasterOf(pool: Pool): Promise<number> {
  const { rows } = await pool.query<{ pid: number }>('select pg_backend_pid() as pid')
  const backend = await statOf(onlyRow(rows).pid)
  if (backend === null) throw new Error('the server is not on this machine')
  return backend.parent
}

interface ProcessStat {
  pid: number
  parent: number
  ticks: number
}

async function statOf(pid: number): Promise<ProcessStat | null> {
  const text = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => null)
  if (text === null) return null
  // The name may have blanks and brackets; after it come the state, the parent, and from the twelfth on the times.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
  const ticks = fields.slice(11, 15).reduce((sum, field) => sum + Number(field), 0)
  return { pid, parent: Number(fields[1]), ticks }
}
