-- Jobs whose probes make no call, as while HR is away, find out nothing about the platform.
alter table dirsync.halt add column jobs_probe_until timestamptz not null default now();
comment on column dirsync.halt.jobs_probe_until is
  'Until when the probes of an outage are left to jobs, as long as one is due: for a while after a job has made a call.';

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

-- What waited for an enterprise's halt could not be done before its end, also while others are still halted.
create function dirsync.halted_scopes() returns text[]
language sql stable set search_path = pg_catalog, pg_temp as $$
  select coalesce(array_agg(scope), '{}') from dirsync.halt
$$;
comment on function dirsync.halted_scopes is 'What is halted now: * for everything, or enterprise codes.';

alter table dirsync.status_history add column halted_scopes text[] not null default '{}';
alter table dirsync.status_history alter column halted_scopes set default dirsync.halted_scopes();
comment on column dirsync.status_history.halted_scopes is 'What was halted: * for everything, or enterprise codes.';
