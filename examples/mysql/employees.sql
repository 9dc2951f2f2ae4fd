-- One row per employee. An employee without a department today has left.
select e.emp_no                               as userid,
  d.emp_no is not null                        as active,
  concat(e.first_name, ' ', e.last_name)      as name,
  concat('W', e.emp_no)                       as code,
  case e.gender when 'M' then 1 else 2 end    as gender,
  d.dept_no                                   as dept_code,
  t.title                                     as level,
  e.birth_date                                as birth_day,
  e.hire_date                                 as entry_day
from employees e
left join dept_emp d on d.emp_no = e.emp_no and d.to_date = '9999-01-01'
left join titles t on t.emp_no = e.emp_no and t.to_date = '9999-01-01'
