import { parseActive } from '../directory/field-rules.ts'
import type { HrServer, HrTable } from '../hr/server.ts'
import {
  type ActiveRule,
  type Chosen,
  type CountedValue,
  countActive,
  EMPTY,
  sharedValues,
  withDays,
} from '../workbench/first-select.ts'
import {
  calledIn,
  canBecome,
  type Gender,
  GONE_NAMES,
  genderCertainty,
  genderOf,
  type HrColumn,
  LEAVING_NAMES,
  type Meaning,
  STATUS_NAMES,
  statussOf,
} from '../workbench/guess.ts'
import { namedWithValue, say } from './language.ts'
import {
  figure,
  pad,
  plain,
  print,
  printTable,
  printText,
  printTitle,
  terminalWidth,
  widthOf,
} from './output.ts'
import type { Questions } from './questions.ts'

/** What kind of mapping is made. */
export type Subject = 'employees' | 'departments'

/** The questions that `dirsync hr init` asks about the columns of a table. */

const LEAVE_OUT = '-'
const ALL_THE_REST = '.'

/** Asks what each column means, beginning with the one that a mapping cannot do without. */
export async function askMeanings(
  questions: Questions,
  columns: readonly HrColumn[],
  meanings: readonly Meaning[],
  guessed: ReadonlyMap<string, Meaning>,
): Promise<Chosen[]> {
  if (questions.isAsking) printMeanings(meanings)
  else print('')
  const chosen = new Map<string, Chosen>()
  const open = new Map([...guessed].map(([name, { column }]) => [name, column]))
  let takesRest = false
  for (const column of columns) {
    const guess = open.get(column.name)
    const isFree = guess !== undefined && !chosen.has(guess)
    open.delete(column.name)
    if (takesRest) {
      if (isFree) chosen.set(guess, { column, meaning: guess })
      continue
    }
    const answer = await questions.ask(`  ${plain(column.name)}`, isFree ? guess : LEAVE_OUT, text =>
      text === ALL_THE_REST ? { answer: ALL_THE_REST } : understood(text, column, meanings, chosen),
    )
    takesRest = answer === ALL_THE_REST
    const meaning = takesRest && isFree ? guess : answer
    if (meaning !== LEAVE_OUT && meaning !== ALL_THE_REST) chosen.set(meaning, { column, meaning })
  }
  await askForNeeded(questions, columns, meanings, chosen)
  const order = meanings.map(({ column }) => column)
  return [...chosen.values()].sort((a, b) => order.indexOf(a.meaning) - order.indexOf(b.meaning))
}

/** The name of a meaning, as typed and as people call it; null without a meaning. */
export function meaningName(meaning: Meaning | undefined): string | null {
  return meaning ? namedWithValue('field', meaning.column) : null
}

function printMeanings(meanings: readonly Meaning[]): void {
  printTitle(say('hr_init.meanings'))
  const cells = meanings.map((meaning, i) => `${i + 1} ${meaningName(meaning)}`)
  const width = Math.max(...cells.map(widthOf)) + 2
  const inLine = Math.max(1, Math.floor((terminalWidth() - 2) / width))
  for (let i = 0; i < cells.length; i += inLine)
    print(
      `  ${cells
        .slice(i, i + inLine)
        .map(cell => pad(cell, width))
        .join('')}`.trimEnd(),
    )
  print('')
  printText(say('hr_init.how'), 0)
  print('')
}

function understood(
  text: string,
  column: HrColumn,
  meanings: readonly Meaning[],
  chosen: ReadonlyMap<string, Chosen>,
): { answer: string } | { problem: string } {
  if (text === LEAVE_OUT) return { answer: LEAVE_OUT }
  const meaning = meanings[Number(text) - 1] ?? meanings.find(known => known.column === text.toLowerCase())
  if (!meaning) return { problem: say('hr_init.no_meaning', { answer: plain(text), count: meanings.length }) }
  const holder = chosen.get(meaning.column)?.column.name
  if (holder !== undefined)
    return { problem: say('hr_init.taken', { meaning: meaning.column, column: plain(holder) }) }
  if (!canBecome(column.shape, meaning))
    return { problem: say('hr_init.unfit', { type: column.type, meaning: meaning.column }) }
  return { answer: meaning.column }
}

/** Asks for the first of the meanings, the user id or the code, without which there is no mapping. */
async function askForNeeded(
  questions: Questions,
  columns: readonly HrColumn[],
  meanings: readonly Meaning[],
  chosen: Map<string, Chosen>,
): Promise<void> {
  const [needed] = meanings
  if (!needed || chosen.has(needed.column)) return
  const column = await questions.ask(say('hr_init.which_needed', { meaning: needed.column }), null, name => {
    const answer = columns.find(known => known.name === name)
    return answer && canBecome(answer.shape, needed)
      ? { answer }
      : { problem: say('hr_init.needed_missing', { meaning: needed.column }) }
  })
  for (const [meaning, held] of chosen) if (held.column === column) chosen.delete(meaning)
  chosen.set(needed.column, { column, meaning: needed.column })
}

// Gender

