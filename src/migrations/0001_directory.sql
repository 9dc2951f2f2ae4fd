-- What dirsync knows: runs, employees, departments, bindings, and what is still to be done.

create table dirsync.sync_run (
  id           bigint generated always as identity primary key,
  kind         text not null check (kind in ('changes', 'full', 'employees', 'departments', 'openids', 'retry')),
  keys         text[] not null default '{}',
  state        text not null default 'requested'
               check (state in ('requested', 'planning', 'held', 'running', 'done', 'failed', 'source_suspect', 'rejected')),
  requested_by text not null default session_user,
  requested_at timestamptz not null default now(),
  started_at   timestamptz,
  planned_at   timestamptz,
  finished_at  timestamptz,
  approved     boolean not null default false,
  decided_by   text,
  decided_at   timestamptz,
  sweep        boolean not null default true,
  in_scope     integer,
  planned      integer,
  plan         jsonb,
  source       jsonb,
  result       jsonb,
  message      text
);
create index sync_run_unfinished on dirsync.sync_run (state) where finished_at is null;
create index sync_run_kind on dirsync.sync_run (kind, id desc);

comment on table dirsync.sync_run is 'One row per run: one pass that compares HR with what the platform last confirmed and has the differences sent.';
comment on column dirsync.sync_run.id is 'Number of the run, as commands and logs name it.';
comment on column dirsync.sync_run.kind is 'changes: HR rows that differ from what was acknowledged; full: every employee is asked on the platform; employees: the named ones; departments: deletions; openids: missing bindings; retry: dead letters.';
comment on column dirsync.sync_run.keys is 'employees: the user ids asked for; retry: the dead letters asked for; else empty.';
comment on column dirsync.sync_run.state is 'requested → planning → running → done; held waits for approve or reject; source_suspect: HR looked wrong and nothing was enqueued; failed: see message.';
comment on column dirsync.sync_run.requested_by is 'Who asked: cron, start, cli, or the database user of a function call.';
comment on column dirsync.sync_run.requested_at is 'When it was asked for.';
comment on column dirsync.sync_run.started_at is 'When planning began.';
comment on column dirsync.sync_run.planned_at is 'When planning ended.';
comment on column dirsync.sync_run.finished_at is 'When nothing of the run was left to do; null while it goes on or is held.';
comment on column dirsync.sync_run.approved is 'True once a person approved the held run: its breakers no longer apply.';
comment on column dirsync.sync_run.decided_by is 'Database user or command that approved or rejected.';
comment on column dirsync.sync_run.decided_at is 'When it was approved or rejected.';
comment on column dirsync.sync_run.sweep is 'True when every HR row was hashed; false when only rows newer than the watermark were read.';
comment on column dirsync.sync_run.in_scope is 'Active employees (or departments) that the plan looked at.';
comment on column dirsync.sync_run.planned is 'Entities for which the plan asks work.';
comment on column dirsync.sync_run.plan is 'The plan in figures: counts by reason and a sample of keys.';
comment on column dirsync.sync_run.source is 'What HR looked like: rows, share of empty values per column, newest updated_at. The next run''s sanity gate compares with it.';
comment on column dirsync.sync_run.result is 'What came of it, counted from the attempts when the run ended.';
comment on column dirsync.sync_run.message is 'One sentence for a person: why the run is held, suspect or failed, and what to do.';

create table dirsync.employee (
  enterprise_code   text not null default '',
  userid            text not null,
  active            boolean not null default true,
  source_hash       uuid,
  acknowledged_hash uuid,
  parked_hash       uuid,
  acknowledged      jsonb not null default '{}',
  withheld          text[] not null default '{}',
  platform_state    text not null default 'unknown' check (platform_state in ('unknown', 'in_service', 'absent')),
  dept_code         text,
  vanished_at       timestamptz,
  acknowledged_at   timestamptz,
  queried_at        timestamptz,
  primary key (enterprise_code, userid)
);
create index employee_dept_code on dirsync.employee (enterprise_code, dept_code) where platform_state = 'in_service';
create index employee_withheld on dirsync.employee (enterprise_code) where withheld <> '{}';
create index employee_vanished on dirsync.employee (vanished_at) where vanished_at is not null;

