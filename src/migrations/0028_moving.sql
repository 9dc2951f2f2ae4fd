-- A department to which an update is moving an employee is not empty, although the platform has not shown it yet.

alter table dirsync.employee add column moving_to text;
comment on column dirsync.employee.moving_to is
  'Department that an update was about to send, until the platform has shown where the employee is. It counts as one with '
  'the employee in it, and is not deleted.';
create index employee_moving on dirsync.employee (enterprise_code, moving_to) where moving_to is not null;
-- Nor is any department empty for certain while the platform has not told where someone is, in HR or not.
create index employee_unlocated on dirsync.employee (enterprise_code) where queried_at is null;

-- Nor can a department be missing of an enterprise that HR has lost as a whole.
alter table dirsync.department add column lost boolean not null default false;
comment on column dirsync.department.lost is
  'HR delivered no department of its enterprise when they were last read: none of them is deleted.';
