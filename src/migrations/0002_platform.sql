-- What the processes share about the platform: the access token, its creations, and the pacer's next free slot.

create table dirsync.platform_token (
  base_url     text not null,
  app_id       text not null,
  sealed_token bytea not null,
  created_at   timestamptz not null,
  expires_at   timestamptz not null,
  primary key (base_url, app_id)
);

comment on table dirsync.platform_token is 'The platform''s access token, shared by all processes. May be emptied at any time: the next call creates a new one.';
comment on column dirsync.platform_token.base_url is 'Base address of the platform that issued it.';
comment on column dirsync.platform_token.app_id is 'Application id it was issued to.';
comment on column dirsync.platform_token.sealed_token is 'The token, encrypted (AES-256-GCM: nonce, tag, text) with a key derived from the application secret; unreadable once the secret changes.';
comment on column dirsync.platform_token.created_at is 'When it was asked for; it is renewed after 80 % of its life.';
comment on column dirsync.platform_token.expires_at is 'When it ends by the platform''s word.';

create table dirsync.token_creation (
  id         bigint generated always as identity primary key,
  base_url   text not null,
  app_id     text not null,
  created_at timestamptz not null default clock_timestamp()
);
create index token_creation_app on dirsync.token_creation (base_url, app_id, created_at);

comment on table dirsync.token_creation is 'The token creations of the last hour, each noted before it was tried: 50 of them and no further one is asked for (the platform permits 60).';
comment on column dirsync.token_creation.id is 'Number of the creation.';
comment on column dirsync.token_creation.base_url is 'Base address of the platform.';
comment on column dirsync.token_creation.app_id is 'Application id.';
comment on column dirsync.token_creation.created_at is 'When it was about to be tried.';

-- Unlogged: it is written many times a second and says nothing worth keeping over a crash of the server.
create unlogged table dirsync.pacer (
  gate            text primary key,
  next_at         timestamptz not null,
  paused_until    timestamptz,
  pause_reason    text,
  holder          text,
  previous_holder text
);

comment on table dirsync.pacer is 'The one gate for calls to the platform: processes reserve evenly spaced slots by moving next_at.';
comment on column dirsync.pacer.gate is 'Name of the gate; there is one, platform.';
comment on column dirsync.pacer.next_at is 'The first slot that nobody has reserved yet; in the past when there is less to do than the rate permits.';
comment on column dirsync.pacer.paused_until is 'No call before this moment, because the platform asked for it.';
comment on column dirsync.pacer.pause_reason is 'What the platform answered that made us pause.';
comment on column dirsync.pacer.holder is 'The process that reserved last.';
comment on column dirsync.pacer.previous_holder is 'The process that reserved before; the same one when it is alone.';
