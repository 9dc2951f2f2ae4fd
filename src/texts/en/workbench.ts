/** What `dirsync hr check` and `dirsync hr init` print. */
export const workbench = {
  'hr_check.head': 'HR in {product}, read with {file}',
  'hr_check.semicolon': '; ',
  'hr_check.rows': 'rows',
  'hr_check.rows_read': '{rows, number}; {active, number} active, {leavers, number} left',
  'hr_check.departments': 'departments',
  'hr_check.departments_read': '{count, number}, {closed, number} closed ({file})',
  'hr_check.columns': 'Columns',
  'hr_check.column.column': 'COLUMN',
  'hr_check.column.type': 'TYPE',
  'hr_check.column.empty': 'EMPTY',
  'hr_check.column.length': 'LENGTH',
  'hr_check.column.distinct': 'DISTINCT',
  'hr_check.column.field': 'PLATFORM FIELD',
  'hr_check.rules': 'Broken rules',
  'hr_check.rows_of': '{rows, plural, one {# row} other {# rows}}',
  'hr_check.keyless': 'without a user id: they are nobody’s, and are not synced',
  'hr_check.no_rows': 'HR delivers no rows at all: check the SELECT, and what the HR user may read.',
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
  'hr_check.department.closed_at': '{count, plural, one {# has} other {# have}} a closed_at that is no date',
  'hr_check.department.cycle':
    '{count, plural, one {# cycle} other {# cycles}}: departments are each other’s parents',
  'hr_check.department.no_parent':
    '{count, plural, one {# has a parent that does not exist} other {# have parents that do not exist}}',
  'hr_check.department.unknown':
    '{count, plural, one {# department} other {# departments}} of employees that HR’s departments lack, with {employees, plural, one {# employee} other {# employees}}',
  'hr_check.department.closed_with_employees':
    '{count, plural, one {# is} other {# are}} closed and still {count, plural, one {has} other {have}} {employees, plural, one {# employee} other {# employees}}',
  'hr_check.department.closed_top':
    '{count, plural, one {# is} other {# are}} closed and at the top: the platform deletes no base department (section 7, 1002212002)',
  'hr_check.hints': 'Hints',
  'hr_check.write_only': 'write-only',
  'hr_check.write_only_note':
    '{fields}: the platform never shows them, so dirsync compares with what it sent last (section 2.3)',
  'hr_check.unmanaged': 'unmanaged',
  'hr_check.unmanaged_note': '{fields}: not in the SELECT, so dirsync never touches them',
  'hr_check.estimates': '≈ is an estimate, off by about 1 %.',
  'hr_check.clean': 'Nothing is wrong with it.',
  'hr_check.not_clean':
    'Mend it in HR, or write it away in {file}. A row that breaks a rule becomes a dead letter, and stops nobody else.',
  'hr_check.next': 'Next: {command}',
  'hr_check.again': 'Then: {command}',
  'hr_check.stopped': 'stopped before all rows were read; nothing was written',
} as const
