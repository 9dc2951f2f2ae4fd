import type pg from 'pg'

/**
 * How many rows and index entries of dirsync's tables PostgreSQL reads for something: the same on every machine.
 * @param pool of one connection, since what a connection has read it counts when it is asked to
 */
export async function rowsExamined(pool: pg.Pool, work: () => Promise<unknown>): Promise<number> {
  const before = await examined(pool)
  await work()
  return (await examined(pool)) - before
}

async function examined(pool: pg.Pool): Promise<number> {
  await pool.query('select pg_stat_force_next_flush()')
  const { rows } = await pool.query(
    `select ((select sum(seq_tup_read) from pg_stat_user_tables where schemaname = 'dirsync')
             + (select sum(idx_tup_read) from pg_stat_user_indexes where schemaname = 'dirsync'))::float8 as n`,
  )
  return rows[0].n
}
