-- What the console reads of employees, held plans, mappings, mirrors and money: indexes for pages that start
-- anywhere, and tables for what is too dear to find out for every look.

-- Employees are searched by the beginning of their user id, and by a whole open id.
create index employee_userid on dirsync.employee (userid collate "C", enterprise_code);
create index openid_binding_open_userid on dirsync.openid_binding (open_userid);

-- The plan of a held run, page by page.
alter table dirsync.planned_work add column department text, add column fields text[];
comment on column dirsync.planned_work.department is
  'Department that HR has for the employee, else the one that the platform last showed; null: not known, or '
  'not read yet (see plan_reading).';
comment on column dirsync.planned_work.fields is
  'Of a changed employee the fields that differ from what the platform last confirmed, of a row that breaks '
  'rules the broken ones; null: not read yet (see plan_reading).';
create index planned_work_key on dirsync.planned_work (run_id, entity_key collate "C", enterprise_code)
  where reason is not null;
create index planned_work_reason
  on dirsync.planned_work (run_id, reason, entity_key collate "C", enterprise_code)
  where reason is not null;
create index planned_work_department
  on dirsync.planned_work (run_id, department, entity_key collate "C", enterprise_code)
  where reason is not null and department is not null;

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
  message       text
);

comment on table dirsync.plan_reading is
  'The plan of a held run in figures that only HR can tell, counted once in the background after it is held.';
comment on column dirsync.plan_reading.run_id is 'The held run.';
comment on column dirsync.plan_reading.state is
  'running; done; failed: HR could not be read, it is tried again at retry_at; stopped: somebody decided '
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
comment on column dirsync.plan_reading.message is 'failed: why HR could not be read.';

-- What another SELECT would change.
create table dirsync.dry_run (
  id           bigint generated always as identity primary key,
  requested_by text not null default dirsync.actor(),
  requested_at timestamptz not null default now(),
  address      text,
  mapping      text not null,
  state        text not null default 'requested' check (state in ('requested', 'running', 'done', 'failed')),
  starts       smallint not null default 0,
  phase        text check (phase in ('plan', 'new', 'today', 'compare')),
  rows_read    integer not null default 0,
  started_at   timestamptz,
  finished_at  timestamptz,
  message      text,
  error_line   integer,
  error_column integer,
  summary      jsonb,
  check ((state in ('done', 'failed')) = (finished_at is not null))
);
create index dry_run_unfinished on dirsync.dry_run (id) where state in ('requested', 'running');

comment on table dirsync.dry_run is
  'What another SELECT of employees would change, found out without writing anything; kept for 30 days.';
comment on column dirsync.dry_run.id is 'Number of the dry run.';
comment on column dirsync.dry_run.requested_by is 'Database user, and who asked.';
comment on column dirsync.dry_run.requested_at is 'When it was asked for.';
comment on column dirsync.dry_run.address is
  'Where the person who asked was; null: at a shell, or not known.';
comment on column dirsync.dry_run.mapping is 'The SELECT that is tried out.';
comment on column dirsync.dry_run.state is
  'requested; running; done; failed: the SELECT is wrong, or HR could not be read, see message.';
comment on column dirsync.dry_run.starts is
  'How often it was begun: one that ends its process twice has failed.';
comment on column dirsync.dry_run.phase is
  'What it does: plan as a run would, read the new rows, read those of today''s mapping, compare them.';
comment on column dirsync.dry_run.rows_read is 'Rows read from HR so far, over all phases.';
comment on column dirsync.dry_run.started_at is 'When it began.';
comment on column dirsync.dry_run.finished_at is 'When it ended.';
comment on column dirsync.dry_run.message is 'failed: why.';
comment on column dirsync.dry_run.error_line is 'Line of the SELECT that is wrong, from 1; null: not known.';
comment on column dirsync.dry_run.error_column is 'Column of that line, from 1.';
comment on column dirsync.dry_run.summary is
  'done: what a run would plan and whether it would be held; employees by what becomes of them, changed '
  'fields, departments and rule breaks, counted over all of them.';

create table dirsync.dry_run_entity (
  dry_run_id      bigint not null references dirsync.dry_run on delete cascade,
  enterprise_code text not null,
  entity_key      text not null,
  reason          text not null check (reason in ('appears', 'disappears', 'changes', 'breaks', 'mends')),
  department      text,
  changed         jsonb not null default '[]'
);
create unique index dry_run_entity_key
  on dirsync.dry_run_entity (dry_run_id, entity_key collate "C", enterprise_code);

comment on table dirsync.dry_run_entity is
  'Employees for whom the SELECT of a dry run makes a difference, 10,000 at most, of each kind its share.';
comment on column dirsync.dry_run_entity.dry_run_id is 'The dry run.';
comment on column dirsync.dry_run_entity.enterprise_code is 'Enterprise; empty for a single enterprise.';
comment on column dirsync.dry_run_entity.entity_key is 'User id.';
comment on column dirsync.dry_run_entity.reason is
  'Against today''s mapping: appears or disappears among the active employees; changes; breaks a rule that '
  'it does not break today; mends: breaks none any more.';
comment on column dirsync.dry_run_entity.department is 'Department that the SELECT has, else that of today.';
comment on column dirsync.dry_run_entity.changed is
  'The fields concerned: [{field, from, to}], values masked; of one that breaks a rule hidden.';

-- Rule breaks by column, and since when a mapping has been in use.
create index dead_letter_broken_rule on dirsync.dead_letter (field)
  where category = 'invalid_hr_row' and state not in ('resolved', 'ignored');
create index sync_run_mapping_used on dirsync.sync_run (mapping, planned_at)
  where mapping is not null and state in ('running', 'done');

-- Departments level by level, and those that may go.
create index department_below on dirsync.department (enterprise_code, parent_code, dept_code);
create index department_closing on dirsync.department (enterprise_code, dept_code)
  where deleted_at is null and (not active or first_missing_at is not null);

-- Payment orders, refunds and top-ups page by page.
create index payment_order_latest
  on dirsync.payment_order (coalesce(created_at, first_seen_at), enterprise_code, trade_no);
create index payment_order_status
  on dirsync.payment_order (status, coalesce(created_at, first_seen_at), enterprise_code, trade_no);
create index payment_order_trade_no on dirsync.payment_order (trade_no collate "C");
create index refund_shown
  on dirsync.refund ((state in ('requested', 'unknown')), sent_at, outer_refund_no);
create index refund_state on dirsync.refund (state, sent_at, outer_refund_no);
create index topup_shown on dirsync.topup ((state in ('requested', 'unknown')), sent_at, external_code);
create index topup_state on dirsync.topup (state, sent_at, external_code);
