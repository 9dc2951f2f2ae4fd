-- Comments that \d+ lacked.

comment on table dirsync.migration is 'Which migrations this database has had.';
comment on column dirsync.migration.name is 'File of the migration.';
comment on column dirsync.migration.applied_at is 'When it was applied.';

do $$
declare
  same record;
begin
  for same in
    select v.attname, coalesce(col_description(t.attrelid, t.attnum), '') as text
    from pg_attribute v join pg_attribute t on t.attname = v.attname and t.attrelid = 'dirsync.dead_letter'::regclass
    where v.attrelid = 'dirsync.failed_syncs'::regclass and v.attnum > 0
  loop
    execute format('comment on column dirsync.failed_syncs.%I is %L', same.attname, same.text);
  end loop;
end $$;
