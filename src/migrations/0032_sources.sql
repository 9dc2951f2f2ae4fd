-- A source that gets its enterprises back must not go on where it was: another one may have sent their rows since. Runs tell
-- earlier from later, whatever the clock does.

alter table dirsync.hr_source add column codes_since bigint;
comment on column dirsync.hr_source.codes_since is
  'The newest run when the source got its present enterprises: what it read by then is out of date. Null: that was before this was kept.';
alter table dirsync.deployment add column one_hr_since bigint;
comment on column dirsync.deployment.one_hr_since is
  'The newest run when there was one HR system once more, after several sources. Null: there never were several before.';
