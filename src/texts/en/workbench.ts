/** What `dirsync hr check` and `dirsync hr init` print. */
export const workbench = {
  'hr_check.head': 'HR in {product}, read with {file}',
  'hr_check.semicolon': '; ',
  'hr_check.rows': 'rows',
  'hr_check.rows_read': '{rows, number}; {active, number} active, {leavers, number} left',
  'hr_check.departments': 'departments',
  'hr_check.departments_read': '{count, number}, {closed, number} closed ({file})',
  'hr_check.delivery': 'delivery',
  'hr_check.delivery_of': '{files}, written {time}',
  'hr_check.delivery_refused':
    'This is the last complete delivery. The files in the folder now are refused, so no run reads them: {reason}.',
  'hr_check.deliver_again': 'Have HR deliver the files again.',
  'hr_check.columns': 'Columns',
  'hr_check.column.column': 'COLUMN',
  'hr_check.column.type': 'TYPE',
  'hr_check.column.empty': 'EMPTY',
  'hr_check.column.length': 'LENGTH',
  'hr_check.column.distinct': 'DISTINCT',
  'hr_check.column.field': 'PLATFORM FIELD',
  'hr_check.rules': 'Broken rules',
  'hr_check.rows_of': '{rows, plural, one {# row} other {# rows}}',
  'hr_check.keyless': 'without a user id: they belong to no employee and are not synced',
  'hr_check.stray': 'of enterprises that do not belong to the source ({codes}): they are not synced',
  'hr_check.no_rows':
    'HR returns no rows at all: check the SELECT, and {kind, select, files {whether the files that HR delivers have any.} mysql {which rows its views show the HR user.} other {what the HR user may read. Row-level security may hide all rows: `dirsync doctor` reports it.}}',
  'hr_check.doubts': 'Probably wrong',
  'hr_check.doubt.leavers':
    '{rows, number} of {of, number} have left ({values}): check how the SELECT tells who is active, or raise BREAKER_LEAVERS_PERCENT if it is right',
  'hr_check.doubt.same':
    'all {rows, number} active employees have the same value ({values}): check which column it should be',
  'hr_check.doubt.empty':
    'empty for all {rows, number} active employees: check which column it should be, or leave it out',
  'hr_check.doubt.zeros':
    '{rows, number} of {of, number} have fewer digits than the others, and none begins with a zero: a spreadsheet may have removed leading zeros, so have it exported as text',
  'hr_check.doubt.rewritten':
    '{rows, number} of {of, number} end in .0 or have an exponent: a program may have taken them for numbers, so have them exported as text',
  'hr_check.doubt.guarded': `{rows, number} of {of, number} are written as ="00001" or ''00001, so that a spreadsheet keeps the zeros: write trim(…, '="'''''') in the SELECT, which takes the signs away`,
  'hr_check.doubt.nulls':
    "{rows, number} of {of, number} have a text that exports write for no value ({values}): write nullif(…, 'NULL'), with that text, in the SELECT (in MySQL with two backslashes for one)",
  'hr_check.doubt.no_days':
    '{rows, number} of {of, number} are in a year that stands for no day ({values}) and would be sent as they are: make them null in the SELECT',
  'hr_check.doubt.latin1':
    '{rows, number} of {of, number} look like Chinese in a column that HR declares as latin1: write `convert(cast(convert(name using latin1) as binary) using gbk)` in the SELECT, or utf8mb4 for gbk',
  'hr_check.doubt.identity_userid':
    '{rows, number} of {of, number} look like identity numbers: take another column, user ids appear in logs and on pages',
  'hr_check.doubt.mobile_userid':
    '{rows, number} of {of, number} look like mobile numbers, which change: take another column',
  'hr_check.doubt.email_userid':
    '{rows, number} of {of, number} look like e-mail addresses: take another column unless the platform knows employees by them',
  'hr_check.shared': 'Shared values',
  'hr_check.same':
    '{count, plural, one {# value that several employees have} other {# values that several employees have}}',
  'hr_check.alike':
    '{count, plural, one {# that is the same but for how it is written} other {# that are the same but for how they are written}}',
  'hr_check.same_userid':
    '{count, plural, one {# key that HR delivers more than once: no run goes through} other {# keys that HR delivers more than once: no run goes through}}',
  'hr_check.in_departments': 'Departments',
  'hr_check.department.required':
    '{count, plural, one {# without a code} other {# without a code}} (section 2.5)',
  'hr_check.department.too_long':
    '{count, plural, one {# code has} other {# codes have}} more than 50 characters (section 2.5)',
  'hr_check.department.duplicate': '{count, plural, one {# code occurs} other {# codes occur}} twice',
  'hr_check.department.active':
    '{count, plural, one {# is} other {# are}} neither active nor closed: active must be true or false',
  'hr_check.department.closed_at':
    '{count, plural, one {# has} other {# have}} a closed_at that is not a date',
  'hr_check.department.cycle':
    '{count, plural, one {# cycle} other {# cycles}}: departments are each other’s parents',
  'hr_check.department.no_parent':
    '{count, plural, one {# has a parent that does not exist} other {# have parents that do not exist}}',
  'hr_check.department.unknown':
    '{count, plural, one {# department} other {# departments}} of employees that HR’s departments lack, with {employees, plural, one {# employee} other {# employees}}',
  'hr_check.department.elsewhere':
    '{count, plural, one {# department} other {# departments}} of employees that HR has under another enterprise, with {employees, plural, one {# employee} other {# employees}}: map enterprise_code in the SELECT of the departments too',
  'hr_check.department.employees_elsewhere':
    '{count, plural, one {# department} other {# departments}} of employees that HR has under another enterprise, with {employees, plural, one {# employee} other {# employees}}: map enterprise_code in the SELECT of the employees too',
  'hr_check.department.closed_with_employees':
    '{count, plural, one {# is} other {# are}} closed and still {count, plural, one {has} other {have}} {employees, plural, one {# employee} other {# employees}}',
  'hr_check.department.closed_top':
    '{count, plural, one {# is} other {# are}} closed and at the top: the platform never deletes the base department (section 7, 1002212002)',
  'hr_check.look_ups': 'Look-ups',
  'hr_check.hints': 'Hints',
  'hr_check.write_only': 'write-only',
  'hr_check.write_only_note':
    '{fields}: the platform never shows them, so dirsync compares with what it sent last (section 2.3)',
  'hr_check.unmanaged': 'unmanaged',
  'hr_check.unmanaged_note': '{fields}: not in the SELECT, so dirsync never touches them',
  'hr_check.estimates': '≈ is an estimate, off by about 1 %.',
  'hr_check.clean': 'No problems found.',
  'hr_check.not_clean':
    'Fix it in HR, or correct it in {file}. A row that breaks a rule becomes a case and does not stop the others.',
  'hr_check.next': 'Next: {command}',
  'hr_check.again': 'Then: {command}',
  'hr_init.tables': 'Tables of HR in {product}',
  'hr_init.column.table': 'TABLE',
  'hr_init.column.rows': 'ROWS',
  'hr_init.no_tables': 'the HR user may not read any table: grant it SELECT on those of the employees',
  'hr_init.more_tables': '… and {count} more: type the name.',
  'hr_init.which_table.employees': 'Which one holds the employees? A number or a name',
  'hr_init.which_table.departments': 'Which one holds the departments? A number or a name',
  'hr_init.no_such_table': 'There is no table {name} that the HR user may read.',
  'hr_init.columns_of': 'Columns of {table}',
  'hr_init.column.sample': 'SAMPLE',
  'hr_init.column.means': 'PROBABLY',
  'hr_init.sample_note': '9 stands for a digit, a and A for letters, 字 for any other.',
  'hr_init.meanings': 'What a column can mean',
  'hr_init.how':
    'For each column: Enter accepts the value in brackets, a number or a name chooses another one, - leaves the column out, and . accepts the brackets for all remaining columns.',
  'hr_init.no_meaning': '{answer} is not a valid answer: type a number from 1 to {count}, a name, - or .',
  'hr_init.taken': '{column} is already {meaning}.',
  'hr_init.unfit': 'A column of type {type} cannot be {meaning}.',
  'hr_init.which_needed': 'Which column is {meaning}? Its name',
  'hr_init.needed_missing': 'One column has to be {meaning}.',
  'hr_init.leavers.employees': 'How does HR tell who has left?',
  'hr_init.leavers.departments': 'How does HR tell which departments are closed?',
  'hr_init.by_nothing.employees': 'not at all: every row is an active employee',
  'hr_init.by_nothing.departments': 'not at all: every department is open',
  'hr_init.by_states': 'by the values of {column}: {values}',
  'hr_init.by_day': 'by the day of leaving in {column}: {left, number} of {of, number} have left',
  'hr_init.another': 'another column: type its name',
  'hr_init.which_rule': 'A number, or a column',
  'hr_init.unused.employees':
    'By its name, {columns} may tell who has left, and is not used: every row counts as an active employee.',
  'hr_init.unused.departments':
    'By its name, {columns} may tell which departments are closed, and is not used: every one counts as open.',
  'hr_init.no_states':
    '{column} cannot tell: it has too many different values, or hardly any value occurs in several rows.',
  'hr_init.which_states.employees': 'Which values mean in service? Separated by commas',
  'hr_init.which_states.departments': 'Which values mean open? Separated by commas',
  'hr_init.no_value': 'Type some of these values, separated by commas: {values}',
  'hr_init.column.value': 'VALUE',
  'hr_init.empty': '(empty)',
  'hr_init.empty_active.employees':
    '{count, plural, one {# row is} other {# rows are}} empty in {column} and counted as in service.',
  'hr_init.empty_active.departments':
    '{count, plural, one {# row is} other {# rows are}} empty in {column} and counted as open.',
  'hr_init.empty_gone.employees':
    '{count, plural, one {# row is} other {# rows are}} empty in {column} and counted as left.',
  'hr_init.empty_gone.departments':
    '{count, plural, one {# row is} other {# rows are}} empty in {column} and counted as closed.',
  'hr_init.which_men': 'Which values of {column} mean male? Separated by commas, - for none',
  'hr_init.which_women': 'Which values of {column} mean female? Separated by commas, - for none',
  'hr_init.gender_unknown':
    '{column} is left out: its values may mean either gender ({values}). Answer the question without --yes, or write it into the SELECT.',
  'hr_init.personal':
    '{column} looks like identity numbers, mobile numbers or e-mail addresses. User ids appear in logs and on pages: use another column if there is one.',
  'hr_init.active.employees': '{active, number} of {of, number} rows are active employees by it.',
  'hr_init.active.departments': '{active, number} of {of, number} departments are open by it.',
  'hr_init.deleted': 'Rows that HR marks as deleted in {column} are left out.',
  'hr_init.deleted_rows':
    'Rows that HR marks as deleted in {column} are left out by the WHERE of the SELECT: {active, number} of {of, number} stay.',
  'hr_init.perhaps_deleted':
    'By its name, {column} may mark rows that HR has deleted. If so, leave them out by a WHERE such as the one at the end of the SELECT.',
  'hr_init.written': '{file} is written: {count, plural, one {# column} other {# columns}} of {table}.',
  'hr_init.exists': '{file} already exists: name another one with --output, or give --force',
  'hr_init.unwritable': '{file} cannot be written ({code}): name another one with --output',
  'hr_init.ended': 'the input ended before the last question; --yes accepts all guesses',
  'hr_init.unguessable': 'There is nothing to guess: answer it, without --yes.',
  'hr_init.accepted': 'HR accepts it, and dirsync its columns.',
  'hr_init.refused': 'It was written, but cannot be used yet:',
  'hr_init.set': 'Set: {setting}',
  'hr_init.then': 'Then: {command}',
  'hr_init.unguessed':
    'Joins, employees of several companies and the like are up to you: {page} has what each column needs.',
} as const
