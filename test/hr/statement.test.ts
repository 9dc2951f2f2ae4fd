import { describe, expect, test } from 'vitest'
import { MYSQL } from '../../src/hr/mysql/query.ts'
import { POSTGRES } from '../../src/hr/postgres/query.ts'
import { MappingError } from '../../src/hr/source.ts'
import { type Dialect, quotedName, quotedText, singleSelect } from '../../src/hr/statement.ts'

const check = (sql: string) => singleSelect({ file: 'employees.sql', sql }, POSTGRES)

describe('one SELECT', () => {
  test.each([
    ['select 1', 'select 1'],
    ['select 1;', 'select 1'],
    ['\ufeffselect 1 ; \n-- done;\n/* really; /* nested; */ */ ;;', 'select 1 '],
    ['-- header;\nSELECT 1', '-- header;\nSELECT 1'],
    ['with a as (select 1) select * from a', 'with a as (select 1) select * from a'],
    ['(select 1) union (select 2)', '(select 1) union (select 2)'],
    ['values (1)', 'values (1)'],
  ])('%j is accepted', (sql, statement) => {
    expect(check(sql)).toBe(statement)
  })

  test.each([
    `select ';', 'it''s; fine', ")"";" , e'\\';)' , $$;)$$, $t1$ ; $$ ) $t1$ from t`,
    `select date'2020-01-01', name')', a$b, $1 /* ) */ -- )\n from t`,
    'select E\'a\\\\\' as x, "A;B"',
    'select $tag$ -- $other$ $tag$',
    '-- only at the end\nselect 1 -- no line end',
  ])('semicolons and parentheses in quotes and comments count for nothing: %j', sql => {
    expect(check(sql)).toBe(sql)
  })
})

describe('anything else', () => {
  test.each([
    ['', ': the file holds no statement'],
    [' \n-- nothing\n/* at all */;', ': the file holds no statement'],
    ['select 1; select 2', ':1:11: a second statement begins'],
    ['select 1;\n\ndrop table t', ':3:1: a second statement begins'],
    ["select ';';\n'x'", ':2:1: a second statement begins'],
    ['select 1 -- a comment ends here\r; drop table t', ':1:35: a second statement begins'],
    [`select E'a' -- goes on\n \n'\\'' ; drop table t --'`, ':3:8: a second statement begins'],
    ["select 1,\n 'a\0b'", ':2:4: the character U+0000 stands here'],
    ['delete from t', ': the statement must be a SELECT'],
    ['copy t to stdout', ': the statement must be a SELECT'],
    ['\\set x', ': the statement must be a SELECT'],
    ['select 1 as userid) m; --', ':1:19: a parenthesis closes that was never opened'],
    ["select '\n1", ':1:8: a quote or comment is not closed'],
    ['select 1\n/* /* */', ':2:1: a quote or comment is not closed'],
    ['select $a$ $b$', ':1:8: a quote or comment is not closed'],
    ['select "a', ':1:8: a quote or comment is not closed'],
  ])('%j is refused', (sql, message) => {
    const refused = () => check(sql)
    expect(refused).toThrow(MappingError)
    expect(refused).toThrow(`employees.sql${message}`)
  })
})

describe('in another dialect', () => {
  const other: Dialect = {
    beginnings: ['select', 'from'],
    quotes: [
      { opening: "'", hasEscapes: true },
      { opening: '`', hasEscapes: false },
    ],
    nameQuote: '`',
    hasDollarQuotes: false,
    lineComment: /(?:#|--(?=\s|$))[^\n]*/y,
    nestsComments: false,
    executedComment: /\/\*!/y,
  }
  const read = (sql: string) => singleSelect({ file: 'employees.sql', sql }, other)

  test.each([
    "select 'it\\';s'",
    'select `a;\\`',
    'select 1 # ;\n',
    'select 1 -- ;\n',
    'from t',
    '(select 1)',
    'select /* /* ; */ 1',
    'select $1$',
  ])('%j is one SELECT', sql => {
    expect(read(sql)).toBe(sql)
  })

  test.each([
    ["select 'a\\'; select 2", 'a quote or comment is not closed'],
    ['select `a\\`; select 2', 'a second statement begins'],
    ['select 1--;\nselect 2', 'a second statement begins'],
    ['select /* /* */ */; select 2', 'a second statement begins'],
    ['select $$;$$', 'a second statement begins'],
    ['select 1 /*! ; */', 'the server runs what stands in this comment'],
    ['values (1)', ': the statement must be a SELECT'],
  ])('%j is refused', (sql, message) => {
    expect(() => read(sql)).toThrow(message)
  })
})

describe('quotes', () => {
  test('hold whatever a name or a text is made of', () => {
    expect(quotedName('a"b', POSTGRES)).toBe('"a""b"')
    expect(quotedName('a`b"', MYSQL)).toBe('`a``b"`')
    expect(quotedText("it's \\", POSTGRES)).toBe("'it''s \\'")
    expect(quotedText("it's \\", MYSQL)).toBe("'it''s \\\\'")
  })
})
