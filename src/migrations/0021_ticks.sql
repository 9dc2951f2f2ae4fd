-- Which runs a tick of a cron job led to. Older ticks have none.
alter table dirsync.job_tick add column run_ids bigint[] not null default '{}';
comment on column dirsync.job_tick.run_ids is
  'The runs that the tick requested, one for each source of HR, or found under way and left the work to; they may have '
  'been pruned since.';
alter table dirsync.job_tick add column begun smallint not null default 1;
comment on column dirsync.job_tick.begun is
  'How often it was begun. Another process begins it again where one died before its end, twice at most.';
