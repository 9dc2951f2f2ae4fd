-- An alert that comes back soon after it was over is flapping: people are told so once, not each time.

alter table dirsync.alert add column returns integer not null default 0 check (returns >= 0);
comment on column dirsync.alert.returns is
  'How often it came back within 15 minutes of being gone; more than 0: it is over only once it has been gone for as long.';
