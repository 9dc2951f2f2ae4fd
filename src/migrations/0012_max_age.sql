-- Full runs that leave out whom the platform confirmed recently.

alter table dirsync.sync_run add column max_age interval;
comment on column dirsync.sync_run.max_age is 'full: employees in step whom the platform confirmed within this time are not asked again; null: everybody is asked.';
comment on column dirsync.sync_run.plan is 'The plan in figures: counts by reason and a sample of keys; skipped: employees left out by max_age.';

-- A longer list of arguments makes another function: the old ones would be in the way of calls that leave the last one out.
drop function dirsync.resync(text, text);
drop function dirsync.request_run(text, text[], text, jsonb);

create function dirsync.request_run(kind text, keys text[], command text, arguments jsonb, max_age interval default null) returns bigint
language plpgsql as $$
declare
  run bigint;
begin
  select r.id into run from dirsync.sync_run r
  where r.kind = request_run.kind and r.keys = request_run.keys and r.max_age is not distinct from request_run.max_age
    and r.state = 'requested' and not r.approved
  order by r.id limit 1;
  if run is null then
    insert into dirsync.sync_run (kind, keys, max_age, requested_by)
    values (request_run.kind, request_run.keys, request_run.max_age, dirsync.actor())
    returning id into run;
  end if;
  insert into dirsync.command (name, arguments, requested_by, run_id) values (command, arguments, dirsync.actor(), run);
  perform pg_notify('dirsync', 'run');
  return run;
end $$;
comment on function dirsync.request_run is 'Requests a run, or returns the same one that is still waiting to begin.';

create function dirsync.resync(kind text default 'changes', key text default null, max_age interval default null) returns bigint
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  wanted text := case kind when 'employee' then 'employees' else kind end;
begin
  if wanted is null
     or wanted not in ('changes', 'full', 'employees', 'departments', 'openids', 'orders', 'accounts', 'taxpayers') then
    raise exception 'there is no run of kind %', coalesce(quote_literal(kind), 'null')
      using errcode = '22023', hint = 'changes, full, employees, departments, openids, orders, accounts or taxpayers';
  end if;
  if wanted = 'employees' and coalesce(btrim(key), '') = '' then
    raise exception 'a run of kind employees needs the user id as key' using errcode = '22023',
      hint = 'select dirsync.resync(''employees'', ''e10001'')';
  end if;
  if wanted <> 'employees' and key is not null then
    raise exception 'a run of kind % takes no key', wanted using errcode = '22023';
  end if;
  if wanted <> 'full' and max_age is not null then
    raise exception 'a run of kind % takes no max_age', wanted using errcode = '22023',
      hint = 'select dirsync.resync(''full'', max_age => ''6 hours'')';
  end if;
  if max_age <= interval '0' then
    raise exception 'max_age is %: it should be longer than nothing', max_age using errcode = '22023',
      hint = 'select dirsync.resync(''full'', max_age => ''6 hours'')';
  end if;
  return dirsync.request_run(wanted, case when wanted = 'employees' then array[btrim(key)] else '{}' end, 'resync',
                             jsonb_strip_nulls(jsonb_build_object('kind', wanted, 'key', key, 'max_age', max_age)), max_age);
end $$;
comment on function dirsync.resync is 'Starts a run now and returns its number: resync(), resync(''full''), resync(''full'', max_age => ''6 hours''), resync(''employees'', ''e10001''), resync(''departments''), resync(''openids''), resync(''orders''), resync(''accounts''), resync(''taxpayers'').';

revoke execute on function dirsync.request_run, dirsync.resync from public;

comment on column dirsync.process.roles is 'scheduler, worker, console, notifications.';
