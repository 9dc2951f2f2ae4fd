/** Texts of the search from everywhere. */
export const search = {
  'search.title': 'Search',
  'search.found': 'Found for “{text}”',
  'search.nothing': 'Nothing matches “{text}”.',
  'search.nothing_asked': 'Type what you are looking for.',
  'search.hint':
    'Search for a case (#17), a run (run 12), an employee by the beginning of the user id or by the whole open id, or a department by the beginning of its code. Names are not stored.',
  'search.key': 'About',
  'search.more': 'there are more: type more characters',
} as const
