-- For the console: lists of who is not in step and of who is in a department, and a search for departments.

-- One entry for each employee who is not in step: of a million, a few thousand as a rule. The standing is
-- computed as the tally's trigger computes it; src/report/employee-list.ts asks in the same words.
create index employee_standing on dirsync.employee (
  (case when vanished_at is not null then 'vanished'
        when not active then 'left'
        when acknowledged_hash = source_hash then 'in_step'
        when parked_hash = source_hash and platform_state = 'absent' then 'awaiting_activation'
        when parked_hash = source_hash then 'dead_lettered'
        else 'waiting' end),
  enterprise_code, userid
) where vanished_at is not null or not active or acknowledged_hash is distinct from source_hash;

-- In the order of user ids, for lists; else as the index that it replaces.
create index employee_department on dirsync.employee (enterprise_code, dept_code, userid)
  where platform_state = 'in_service';
drop index dirsync.employee_dept_code;

-- Departments are searched by the beginning of their code.
create index department_code on dirsync.department (dept_code text_pattern_ops, enterprise_code);
