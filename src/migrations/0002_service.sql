-- The service itself: whose memory this is, which processes live, what cron does, why work stands still.

-- One row: the platform account that this database remembers. The first start writes it; dirsync
-- switch-account changes it.
create table dirsync.deployment (
  -- Made by the first start, and made anew when the account is switched. It is part of the queue's name.
  id              uuid not null default gen_random_uuid(),
  -- What people call the deployment, as DEPLOYMENT_NAME says; null: it has no name. Each start writes it.
  name            text,
  -- Address of the platform, as new URL() writes it, without a slash at its end; embedded: the emulator of
  -- the trial, at whatever port.
  base_url        text not null,
  -- Application id. Together with the address it is the account that all of this was learnt from.
  app_id          text not null,
  -- PLATFORM_ENTERPRISE_CODE at the last start. Another one does not mean another account.
  enterprise_code text not null,
  -- Since when this database has remembered that account. What HR changed before is read in full once more.
  since           timestamptz not null default now(),
  only_row        boolean primary key default true check (only_row)  -- Always true: there is one row.
);

-- Processes of dirsync that are alive: each renews its row every few seconds.
create table dirsync.process (
  id               uuid primary key,                    -- Made at the start of the process.
  host             text not null,                       -- Host name.
  pid              integer not null,                    -- Process id on that host.
  roles            text[] not null,                     -- scheduler, worker, console, notifications.
  version          text not null,                       -- Version of dirsync.
  started_at       timestamptz not null default now(),  -- Start of the process.
  -- Last sign of life. Older than 15 seconds counts as dead.
  heartbeat_at     timestamptz not null default now(),
  -- State of a worker's pacer at its last sign of life: ratePerSecond (without rate_cap), set, learnt,
  -- ceiling, cap, waiting, pausedForMs, callsPerSecond, concurrency; clockOffsetMs: how far the platform's
  -- clock is ahead, null before its first answer. Null for a process without a pacer.
  pacer            jsonb,
  -- Since when the process has not reached the queue, as of its last sign of life; null: it does, or has not
  -- asked yet.
  queue_away_since timestamptz,
  -- The HR source of each enterprise as this process knows them. While they differ from hr_owners(), another
  -- process was started later with other sources: this one plans and claims nothing for those that differ.
  hr_owners        jsonb,
  -- What the latest operation on the queue failed with, while queue_away_since is set; null: nothing.
  queue_error      text,
  -- Where the process reads each HR source, without user and password; the name is empty where there is one
  -- HR system.
  hr_addresses     jsonb
);

-- The HR systems that HR_SOURCES names, as the process that was started last has read them. Empty where there
-- is one HR system, of HR_DATABASE_URL.
create table dirsync.hr_source (
  name             text primary key,                   -- Name of the source, as sync_run.hr_source has it.
  position         smallint not null,                  -- Its place in the file.
  kind             text not null,                      -- Kind of its server: postgres, mysql or files.
  address          text not null,                      -- Where it is, without user and password.
  -- The enterprises that are its own. No two sources share one.
  enterprise_codes text[] not null check (cardinality(enterprise_codes) > 0),
  seen_at          timestamptz not null default now()  -- When a process last started with it.
);

-- Processes with other sources of HR than the process that was started last leave HR's work alone.
create function dirsync.hr_owners() returns jsonb
language sql stable set search_path = pg_catalog, pg_temp as $$
  select coalesce(jsonb_object_agg(code, s.name), '{}')
  from dirsync.hr_source s cross join unnest(s.enterprise_codes) code
$$;
comment on function dirsync.hr_owners is
  'The HR source of each enterprise, as the process that was started last knows them; empty where there is '
  'one HR system.';

-- Schedules -------------------------------------------------------------------

