-- Runs: each compares HR with what the platform last confirmed, and has the differences sent.

-- One row per run. A run compares HR with what the platform last confirmed, and has the differences sent.
create table dirsync.sync_run (
  -- Number of the run, as commands and logs name it.
  id              bigint generated always as identity primary key,
  -- changes: HR rows that differ from what was acknowledged; full: every employee is looked up on the
  -- platform; employees: the named ones; departments: deletions; openids: missing bindings; retry: dead
  -- letters; orders, accounts, taxpayers: the mirror of that name is read anew.
  kind            text not null
                  check (kind in ('changes', 'full', 'employees', 'departments', 'openids', 'retry',
                                  'orders', 'accounts', 'taxpayers')),
  -- employees: the user ids that were asked for; changes: the user ids that HR's trigger named, empty for
  -- all; retry: the dead letters to try again; otherwise empty.
  keys            text[] not null default '{}',
  -- full: leaves out employees in sync whom the platform confirmed within this time; null: leaves out none.
  max_age         interval,
  -- requested → planning → running → done; held waits for approve or reject; superseded: held until a later
  -- run took its place; source_suspect: HR looked wrong and nothing was enqueued; cancelled: its waiting work
  -- was taken back; failed: see message.
  state           text not null default 'requested'
                  check (state in ('requested', 'planning', 'held', 'running', 'done', 'failed',
                                   'source_suspect', 'rejected', 'superseded', 'cancelled')),
  -- Who asked for it: cron, start, cli, or the database user of a function call.
  requested_by    text not null default session_user,
  -- When it was asked for.
  requested_at    timestamptz not null default now(),
  started_at      timestamptz,  -- When planning began.
  planned_at      timestamptz,  -- When planning ended.
  finished_at     timestamptz,  -- When nothing of the run was left to do; null while it goes on or is held.
  recheck_at      timestamptz,  -- held: when to check HR again; null: no one has asked for it.
  checked_at      timestamptz,  -- held: when HR was last checked again.
  -- True once a person approved the held run: exactly its stored plan is carried out.
  approved        boolean not null default false,
  decided_by      text,         -- Database user or command that approved, rejected or cancelled.
  decided_at      timestamptz,  -- When it was approved, rejected or cancelled.
  decision_reason text,         -- Reason given with reject or cancel.
  -- When its waiting work was taken back. The run ends with the work that was in hand.
  cancelled_at    timestamptz,
  -- True when every HR row was hashed; false when only rows newer than the watermark were read.
  read_all        boolean not null default true,
  -- Fingerprint of the employee mapping (its SELECT and the columns it returns) that the plan was made with;
  -- of several sources "name=fingerprint" each; null: the run did not read employees from HR. Workers read HR
  -- with the mapping of the latest plan that passed.
  mapping         text,
  in_scope        integer,      -- How many active employees (or departments) the plan looked at.
  -- How many entities the plan wants to work on; of a mirror: how many parts to read.
  planned         integer,
  -- The plan in figures: counts by reason and a sample of keys; skipped: employees left out by max_age;
  -- changed_since: rows of a held plan that HR has changed since.
  plan            jsonb,
  -- What HR looked like: rows, share of empty values per column, newest updated_at. The next run's sanity
  -- gate compares with it.
  source          jsonb,
  -- What came of it, counted from the attempts when the run ended; of a mirror also the rows read and
  -- changed, counted while it runs.
  result          jsonb,
  -- One sentence for a person: why the run is held, suspect or failed, and what to do.
  message         jsonb,
  -- The HR source that the run is about; empty where there is only one, and for runs that look through all of
  -- them (employees, retry, openids, mirrors).
  hr_source       text not null default '',
  -- True where every HR row is to be read, whatever updated_at says: HR told that a row may be gone.
  wants_all       boolean not null default false
);
create index sync_run_unfinished on dirsync.sync_run (state) where finished_at is null;
create index sync_run_cancelled on dirsync.sync_run (cancelled_at) where cancelled_at is not null;
-- Runs are kept for half a year: the next one, the last one and the last good one are found by an index.
create index sync_run_kind on dirsync.sync_run (kind, id desc);
create index sync_run_success on dirsync.sync_run (kind, finished_at) where state = 'done';
create index sync_run_of_everybody on dirsync.sync_run (id) where kind in ('changes', 'full') and keys = '{}';
create index sync_run_mapping on dirsync.sync_run (planned_at desc)
  where mapping is not null and state in ('running', 'done');
