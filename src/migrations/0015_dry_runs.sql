-- What the console reads of employees, held plans, mappings, mirrors and money: indexes for pages that start
-- anywhere, and tables for what is too dear to find out for every look.

-- Employees are searched by the beginning of their user id, and by a whole open id.
create index employee_userid on dirsync.employee (userid text_pattern_ops, enterprise_code);
create index openid_binding_open_userid on dirsync.openid_binding (open_userid);
