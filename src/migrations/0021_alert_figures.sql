-- What the rules of alerts look at and nothing kept so far.

create table dirsync.refused_notification (
  outer_refund_no text primary key,
  reason          text not null check (reason in ('unknown', 'mismatch')),
  first_at        timestamptz not null default now(),
  last_at         timestamptz not null default now(),
  times           integer not null default 1
);
create index refused_notification_last_at on dirsync.refused_notification (last_at);
comment on table dirsync.refused_notification is
  'Signed refund notifications that fit no refund that dirsync sent, one row per refund number. A row goes when '
  'its notification fits after all, or 30 days after the last one.';
comment on column dirsync.refused_notification.outer_refund_no is 'External refund number that it names.';
comment on column dirsync.refused_notification.reason is
  'unknown: dirsync never sent such a refund; mismatch: it is of another order or amount.';
comment on column dirsync.refused_notification.first_at is 'When it first came.';
comment on column dirsync.refused_notification.last_at is
  'When it last came: the platform repeats what is refused.';
comment on column dirsync.refused_notification.times is 'How often it came.';

comment on column dirsync.process.pacer is
  'State of a worker''s pacer at its last sign of life: ratePerSecond (without rate_cap), set, learnt, '
  'ceiling, cap, waiting, pausedForMs, callsPerSecond, concurrency; clockOffsetMs: how far the platform''s '
  'clock is ahead, null before its first answer. Null for a process without a pacer.';

alter table dirsync.job_schedule
  add column interval_seconds float8,
  add column in_force_since   timestamptz not null default now();
comment on column dirsync.job_schedule.interval_seconds is
  'The longest time between two of its ticks; null: it is switched off, or an earlier version wrote the row.';
comment on column dirsync.job_schedule.in_force_since is
  'Since when it has had this expression without having been off or paused.';

create or replace function dirsync.resume_schedule(job text) returns boolean
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  _paused_at timestamptz;
begin
  select s.paused_at into _paused_at
  from dirsync.job_schedule s where s.job = resume_schedule.job for update;
  if not found then
    raise exception 'there is no cron job %', coalesce(job, 'null') using errcode = 'P0002';
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
