-- A source that gets its enterprises back must not go on where it was: another one may have sent their rows since.

alter table dirsync.hr_source add column codes_since timestamptz;
comment on column dirsync.hr_source.codes_since is
  'Since when the source has its present enterprises: what it read before is out of date. Null: since before this was kept.';
alter table dirsync.deployment add column one_hr_since timestamptz;
comment on column dirsync.deployment.one_hr_since is
  'Since when there has been one HR system once more, after several sources. Null: there never were several before.';