-- Next tick of each cron job, as the latest scheduler saw it: a tick that was missed while everything was
-- down is noticed at the start.
create table dirsync.job_schedule (
  job              text primary key,      -- Name of the cron job.
  expression       text not null,         -- Its cron expression. Another expression makes next_due_at void.
  -- When it is due next. If that is in the past at a start, the tick was missed.
  next_due_at      timestamptz not null,
  paused_at        timestamptz,           -- Since when its ticks are left out; null: it is not paused.
  paused_by        text,                  -- Who paused it.
  pause_reason     text,                  -- Why it was paused.
  -- When a person asked to run it at once, until a scheduler begins it; due_at of that tick.
  run_requested_at timestamptz,
  run_requested_by text,                  -- Who asked for that.
  interval_seconds float8,                -- Longest time between two of its ticks; null: it is switched off.
  -- Since when it has had this expression without having been off or paused.
  in_force_since   timestamptz not null default now(),
  time_zone        text                   -- Time zone of the expression, such as Asia/Shanghai.
);

-- Ticks of the cron jobs. The unique row decides which process runs a tick.
create table dirsync.job_tick (
  job          text not null,         -- Name of the cron job.
  due_at       timestamptz not null,  -- When the tick was due.
  claimed_by   uuid not null,         -- The process that ran it.
  -- When it was claimed.
  claimed_at   timestamptz not null default now(),
  finished_at  timestamptz,           -- When it ended.
  error        text,                  -- Why it failed.
  skipped      text,                  -- Why the tick was left out: the job was paused. Null: it ran.
  requested_by text,                  -- Who asked for a run outside the schedule; null: it was due.
  primary key (job, due_at)
);

create function dirsync.pause_effect(job text) returns text
language sql immutable parallel safe set search_path = pg_catalog, pg_temp as $$
  select case
    -- The queue may lose what it was given at any time; nothing else would notice.
    when job = 'sweep' then 'refused'
    when job in ('sync-changes', 'full-resync', 'retry-due') then 'stalls'
    else 'none'
  end
$$;
comment on function dirsync.pause_effect is
  'What pausing a cron job means for the directory: none; stalls: employees stay out of sync until it is '
  'resumed; refused: it may not be paused.';

create function dirsync.pause_schedule(job text, reason text) returns text
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
  _warning := case job
    when 'sync-changes' then 'what HR changes is sent by full-resync only, until sync-changes is resumed'
    when 'full-resync' then
      'what was changed on the platform itself is not noticed until full-resync is resumed'
    when 'retry-due' then
      'cases that are due or whose snooze is over are not tried again until retry-due is resumed'
  end;
  if _warning is not null then
    raise warning '%', _warning;
  end if;
  return _warning;
end $$;
comment on function dirsync.pause_schedule is
  'Leaves out the ticks of a cron job until resume_schedule(), over restarts too. Returns what that means '
  'for the directory, or null where it means nothing to it. The sweep cannot be paused.';

create function dirsync.resume_schedule(job text) returns boolean
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  _paused_at timestamptz;
begin
  select s.paused_at into _paused_at
  from dirsync.job_schedule s where s.job = resume_schedule.job for update;
  if not found then
    perform dirsync.refuse('P0002', 'said.no_cron_job', jsonb_build_object('job', job));
  end if;
  if _paused_at is null then
    return false;
  end if;
  perform dirsync.note_command('resume_schedule', null, jsonb_build_object('job', job));
  -- Runs that were left out meanwhile are not overdue.
  update dirsync.job_schedule s
  set paused_at = null, paused_by = null, pause_reason = null, in_force_since = now()
  where s.job = resume_schedule.job;
  return true;
end $$;
comment on function dirsync.resume_schedule is
  'Lets a cron job run again from its next tick on. Returns whether it was paused.';

