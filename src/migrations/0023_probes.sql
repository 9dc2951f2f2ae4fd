-- A probe of one enterprise is no call either while all calls are paused.
create or replace function dirsync.probe_now(scope text) returns text
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  perform from dirsync.halt h where h.scope = probe_now.scope for update;
  if not found then
    perform dirsync.refuse('P0002', 'said.nothing_halted_for', jsonb_build_object('scope', scope));
  end if;
  if exists (select from dirsync.halt h where h.category = 'paused') then
    perform dirsync.refuse('22023', 'said.no_probe_ends_pause', hint => 'select dirsync.resume()');
  end if;
  perform dirsync.note_command('probe_now', null, jsonb_build_object('scope', scope));
  update dirsync.halt h set next_probe_at = now() where h.scope = probe_now.scope;
  perform pg_notify('dirsync', 'feed');
  return scope;
end $$;
