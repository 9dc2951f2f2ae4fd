/** Texts of the search from everywhere. */
export const search = {
  'search.title': 'Search',
  'search.found': 'Found for “{text}”',
  'search.nothing': 'Nothing matches “{text}”.',
  'search.nothing_asked': 'Type what you are looking for.',
  'search.hint':
    'Search for a case (#17), a run (run 12), a trace id or a code of the platform, the number of a refund or top-up, of its order or account or of a payment order, an employee by the beginning of the user id, name or surname, work number, mobile number (with or without the area code) or e-mail address, by the last four to eight digits of the mobile number or by the whole open id, or a department by the beginning of its code or name.',
  'search.hint_viewer':
    'Search for a case (#17), a run (run 12), a trace id or a code of the platform, the number of a refund or top-up, of its order or account or of a payment order, an employee by the beginning of the user id or by the whole open id, or a department by the beginning of its code or name. Reviewers can also search by names and numbers of people that HR has.',
  'search.hr_away':
    'HR did not answer in time: people and departments are found by their keys alone. Try again, or type a user id.',
  'search.hr_busy':
    'HR is busy with other searches: people and departments are found by their keys alone. Try again, or type a user id.',
  'search.hr_failed':
    'HR could not be searched: people and departments are found by their keys alone. Type a user id until that is mended.',
  'search.sources_away':
    'Part of HR did not answer in time, {sources}: people and departments there are found by their keys alone. Try again, or type a user id.',
  'search.sources_busy':
    'Part of HR is busy with other searches, {sources}: people and departments there are found by their keys alone. Try again, or type a user id.',
  'search.sources_failed':
    'Part of HR could not be searched, {sources}: people and departments there are found by their keys alone. Type a user id until that is mended.',
  'search.found_by': 'Found by',
  'search.by.userid': 'user id',
  'search.by.case': 'case',
  'search.by.openid': 'open id',
  'search.by.name': 'name',
  'search.by.corp_code': 'work number',
  'search.by.mobile': 'mobile number',
  'search.by.email': 'e-mail address',
  'search.codes': 'Codes of the platform',
  'search.code': 'Code',
  'search.cases': 'Unresolved cases',
  'search.key': 'About',
  'search.more': 'there are more: type more characters',
} as const
