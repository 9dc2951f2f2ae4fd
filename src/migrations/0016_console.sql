-- The console's own memory.

create table dirsync.idempotency_key (
  owner   text not null,
  key     text not null,
  request text not null,
  answer  text,
  at      timestamptz not null default now(),
  primary key (owner, key)
);
create index idempotency_key_at on dirsync.idempotency_key (at);

comment on table dirsync.idempotency_key is
  'Answers of /api/v1 to requests with an Idempotency-Key, so that a repeated request starts nothing twice. '
  'Kept for a day.';
comment on column dirsync.idempotency_key.owner is 'Who sent the request.';
comment on column dirsync.idempotency_key.key is 'The key, as the caller made it.';
comment on column dirsync.idempotency_key.request is
  'Digest of route and input: another request needs another key.';
comment on column dirsync.idempotency_key.answer is
  'The first answer, a JSON text; null while the work is under way.';
comment on column dirsync.idempotency_key.at is 'When the first request came.';
