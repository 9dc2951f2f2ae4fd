/** Texts of the screen "Departments". */
export const departments = {
  'departments.title': 'Departments',
  'departments.open': 'open',
  'departments.closed': 'closed',
  'departments.deleted': 'deleted on the platform',
} as const
