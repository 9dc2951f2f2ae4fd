import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc') as () => void

/** What the process holds after the garbage is gone: objects, and buffers beside them. In bytes. */
export function heldBytes(): number {
  collectGarbage()
  // V8 frees buffers in the background, on a busy machine much later; the next collection waits for that.
  collectGarbage()
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}
