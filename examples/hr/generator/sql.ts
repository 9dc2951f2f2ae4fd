import type { Unit } from './organisation.ts'
import type { Pair, Person } from './people.ts'

type Cell = string | number | null | { sql: string }

const ROWS_PER_INSERT = 100

/** Plain INSERT statements for the tables of schema.sql, to be loaded with one query call. */
export function dataSql(units: Unit[], people: Pair[]): string {
  const persons = people.map(pair => pair.hr)
  return [
    '-- Written by generate.ts; schema.sql comes first. Closing times are relative to the moment of loading.\n',
    insert('hr.org_unit', ['unit_id', 'company', 'code', 'title', 'parent_id', 'closed_at'], unitRows(units)),
    insert(
      'hr.person',
      [
        'person_id',
        'staff_id',
        'family_name',
        'given_name',
        'name_order',
        'sex',
        'birth_date',
        'id_kind',
        'id_number',
        'note',
      ],
      persons.map(personRow),
    ),
    insert('hr.contact', ['person_id', 'kind', 'value'], persons.flatMap(contactRows)),
    insert(
      'hr.employment',
      [
        'employment_id',
        'person_id',
        'company',
        'unit_id',
        'work_number',
        'status',
        'hired_on',
        'left_on',
        'grade',
        'staff_groups',
        'cost_center',
        'contract_kind',
        'taxpayer_ref',
      ],
      persons.flatMap(person => employmentRows(person, unitId(units, person.company, person.unit))),
    ),
  ].join('\n')
}

function unitId(units: Unit[], company: string, code: string): number {
  const index = units.findIndex(unit => unit.company === company && unit.code === code)
  if (index < 0) throw new Error(`no unit ${code} in ${company}: add it to organisation.ts`)
  return index + 1
}

function unitRows(units: Unit[]): Cell[][] {
  return units.map((unit, index) => [
    index + 1,
    unit.company,
    unit.code,
    unit.title,
    unit.parent && unitId(units, unit.company, unit.parent),
    unit.closedAgo && { sql: `now() - interval '${unit.closedAgo}'` },
  ])
}

function personId(person: Person): number {
  return Number(person.staffId.slice(1))
}

function personRow(person: Person): Cell[] {
  return [
    personId(person),
    person.staffId,
    person.name.family,
    person.name.given,
    person.name.familyFirst ? 'F' : 'G',
    person.sex,
    person.birthDate,
    person.document?.kind ?? null,
    person.document?.number ?? null,
    person.note,
  ]
}

function contactRows(person: Person): Cell[][] {
  const contacts: [kind: string, value: string | undefined | null][] = [
    ['mobile', person.mobile?.typed],
    ['work_email', person.email],
    ['private_email', person.privateEmail],
  ]
  return contacts.flatMap(([kind, value]) => (value ? [[personId(person), kind, value]] : []))
}

/** The earlier employment of someone who came back ran for a year; its number is the present one's plus a hundred thousand. */
function employmentRows(person: Person, unit: number): Cell[][] {
  const row = (id: number, status: string, hired: string | null, left: string | null): Cell[] => [
    id,
    personId(person),
    person.company,
    unit,
    person.workNumber,
    status,
    hired,
    left,
    person.grade,
    `{${person.staffGroups.join(',')}}`,
    person.costCenter === null ? null : `CC-${String(person.costCenter).padStart(4, '0')}`,
    person.contract,
    person.taxpayerRef,
  ]
  const present = row(personId(person), person.status, person.hiredOn, person.leftOn)
  if (person.earlierUntil === null) return [present]
  const until = person.earlierUntil
  const from = `${Number(until.slice(0, 4)) - 1}${until.slice(4)}`
  return [row(personId(person) + 100_000, 'L', from, until), present]
}

function insert(table: string, columns: string[], rows: Cell[][]): string {
  const statements: string[] = []
  for (let start = 0; start < rows.length; start += ROWS_PER_INSERT) {
    const values = rows.slice(start, start + ROWS_PER_INSERT).map(row => `  (${row.map(literal).join(', ')})`)
    statements.push(`insert into ${table} (${columns.join(', ')}) values\n${values.join(',\n')};\n`)
  }
  return statements.join('\n')
}

function literal(cell: Cell): string {
  if (cell === null) return 'null'
  if (typeof cell === 'number') return String(cell)
  if (typeof cell === 'object') return cell.sql
  return `'${cell.replaceAll("'", "''")}'`
}
