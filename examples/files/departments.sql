select 编码 as dept_code, 上级 as parent_code, 停用 = '否' as active from departments
