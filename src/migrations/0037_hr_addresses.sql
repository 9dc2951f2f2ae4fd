alter table dirsync.process add column hr_addresses jsonb;
comment on column dirsync.process.hr_addresses is
  'Where the process reads each HR source, without user and password; the name is empty where there is one HR system.';
