import childProcess from 'node:child_process'
import { syncBuiltinESMExports } from 'node:module'
import net from 'node:net'

/** In a unit test nothing may connect, listen or start a process. */

function refuse(): never {
  throw new Error('A unit test needs no server: move this test, or import a helper of test/helpers/ for it.')
}

net.Socket.prototype.connect = refuse
net.Server.prototype.listen = refuse
Object.assign(childProcess, { spawn: refuse, fork: refuse, exec: refuse, execFile: refuse })
syncBuiltinESMExports()
