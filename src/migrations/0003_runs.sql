-- Runs: each compares HR with what the platform last confirmed, and has the differences sent.

create table dirsync.sync_run (
  id              bigint generated always as identity primary key,
  kind            text not null
                  check (kind in ('changes', 'full', 'employees', 'departments', 'openids', 'retry',
                                  'orders', 'accounts', 'taxpayers')),
  keys            text[] not null default '{}',
  max_age         interval,
  state           text not null default 'requested'
                  check (state in ('requested', 'planning', 'held', 'running', 'done', 'failed',
                                   'source_suspect', 'rejected', 'superseded', 'cancelled')),
  requested_by    text not null default session_user,
  requested_at    timestamptz not null default now(),
  started_at      timestamptz,
  planned_at      timestamptz,
  finished_at     timestamptz,
  rejudge_at      timestamptz,
  judged_at       timestamptz,
  approved        boolean not null default false,
  decided_by      text,
  decided_at      timestamptz,
  decision_reason text,
  cancelled_at    timestamptz,
  sweep           boolean not null default true,
  mapping         text,
  in_scope        integer,
  planned         integer,
  plan            jsonb,
  source          jsonb,
  result          jsonb,
  message         jsonb,
  hr_source       text not null default '',
  wants_sweep     boolean not null default false
);
create index sync_run_unfinished on dirsync.sync_run (state) where finished_at is null;
create index sync_run_cancelled on dirsync.sync_run (cancelled_at) where cancelled_at is not null;
-- Runs are kept for half a year: the next one, the last one and the last good one are found by an index.
create index sync_run_kind on dirsync.sync_run (kind, id desc);
create index sync_run_requested on dirsync.sync_run (kind, id) where state = 'requested';
create index sync_run_success on dirsync.sync_run (kind, finished_at) where state = 'done';
create index sync_run_of_everybody on dirsync.sync_run (id) where kind in ('changes', 'full') and keys = '{}';
create index sync_run_mapping on dirsync.sync_run (planned_at desc)
  where mapping is not null and state in ('running', 'done');
create index sync_run_to_show on dirsync.sync_run (finished_at)
  where kind = 'full' or state in ('failed', 'source_suspect', 'rejected', 'cancelled');
create index sync_run_mapping_used on dirsync.sync_run (mapping, planned_at)
  where mapping is not null and state in ('running', 'done');
-- Lists of runs by state, by time and by who asked are read from an index, however many runs are kept.
create index sync_run_state on dirsync.sync_run (state, id desc);
create index sync_run_requested_at on dirsync.sync_run (requested_at);
create index sync_run_by_people on dirsync.sync_run (id desc)
  where requested_by not in ('cron', 'start', 'trigger', 'replan');
-- The last run of a source is found by an index, however many others there are.
create index sync_run_source on dirsync.sync_run (hr_source, id)
  where kind in ('changes', 'full') and keys = '{}';
create index sync_run_source_mapping on dirsync.sync_run (hr_source, planned_at desc)
  where mapping is not null and state in ('running', 'done');

comment on table dirsync.sync_run is
  'One row per run. A run compares HR with what the platform last confirmed, and has the differences sent.';
comment on column dirsync.sync_run.id is 'Number of the run, as commands and logs name it.';
comment on column dirsync.sync_run.kind is
  'changes: HR rows that differ from what was acknowledged; full: every employee is looked up on the '
  'platform; employees: the named ones; departments: deletions; openids: missing bindings; retry: dead '
  'letters; orders, accounts, taxpayers: the mirror of that name is read anew.';
comment on column dirsync.sync_run.keys is
  'employees: the user ids that were asked for; changes: the user ids that HR''s trigger named, empty for '
  'all; retry: the dead letters to try again; otherwise empty.';
comment on column dirsync.sync_run.max_age is
  'full: leaves out employees in sync whom the platform confirmed within this time; null: leaves out none.';
comment on column dirsync.sync_run.state is
  'requested → planning → running → done; held waits for approve or reject; superseded: held until a later '
  'run took its place; source_suspect: HR looked wrong and nothing was enqueued; cancelled: its waiting '
  'work was taken back; failed: see message.';
comment on column dirsync.sync_run.requested_by is
  'Who asked for it: cron, start, cli, or the database user of a function call.';