/**
 * Asks what HR's gender values mean if HR does not write them as the platform does; looks at all rows. Ambiguous
 * values are asked about; if no questions can be asked, they are left out.
 */
export async function askGender(
  questions: Questions,
  server: HrServer,
  table: HrTable,
  chosen: readonly Chosen[],
): Promise<Chosen[]> {
  const gender = chosen.find(({ meaning }) => meaning === 'gender')
  const shared = gender && (await sharedValues(server, table, gender.column))
  if (!gender || !shared) return [...chosen]
  const states = shared.filter(({ value }) => value.trim() !== '')
  const values = states.map(({ value }) => value)
  const certainty = genderCertainty(values)
  const column = plain(gender.column.name)
  if (certainty === 'unknown' && !questions.isAsking) {
    printText(say('hr_init.gender_unknown', { column, values: counted(states) }), 0)
    return chosen.filter(part => part !== gender)
  }
  const genders = new Map<string, Gender>()
  for (const value of values) {
    const guess = genderOf(value)
    if (guess === '3') genders.set(value, guess)
  }
  if (certainty !== 'sure') printStates(states)
  for (const [sex, key] of [
    ['1', 'men'],
    ['2', 'women'],
  ] as const) {
    const guess = values.filter(value => genderOf(value) === sex)
    const answer =
      certainty === 'sure'
        ? guess
        : await askValues(questions, say(`hr_init.which_${key}`, { column }), values, {
            guess: certainty === 'usual' ? guess : null,
            mayBeNone: true,
          })
    for (const value of answer) genders.set(value, sex)
  }
  const isPlatforms = values.every(value => genders.get(value) === value)
  return chosen.map(part => (part === gender && !isPlatforms ? { ...part, genders } : part))
}

// Values

function printStates(states: readonly CountedValue[]): void {
  printTable(states, [
    { title: say('hr_init.column.value'), of: ({ value }) => shownValue(value) },
    { title: say('hr_init.column.rows'), of: ({ rows }) => figure(rows), align: 'right' },
  ])
}

/**
 * Asks for some of the values, typed as they are shown.
 * @param given.guess null for none
 */
async function askValues(
  questions: Questions,
  question: string,
  values: readonly string[],
  { guess, mayBeNone = false }: { guess: readonly string[] | null; mayBeNone?: boolean },
): Promise<string[]> {
  const shown = guess === null ? null : guess.length === 0 ? LEAVE_OUT : guess.map(shownValue).join(', ')
  const find = (text: string) =>
    values.find(value => (value !== EMPTY && value === text) || shownValue(value) === text)
  return questions.ask(question, shown, text => {
    if (mayBeNone && text === LEAVE_OUT) return { answer: [] }
    if (guess !== null && text === shown) return { answer: [...guess] }
    const whole = find(text)
    const found = whole === undefined ? text.split(/[,，、]/).map(part => find(part.trim())) : [whole]
    const answer = found.flatMap(value => (value === undefined ? [] : [value]))
    if (answer.length === found.length) return { answer }
    return { problem: say('hr_init.no_value', { values: listed(values) }) }
  })
}

// Who has left

/** A way to find out who has left. */
interface Way {
  text: string
  ask: () => Promise<ActiveRule>
  /** The rule, unless the person names other values; null if only a person can decide. */
  guess: ActiveRule | null
  /** Whether the guess leaves at least half of the rows in service. */
  isPlausible: boolean
}

/** Asks how HR marks who is in service, or which departments are open. */
export async function askActive(
  questions: Questions,
  server: HrServer,
  table: HrTable,
  columns: readonly HrColumn[],
  chosen: readonly Chosen[],
  subject: Subject,
): Promise<ActiveRule> {
  const free = columns.filter(
    ({ name, shape }) => shape !== 'other' && !chosen.some(c => c.column.name === name),
  )
  const called = calledIn(columns)
  const isCalled = ({ name }: HrColumn, names: readonly string[]) => names.includes(called(name))
  const ways: Way[] = []
  for (const column of free) {
    if (subject === 'employees' && isCalled(column, LEAVING_NAMES)) {
      const way = await wayByDay(server, table, column)
      if (way) ways.push(way)
    }
    const isFlag = isCalled(column, GONE_NAMES[subject])
    const states = isFlag || isCalled(column, STATUS_NAMES) ? await sharedValues(server, table, column) : null
    const way = states && (await wayByStates(questions, server, table, column, states, subject))
    if (way && !isFlag) ways.unshift(way)
    else if (way?.guess) ways.push(way)
  }
  const nothing: ActiveRule = { by: 'nothing' }
  ways.push({
    text: say(`hr_init.by_nothing.${subject}`),
    ask: async () => nothing,
    guess: nothing,
    isPlausible: true,
  })
  print('', say(`hr_init.leavers.${subject}`))
  for (const [i, { text }] of ways.entries()) printText(`${i + 1} ${text}`)
  if (free.length > 0) printText(`  ${say('hr_init.another')}`)
  const first = ways.findIndex(({ guess, isPlausible }) =>
    questions.isAsking ? guess === null || isPlausible : guess !== null && isPlausible,
  )
  // If the first way would make most people leave, there is no default: a person has to choose.
  const proposed = questions.isAsking && first > 0 ? null : String(first + 1)
  const ask = await questions.ask(say('hr_init.which_rule'), proposed, async text => {
    const answer = ways[Number(text) - 1]?.ask
    if (answer) return { answer }
    const column = columns.find(({ name }) => name === text)
    if (!column) return { problem: say('hr_init.which_rule') }
    const states = await sharedValues(server, table, column)
    if (!states) return { problem: say('hr_init.no_states', { column: plain(text) }) }
    return { answer: (await wayByStates(questions, server, table, column, states, subject)).ask }
  })
  const active = await ask()
  const unused = free.filter(column =>
    isCalled(column, [...STATUS_NAMES, ...LEAVING_NAMES, ...GONE_NAMES[subject]]),
  )
  if (active.by === 'nothing' && unused.length > 0)
    printText(say(`hr_init.unused.${subject}`, { columns: listed(unused.map(({ name }) => name)) }))
  const count = active.by === 'nothing' ? null : await countActive(server, table, active)
  if (count) printText(say(`hr_init.active.${subject}`, count))
  return active
}

