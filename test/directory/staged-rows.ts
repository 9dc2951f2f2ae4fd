/** A row for the staging table. */
export interface StagedRow {
  enterpriseCode: string
  userid: string
  active: boolean
  /** 32 hexadecimal digits. */
  hash: string
}

/** The rows that a RowHasher has made, read as PostgreSQL reads COPY's binary format. */
export function stagedRows(bytes: Buffer): StagedRow[] {
  const rows: StagedRow[] = []
  let at = 0
  const value = () => {
    const length = bytes.readInt32BE(at)
    at += 4 + length
    return bytes.subarray(at - length, at)
  }
  while (at < bytes.length) {
    if (bytes.readInt16BE(at) !== 4) throw new Error(`a row of ${bytes.readInt16BE(at)} columns`)
    at += 2
    const [enterpriseCode, userid] = [value().toString(), value().toString()]
    rows.push({ enterpriseCode, userid, active: value().equals(Buffer.of(1)), hash: value().toString('hex') })
  }
  return rows
}