create function dirsync.run_schedule(job text) returns timestamptz
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  _at timestamptz;
begin
  select s.run_requested_at into _at from dirsync.job_schedule s where s.job = run_schedule.job for update;
  if not found then
    perform dirsync.refuse('P0002', 'said.no_cron_job', jsonb_build_object('job', job));
  end if;
  perform dirsync.note_command('run_schedule', null, jsonb_build_object('job', job));
  if _at is null then
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
comment on function dirsync.run_schedule is
  'Runs a cron job once, at once, also while it is paused. Returns when that was asked for; while an '
  'earlier request waits for a scheduler, the same.';

-- Halts -----------------------------------------------------------------------

-- Why work stands still: one row for everything (*) or for one enterprise. A halt ends by itself when a probe
-- succeeds.
create table dirsync.halt (
  scope         text primary key,                    -- * for everything, else the enterprise code.
  -- clock_skew, credentials, enterprise_code, platform_unavailable …; paused: a person stopped all calls.
  category      text not null,
  platform_code bigint,                              -- Error code of the platform, if it gave one.
  message       jsonb not null,                      -- What is wrong, for dirsync.in_language.
  remedy        jsonb not null,                      -- What to do about it, for dirsync.in_language.
  raised_by     text not null default 'dirsync',     -- dirsync, or the person who paused all calls.
  since         timestamptz not null default now(),  -- Since when work has stood still.
  probes        integer not null default 0,          -- How many probes have failed.
  -- When to let the next job through, to see whether it works again; infinity: not before resume().
  next_probe_at timestamptz not null default now()
);

create function dirsync.pause(reason text) returns text
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  said text := dirsync.text_of(reason, 'reason', 2000);
begin
  if said is null then
    perform dirsync.refuse('22023', 'said.needs_reason', jsonb_build_object('name', 'pause'),
      hint => 'select dirsync.pause(''platform maintenance until 18:00'')');
  end if;
  perform dirsync.note_command('pause', null, jsonb_build_object('reason', said));
  insert into dirsync.halt as h (scope, category, message, remedy, next_probe_at, raised_by)
  values ('*', 'paused',
          jsonb_build_object('key', 'said.paused_by',
                             'values', jsonb_build_object('name', dirsync.actor(), 'words', said)),
          '{"key": "said.resume_remedy"}', 'infinity', dirsync.actor())
  on conflict (scope) do update
  set (category, platform_code, message, remedy, next_probe_at, raised_by, since, probes)
    = (excluded.category, null, excluded.message, excluded.remedy, excluded.next_probe_at, excluded.raised_by,
       case when h.category = 'paused' then h.since else now() end, 0);
  perform pg_notify('dirsync', 'feed');
  return said;
end $$;
comment on function dirsync.pause is
  'Stops all calls of this deployment to the platform within a second, until resume(). Returns the reason.';

create function dirsync.resume() returns boolean
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  perform from dirsync.halt h where h.scope = '*' and h.category = 'paused' for update;
  if not found then
    return false;
  end if;
  perform dirsync.note_command('resume', null, '{}');
  delete from dirsync.halt h where h.scope = '*' and h.category = 'paused';
  perform pg_notify('dirsync', 'feed');
  return true;
end $$;
comment on function dirsync.resume is 'Lets calls go on after pause(). Returns whether they were paused.';

create function dirsync.probe_now(scope text) returns text
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  _category text;
begin
  select h.category into _category from dirsync.halt h where h.scope = probe_now.scope for update;
  if not found then
    perform dirsync.refuse('P0002', 'said.nothing_halted_for', jsonb_build_object('scope', scope));
  end if;
  if _category = 'paused' then
    perform dirsync.refuse('22023', 'said.no_probe_ends_pause', hint => 'select dirsync.resume()');
  end if;
  perform dirsync.note_command('probe_now', null, jsonb_build_object('scope', scope));
  update dirsync.halt h set next_probe_at = now() where h.scope = probe_now.scope;
  perform pg_notify('dirsync', 'feed');
  return scope;
end $$;
comment on function dirsync.probe_now is
  'Lets the next job of a halt through at once, to see whether work can go on. Returns the scope.';