create index sync_run_to_show on dirsync.sync_run (finished_at)
  where kind = 'full' or state in ('failed', 'source_suspect', 'rejected', 'cancelled');
create index sync_run_mapping_used on dirsync.sync_run (hr_source, mapping, planned_at)
  where mapping is not null and state in ('running', 'done');
-- Lists of runs by state, by time and by who asked are read from an index, however many runs are kept.
create index sync_run_state on dirsync.sync_run (state, id desc);
create index sync_run_requested_at on dirsync.sync_run (requested_at);
create index sync_run_by_people on dirsync.sync_run (id desc)
  where requested_by not in ('cron', 'start', 'trigger', 'replan');
-- The last run of a source is found by an index, however many others there are.
create index sync_run_source on dirsync.sync_run (hr_source, id)
  where kind in ('changes', 'full') and keys = '{}';

-- The plans of held runs, entity by entity: what approve carries out, and nothing else. Kept for 30 days
-- after the run has ended.
create table dirsync.planned_work (
  -- The held run.
  run_id          bigint not null references dirsync.sync_run on delete cascade,
  -- Which job would do the work.
  operation       text not null check (operation in ('update-employee', 'delete-department')),
  enterprise_code text not null default '',     -- Enterprise; empty for a single enterprise.
  entity_key      text not null,                -- User id or department code.
  -- Why there is work: new, changed, asked, left, vanished, delete; null: there is none, the row is only
  -- remembered.
  reason          text,
  -- Whether HR has the employee as active; null for a department, or where HR has no row.
  active          boolean,
  -- Hash of the HR row as the plan saw it; null where HR has no row.
  source_hash     uuid,
  -- employee.source_hash when the plan was made. Where it has changed since, a later plan has passed and
  -- takes precedence.
  previous_hash   uuid,
  wave            smallint not null default 0,  -- Departments: children before parents.
  -- Department that HR has for the employee, else the one that the platform last showed; null: not known, or
  -- not read yet (see plan_reading).
  department      text,
  -- Of a changed employee the fields that differ from what the platform last confirmed, of a row that breaks
  -- rules the broken ones; null: not read yet (see plan_reading).
  fields          text[],
  -- For a row whose fields had not been read when the plan was carried out: per field the hash of the value
  -- that the platform had confirmed by then. It shows afterwards what was approved.
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

-- The plan of a held run in figures that only HR can tell, counted once in the background after it is held.
create table dirsync.plan_reading (
  -- The held run.
  run_id        bigint primary key references dirsync.sync_run on delete cascade,
  -- running; done; failed: HR could not be read, it is tried again at retry_at; stopped: a person decided
  -- about the run first.
  state         text not null check (state in ('running', 'done', 'failed', 'stopped')),
  started_at    timestamptz not null default now(),  -- When it began.
  finished_at   timestamptz,                         -- When it ended; null while it goes on.
  retry_at      timestamptz,                         -- failed: when to go on.
  after_key     text not null default '',            -- Key of the entity that was read last.
  after_code    text not null default '',            -- Enterprise of the entity that was read last.
  looked_at     integer not null default 0,          -- Entities read so far.
  -- How many of them had another row in HR by then than the plan saw.
  changed_since integer not null default 0,
  -- Entities by changed field: [{field, n}], highest first; once it is done.
  fields        jsonb not null default '[]',
  -- Entities by department: [{department, n}], the 50 highest; once it is done.
  departments   jsonb not null default '[]',
  -- failed: why HR could not be read, for dirsync.in_language.
  message       jsonb
);

-- How many runs ended and how long they took, by kind and state. For metrics it only grows: the runs
-- themselves are deleted after a time.
create table dirsync.run_count (
  kind    text,                       -- Kind of the runs: changes, full, …
  state   text,                       -- How they ended: done, failed, source_suspect, cancelled, …
  ended   bigint not null,            -- How many.
  seconds double precision not null,  -- Sum of the times from their request to their end.
  primary key (kind, state)
);

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
