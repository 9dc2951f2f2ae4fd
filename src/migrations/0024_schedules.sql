-- The last success of each source of HR is one look-up, also of a source that has had none among the runs of the others.
drop index dirsync.sync_run_success;
create index sync_run_success on dirsync.sync_run (kind, hr_source, finished_at) where state = 'done';

-- The latest plan is that of the latest run, also where the clock was put back.
drop index dirsync.sync_run_mapping;
create index sync_run_mapping on dirsync.sync_run (id desc)
  where mapping is not null and state in ('running', 'done');

-- No scheduler runs a job that is switched off: a request for it would wait for ever.
create or replace function dirsync.run_schedule(job text) returns timestamptz
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  was dirsync.job_schedule;
  _at timestamptz;
begin
  select s.* into was from dirsync.job_schedule s where s.job = run_schedule.job for update;
  if not found then
    perform dirsync.refuse('P0002', 'said.no_cron_job', jsonb_build_object('job', job));
  end if;
  if was.interval_seconds is null then
    perform dirsync.refuse('22023', 'said.cron_job_is_off', jsonb_build_object('job', job));
  end if;
  perform dirsync.note_command('run_schedule', null, jsonb_build_object('job', job));
  if was.run_requested_at is not null then
    _at := was.run_requested_at;
  else
    -- Ticks by the schedule are due at whole seconds: this one is never taken for one of them.
    _at := date_trunc('milliseconds', clock_timestamp());
    if _at = date_trunc('second', _at) then
      _at := _at + interval '1 ms';
    end if;
    update dirsync.job_schedule s set run_requested_at = _at, run_requested_by = dirsync.actor()
    where s.job = run_schedule.job;
  end if;
  perform pg_notify('dirsync', 'schedule');
  return _at;
end $$;

comment on column dirsync.job_tick.skipped is
  'Why the tick was left out: the job was paused or off, or its schedule changed before it ended. Null: it ran.';

-- Of the two jobs that send what HR changes, one makes up for the other.
create or replace function dirsync.pause_effect(job text) returns text
language sql stable parallel safe set search_path = pg_catalog, pg_temp as $$
  select case
    -- The queue may lose what it was given at any time; nothing else would notice.
    when job = 'sweep' then 'refused'
    when job in ('sync-changes', 'full-resync') and exists (
      select from dirsync.job_schedule s
      where s.job in ('sync-changes', 'full-resync') and s.job <> pause_effect.job
        and (s.paused_at is not null or s.interval_seconds is null)) then 'stops'
    when job in ('sync-changes', 'full-resync', 'retry-due') then 'stalls'
    else 'none'
  end
$$;
comment on function dirsync.pause_effect is
  'What pausing a cron job means for the directory: none; stalls: employees stay out of sync until it is '
  'resumed; stops: no schedule sends what HR changes, as the other job that would is paused or off; '
  'refused: it may not be paused.';

-- Warns as the console does, in the words of the catalogue.
create or replace function dirsync.pause_schedule(job text, reason text) returns text
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  _effect text := dirsync.pause_effect(job);
  _warning text;
begin
  if coalesce(btrim(reason), '') = '' then
    perform dirsync.refuse('22023', 'said.needs_reason', jsonb_build_object('name', 'pause_schedule'),
      hint => 'select dirsync.pause_schedule(''full-resync'', ''the vendor works on it tonight'')');
  end if;
  if _effect = 'refused' then
    perform dirsync.refuse('22023', 'said.never_paused', jsonb_build_object('job', job),
      hint => 'select dirsync.pause(''reason'') stops all calls');
  end if;
  if not exists (select from dirsync.job_schedule s where s.job = pause_schedule.job) then
    perform dirsync.refuse('P0002', 'said.no_cron_job', jsonb_build_object('job', job));
  end if;
  perform dirsync.note_command('pause_schedule', null,
                               jsonb_build_object('job', job, 'reason', btrim(reason)));
  update dirsync.job_schedule s
  set paused_at = coalesce(s.paused_at, now()), paused_by = dirsync.actor(), pause_reason = btrim(reason)
  where s.job = pause_schedule.job;
  if _effect in ('stalls', 'stops') then
    _warning := dirsync.name_of('en', 'schedules.pause', case _effect when 'stalls' then job else _effect end);
    raise warning '%', _warning;
  end if;
  return _warning;
end $$;

-- A scheduled run of a mirror leaves out what the platform refused before: who asks for it now does not join one.
-- No employee can be named with more than a user id of 100 characters and an enterprise of 20.
create or replace function dirsync.request_run(
  kind text, keys text[], command text, arguments jsonb, max_age interval default null, source text default ''
) returns bigint
language plpgsql as $$
declare
  run bigint;
  joins boolean;
  long text := (select min(k) from unnest(array_append(request_run.keys, arguments ->> 'key')) k
                where request_run.kind = 'employees' and length(k) > 121);
begin
  if long is not null then
    perform dirsync.refuse('22023', 'said.user_id_too_long',
      jsonb_build_object('text', quote_literal(left(long, 40))));
  end if;
  select r.id into run from dirsync.sync_run r
  where r.kind = request_run.kind and r.keys = request_run.keys and r.hr_source = request_run.source
    and r.max_age is not distinct from request_run.max_age
    and r.state = 'requested' and not r.approved
    -- A retry by itself has time, leaves ignored cases alone, and does not look at the mapping.
    and (r.kind not in ('retry', 'orders', 'accounts', 'taxpayers') or r.requested_by <> 'cron')
  order by r.id limit 1;
  joins := run is not null;
  if not joins then
    run := nextval(pg_get_serial_sequence('dirsync.sync_run', 'id'));
  end if;
  perform dirsync.note_command(
    command, run, arguments, case when command = 'retry' then (arguments ->> 'id')::bigint end);
  if not joins then
    insert into dirsync.sync_run (id, kind, keys, max_age, hr_source, requested_by) overriding system value
    values (run, request_run.kind, request_run.keys, request_run.max_age, request_run.source,
            dirsync.actor());
  end if;
  perform pg_notify('dirsync', 'run');
  return run;
end $$;

-- What is noted of what people ask for does not depend on their session, and is what takes effect.
alter function dirsync.resync(text, text, interval, text) set intervalstyle = 'postgres';

create or replace function dirsync.snooze(id bigint, until timestamptz, reason text default null)
returns bigint
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  said text := dirsync.text_of(reason, 'reason', 2000);
begin
  -- As `set_snoozed` has it, which refuses null.
  if until > '9999-12-31 00:00 UTC' then
    until := '9999-12-31 00:00 UTC';
  end if;
  perform dirsync.note_command(
    'snooze', null, jsonb_build_object('id', id, 'until', until, 'reason', said), id);
  perform dirsync.set_snoozed(id, until, said);
  return id;
end $$;
