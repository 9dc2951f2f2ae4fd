select dept_no as dept_code, null as parent_code, true as active from departments
