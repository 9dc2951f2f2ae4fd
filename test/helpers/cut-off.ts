/** `NODE_OPTIONS` of a process that does not reach `port` while `file` is there. */
export const cutOff = (file: string, port: number) =>
  `--import=data:text/javascript,${encodeURIComponent(`
    import { existsSync } from 'node:fs'
    import { Socket } from 'node:net'
    const { connect, write } = Socket.prototype
    const isCut = to => Number(to) === ${port} && existsSync(${JSON.stringify(file)})
    Socket.prototype.connect = function (...given) {
      const [options] = Array.isArray(given[0]) ? given[0] : given
      if (isCut(options?.port)) options.port = 1
      return connect.apply(this, given)
    }
    Socket.prototype.write = function (...given) {
      if (isCut(this.remotePort)) this.destroy(new Error('cut off'))
      return write.apply(this, given)
    }`)}`