comment on table dirsync.employee is 'What the platform last confirmed of each employee, as hashes: no personal data is kept here.';
comment on column dirsync.employee.enterprise_code is 'Enterprise the employee belongs to; empty for a single enterprise.';
comment on column dirsync.employee.userid is 'The employee''s unique id in HR and on the platform; never changes.';
comment on column dirsync.employee.active is 'False for a leaver, as HR last said.';
comment on column dirsync.employee.source_hash is 'Hash of the HR row as last planned.';
comment on column dirsync.employee.acknowledged_hash is 'Hash of the HR row of which the platform confirmed every field. Equal to source_hash: in step.';
comment on column dirsync.employee.parked_hash is 'Hash of the HR row that ended in a dead letter, wholly or in part. It is not tried again while HR gives the same row.';
comment on column dirsync.employee.acknowledged is 'Per field the hash of the value the platform last confirmed.';
comment on column dirsync.employee.withheld is 'Fields not sent because their feature is switched off for the enterprise (see field_block).';
comment on column dirsync.employee.platform_state is 'in_service: the platform answered for the employee; absent: it said there is none; unknown: not asked yet.';
comment on column dirsync.employee.dept_code is 'Department the platform last showed; a department with employees is never deleted.';
comment on column dirsync.employee.vanished_at is 'When the employee was first missing from HR; null while HR has a row.';
comment on column dirsync.employee.acknowledged_at is 'When the platform last confirmed anything.';
comment on column dirsync.employee.queried_at is 'When the platform was last asked about the employee.';

create table dirsync.department (
  enterprise_code  text not null default '',
  dept_code        text not null,
  parent_code      text,
  active           boolean not null,
  closed_at        timestamptz,
  first_missing_at timestamptz,
  deleted_at       timestamptz,
  parked_at        timestamptz,
  primary key (enterprise_code, dept_code)
);
comment on table dirsync.department is 'Departments that HR has or once had, and which of them were deleted on the platform.';
comment on column dirsync.department.enterprise_code is 'Enterprise the department belongs to; empty for a single enterprise.';
comment on column dirsync.department.dept_code is 'Department code.';
comment on column dirsync.department.parent_code is 'Code of the department above, as HR last said.';
comment on column dirsync.department.active is 'False when HR marks the department closed.';
comment on column dirsync.department.closed_at is 'When HR closed it, if the mapping has closed_at; else when the closing was first noticed.';
comment on column dirsync.department.first_missing_at is 'When HR first lacked a department it once had.';
comment on column dirsync.department.deleted_at is 'When the platform confirmed the deletion, or that there is no such department.';
comment on column dirsync.department.parked_at is 'When the deletion ended in a dead letter; it is not planned again until HR changes or the case is retried.';

create table dirsync.openid_binding (
  enterprise_code text not null default '',
  userid          text not null,
  seller_appid    text not null,
  open_userid     text not null,
  bound_at        timestamptz not null default now(),
  primary key (enterprise_code, userid, seller_appid)
);
comment on table dirsync.openid_binding is 'Open id of an employee for a merchant application (specification 4.5).';
comment on column dirsync.openid_binding.enterprise_code is 'Enterprise the employee belongs to; empty for a single enterprise.';
comment on column dirsync.openid_binding.userid is 'The employee.';
comment on column dirsync.openid_binding.seller_appid is 'Merchant application id.';
comment on column dirsync.openid_binding.open_userid is 'Externally visible open id; the buyer_open_id of the merchant''s interfaces.';
comment on column dirsync.openid_binding.bound_at is 'When dirsync learnt it.';

