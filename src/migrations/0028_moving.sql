-- A department to which an update is moving an employee is not empty, although the platform has not shown it yet.

alter table dirsync.employee add column moving_to text;
comment on column dirsync.employee.moving_to is
  'Department that an update was about to send, until the platform has shown where the employee is. It counts as one with '
  'the employee in it, and is not deleted.';
create index employee_moving on dirsync.employee (enterprise_code, moving_to) where moving_to is not null;
