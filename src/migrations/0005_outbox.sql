-- The outbox: what is to be done, and what came of every attempt.

-- Numbers are never used twice, so that an outcome which comes too late is known as such.
create sequence dirsync.execution;
comment on sequence dirsync.execution is 'Numbers the executions of jobs (see pending.execution).';

-- The outbox: entities whose desired state the platform has not acknowledged. The queue is fed from here and
-- may be wiped at any moment.
create table dirsync.pending (
  -- Which job does the work.
  operation       text not null check (operation in ('update-employee', 'delete-department', 'bind-openid')),
  enterprise_code text not null default '',     -- Enterprise; empty for a single enterprise.
  entity_key      text not null,                -- User id or department code.
  detail          text not null default '',     -- bind-openid: the merchant application id; else empty.
  -- The run that asked last. A run is done when none of its rows is left here.
  run_id          bigint references dirsync.sync_run on delete set null,
  -- True where a person named the entity: it is sent as HR has it now, whatever a plan saw.
  named           boolean not null default false,
  -- 1 named and retried entities, 3 changes, 5 departments and open ids, 7 full runs. The lowest goes first.
  priority        smallint not null,
  -- Rows of a later wave wait until the run has no row of an earlier one: children before parents.
  wave            smallint not null default 0,
  -- Raised whenever the work is asked for again. An outcome removes only the version that it saw.
  version         integer not null default 1,
  -- The execution that began last. The outcome of an earlier one changes nothing.
  execution       bigint,
  attempts        smallint not null default 0,  -- Failed attempts in a row that count (transient failures).
  -- Executions begun without an outcome. A job that kills its process again and again is parked.
  starts          smallint not null default 0,
  -- True while an earlier execution may have changed the platform unnoticed: it died, or its answer was lost.
  -- The outcome that ends the work releases the cases that wait for this employee.
  sent_unknown    boolean not null default false,
  -- Earliest moment of the next attempt; infinity: it waits for a plan (replan_at).
  not_before      timestamptz not null default now(),
  -- When a worker found another HR row than the plan saw. The row then waits (not_before is infinity) until a
  -- plan has checked it.
  replan_at       timestamptz,
  enqueued_at     timestamptz,                  -- When it was put into the queue; null: it is not there.
  -- Since when the entity has been out of sync.
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

-- Every execution of a job, append-only; kept for 30 days.
create table dirsync.attempt (
  -- Number of the attempt.
  id              bigint generated always as identity primary key,
  run_id          bigint,                        -- The run it belonged to.
  -- update-employee, delete-department, bind-openid, mirror-orders, mirror-accounts or mirror-taxpayers.
  operation       text not null,
  enterprise_code text not null default '',      -- Enterprise; empty for a single enterprise.
  -- User id, department code, or the part of a mirror: a day, an order, an identification number.
  entity_key      text not null,
  -- bind-openid: the merchant application id; mirror-taxpayers: the nature; else empty.
  detail          text not null default '',
  -- The execution of the job (see pending.execution) that had this outcome; null where there was none.
  execution       bigint,
  started_at      timestamptz not null,          -- When it began.
  -- How long it took, in milliseconds, waiting for the pacer included.
  duration_ms     integer not null,
  -- in_sync: nothing to send, or nothing new in a mirror; updated: fields sent, or rows of a mirror written;
  -- partly_updated: some fields held back; left: gone from HR and from the platform; retry, wait, halted: to
  -- be repeated; replan: HR has another row than the plan saw, so nothing was sent; obsolete: nothing to do
  -- any more.
  outcome         text not null
                  check (outcome in ('in_sync', 'updated', 'partly_updated', 'deleted', 'bound',
                                     'awaiting_activation', 'left', 'parked', 'retry', 'wait', 'halted',
                                     'obsolete', 'replan')),
  calls           jsonb not null default '{}',   -- Calls to the platform by operation.
  -- How long its calls waited for the pacer, in milliseconds by operation; empty where that is not known
  -- (mirrors).
  waited_ms       jsonb not null default '{}',
  -- Calls that the platform rejected because there were too many, by operation.
  rate_limited    jsonb not null default '{}',
  fields          text[] not null default '{}',  -- Names of the fields the platform accepted.
  platform_code   bigint,                        -- Error code of the platform (section 7).
  trace_id        text,                          -- x-trace-id of the failed call, for the vendor's support.
  -- What failed, without personal data, for dirsync.in_language.
  error           jsonb
);
create index attempt_entity on dirsync.attempt (enterprise_code, entity_key, id desc);
create index attempt_run on dirsync.attempt (run_id);
create index attempt_started_at on dirsync.attempt using brin (started_at);
-- An outcome that is written twice, because its commit was uncertain, leaves one attempt.
create unique index attempt_execution on dirsync.attempt (execution);
