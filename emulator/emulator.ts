import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { CallHandler } from './call-handler.ts'
import { CallLog, Stats } from './call-log.ts'
import { Control } from './control.ts'
import { Faults } from './faults.ts'
import { Platform, type PlatformSettings } from './platform.ts'
import { applySeed } from './seed.ts'
import { requestListener } from './server.ts'

/** Longer than clients keep an idle connection, so that it is never the emulator that closes one under a call. */
const KEEP_ALIVE_MS = 120_000

export interface EmulatorOptions extends PlatformSettings {
  /** Default 0: a free one. */
  port?: number | undefined
  /** Default 127.0.0.1. */
  host?: string | undefined
  /** What an empty platform holds at first, see `applySeed`; left alone when `data` holds anything already. */
  seed?: object | undefined
}

export interface Emulator {
  /** Base address of the operations, without a trailing slash. */
  url: string
  port: number
  /** Ends every connection and closes the state; may be called more than once. */
  close(): Promise<void>
}

/**
 * Starts the stand-alone platform: the operations of the specification, and the control interface described at
 * `Control`, on one port. Rejects with `ControlError` for a wrong seed, and with the system's error when the
 * port is taken or the file cannot be used.
 */
export async function startEmulator(options: EmulatorOptions): Promise<Emulator> {
  const platform = new Platform(options)
  const faults = new Faults()
  const log = new CallLog()
  const stats = new Stats()
  const calls = new CallHandler(platform, faults, log, stats)
  const control = new Control(platform, faults, log, stats)
  const closing = new AbortController()
  const server = createServer({ keepAliveTimeout: KEEP_ALIVE_MS })
  server.on('request', requestListener(platform, calls, control, closing.signal))
  const host = options.host ?? '127.0.0.1'
  try {
    if (options.seed !== undefined && platform.database.isEmpty()) applySeed(platform, options.seed)
    server.listen(options.port ?? 0, host)
    await once(server, 'listening')
  } catch (error) {
    platform.close()
    throw error
  }

  platform.notifier.wake()
  let closed: Promise<void> | undefined
  const close = async () => {
    const ended = once(server, 'close')
    server.close()
    closing.abort()
    server.closeAllConnections()
    await ended
    platform.close()
  }
  const { port } = server.address() as AddressInfo
  return {
    url: `http://${host.includes(':') ? `[${host}]` : host}:${port}`,
    port,
    close: () => {
      closed ??= close()
      return closed
    },
  }
}
