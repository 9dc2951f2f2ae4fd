-- The outbox: what is to be done, and what came of every attempt.

-- Numbers are never used twice, so that an outcome which comes too late is known as such.
create sequence dirsync.execution;
comment on sequence dirsync.execution is 'Numbers the executions of jobs (see pending.execution).';

create table dirsync.pending (
  operation       text not null check (operation in ('update-employee', 'delete-department', 'bind-openid')),
  enterprise_code text not null default '',
  entity_key      text not null,
  detail          text not null default '',
  run_id          bigint references dirsync.sync_run on delete set null,
  named           boolean not null default false,
  priority        smallint not null,
  wave            smallint not null default 0,
  version         integer not null default 1,
  execution       bigint,
  attempts        smallint not null default 0,
  starts          smallint not null default 0,
  sent_unknown    boolean not null default false,
  not_before      timestamptz not null default now(),
  replan_at       timestamptz,
  enqueued_at     timestamptz,
  created_at      timestamptz not null default now(),
  primary key (operation, enterprise_code, entity_key, detail)
);
create index pending_due on dirsync.pending (priority, not_before) where enqueued_at is null;
create index pending_enqueued on dirsync.pending (enqueued_at) where enqueued_at is not null;
create index pending_replan on dirsync.pending (replan_at) where replan_at is not null;
create index pending_wave on dirsync.pending (enterprise_code, wave) where operation = 'delete-department';
-- Of each enterprise by itself: what is fed while another one is halted, and that one's probes.
create index pending_due_of_enterprise on dirsync.pending (enterprise_code, priority, not_before)
  where enqueued_at is null;
-- Of a run, what is to leave it because its enterprise is halted.
create index pending_run on dirsync.pending (run_id, enterprise_code, entity_key);

comment on table dirsync.pending is
  'The outbox: entities whose desired state the platform has not acknowledged. The queue is fed from here '
  'and may be wiped at any moment.';
comment on column dirsync.pending.operation is 'Which job does the work.';
comment on column dirsync.pending.enterprise_code is 'Enterprise; empty for a single enterprise.';
comment on column dirsync.pending.entity_key is 'User id or department code.';
comment on column dirsync.pending.detail is 'bind-openid: the merchant application id; else empty.';
comment on column dirsync.pending.run_id is
  'The run that asked last. A run is done when none of its rows is left here.';
comment on column dirsync.pending.named is
  'True where a person named the entity: it is sent as HR has it now, whatever a plan saw.';
comment on column dirsync.pending.priority is
  '1 named and retried entities, 3 changes, 5 departments and open ids, 7 full runs. The lowest goes first.';
comment on column dirsync.pending.wave is
  'Rows of a later wave wait until the run has no row of an earlier one: children before parents.';
comment on column dirsync.pending.version is
  'Raised whenever the work is asked for again. An outcome removes only the version that it saw.';
comment on column dirsync.pending.execution is
  'The execution that began last. The outcome of an earlier one changes nothing.';
comment on column dirsync.pending.attempts is 'Failed attempts in a row that count (transient failures).';
comment on column dirsync.pending.starts is
  'Executions begun without an outcome. A job that kills its process again and again is parked.';
comment on column dirsync.pending.sent_unknown is
  'True while an earlier execution may have changed the platform unnoticed: it died, or its answer was '
  'lost. The outcome that ends the work releases the cases that wait for this employee.';
comment on column dirsync.pending.not_before is
  'Earliest moment of the next attempt; infinity: it waits for a plan (replan_at).';
comment on column dirsync.pending.replan_at is
  'When a worker found another HR row than the plan saw. The row then waits (not_before is infinity) until '
  'a plan has checked it.';
comment on column dirsync.pending.enqueued_at is 'When it was put into the queue; null: it is not there.';
comment on column dirsync.pending.created_at is 'Since when the entity has been out of sync.';

create table dirsync.attempt (
  id              bigint generated always as identity primary key,
  run_id          bigint,
  operation       text not null,
  enterprise_code text not null default '',
  entity_key      text not null,
  detail          text not null default '',
  execution       bigint,
  started_at      timestamptz not null,
  duration_ms     integer not null,
  outcome         text not null
                  check (outcome in ('in_step', 'updated', 'partly_updated', 'deleted', 'bound',
                                     'awaiting_activation', 'left', 'parked', 'retry', 'wait', 'halted',
                                     'obsolete', 'replan')),
  calls           jsonb not null default '{}',
  waited_ms       jsonb not null default '{}',
  too_fast        jsonb not null default '{}',
  fields          text[] not null default '{}',
  platform_code   bigint,
  trace_id        text,
  error           jsonb
);
create index attempt_entity on dirsync.attempt (enterprise_code, entity_key, id desc);
create index attempt_run on dirsync.attempt (run_id);
create index attempt_started_at on dirsync.attempt using brin (started_at);
-- An outcome that is written twice, because its commit was uncertain, leaves one attempt.
create unique index attempt_execution on dirsync.attempt (execution);

comment on table dirsync.attempt is 'Every execution of a job, append-only; kept for 30 days.';
comment on column dirsync.attempt.id is 'Number of the attempt.';
comment on column dirsync.attempt.run_id is 'The run it belonged to.';
comment on column dirsync.attempt.operation is
  'update-employee, delete-department, bind-openid, mirror-orders, mirror-accounts or mirror-taxpayers.';
comment on column dirsync.attempt.enterprise_code is 'Enterprise; empty for a single enterprise.';
comment on column dirsync.attempt.entity_key is
  'User id, department code, or the part of a mirror: a day, an order, an identification number.';
comment on column dirsync.attempt.detail is
  'bind-openid: the merchant application id; mirror-taxpayers: the nature; else empty.';
comment on column dirsync.attempt.execution is
  'The execution of the job (see pending.execution) that had this outcome; null where there was none.';
comment on column dirsync.attempt.started_at is 'When it began.';
comment on column dirsync.attempt.duration_ms is
  'How long it took, in milliseconds, waiting for the pacer included.';
comment on column dirsync.attempt.outcome is
  'in_step: nothing to send, or nothing new in a mirror; updated: fields sent, or rows of a mirror written; '
  'partly_updated: some fields held back; left: gone from HR and from the platform; retry, wait, halted: to '
  'be repeated; replan: HR has another row than the plan saw, so nothing was sent; obsolete: nothing to do '
  'any more.';
comment on column dirsync.attempt.calls is 'Calls to the platform by operation.';
comment on column dirsync.attempt.waited_ms is
  'How long its calls waited for the pacer, in milliseconds by operation; empty where that is not known '
  '(mirrors).';
comment on column dirsync.attempt.too_fast is
  'Calls that the platform rejected because there were too many, by operation.';
comment on column dirsync.attempt.fields is 'Names of the fields the platform accepted.';
comment on column dirsync.attempt.platform_code is 'Error code of the platform (section 7).';
comment on column dirsync.attempt.trace_id is 'x-trace-id of the failed call, for the vendor''s support.';
comment on column dirsync.attempt.error is 'What failed, without personal data, for dirsync.in_language.';
