-- An employee whom the platform confirmed once more, with nothing new, is not written: the attempt tells.

comment on column dirsync.employee.acknowledged_at is
  'When the platform last confirmed anything of which this row had to be written. Later confirmations of the same are '
  'attempts: see dirsync.confirmed_at.';
comment on column dirsync.employee.queried_at is
  'When the platform was last asked about the employee and this row had to be written for the answer; see acknowledged_at.';

create function dirsync.confirmed_at(employee dirsync.employee) returns timestamptz
language sql stable as $$
  -- Attempts outlast a switch of the account. The new one has confirmed nothing before it confirmed something new.
  select case when employee.acknowledged_at is not null then greatest(
    employee.acknowledged_at,
    (select a.started_at from dirsync.attempt a
     where a.enterprise_code = employee.enterprise_code and a.entity_key = employee.userid
       and a.operation = 'update-employee' and a.outcome = 'in_sync'
     order by a.id desc limit 1)) end
$$;
comment on function dirsync.confirmed_at is
  'When the platform last confirmed anything of this employee: select userid, dirsync.confirmed_at(e) from dirsync.employee e.';

-- When HR's files were last delivered --------------------------------------------------------------

create table dirsync.hr_delivery (
  -- Name of the source; empty where there is only one HR system.
  source  text primary key,
  stamp   text not null,                      -- Identifies its latest complete delivery.
  since   timestamptz not null default now(), -- When a run first read it.
  read_at timestamptz not null default now()  -- When one last did.
);
comment on table dirsync.hr_delivery is 'The latest delivery of each HR source of files, for the alert files_overdue.';
comment on column dirsync.hr_delivery.source is 'Name of the source; empty where there is only one HR system.';
comment on column dirsync.hr_delivery.stamp is 'Identifies its latest complete delivery.';
comment on column dirsync.hr_delivery.since is 'When a run first read it.';
comment on column dirsync.hr_delivery.read_at is 'When one last did.';

revoke execute on all functions in schema dirsync from public;
