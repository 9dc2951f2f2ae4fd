-- What a process has begun is told from what waits in the queue although it had begun before.

alter table dirsync.pending add column in_hand boolean not null default false;
comment on column dirsync.pending.in_hand is
  'An execution has begun, and its outcome is not written. Where nobody has the entity''s lock its process is gone, and '
  'the row is fed to the queue again.';

-- Room for the next version of a row on its own page, where no index needs to learn that it was claimed.
alter table dirsync.pending set (fillfactor = 70);