comment on column dirsync.sync_run.requested_at is 'When it was asked for.';
comment on column dirsync.sync_run.started_at is 'When planning began.';
comment on column dirsync.sync_run.planned_at is 'When planning ended.';
comment on column dirsync.sync_run.finished_at is
  'When nothing of the run was left to do; null while it goes on or is held.';
comment on column dirsync.sync_run.rejudge_at is
  'held: when to check HR again; null: no one has asked for it.';
comment on column dirsync.sync_run.judged_at is 'held: when HR was last checked again.';
comment on column dirsync.sync_run.approved is
  'True once a person approved the held run: exactly its stored plan is carried out.';
comment on column dirsync.sync_run.decided_by is
  'Database user or command that approved, rejected or cancelled.';
comment on column dirsync.sync_run.decided_at is 'When it was approved, rejected or cancelled.';
comment on column dirsync.sync_run.decision_reason is 'Reason given with reject or cancel.';
comment on column dirsync.sync_run.cancelled_at is
  'When its waiting work was taken back. The run ends with the work that was in hand.';
comment on column dirsync.sync_run.sweep is
  'True when every HR row was hashed; false when only rows newer than the watermark were read.';
comment on column dirsync.sync_run.mapping is
  'Fingerprint of the employee mapping (its SELECT and the columns it returns) that the plan was made with; '
  'of several sources "name=fingerprint" each; null: the run did not read employees from HR. Workers read '
  'HR with the mapping of the latest plan that passed.';
comment on column dirsync.sync_run.in_scope is
  'How many active employees (or departments) the plan looked at.';
comment on column dirsync.sync_run.planned is
  'How many entities the plan wants to work on; of a mirror: how many parts to read.';
comment on column dirsync.sync_run.plan is
  'The plan in figures: counts by reason and a sample of keys; skipped: employees left out by max_age; '
  'changed_since: rows of a held plan that HR has changed since.';
comment on column dirsync.sync_run.source is
  'What HR looked like: rows, share of empty values per column, newest updated_at. The next run''s sanity '
  'gate compares with it.';
comment on column dirsync.sync_run.result is
  'What came of it, counted from the attempts when the run ended; of a mirror also the rows read and '
  'changed, counted while it runs.';
comment on column dirsync.sync_run.message is
  'One sentence for a person: why the run is held, suspect or failed, and what to do.';
comment on column dirsync.sync_run.hr_source is
  'The HR source that the run is about; empty where there is only one, and for runs that look through all '
  'of them (employees, retry, openids, mirrors).';
comment on column dirsync.sync_run.wants_sweep is
  'True where every HR row is to be read, whatever updated_at says: HR told that a row may be gone.';

create table dirsync.planned_work (
  run_id          bigint not null references dirsync.sync_run on delete cascade,
  operation       text not null check (operation in ('update-employee', 'delete-department')),
  enterprise_code text not null default '',
  entity_key      text not null,
  reason          text,
  active          boolean,
  source_hash     uuid,
  previous_hash   uuid,
  wave            smallint not null default 0,
  department      text,
  fields          text[],
  acknowledged    jsonb,
  primary key (run_id, operation, enterprise_code, entity_key)
);
create index planned_work_key on dirsync.planned_work (run_id, entity_key collate "C", enterprise_code)
  where reason is not null;
create index planned_work_reason
  on dirsync.planned_work (run_id, reason, entity_key collate "C", enterprise_code)
  where reason is not null;
create index planned_work_department
  on dirsync.planned_work (run_id, department, entity_key collate "C", enterprise_code)
  where reason is not null and department is not null;

comment on table dirsync.planned_work is
  'The plans of held runs, entity by entity: what approve carries out, and nothing else. Kept for 30 days '
  'after the run has ended.';
comment on column dirsync.planned_work.run_id is 'The held run.';
comment on column dirsync.planned_work.operation is 'Which job would do the work.';
comment on column dirsync.planned_work.enterprise_code is 'Enterprise; empty for a single enterprise.';
comment on column dirsync.planned_work.entity_key is 'User id or department code.';
comment on column dirsync.planned_work.reason is
  'Why there is work: new, changed, asked, left, vanished, delete; null: there is none, the row is only '
  'remembered.';
