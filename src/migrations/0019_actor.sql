-- Who asks, and from where, is written down as dirsync's own processes say it. Anybody may set a setting of a session: a
-- reviewer at psql could have signed with the name of somebody else.

create function dirsync.own_word(setting text) returns text
language sql stable set search_path = pg_catalog, pg_temp as $$
  select nullif(current_setting(own_word.setting, true), '')
  from pg_namespace n
  where n.nspname = 'dirsync' and pg_has_role(session_user, n.nspowner, 'member')
$$;
comment on function dirsync.own_word is
  'What a session of dirsync''s own database user says about itself in a setting; null for everybody else''s.';
revoke execute on function dirsync.own_word(text) from public;

create or replace function dirsync.actor() returns text
language sql stable set search_path = pg_catalog, pg_temp as $$
  select session_user || coalesce(' (' || dirsync.own_word('dirsync.actor') || ')', '')
$$;
comment on function dirsync.actor is
  'Who is asking: the database user, and whom the command line or the console names, if that is whose session it is.';

create or replace function dirsync.address() returns text
language sql stable set search_path = pg_catalog, pg_temp as $$
  select coalesce(dirsync.own_word('dirsync.address'), host(inet_client_addr()))
$$;
