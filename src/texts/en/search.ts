/** Texts of the search from everywhere. */
export const search = {
  'search.title': 'Search',
  'search.found': 'Found for “{text}”',
  'search.nothing': 'Nothing is called “{text}”.',
  'search.nothing_asked': 'Type what you look for.',
  'search.hint':
    'You can search for a case (#17), a run (run 12), an employee by the beginning of the user id or the whole open id, and a department by the beginning of its code. Names are not kept.',
  'search.key': 'About',
  'search.more': 'there are more: type more of it',
} as const
