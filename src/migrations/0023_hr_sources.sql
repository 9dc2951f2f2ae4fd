-- Several HR systems, each with enterprises of its own: what a run judges of HR is judged of one source.

create table dirsync.hr_source (
  name             text primary key,
  position         smallint not null,
  kind             text not null,
  address          text not null,
  enterprise_codes text[] not null check (cardinality(enterprise_codes) > 0),
  seen_at          timestamptz not null default now()
);

comment on table dirsync.hr_source is
  'The HR systems that HR_SOURCES names, as the process that was started last has read them. Empty where '
  'there is one HR system, of HR_DATABASE_URL.';
comment on column dirsync.hr_source.name is 'Name of the source, as sync_run.hr_source has it.';
comment on column dirsync.hr_source.position is 'Its place in the file.';
comment on column dirsync.hr_source.kind is 'Kind of its server: postgres, mysql or files.';
comment on column dirsync.hr_source.address is 'Where it is, without user and password.';
comment on column dirsync.hr_source.enterprise_codes is
  'The enterprises that are its own. No two sources share one.';
comment on column dirsync.hr_source.seen_at is 'When a process last started with it.';

alter table dirsync.sync_run add column hr_source text not null default '';
comment on column dirsync.sync_run.hr_source is
  'The HR source that the run is about; empty where there is only one, and for runs that look through all '
  'of them (employees, retry, openids, mirrors).';
-- The last run of a source is found by an index, however many others there are.
create index sync_run_source on dirsync.sync_run (hr_source, id)
  where kind in ('changes', 'full') and keys = '{}';
create index sync_run_source_mapping on dirsync.sync_run (hr_source, planned_at desc)
  where mapping is not null and state in ('running', 'done');
comment on column dirsync.sync_run.mapping is
  'Fingerprint of the employee mapping (its SELECT and the columns it returns) that the plan was made with; '
  'of several sources "name=fingerprint" each; null: the run did not read employees from HR. Workers read '
  'HR with the mapping of the latest plan that passed.';

alter table dirsync.dry_run add column hr_source text not null default '';
comment on column dirsync.dry_run.hr_source is 'The HR source that it reads; empty where there is only one.';

-- Rows that a source delivers for an enterprise of another one are cases of no job.
alter table dirsync.dead_letter drop constraint dead_letter_operation_check;
alter table dirsync.dead_letter add constraint dead_letter_operation_check
  check (operation in ('update-employee', 'delete-department', 'bind-openid', 'read-hr',
                       'mirror-orders', 'mirror-accounts', 'mirror-taxpayers'));
create index dead_letter_read_hr on dirsync.dead_letter (field)
  where operation = 'read-hr' and state <> 'resolved';

create function dirsync.sources_for(kind text, source text default null) returns setof text
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
begin
  if sources_for.source is not null and not exists (
    select from dirsync.hr_source s where s.name = sources_for.source
  ) then
    raise exception 'there is no HR source %', quote_literal(sources_for.source) using errcode = '22023',
      hint = 'select name, enterprise_codes from dirsync.hr_source order by position';
  end if;
  if sources_for.kind not in ('changes', 'full', 'departments') then
    if sources_for.source is not null then
      raise exception 'a run of kind % looks through all sources of HR', sources_for.kind
        using errcode = '22023';
    end if;
    return next '';
    return;
  end if;
  return query
    select s.name from dirsync.hr_source s
    where sources_for.source is null or s.name = sources_for.source order by s.position;
  -- One HR system has no name.
  if not found then
    return next '';
  end if;
end $$;
comment on function dirsync.sources_for is
  'The sources of HR that a run of this kind is asked for, one run each; of those the named one.';

drop function dirsync.request_run(text, text[], text, jsonb, interval);
create function dirsync.request_run(
  kind text, keys text[], command text, arguments jsonb, max_age interval default null, source text default ''
) returns bigint
language plpgsql as $$
declare
  run bigint;
  joins boolean;
begin
  select r.id into run from dirsync.sync_run r
  where r.kind = request_run.kind and r.keys = request_run.keys and r.hr_source = request_run.source
    and r.max_age is not distinct from request_run.max_age
    and r.state = 'requested' and not r.approved
  order by r.id limit 1;
  joins := run is not null;
  if not joins then
    run := nextval(pg_get_serial_sequence('dirsync.sync_run', 'id'));
  end if;
  perform dirsync.note_command(
    command, run, arguments, case when command = 'retry' then (arguments ->> 'id')::bigint end);
  if not joins then
    insert into dirsync.sync_run (id, kind, keys, max_age, hr_source, requested_by) overriding system value
    values (run, request_run.kind, request_run.keys, request_run.max_age, request_run.source, dirsync.actor());
  end if;
  perform pg_notify('dirsync', 'run');
  return run;
end $$;
comment on function dirsync.request_run is
  'Requests a run, or returns the same one that is still waiting to begin.';

drop function dirsync.resync(text, text, interval);
create function dirsync.resync(
  kind text default 'changes', key text default null, max_age interval default null, source text default null
) returns setof bigint
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  wanted text := case kind when 'employee' then 'employees' else kind end;
begin
  if wanted is null
     or wanted not in ('changes', 'full', 'employees', 'departments', 'openids',
                       'orders', 'accounts', 'taxpayers') then
    raise exception 'there is no run of kind %', coalesce(quote_literal(kind), 'null')
      using errcode = '22023',
      hint = 'changes, full, employees, departments, openids, orders, accounts or taxpayers';
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
    raise exception 'max_age is %: it has to be longer than nothing', max_age using errcode = '22023',
      hint = 'select dirsync.resync(''full'', max_age => ''6 hours'')';
  end if;
  return query
    select dirsync.request_run(
      wanted, case when wanted = 'employees' then array[btrim(key)] else '{}' end, 'resync',
      jsonb_strip_nulls(jsonb_build_object(
        'kind', wanted, 'key', key, 'max_age', max_age, 'source', nullif(s.name, ''))),
      max_age, s.name)
    from dirsync.sources_for(wanted, resync.source) s (name);
end $$;
comment on function dirsync.resync is
  'Starts a run now and returns its number: resync(), resync(''full''), resync(''full'', max_age => ''6 '
  'hours''), resync(''employees'', ''e10001''), resync(''departments''), resync(''openids''), '
  'resync(''orders''), resync(''accounts''), resync(''taxpayers''). Where HR has several sources, runs of '
  'changes, full and departments are one for each, or resync(source => ''shanghai'').';

revoke execute on all functions in schema dirsync from public;
