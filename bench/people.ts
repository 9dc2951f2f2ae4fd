import { DuckDBInstance } from '@duckdb/node-api'
import { createConnection } from 'mysql2/promise'
import type pg from 'pg'

/** Syllables of the sample names. */
const SYLLABLES = [
  'ba',
  'den',
  'fi',
  'gor',
  'hal',
  'ki',
  'lun',
  'mo',
  'nar',
  'pe',
  'ros',
  'sil',
  'tan',
  'vi',
  'wen',
  'zu',
]

/** The mapping of the sample HR table: the key, whether active, and twelve fields. */
export const EMPLOYEES_SQL = `
select e.staff_id as userid, e.left_on is null as active, e.full_name as name, e.work_number as corp_code, e.sex as gender,
  e.passport as card_no, e.mail as email, e.phone as mobile, e.note as remark, e.unit as dept_code, e.grade as level,
  e.born_on as birth_day, e.hired_on as entry_day, e.cost_center as cost_center_id
from hr.employee e`

/** The same for a MySQL server, where the table has a database of its own. */
export const MYSQL_EMPLOYEES_SQL = EMPLOYEES_SQL.replace('hr.employee', 'employee')

/** Departments that the sample employees are in. */
export const DEPARTMENTS = Array.from({ length: 200 }, (_, i) => `D${i}`)

/** Creates an HR table with so many valid employees. */
export async function createPeople(db: pg.Client, count: number): Promise<void> {
  const syllable = (divisor: number) => `($2::text[])[1 + (i / ${divisor}) % ${SYLLABLES.length}]`
  await db.query('create schema hr')
  await db.query(
    `create table hr.employee (staff_id text primary key, full_name text not null, work_number text not null, sex smallint not null,
       passport text, mail text, phone text, note text, unit text not null, grade text, born_on date, hired_on date not null,
       cost_center integer, left_on date)`,
  )
  await db.query(
    `insert into hr.employee
     select 'e' || lpad(i::text, 8, '0'),
       initcap(${syllable(1)} || ${syllable(16)}) || ' ' || initcap(${syllable(256)} || ${syllable(4096)} || ${syllable(65536)}),
       'W' || i, 1 + i % 2, case when i % 3 = 0 then 'P' || lpad(i::text, 8, '0') end, 'staff' || i || '@example.com',
       '13' || lpad(i::text, 9, '0'), case when i % 5 = 0 then 'Works from site ' || i % 40 end, 'D' || i % $3, 'G' || i % 12,
       date '1960-01-01' + i % 15000, date '2000-01-01' + i % 9000, 1 + i % 300, null
     from generate_series(1, $1::int) i`,
    [count, SYLLABLES, DEPARTMENTS.length],
  )
  await db.query('analyze hr.employee')
}

/** Creates the same people in a database of a MySQL server, with a column of the time of the last change. */
export async function createMysqlPeople(url: string, count: number): Promise<void> {
  const { pathname, href } = new URL(url)
  const name = pathname.slice(1)
  const db = await createConnection({ uri: href.replace(/[^/]*$/, 'mysql'), multipleStatements: true })
  const syllable = (divisor: number) =>
    `elt(1 + floor(i / ${divisor}) % ${SYLLABLES.length}, ${SYLLABLES.map(text => db.escape(text)).join(', ')})`
  await db.query(
    `create database ${name} character set utf8mb4; use ${name};
     create table employee (staff_id varchar(20) primary key, full_name varchar(100) not null, work_number varchar(20) not null,
       sex smallint not null, passport varchar(20), mail varchar(100), phone varchar(20), note varchar(200), unit varchar(20) not null,
       grade varchar(20), born_on date, hired_on date not null, cost_center int, left_on date,
       changed_at datetime(3) not null default current_timestamp(3) on update current_timestamp(3), key (changed_at))`,
  )
  await db.query(
    `insert into employee (staff_id, full_name, work_number, sex, passport, mail, phone, note, unit, grade, born_on, hired_on,
       cost_center, changed_at)
     select concat('e', lpad(i, 8, '0')),
       concat(${syllable(1)}, ${syllable(16)}, ' ', ${syllable(256)}, ${syllable(4096)}, ${syllable(65536)}),
       concat('W', i), 1 + i % 2, if(i % 3 = 0, concat('P', lpad(i, 8, '0')), null), concat('staff', i, '@example.com'),
       concat('13', lpad(i, 9, '0')), if(i % 5 = 0, concat('Works from site ', i % 40), null), concat('D', i % ${DEPARTMENTS.length}),
       concat('G', i % 12), date '1960-01-01' + interval i % 15000 day, date '2000-01-01' + interval i % 9000 day, 1 + i % 300,
       now() - interval 1 day
     from (select seq as i from seq_1_to_${count}) n;
     analyze table employee`,
  )
  await db.end()
}

/**
 * Writes the same people into a CSV file, one in a hundred with a new note.
 * @returns the number of those
 */
export async function writePeopleCsv(path: string, count: number): Promise<number> {
  const instance = await DuckDBInstance.create(':memory:', { threads: '2' })
  const connection = await instance.connect()
  const list = `[${SYLLABLES.map(text => `'${text}'`).join(', ')}]`
  const syllable = (divisor: number) => `${list}[1 + (i // ${divisor}) % ${SYLLABLES.length}]`
  await connection.run(
    `copy (
       select 'e' || lpad(i::varchar, 8, '0') as staff_id,
         ${syllable(1)} || ${syllable(16)} || ' ' || ${syllable(256)} || ${syllable(4096)} || ${syllable(65536)} as full_name,
         'W' || i as work_number, 1 + i % 2 as sex, case when i % 3 = 0 then 'P' || lpad(i::varchar, 8, '0') end as passport,
         'staff' || i || '@example.com' as mail, '13' || lpad(i::varchar, 9, '0') as phone,
         case when i % 100 = 50 then 'Seen at ${Date.now()}' when i % 5 = 0 then 'Works from site ' || i % 40 end as note,
         'D' || i % ${DEPARTMENTS.length} as unit, 'G' || i % 12 as grade, date '1960-01-01' + (i % 15000)::integer as born_on,
         date '2000-01-01' + (i % 9000)::integer as hired_on, 1 + i % 300 as cost_center, null as left_on
       from range(1, ${count + 1}) r (i)) to '${path}' (format csv, header)`,
  )
  const rows = (
    await connection.runAndReadAll(
      `select count(*)::integer from range(1, ${count + 1}) r (i) where i % 100 = 50`,
    )
  ).getRows()
  connection.closeSync()
  instance.closeSync()
  return Number(rows[0]?.[0])
}
