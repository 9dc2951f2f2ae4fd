-- When each cron job is due next, so that a tick missed while everything was down is noticed on start.

create table dirsync.job_schedule (
  job        text primary key,
  expression text not null,
  next_due_at timestamptz not null
);
comment on table dirsync.job_schedule is 'Next tick of each cron job, as the latest scheduler saw it.';
comment on column dirsync.job_schedule.job is 'Name of the cron job.';
comment on column dirsync.job_schedule.expression is 'Its cron expression; another one makes next_due_at void.';
comment on column dirsync.job_schedule.next_due_at is 'When it is due next; in the past at a start: the tick was missed.';
