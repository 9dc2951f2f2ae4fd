-- The end of a list is found by its rows: a platform may return fewer a page than requested.

alter table dirsync.mirror_task add column pass_rows integer not null default 0;
comment on column dirsync.mirror_task.pass_rows is
  'Rows on the pages of the current pass so far. The pass ends when they are as many as the platform counts.';

comment on column dirsync.mirror_task.most is
  'The most rows that the platform counted during the pass; of orders of today, the first count. If it counts fewer at '
  'the end, some may have slipped through.';

alter table dirsync.mirror_day add column missing integer not null default 0;
comment on column dirsync.mirror_day.missing is
  'How many orders more than it listed the platform counted. The next reading that misses as many reads the pages once.';