/** Null if HR has no usable day in that column. */
async function wayByDay(server: HrServer, table: HrTable, named: HrColumn): Promise<Way | null> {
  const column = await withDays(server, table, named)
  const guess: ActiveRule = { by: 'day', column }
  const count = await countActive(server, table, guess)
  return (
    count && {
      text: say('hr_init.by_day', {
        column: plain(column.name),
        left: count.of - count.active,
        of: count.of,
      }),
      ask: async () => guess,
      guess,
      isPlausible: isPlausible(count),
    }
  )
}

async function wayByStates(
  questions: Questions,
  server: HrServer,
  table: HrTable,
  column: HrColumn,
  states: readonly CountedValue[],
  subject: Subject,
): Promise<Way> {
  const active = guessedStates(column, states, subject)
  const guess = active && ruleOf(column, states, active, subject)
  const count = guess && (await countActive(server, table, guess))
  const isLikely = count !== null && isPlausible(count)
  return {
    text: say('hr_init.by_states', { column: plain(column.name), values: counted(states) }),
    ask: () => askStates(questions, column, states, subject, isLikely ? active : null),
    guess,
    isPlausible: isLikely,
  }
}

/**
 * Whether at least half of the rows stay in service: it is hardly ever right that most have left, and harmful if
 * wrong.
 */
export function isPlausible({ active, of }: { active: number; of: number }): boolean {
  return active >= of / 2
}

/**
 * Guesses which values mean in service, or open. For employees, every value must be recognised; a department stays
 * open unless its value says that it is closed. Empty means active, as it does in the `active` of a mapping.
 */
function guessedStates(
  { name }: HrColumn,
  states: readonly CountedValue[],
  subject: Subject,
): string[] | null {
  const values = states.map(({ value }) => value)
  const written = values.filter(value => value !== EMPTY)
  const statuses = statussOf(written, name)
  if (subject === 'employees' ? statuses.includes(null) : !statuses.some(status => status !== null))
    return null
  const active = values.filter(value => value === EMPTY || statuses[written.indexOf(value)] !== 'gone')
  return active.length === 0 ? null : active
}

async function askStates(
  questions: Questions,
  column: HrColumn,
  states: readonly CountedValue[],
  subject: Subject,
  guess: readonly string[] | null,
): Promise<ActiveRule> {
  printStates(states)
  const question = say(`hr_init.which_states.${subject}`)
  const values = states.map(({ value }) => value)
  const active = await askValues(questions, question, values, { guess })
  const empty = states.find(({ value }) => value === EMPTY)
  if (empty)
    printText(
      say(`hr_init.${active.includes(EMPTY) ? 'empty_active' : 'empty_gone'}.${subject}`, {
        column: plain(column.name),
        count: empty.rows,
      }),
    )
  return ruleOf(column, states, active, subject)
}

function ruleOf(
  column: HrColumn,
  states: readonly CountedValue[],
  active: readonly string[],
  subject: Subject,
): ActiveRule {
  const values = states.map(({ value }) => value)
  // A column that already reads as true and false can stay as it is.
  const isFlag = values.every(state => parseActive(state) === active.includes(state))
  if (isFlag) return { by: 'flag', column: column.name }
  if (subject === 'employees') return { by: 'states', column, active }
  // A value not seen yet must not close a department, because closed departments are deleted.
  const closed = values.filter(state => !active.includes(state))
  return closed.length === 0 ? { by: 'nothing' } : { by: 'closed states', column, closed }
}

function counted(states: readonly CountedValue[]): string {
  return states.map(({ value, rows }) => `${shownValue(value)} (${figure(rows)})`).join(say('shell.comma'))
}

function listed(states: readonly string[]): string {
  return states.map(shownValue).join(say('shell.comma'))
}

/** A value as it is shown and typed. */
function shownValue(value: string): string {
  return value === EMPTY ? say('hr_init.empty') : plain(value)
}
