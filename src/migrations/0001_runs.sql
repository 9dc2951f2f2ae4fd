-- Runs: each compares HR with what the platform last confirmed, and has the differences sent.

-- Made by migrate before the first file.
comment on table dirsync.migration is 'Which migrations this database has had.';
comment on column dirsync.migration.name is 'Name of the migration file.';
comment on column dirsync.migration.applied_at is 'When it was applied.';

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
  message         text
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
  'full: leaves out employees in step whom the platform confirmed within this time; null: leaves out '
  'nobody.';
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
  'held: when to judge HR again; null: nobody has asked for it.';
comment on column dirsync.sync_run.judged_at is 'held: when HR was last judged again.';
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
  'null: the run did not read employees from HR. Workers read HR with the mapping of the latest plan that '
  'passed.';
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
  primary key (run_id, operation, enterprise_code, entity_key)
);

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
