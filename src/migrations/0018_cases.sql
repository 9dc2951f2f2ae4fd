-- Cases are found by more, and listed in more orders, among a hundred thousand open and a million resolved ones.

create index employee_dept_code on dirsync.employee (dept_code) where dept_code is not null;
create index dead_letter_occurrences on dirsync.dead_letter (occurrences, id)
  where state not in ('resolved', 'ignored');
create index dead_letter_open_key on dirsync.dead_letter ((lower(entity_key collate "C")), id)
  where state not in ('resolved', 'ignored');
-- What people have written.
create index dead_letter_event_words on dirsync.dead_letter_event (dead_letter_id)
  where event in ('commented', 'ignored', 'snoozed');
