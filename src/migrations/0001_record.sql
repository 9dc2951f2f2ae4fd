-- Who asks, from where, and what they asked for. Every other file uses this one.

-- Made by migrate before the first file.
comment on table dirsync.migration is 'Which migrations this database has had.';
comment on column dirsync.migration.name is 'Name of the migration file.';
comment on column dirsync.migration.applied_at is 'When it was applied.';

-- Only a session of dirsync's own user may say who is asking: anyone can set a setting of their session,
-- and a reviewer at psql could otherwise sign with another name.
create function dirsync.own_word(setting text) returns text
language sql stable set search_path = pg_catalog, pg_temp as $$
  select nullif(current_setting(own_word.setting, true), '')
  from pg_namespace n
  where n.nspname = 'dirsync' and pg_has_role(session_user, n.nspowner, 'member')
$$;
comment on function dirsync.own_word is
  'What a session of dirsync''s own database user says about itself in a setting; null for any other '
  'session.';

create function dirsync.actor() returns text
language sql stable set search_path = pg_catalog, pg_temp as $$
  select session_user || coalesce(' (' || dirsync.own_word('dirsync.actor') || ')', '')
$$;
comment on function dirsync.actor is
  'Who is asking: the database user, and whom the command line or the console names, if that is whose '
  'session it is.';

create function dirsync.address() returns text
language sql stable set search_path = pg_catalog, pg_temp as $$
  select coalesce(dirsync.own_word('dirsync.address'), host(inet_client_addr()))
$$;
comment on function dirsync.address is
  'Where a command comes from: as the console says, else the address of the database client; null if that '
  'is on the same machine.';

create table dirsync.command (
  id             bigint generated always as identity primary key,
  name           text not null,
  arguments      jsonb not null default '{}',
  requested_by   text not null,
  requested_at   timestamptz not null default now(),
  run_id         bigint,
  dead_letter_id bigint,
  address        text default dirsync.address(),
  reason         text
);
create index command_run on dirsync.command (run_id) where run_id is not null;
create index command_requested_at on dirsync.command (requested_at desc, id desc);
create index command_requested_by on dirsync.command (requested_by, requested_at desc, id desc);
create index command_name on dirsync.command (name, requested_at desc, id desc);
create index command_dead_letter on dirsync.command (dead_letter_id) where dead_letter_id is not null;

comment on table dirsync.command is
  'What people asked for, through SQL, the shell or the console; append-only.';
comment on column dirsync.command.id is 'Number of the command.';
comment on column dirsync.command.name is
  'What was asked for, named as the function or command that does it.';
comment on column dirsync.command.arguments is 'Arguments of the command.';
comment on column dirsync.command.requested_by is
  'Database user, and the shell user where the command line was used.';
comment on column dirsync.command.requested_at is 'When it was asked for.';
comment on column dirsync.command.run_id is 'The run that it started or decided about.';
comment on column dirsync.command.dead_letter_id is 'The case that it decided about.';
comment on column dirsync.command.address is
  'From where it was asked for: address of the browser, or of the database client.';
comment on column dirsync.command.reason is 'Why, where a reason was given.';

create function dirsync.keep_commands() returns trigger
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  -- As long as jobs/prune.ts keeps them.
  if tg_op = 'DELETE' then
    if old.requested_at < now() - interval '180 days' then
      return old;
    end if;
  end if;
  raise exception 'dirsync.command is append-only: % is refused', lower(tg_op) using errcode = '42501',
    hint = 'Rows older than 180 days may be deleted; dirsync does so every night.';
end $$;
comment on function dirsync.keep_commands is
  'Refuses to change the record of what people asked for, or to delete any of it before its time.';
create trigger append_only before update or delete on dirsync.command
  for each row execute function dirsync.keep_commands();
create trigger not_emptied before truncate on dirsync.command
  for each statement execute function dirsync.keep_commands();

create function dirsync.note_command(name text, run bigint, arguments jsonb, dead_letter bigint) returns void
language sql set search_path = pg_catalog, pg_temp as $$
  insert into dirsync.command (name, arguments, requested_by, run_id, dead_letter_id, reason)
  values (note_command.name, jsonb_strip_nulls(arguments), dirsync.actor(), run, dead_letter,
          arguments ->> 'reason')
$$;
comment on function dirsync.note_command(text, bigint, jsonb, bigint) is
  'Writes down what a person asks for, before it takes effect.';

create function dirsync.note_command(name text, run bigint, arguments jsonb) returns void
language sql set search_path = pg_catalog, pg_temp as $$
  select dirsync.note_command(name, run, arguments, null)
$$;
comment on function dirsync.note_command(text, bigint, jsonb) is
  'Writes down what a person asks for that is not about one case.';

create function dirsync.moment(at timestamptz) returns text
language sql stable set search_path = pg_catalog, pg_temp as $$
  select to_char(at at time zone 'UTC', 'YYYY-MM-DD HH24:MI:SS "UTC"')
$$;
comment on function dirsync.moment is 'A moment as messages name it.';

create function dirsync.text_of(given text, name text, most integer) returns text
language plpgsql immutable set search_path = pg_catalog, pg_temp as $$
begin
  if length(given) > most then
    raise exception 'the % has % characters and may have %', name, length(given), most
      using errcode = '22023', hint = 'Shorten it.';
  end if;
  return nullif(btrim(given), '');
end $$;
comment on function dirsync.text_of is
  'What a person wrote, without blanks around it; null when that is nothing. Refuses what is too long.';
