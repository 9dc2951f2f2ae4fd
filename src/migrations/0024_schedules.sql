-- The last success of each source of HR is one look-up, also of a source that has had none among the runs of the others.
drop index dirsync.sync_run_success;
create index sync_run_success on dirsync.sync_run (kind, hr_source, finished_at) where state = 'done';

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

-- Warns as the console does, in the words of the catalogue.
create or replace function dirsync.pause_schedule(job text, reason text) returns text
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  _warning text;
begin
  if coalesce(btrim(reason), '') = '' then
    perform dirsync.refuse('22023', 'said.needs_reason', jsonb_build_object('name', 'pause_schedule'),
      hint => 'select dirsync.pause_schedule(''full-resync'', ''the vendor works on it tonight'')');
  end if;
  if dirsync.pause_effect(job) = 'refused' then
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
  if dirsync.pause_effect(job) = 'stalls' then
    _warning := dirsync.name_of('en', 'schedules.pause', job);
    raise warning '%', _warning;
  end if;
  return _warning;
end $$;
