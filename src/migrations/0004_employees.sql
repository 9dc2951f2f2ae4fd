-- Employees, departments and open ids: what HR last said, and what the platform last confirmed.

-- What the platform last confirmed of each employee, as hashes: no personal data is kept here.
create table dirsync.employee (
  -- Enterprise the employee belongs to; empty for a single enterprise.
  enterprise_code   text not null default '',
  userid            text not null,  -- The employee's unique id in HR and on the platform. It never changes.
  -- False for a leaver, as HR last said.
  active            boolean not null default true,
  -- Hash of the HR row as the last plan that passed saw it. Only this row is sent. Zeros: the work of that
  -- plan was taken back, and the next one checks whatever HR has.
  source_hash       uuid,
  -- Hash of the HR row of which the platform confirmed every field. Equal to source_hash: the employee is in
  -- sync.
  acknowledged_hash uuid,
  -- Hash of the HR row that ended in a dead letter, wholly or in part. It is not tried again while HR gives
  -- the same row.
  parked_hash       uuid,
  -- For each field, the hash of the value that the platform last confirmed.
  acknowledged      jsonb not null default '{}',
  -- For each field that was sent, the hash of the value that the platform showed before; removed once the
  -- platform shows what was sent. If the old value shows again beside an acknowledged one, the field is
  -- not_applied.
  overwritten       jsonb not null default '{}',
  -- Fields not sent because their feature is switched off for the enterprise (see field_block).
  withheld          text[] not null default '{}',
  -- in_service: the platform answered for the employee; absent: it said there is none; unknown: not asked
  -- yet.
  platform_state    text not null default 'unknown'
                    check (platform_state in ('unknown', 'in_service', 'absent')),
  -- Department the platform last showed; a department with employees is never deleted.
  dept_code         text,
  vanished_at       timestamptz,    -- When the employee was first missing from HR; null while HR has a row.
  acknowledged_at   timestamptz,    -- When the platform last confirmed anything.
  queried_at        timestamptz,    -- When the platform was last asked about the employee.
  -- The held run that waits for a decision about another HR row, or that was rejected; null: there is none.
  held_run          bigint,
  -- Hash of that HR row; null where HR has no row any more, or held_run is null.
  held_hash         uuid,
  -- True once a person has rejected held_run: nothing is planned until HR has yet another row.
  rejected          boolean not null default false,
  -- True while a person has ignored cases of the employee, and no other case is unresolved.
  accepted          boolean not null default false,
  -- How the employee stands, for every screen, list and figure. held: HR has another row, which waits for a
  -- decision about held_run; rejected: a person rejected it; vanished, left: as HR says; in_sync: the
  -- platform confirmed every field; awaiting_activation: not yet on the platform; accepted: it differs, and a
  -- person ignored that; dead_lettered: a field or the whole is in review; waiting: to be sent.
  status            text not null generated always as (
    case when held_run is not null and rejected then 'rejected'
         when held_run is not null then 'held'
         when vanished_at is not null then 'vanished'
         when not active then 'left'
         when acknowledged_hash = source_hash then 'in_sync'
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
create index employee_status on dirsync.employee (status, enterprise_code, userid)
  where status <> 'in_sync';
create index employee_held on dirsync.employee (held_run) where held_run is not null;

-- Departments that HR has or once had, and which of them were deleted on the platform.
create table dirsync.department (
  -- Enterprise the department belongs to; empty for a single enterprise.
  enterprise_code  text not null default '',
  dept_code        text not null,             -- Department code.
  parent_code      text,                      -- Code of the department above, as HR last said.
  active           boolean not null,          -- False when HR marks the department closed.
  -- When HR closed it, if the mapping has closed_at; else when the closing was first noticed.
  closed_at        timestamptz,
  first_missing_at timestamptz,               -- When HR first lacked a department it once had.
  -- When the platform confirmed the deletion, or that there is no such department.
  deleted_at       timestamptz,
  -- When the deletion ended in a dead letter; it is not planned again until HR changes or the case is
  -- retried.
  parked_at        timestamptz,
  -- The run with which a person rejected its deletion; null: none, or HR has changed it since.
  rejected_run     bigint,
  primary key (enterprise_code, dept_code)
);
-- Departments level by level, and those that may go.
create index department_below on dirsync.department (enterprise_code, parent_code, dept_code);
create index department_closing on dirsync.department (enterprise_code, dept_code)
  where deleted_at is null and (not active or first_missing_at is not null);
-- Departments are searched by the beginning of their code.
create index department_code on dirsync.department (dept_code text_pattern_ops, enterprise_code);

-- Open id of an employee for a merchant application (section 4.5). It is removed when the platform says that
-- the account is absent; an account that comes back is bound again.
create table dirsync.openid_binding (
  -- Enterprise the employee belongs to; empty for a single enterprise.
  enterprise_code text not null default '',
  userid          text not null,                       -- The employee.
  seller_appid    text not null,                       -- Merchant application id.
  -- Externally visible open id; the buyer_open_id of the merchant's interfaces.
  open_userid     text not null,
  bound_at        timestamptz not null default now(),  -- When dirsync learnt of it.
  primary key (enterprise_code, userid, seller_appid)
);
create index openid_binding_open_userid on dirsync.openid_binding (open_userid);
