-- Processes with other sources of HR than the process that was started last leave HR's work alone.

create function dirsync.hr_owners() returns jsonb
language sql stable set search_path = pg_catalog, pg_temp as $$
  select coalesce(jsonb_object_agg(code, s.name), '{}')
  from dirsync.hr_source s cross join unnest(s.enterprise_codes) code
$$;
comment on function dirsync.hr_owners is
  'The HR source of each enterprise, as the process that was started last knows them; empty where there is '
  'one HR system.';
revoke all on function dirsync.hr_owners from public;

alter table dirsync.process add column hr_owners jsonb;
comment on column dirsync.process.hr_owners is
  'The HR source of each enterprise as this process knows them. While they differ from hr_owners(), another '
  'process was started later with other sources: this one plans and claims nothing for those that differ.';

alter table dirsync.sync_run add column wants_sweep boolean not null default false;
comment on column dirsync.sync_run.wants_sweep is
  'True where every HR row is to be read, whatever updated_at says: HR told that a row may be gone.';

-- Of each enterprise by itself: what is fed while another one is halted, and that one's probes.
create index pending_due_of_enterprise on dirsync.pending (enterprise_code, priority, not_before)
  where enqueued_at is null;
-- Of a run, what is to leave it because its enterprise is halted.
drop index dirsync.pending_run;
create index pending_run on dirsync.pending (run_id, enterprise_code, entity_key);
