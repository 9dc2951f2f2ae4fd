-- The platform as it might be today: it has the name, number and department of everyone who works here, and nothing else.
select json_object(
  'departments', (select json_arrayagg(json_object('dept_code', dept_no, 'dept_name', dept_name)) from departments),
  'employees', (select json_arrayagg(json_object('userid', cast(e.emp_no as char),
                                                 'name', concat(e.first_name, ' ', e.last_name),
                                                 'corp_code', concat('W', e.emp_no), 'dept_code', d.dept_no))
                from employees e join dept_emp d on d.emp_no = e.emp_no and d.to_date = '9999-01-01'));
