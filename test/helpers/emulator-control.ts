/** A request to an emulator's control interface; resolves to the parsed answer. */
export type EmulatorControl = ReturnType<typeof controlOf>

/**
 * The control interface of the emulator at `url`.
 * @throws Error with its answer, unless that has status 200
 */
export function controlOf(url: string) {
  // biome-ignore lint/suspicious/noExplicitAny: tests look into many shapes
  return async <T = any>(method: string, path: string, body?: unknown): Promise<T> => {
    const answer = await fetch(`${url}/_emulator/${path}`, {
      method,
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${await answer.text()}`)
    return (await answer.json()) as T
  }
}
