-- Lists of runs by state, by time and by who asked are read from an index, however many runs are kept.

create index sync_run_state on dirsync.sync_run (state, id desc);
create index sync_run_requested_at on dirsync.sync_run (requested_at);
create index sync_run_by_people on dirsync.sync_run (id desc)
  where requested_by not in ('cron', 'start', 'trigger', 'replan');
