-- The service itself: whose memory this is, which processes live, what cron does, why work stands still,
-- and what people asked for.

create table dirsync.deployment (
  id              uuid not null default gen_random_uuid(),
  name            text,
  base_url        text not null,
  app_id          text not null,
  enterprise_code text not null,
  since           timestamptz not null default now(),
  only_row        boolean primary key default true check (only_row)
);

comment on table dirsync.deployment is
  'One row: the platform account that this database remembers. The first start writes it; dirsync '
  'switch-account changes it.';
comment on column dirsync.deployment.id is
  'Made by the first start, and made anew when the account is switched. It is part of the queue''s name.';
comment on column dirsync.deployment.name is
  'What people call the deployment; null: it has no name. dirsync doctor shows it.';
comment on column dirsync.deployment.base_url is
  'Address of the platform, as new URL() writes it, without a slash at its end; embedded: the emulator of '
  'the trial, at whatever port.';
comment on column dirsync.deployment.app_id is
  'Application id. Together with the address it is the account that all of this was learnt from.';
comment on column dirsync.deployment.enterprise_code is
  'PLATFORM_ENTERPRISE_CODE at the last start. Another one does not mean another account.';
comment on column dirsync.deployment.since is
  'Since when this database has remembered that account. What HR changed before is read in full once more.';
comment on column dirsync.deployment.only_row is 'Always true: there is one row.';

create table dirsync.process (
  id           uuid primary key,
  host         text not null,
  pid          integer not null,
  roles        text[] not null,
  version      text not null,
  started_at   timestamptz not null default now(),
  heartbeat_at timestamptz not null default now(),
  pacer        jsonb
);

comment on table dirsync.process is
  'Processes of dirsync that are alive: each renews its row every few seconds.';
comment on column dirsync.process.id is 'Made at the start of the process.';
comment on column dirsync.process.host is 'Host name.';
comment on column dirsync.process.pid is 'Process id on that host.';
comment on column dirsync.process.roles is 'scheduler, worker, console, notifications.';
comment on column dirsync.process.version is 'Version of dirsync.';
comment on column dirsync.process.started_at is 'Start of the process.';
comment on column dirsync.process.heartbeat_at is 'Last sign of life. Older than 15 seconds counts as dead.';
comment on column dirsync.process.pacer is
  'State of a worker''s pacer at its last sign of life: ratePerSecond, set, learnt, ceiling, waiting, '
  'pausedForMs, callsPerSecond, concurrency. Null for a process without one.';

create table dirsync.job_schedule (
  job         text primary key,
  expression  text not null,
  next_due_at timestamptz not null
);

comment on table dirsync.job_schedule is
  'Next tick of each cron job, as the latest scheduler saw it: a tick that was missed while everything was '
  'down is noticed at the start.';
comment on column dirsync.job_schedule.job is 'Name of the cron job.';
comment on column dirsync.job_schedule.expression is
  'Its cron expression. Another expression makes next_due_at void.';
comment on column dirsync.job_schedule.next_due_at is
  'When it is due next. If that is in the past at a start, the tick was missed.';

create table dirsync.job_tick (
  job         text not null,
  due_at      timestamptz not null,
  claimed_by  uuid not null,
  claimed_at  timestamptz not null default now(),
  finished_at timestamptz,
  error       text,
  primary key (job, due_at)
);

comment on table dirsync.job_tick is
  'Ticks of the cron jobs. The unique row decides which process runs a tick.';
comment on column dirsync.job_tick.job is 'Name of the cron job.';
comment on column dirsync.job_tick.due_at is 'When the tick was due.';
comment on column dirsync.job_tick.claimed_by is 'The process that ran it.';
comment on column dirsync.job_tick.claimed_at is 'When it was claimed.';
comment on column dirsync.job_tick.finished_at is 'When it ended.';
comment on column dirsync.job_tick.error is 'Why it failed.';

create table dirsync.command (
  id             bigint generated always as identity primary key,
  name           text not null,
  arguments      jsonb not null default '{}',
  requested_by   text not null,
  requested_at   timestamptz not null default now(),
  run_id         bigint,
  dead_letter_id bigint
);
create index command_run on dirsync.command (run_id) where run_id is not null;

