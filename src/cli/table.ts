import { colours } from './colours.ts'
import { cut, pad, plain, terminalWidth, widthOf } from './layout.ts'

const INDENT = 2
const GAP = 2
/** No column becomes narrower than this. */
const LEAST = 6

/** A column of a table of rows. */
export interface Column<Row> {
  title: string
  /** Text of the cell; null and the empty text show as –. */
  of(row: Row): string | number | null
  align?: 'right'
  /** Gives way first where the table is wider than the terminal. */
  gives?: true
  /** Left out where the table is wider than the terminal. */
  spare?: true
  /** Adds colour to the finished cell. */
  paint?(cell: string, row: Row): string
}

/** Rows under their titles, no wider than the terminal: what does not fit is cut with …. */
export function table<Row>(wanted: Column<Row>[], rows: Row[], width = terminalWidth()): string {
  const columns = naturalWidth(wanted, rows) <= width ? wanted : wanted.filter(column => !column.spare)
  const cells = rows.map(row => columns.map(column => textOf(column, row)))
  const widths = fitted(
    columns.map((column, i) => ({
      wanted: Math.max(widthOf(column.title), ...cells.map(row => widthOf(row[i] as string))),
      gives: column.gives === true,
    })),
    width - INDENT - GAP * (columns.length - 1),
  )
  const line = (texts: string[]) => `${' '.repeat(INDENT)}${texts.join(' '.repeat(GAP))}`.trimEnd()
  const header = columns.map(({ title, align }, i) => pad(cut(title, at(widths, i)), at(widths, i), align))
  const body = cells.map((row, n) =>
    columns.map((column, i) => {
      const cell = pad(cut(row[i] as string, at(widths, i)), at(widths, i), column.align)
      return column.paint ? column.paint(cell, rows[n] as Row) : cell
    }),
  )
  return [colours.dim(line(header)), ...body.map(line)].map(text => `${text}\n`).join('')
}

function textOf<Row>(column: Column<Row>, row: Row): string {
  const value = column.of(row)
  return value === null || value === '' ? '–' : plain(String(value))
}

function naturalWidth<Row>(columns: Column<Row>[], rows: Row[]): number {
  const widths = columns.map(column =>
    Math.max(widthOf(column.title), ...rows.map(row => widthOf(textOf(column, row)))),
  )
  return widths.reduce((sum, width) => sum + width, INDENT + GAP * (columns.length - 1))
}

/** Widths that add up to no more than `room`: columns that give shrink first, the widest first. */
function fitted(columns: { wanted: number; gives: boolean }[], room: number): number[] {
  const widths = columns.map(({ wanted }) => wanted)
  const total = () => widths.reduce((sum, width) => sum + width, 0)
  for (const yielding of [true, false]) {
    while (total() > room) {
      const candidates = widths
        .map((width, i) => ({ width, i }))
        .filter(({ width, i }) => width > LEAST && (!yielding || columns[i]?.gives))
      const widest = candidates.sort((a, b) => b.width - a.width)[0]
      if (!widest) break
      widths[widest.i] = widest.width - 1
    }
  }
  return widths
}

function at(widths: number[], i: number): number {
  return widths[i] ?? 0
}
