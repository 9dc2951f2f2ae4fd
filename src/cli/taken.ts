/** The first rows, and whether there are more of them. */
export async function taken<T>(rows: AsyncIterable<T>, limit: number): Promise<{ rows: T[]; more: boolean }> {
  const some: T[] = []
  for await (const row of rows) {
    if (some.length === limit) return { rows: some, more: true }
    some.push(row)
  }
  return { rows: some, more: false }
}