comment on table dirsync.command is
  'What people asked for, through SQL, the shell or the console; append-only.';
comment on column dirsync.command.id is 'Number of the command.';
comment on column dirsync.command.name is
  'What was asked for, named as the function or command that does it.';
comment on column dirsync.command.arguments is 'Arguments of the command.';
comment on column dirsync.command.requested_by is
  'Database user, and the shell user where the command line was used.';
comment on column dirsync.command.requested_at is 'When it was asked for.';
comment on column dirsync.command.run_id is 'The run that it started or decided about.';
comment on column dirsync.command.dead_letter_id is 'The case that it decided about.';

create function dirsync.actor() returns text language sql stable as $$
  select session_user || coalesce(' (' || nullif(current_setting('dirsync.actor', true), '') || ')', '')
$$;
comment on function dirsync.actor is
  'Who is asking: the database user, and the shell user where the command line says so.';

create function dirsync.note_command(name text, run bigint, arguments jsonb) returns void
language sql set search_path = pg_catalog, pg_temp as $$
  insert into dirsync.command (name, arguments, requested_by, run_id)
  values (note_command.name, jsonb_strip_nulls(arguments), dirsync.actor(), run)
$$;
comment on function dirsync.note_command is 'Writes down what a person asked for.';

create table dirsync.halt (
  scope         text primary key,
  category      text not null,
  platform_code bigint,
  message       text not null,
  remedy        text not null,
  raised_by     text not null default 'dirsync',
  since         timestamptz not null default now(),
  probes        integer not null default 0,
  next_probe_at timestamptz not null default now()
);

comment on table dirsync.halt is
  'Why work stands still: one row for everything (*) or for one enterprise. A halt ends by itself when a '
  'probe succeeds.';
comment on column dirsync.halt.scope is '* for everything, else the enterprise code.';
comment on column dirsync.halt.category is
  'clock_skew, credentials, enterprise_code, platform_unavailable …; paused: a person stopped all calls.';
comment on column dirsync.halt.platform_code is 'Error code of the platform, if it gave one.';
comment on column dirsync.halt.message is 'What is wrong.';
comment on column dirsync.halt.remedy is 'What to do about it.';
comment on column dirsync.halt.raised_by is 'dirsync, or the person who paused all calls.';
comment on column dirsync.halt.since is 'Since when work has stood still.';
comment on column dirsync.halt.probes is 'How many probes have failed.';
comment on column dirsync.halt.next_probe_at is
  'When to let the next job through, to see whether it works again; infinity: not before resume().';

create function dirsync.pause(reason text) returns text
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  if coalesce(btrim(reason), '') = '' then
    raise exception 'pause needs a reason' using errcode = '22023',
      hint = 'select dirsync.pause(''platform maintenance until 18:00'')';
  end if;
  insert into dirsync.halt as h (scope, category, message, remedy, next_probe_at, raised_by)
  values ('*', 'paused', format('All calls are paused by %s: %s', dirsync.actor(), btrim(reason)),
          'Let them go on with `dirsync resume`.', 'infinity', dirsync.actor())
  on conflict (scope) do update
  set (category, platform_code, message, remedy, next_probe_at, raised_by, since, probes)
    = (excluded.category, null, excluded.message, excluded.remedy, excluded.next_probe_at, excluded.raised_by,
       case when h.category = 'paused' then h.since else now() end, 0);
  perform dirsync.note_command('pause', null, jsonb_build_object('reason', btrim(reason)));
  perform pg_notify('dirsync', 'feed');
  return btrim(reason);
end $$;
comment on function dirsync.pause is
  'Stops all calls of this deployment to the platform within a second, until resume(). Returns the reason.';

create function dirsync.resume() returns boolean
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  delete from dirsync.halt h where h.scope = '*' and h.category = 'paused';
  if not found then
    return false;
  end if;
  perform dirsync.note_command('resume', null, '{}');
  perform pg_notify('dirsync', 'feed');
  return true;
end $$;
comment on function dirsync.resume is 'Lets calls go on after pause(). Returns whether they were paused.';