comment on column dirsync.planned_work.active is
  'Whether HR has the employee as active; null for a department, or where HR has no row.';
comment on column dirsync.planned_work.source_hash is
  'Hash of the HR row as the plan saw it; null where HR has no row.';
comment on column dirsync.planned_work.previous_hash is
  'employee.source_hash when the plan was made. Where it has changed since, a later plan has passed and '
  'takes precedence.';
comment on column dirsync.planned_work.wave is 'Departments: children before parents.';
comment on column dirsync.planned_work.department is
  'Department that HR has for the employee, else the one that the platform last showed; null: not known, or '
  'not read yet (see plan_reading).';
comment on column dirsync.planned_work.fields is
  'Of a changed employee the fields that differ from what the platform last confirmed, of a row that breaks '
  'rules the broken ones; null: not read yet (see plan_reading).';
comment on column dirsync.planned_work.acknowledged is
  'For a row whose fields had not been read when the plan was carried out: per field the hash of the value '
  'that the platform had confirmed by then. It shows afterwards what was approved.';

create table dirsync.plan_reading (
  run_id        bigint primary key references dirsync.sync_run on delete cascade,
  state         text not null check (state in ('running', 'done', 'failed', 'stopped')),
  started_at    timestamptz not null default now(),
  finished_at   timestamptz,
  retry_at      timestamptz,
  after_key     text not null default '',
  after_code    text not null default '',
  looked_at     integer not null default 0,
  changed_since integer not null default 0,
  fields        jsonb not null default '[]',
  departments   jsonb not null default '[]',
  message       jsonb
);

comment on table dirsync.plan_reading is
  'The plan of a held run in figures that only HR can tell, counted once in the background after it is held.';
comment on column dirsync.plan_reading.run_id is 'The held run.';
comment on column dirsync.plan_reading.state is
  'running; done; failed: HR could not be read, it is tried again at retry_at; stopped: a person decided '
  'about the run first.';
comment on column dirsync.plan_reading.started_at is 'When it began.';
comment on column dirsync.plan_reading.finished_at is 'When it ended; null while it goes on.';
comment on column dirsync.plan_reading.retry_at is 'failed: when to go on.';
comment on column dirsync.plan_reading.after_key is 'Key of the entity that was read last.';
comment on column dirsync.plan_reading.after_code is 'Enterprise of the entity that was read last.';
comment on column dirsync.plan_reading.looked_at is 'Entities read so far.';
comment on column dirsync.plan_reading.changed_since is
  'How many of them had another row in HR by then than the plan saw.';
comment on column dirsync.plan_reading.fields is
  'Entities by changed field: [{field, n}], highest first; once it is done.';
comment on column dirsync.plan_reading.departments is
  'Entities by department: [{department, n}], the 50 highest; once it is done.';
comment on column dirsync.plan_reading.message is
  'failed: why HR could not be read, for dirsync.in_language.';

-- How many runs ended and how long they took, counted for ever: the runs themselves are deleted after a time.
create table dirsync.run_count (
  kind    text,
  state   text,
  ended   bigint not null,
  seconds double precision not null,
  primary key (kind, state)
);

comment on table dirsync.run_count is 'Runs that ended, by kind and state; for metrics, so it only grows.';
comment on column dirsync.run_count.kind is 'Kind of the runs: changes, full, …';
comment on column dirsync.run_count.state is 'How they ended: done, failed, source_suspect, cancelled, …';
comment on column dirsync.run_count.ended is 'How many.';
comment on column dirsync.run_count.seconds is 'Sum of the times from their request to their end.';

create function dirsync.count_ended_runs() returns trigger
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  insert into dirsync.run_count as c (kind, state, ended, seconds)
  select a.kind, a.state, count(*), sum(extract(epoch from a.finished_at - a.requested_at))
  from added a join removed r using (id)
  -- A run ends once: finished_at is written then.
  where a.finished_at is not null and r.finished_at is null
  group by 1, 2 order by 1, 2
  on conflict (kind, state) do update
  set ended = c.ended + excluded.ended, seconds = c.seconds + excluded.seconds;
  return null;
end $$;
comment on function dirsync.count_ended_runs is 'Counts runs that end.';
create trigger count_ended after update on dirsync.sync_run
referencing new table as added old table as removed
for each statement execute function dirsync.count_ended_runs();
