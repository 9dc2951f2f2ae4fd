-- What programs are answered.

alter table dirsync.idempotency_key add column status smallint, add column location text;
comment on column dirsync.idempotency_key.status is
  'Of the first answer; null while the work is under way, and of answers of 1.0.0, which were all 200.';
comment on column dirsync.idempotency_key.location is 'Where to find what was created or started.';