create table dirsync.pending (
  operation       text not null check (operation in ('update-employee', 'delete-department', 'bind-openid')),
  enterprise_code text not null default '',
  entity_key      text not null,
  detail          text not null default '',
  run_id          bigint references dirsync.sync_run on delete set null,
  priority        smallint not null,
  wave            smallint not null default 0,
  version         integer not null default 1,
  attempts        smallint not null default 0,
  starts          smallint not null default 0,
  not_before      timestamptz not null default now(),
  enqueued_at     timestamptz,
  created_at      timestamptz not null default now(),
  primary key (operation, enterprise_code, entity_key, detail)
);
create index pending_due on dirsync.pending (priority, not_before) where enqueued_at is null;
create index pending_enqueued on dirsync.pending (enqueued_at) where enqueued_at is not null;
create index pending_run on dirsync.pending (run_id, wave);

comment on table dirsync.pending is 'The outbox: entities whose desired state the platform has not acknowledged. The queue is fed from here and may be wiped at any moment.';
comment on column dirsync.pending.operation is 'Which job does the work.';
comment on column dirsync.pending.enterprise_code is 'Enterprise; empty for a single enterprise.';
comment on column dirsync.pending.entity_key is 'User id or department code.';
comment on column dirsync.pending.detail is 'bind-openid: the merchant application id; else empty.';
comment on column dirsync.pending.run_id is 'The run that asked last; it is done when none of its rows is left here.';
comment on column dirsync.pending.priority is '1 named and retried entities, 3 changes, 5 departments and open ids, 7 full runs.';
comment on column dirsync.pending.wave is 'Rows of a later wave wait until the run has no row of an earlier one: children before parents.';
comment on column dirsync.pending.version is 'Raised whenever the work is asked for again; an outcome removes only the version it saw.';
comment on column dirsync.pending.attempts is 'Failed attempts in a row that count (transient failures).';
comment on column dirsync.pending.starts is 'Executions begun without an outcome: a job that kills its process again and again is parked.';
comment on column dirsync.pending.not_before is 'Earliest moment of the next attempt.';
comment on column dirsync.pending.enqueued_at is 'When it was put into the queue; null: not there.';
comment on column dirsync.pending.created_at is 'Since when the entity is out of step.';

create table dirsync.attempt (
  id              bigint generated always as identity primary key,
  run_id          bigint,
  operation       text not null,
  enterprise_code text not null default '',
  entity_key      text not null,
  detail          text not null default '',
  started_at      timestamptz not null,
  duration_ms     integer not null,
  outcome         text not null check (outcome in ('in_step', 'updated', 'partly_updated', 'deleted', 'bound', 'awaiting_activation',
                                                   'left', 'parked', 'retry', 'wait', 'halted', 'obsolete')),
  calls           jsonb not null default '{}',
  fields          text[] not null default '{}',
  platform_code   bigint,
  trace_id        text,
  error           text
);
create index attempt_entity on dirsync.attempt (enterprise_code, entity_key, id desc);
create index attempt_run on dirsync.attempt (run_id);
create index attempt_started_at on dirsync.attempt using brin (started_at);

comment on table dirsync.attempt is 'Every execution of a job, append-only; kept 30 days.';
comment on column dirsync.attempt.id is 'Number of the attempt.';
comment on column dirsync.attempt.run_id is 'The run it belonged to.';
comment on column dirsync.attempt.operation is 'update-employee, delete-department or bind-openid.';
comment on column dirsync.attempt.enterprise_code is 'Enterprise; empty for a single enterprise.';
comment on column dirsync.attempt.entity_key is 'User id or department code.';
comment on column dirsync.attempt.detail is 'bind-openid: the merchant application id; else empty.';
comment on column dirsync.attempt.started_at is 'When it began.';
comment on column dirsync.attempt.duration_ms is 'How long it took, in milliseconds, waiting for the pacer included.';
comment on column dirsync.attempt.outcome is 'in_step: nothing to send; partly_updated: some fields held back; left: gone from HR and from the platform; retry, wait, halted: to be repeated; obsolete: nothing to do any more.';
comment on column dirsync.attempt.calls is 'Calls to the platform by operation.';
comment on column dirsync.attempt.fields is 'Names of the fields the platform accepted.';
comment on column dirsync.attempt.platform_code is 'Error code of the platform (specification section 7).';
comment on column dirsync.attempt.trace_id is 'x-trace-id of the failed call, for the vendor''s support.';
comment on column dirsync.attempt.error is 'What failed, without personal data.';

