-- Who asks, from where, and what they asked for. Every other file uses this one.

-- Made by migrate before the first file. Of all other tables and columns, migrate makes the comments in the
-- database from those that stand here above and behind them.
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

-- What people asked for, through SQL, the shell or the console; append-only.
create table dirsync.command (
  id             bigint generated always as identity primary key,  -- Number of the command.
  -- What was asked for, named as the function or command that does it.
  name           text not null,
  arguments      jsonb not null default '{}',                      -- Arguments of the command.
  -- Database user, and the shell user where the command line was used.
  requested_by   text not null,
  requested_at   timestamptz not null default now(),               -- When it was asked for.
  -- The run that it started or decided about.
  run_id         bigint,
  dead_letter_id bigint,                                           -- The case that it decided about.
  -- From where it was asked for: address of the browser, or of the database client.
  address        text default dirsync.address(),
  reason         text                                              -- Why, where a reason was given.
);
create index command_run on dirsync.command (run_id) where run_id is not null;
create index command_requested_at on dirsync.command (requested_at desc, id desc);
create index command_requested_by on dirsync.command (requested_by, requested_at desc, id desc);
create index command_name on dirsync.command (name, requested_at desc, id desc);
create index command_dead_letter on dirsync.command (dead_letter_id) where dead_letter_id is not null;

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

create function dirsync.note_command(
  name text, run bigint, arguments jsonb, dead_letter bigint default null
) returns void
language sql set search_path = pg_catalog, pg_temp as $$
  insert into dirsync.command (name, arguments, requested_by, run_id, dead_letter_id, reason)
  values (note_command.name, jsonb_strip_nulls(arguments), dirsync.actor(), run, dead_letter,
          arguments ->> 'reason')
$$;
comment on function dirsync.note_command is
  'Writes down what a person asks for, before it takes effect.';

create function dirsync.moment(at timestamptz) returns text
language sql stable set search_path = pg_catalog, pg_temp as $$
  select to_char(at at time zone 'UTC', 'YYYY-MM-DD HH24:MI:SS "UTC"')
$$;
comment on function dirsync.moment is 'A moment as messages name it.';

-- The words are English, for a person who types SQL. Console and shell put the same message into the language
-- of their reader. psql shows neither constraint nor data type unless it is told to be verbose.
create function dirsync.refuse(errcode text, key text, given jsonb default '{}', hint text default null)
returns void
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
declare
  -- What was not given is called null.
  named jsonb := (select coalesce(jsonb_object_agg(v.key, coalesce(nullif(v.value, 'null'), '"null"')), '{}')
                  from jsonb_each(given) v);
  words text := dirsync.in_language('en', jsonb_build_object('key', key, 'values', named));
begin
  -- No texts are stored yet.
  if words = key then
    words := key || ' ' || named;
  end if;
  if hint is null then
    raise exception using errcode = errcode, message = words, constraint = key, datatype = named::text;
  end if;
  raise exception using errcode = errcode, message = words, constraint = key, datatype = named::text,
    hint = hint;
end $$;
comment on function dirsync.refuse is
  'Refuses what a person asks for. The error says why in English words; for programs, its constraint is the '
  'key of the message, and its data type the values.';

create function dirsync.text_of(given text, name text, most integer) returns text
language plpgsql immutable set search_path = pg_catalog, pg_temp as $$
begin
  if length(given) > most then
    perform dirsync.refuse('22023', 'said.too_many_characters',
      jsonb_build_object('what', jsonb_build_object('key', 'said.the_' || name),
                         'count', length(given), 'limit', most),
      hint => 'Shorten it.');
  end if;
  return nullif(btrim(given), '');
end $$;
comment on function dirsync.text_of is
  'What a person wrote, without blanks around it; null when that is nothing. Refuses what is too long.';
