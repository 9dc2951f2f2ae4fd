import { parseActive } from '../directory/field-rules.ts'
import type { HrServer, HrTable } from '../hr/server.ts'
import { type ActiveRule, type Chosen, statesOf } from '../workbench/first-select.ts'
import {
  canBecome,
  type HrColumn,
  isCalled,
  isInService,
  LEAVING_NAMES,
  type Meaning,
  STATUS_NAMES,
} from '../workbench/guess.ts'
import type { Subject } from './hr-init.ts'
import { namedWithValue, say } from './language.ts'
import { pad, plain, print, printText, printTitle, terminalWidth, widthOf } from './output.ts'
import type { Questions } from './questions.ts'

/** What `dirsync hr init` asks about the columns of a table. */

const LEAVE_OUT = '-'
const ALL_THE_REST = '.'

/** What each column means; the one that a mapping cannot do without comes first. */
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

/** As it is typed, with what people call it; null of nothing. */
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

/** Without the first of the meanings, the user id or the code, there is no mapping. */
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

// Who has left

/** How HR tells who is in service, or which departments are open. */
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
  const rules: { text: string; rule: () => Promise<ActiveRule> }[] = []
  for (const column of free) {
    if (subject === 'employees' && isCalled(column.name, LEAVING_NAMES))
      rules.push({
        text: say('hr_init.by_day', { column: plain(column.name) }),
        rule: async () => ({ by: 'day', column }),
      })
    const states = isCalled(column.name, STATUS_NAMES) ? await statesOf(server, table, column) : null
    if (states)
      rules.unshift({
        text: say('hr_init.by_states', { column: plain(column.name), values: listed(states) }),
        rule: () => askStates(questions, column, states, subject),
      })
  }
  rules.push({ text: say(`hr_init.by_nothing.${subject}`), rule: async () => ({ by: 'nothing' }) })
  print('', say(`hr_init.leavers.${subject}`))
  for (const [i, { text }] of rules.entries()) printText(`${i + 1} ${text}`)
  if (free.length > 0) printText(`  ${say('hr_init.another')}`)
  const rule = await questions.ask(say('hr_init.which_rule'), '1', async text => {
    const answer = rules[Number(text) - 1]?.rule
    if (answer) return { answer }
    const column = columns.find(({ name }) => name === text)
    if (!column) return { problem: say('hr_init.which_rule') }
    const states = await statesOf(server, table, column)
    return states
      ? { answer: () => askStates(questions, column, states, subject) }
      : { problem: say('hr_init.no_states', { column: plain(text) }) }
  })
  const active = await rule()
  const unused = free.filter(({ name }) => isCalled(name, [...STATUS_NAMES, ...LEAVING_NAMES]))
  if (active.by === 'nothing' && unused.length > 0)
    printText(say(`hr_init.unused.${subject}`, { columns: listed(unused.map(({ name }) => name)) }))
  return active
}

async function askStates(
  questions: Questions,
  column: HrColumn,
  states: readonly string[],
  subject: Subject,
): Promise<ActiveRule> {
  for (const [i, state] of states.entries()) printText(`${i + 1} ${plain(state)}`, 4)
  const guess = states.flatMap((state, i) => (isInService(state) ? [i + 1] : []))
  const active = await questions.ask(
    say(`hr_init.which_states.${subject}`),
    guess.length > 0 ? guess.join(',') : null,
    text => {
      const answer = text.split(/[\s,，]+/).map(number => states[Number(number) - 1])
      return answer.every(state => state !== undefined)
        ? { answer }
        : { problem: say('hr_init.no_number', { count: states.length }) }
    },
  )
  // What says true and false already can stay as it is.
  const isFlag = states.every(state => parseActive(state) === active.includes(state))
  if (isFlag) return { by: 'flag', column: column.name }
  if (subject === 'employees') return { by: 'states', column: column.name, active }
  // A value that nobody has seen yet must close no department: closed ones are deleted.
  const closed = states.filter(state => !active.includes(state))
  return closed.length === 0 ? { by: 'nothing' } : { by: 'closed states', column: column.name, closed }
}

function listed(states: readonly string[]): string {
  return states.map(plain).join(say('shell.comma'))
}