create table dirsync.halt (
  scope         text primary key,
  category      text not null,
  platform_code bigint,
  message       text not null,
  remedy        text not null,
  since         timestamptz not null default now(),
  probes        integer not null default 0,
  next_probe_at timestamptz not null default now()
);
comment on table dirsync.halt is 'Why work stands still: one row for everything (*) or for one enterprise. It heals by itself when a probe succeeds.';
comment on column dirsync.halt.scope is '* for everything, else the enterprise code.';
comment on column dirsync.halt.category is 'clock_skew, credentials, enterprise_code, platform_unavailable …';
comment on column dirsync.halt.platform_code is 'Error code of the platform, if it gave one.';
comment on column dirsync.halt.message is 'What is wrong.';
comment on column dirsync.halt.remedy is 'What to do about it.';
comment on column dirsync.halt.since is 'Since when.';
comment on column dirsync.halt.probes is 'Probes that failed.';
comment on column dirsync.halt.next_probe_at is 'When the next job is let through to see whether it works again.';

create table dirsync.field_block (
  enterprise_code text not null default '',
  field           text not null,
  platform_code   bigint,
  since           timestamptz not null default now(),
  primary key (enterprise_code, field)
);
comment on table dirsync.field_block is 'Fields that are not sent for an enterprise because the platform says their feature is switched off; removed when a retried dead letter gets the field through.';
comment on column dirsync.field_block.enterprise_code is 'Enterprise; empty for a single enterprise.';
comment on column dirsync.field_block.field is 'Field that is not sent.';
comment on column dirsync.field_block.platform_code is 'Error code of the platform.';
comment on column dirsync.field_block.since is 'Since when.';

create table dirsync.job_tick (
  job        text not null,
  due_at     timestamptz not null,
  claimed_by uuid not null,
  claimed_at timestamptz not null default now(),
  finished_at timestamptz,
  error      text,
  primary key (job, due_at)
);
comment on table dirsync.job_tick is 'Ticks of the cron jobs: the unique row decides which process runs a tick.';
comment on column dirsync.job_tick.job is 'Name of the cron job.';
comment on column dirsync.job_tick.due_at is 'When the tick was due.';
comment on column dirsync.job_tick.claimed_by is 'The process that ran it.';
comment on column dirsync.job_tick.claimed_at is 'When it was claimed.';
comment on column dirsync.job_tick.finished_at is 'When it ended.';
comment on column dirsync.job_tick.error is 'Why it failed.';

create table dirsync.process (
  id           uuid primary key,
  host         text not null,
  pid          integer not null,
  roles        text[] not null,
  version      text not null,
  started_at   timestamptz not null default now(),
  heartbeat_at timestamptz not null default now()
);
comment on table dirsync.process is 'Processes of dirsync that are alive: each renews its row every few seconds.';
comment on column dirsync.process.id is 'Made at start.';
comment on column dirsync.process.host is 'Host name.';
comment on column dirsync.process.pid is 'Process id on that host.';
comment on column dirsync.process.roles is 'scheduler, worker, console.';
comment on column dirsync.process.version is 'Version of dirsync.';
comment on column dirsync.process.started_at is 'Start of the process.';
comment on column dirsync.process.heartbeat_at is 'Last sign of life; older than 15 seconds counts as dead.';
