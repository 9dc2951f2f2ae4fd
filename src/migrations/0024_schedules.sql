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
