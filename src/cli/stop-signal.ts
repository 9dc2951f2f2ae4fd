/** Resolves with the name of the first signal that asks the process to stop; a second one ends it at once. */
export function stopSignal(): Promise<NodeJS.Signals> {
  return new Promise(resolve => {
    const stop = (signal: NodeJS.Signals) => {
      for (const name of ['SIGINT', 'SIGTERM'] as const) {
        process.off(name, stop)
        process.once(name, () => process.exit(1))
      }
      resolve(signal)
    }
    process.on('SIGINT', stop)
    process.on('SIGTERM', stop)
  })
}
