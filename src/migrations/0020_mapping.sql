-- Which mapping a plan was made with, so that workers read HR with the same.

alter table dirsync.sync_run add column mapping text;
comment on column dirsync.sync_run.mapping is
  'Fingerprint of the employees'' mapping (its SELECT and the columns that it returns) that the plan was made with; null: HR''s employees were not read. Workers read HR with that of the latest plan that passed.';

create index sync_run_mapping on dirsync.sync_run (planned_at desc) where mapping is not null and state in ('running', 'done');
