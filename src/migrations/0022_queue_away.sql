alter table dirsync.process add column queue_away_since timestamptz;
comment on column dirsync.process.queue_away_since is
  'Since when the process has not reached the queue, as of its last sign of life; null: it does, or has not '
  'asked yet.';
