-- Employees, departments and open ids: what HR last said, and what the platform last confirmed.

create table dirsync.employee (
  enterprise_code   text not null default '',
  userid            text not null,
  active            boolean not null default true,
  source_hash       uuid,
  acknowledged_hash uuid,
  parked_hash       uuid,
  acknowledged      jsonb not null default '{}',
  overwritten       jsonb not null default '{}',
  withheld          text[] not null default '{}',
  platform_state    text not null default 'unknown'
                    check (platform_state in ('unknown', 'in_service', 'absent')),
  dept_code         text,
  vanished_at       timestamptz,
  acknowledged_at   timestamptz,
  queried_at        timestamptz,
  held_run          bigint,
  held_hash         uuid,
  rejected          boolean not null default false,
  accepted          boolean not null default false,
  standing          text not null generated always as (
    case when held_run is not null and rejected then 'rejected'
         when held_run is not null then 'held'
         when vanished_at is not null then 'vanished'
         when not active then 'left'
         when acknowledged_hash = source_hash then 'in_step'
         when parked_hash = source_hash and platform_state = 'absent' then 'awaiting_activation'
         when parked_hash = source_hash and accepted then 'accepted'
         when parked_hash = source_hash then 'dead_lettered'
         else 'waiting' end) stored,
  primary key (enterprise_code, userid)
);
create index employee_withheld on dirsync.employee (enterprise_code) where withheld <> '{}';
create index employee_vanished on dirsync.employee (vanished_at) where vanished_at is not null;
-- Employees are searched by the beginning of their user id, and by a whole open id.
create index employee_userid on dirsync.employee (userid collate "C", enterprise_code);
-- In the order of user ids, for lists.
create index employee_department on dirsync.employee (enterprise_code, dept_code, userid)
  where platform_state = 'in_service';
create index employee_standing on dirsync.employee (standing, enterprise_code, userid)
  where standing <> 'in_step';
create index employee_held on dirsync.employee (held_run) where held_run is not null;

comment on table dirsync.employee is
  'What the platform last confirmed of each employee, as hashes: no personal data is kept here.';
comment on column dirsync.employee.enterprise_code is
  'Enterprise the employee belongs to; empty for a single enterprise.';
comment on column dirsync.employee.userid is
  'The employee''s unique id in HR and on the platform. It never changes.';
comment on column dirsync.employee.active is 'False for a leaver, as HR last said.';
comment on column dirsync.employee.source_hash is
  'Hash of the HR row as the last plan that passed saw it. Only this row is sent. Zeros: the work of that '
  'plan was taken back, and the next one checks whatever HR has.';
comment on column dirsync.employee.acknowledged_hash is
  'Hash of the HR row of which the platform confirmed every field. Equal to source_hash: the employee is in '
  'sync.';
comment on column dirsync.employee.parked_hash is
  'Hash of the HR row that ended in a dead letter, wholly or in part. It is not tried again while HR gives '
  'the same row.';
comment on column dirsync.employee.acknowledged is
  'For each field, the hash of the value that the platform last confirmed.';
comment on column dirsync.employee.overwritten is
  'For each field that was sent, the hash of the value that the platform showed before; removed once the '
  'platform shows what was sent. If the old value shows again beside an acknowledged one, the field is '
  'not_applied.';
comment on column dirsync.employee.withheld is
  'Fields not sent because their feature is switched off for the enterprise (see field_block).';
comment on column dirsync.employee.platform_state is
  'in_service: the platform answered for the employee; absent: it said there is none; unknown: not asked '
  'yet.';
comment on column dirsync.employee.dept_code is
  'Department the platform last showed; a department with employees is never deleted.';
comment on column dirsync.employee.vanished_at is
  'When the employee was first missing from HR; null while HR has a row.';
comment on column dirsync.employee.acknowledged_at is 'When the platform last confirmed anything.';
comment on column dirsync.employee.queried_at is 'When the platform was last asked about the employee.';
comment on column dirsync.employee.held_run is
  'The held run that waits for a decision about another HR row, or that was rejected; null: there is none.';
comment on column dirsync.employee.held_hash is
  'Hash of that HR row; null where HR has no row any more, or held_run is null.';
comment on column dirsync.employee.rejected is
  'True once a person has rejected held_run: nothing is planned until HR has yet another row.';
comment on column dirsync.employee.accepted is
  'True while a person has ignored cases of the employee, and no other case is unresolved.';
comment on column dirsync.employee.standing is
  'How the employee stands, for every screen, list and figure. held: HR has another row, which waits for a '
  'decision about held_run; rejected: a person rejected it; vanished, left: as HR says; in_step: the '
  'platform confirmed every field; awaiting_activation: not yet on the platform; accepted: it differs, and '
  'a person ignored that; dead_lettered: a field or the whole is in review; waiting: to be sent.';

create table dirsync.department (
  enterprise_code  text not null default '',
  dept_code        text not null,
  parent_code      text,
  active           boolean not null,
  closed_at        timestamptz,
  first_missing_at timestamptz,
  deleted_at       timestamptz,
  parked_at        timestamptz,
  rejected_run     bigint,
  primary key (enterprise_code, dept_code)
);
-- Departments level by level, and those that may go.
create index department_below on dirsync.department (enterprise_code, parent_code, dept_code);
create index department_closing on dirsync.department (enterprise_code, dept_code)
  where deleted_at is null and (not active or first_missing_at is not null);
-- Departments are searched by the beginning of their code.
create index department_code on dirsync.department (dept_code text_pattern_ops, enterprise_code);

comment on table dirsync.department is
  'Departments that HR has or once had, and which of them were deleted on the platform.';
comment on column dirsync.department.enterprise_code is
  'Enterprise the department belongs to; empty for a single enterprise.';
comment on column dirsync.department.dept_code is 'Department code.';
comment on column dirsync.department.parent_code is 'Code of the department above, as HR last said.';
comment on column dirsync.department.active is 'False when HR marks the department closed.';
comment on column dirsync.department.closed_at is
  'When HR closed it, if the mapping has closed_at; else when the closing was first noticed.';
comment on column dirsync.department.first_missing_at is 'When HR first lacked a department it once had.';
comment on column dirsync.department.deleted_at is
  'When the platform confirmed the deletion, or that there is no such department.';
comment on column dirsync.department.parked_at is
  'When the deletion ended in a dead letter; it is not planned again until HR changes or the case is '
  'retried.';
comment on column dirsync.department.rejected_run is
  'The run with which a person rejected its deletion; null: none, or HR has changed it since.';

create table dirsync.openid_binding (
  enterprise_code text not null default '',
  userid          text not null,
  seller_appid    text not null,
  open_userid     text not null,
  bound_at        timestamptz not null default now(),
  primary key (enterprise_code, userid, seller_appid)
);
create index openid_binding_open_userid on dirsync.openid_binding (open_userid);

comment on table dirsync.openid_binding is
  'Open id of an employee for a merchant application (section 4.5). It is removed when the platform says '
  'that the account is absent; an account that comes back is bound again.';
comment on column dirsync.openid_binding.enterprise_code is
  'Enterprise the employee belongs to; empty for a single enterprise.';
comment on column dirsync.openid_binding.userid is 'The employee.';
comment on column dirsync.openid_binding.seller_appid is 'Merchant application id.';
comment on column dirsync.openid_binding.open_userid is
  'Externally visible open id; the buyer_open_id of the merchant''s interfaces.';
comment on column dirsync.openid_binding.bound_at is 'When dirsync learnt of it.';
