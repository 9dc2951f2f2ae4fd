-- One row per employee. Every column of a CSV file is text: a cast says what it is, where that matters.
select 工号                                          as userid,
  离职日期 is null or 离职日期::date > current_date  as active,
  姓名                                               as name,
  'W' || 工号                                        as code,
  case 性别 when '男' then 1 when '女' then 2 end    as gender,
  部门                                               as dept_code,
  职级                                               as level,
  出生日期::date                                     as birth_day,
  入职日期::date                                     as entry_day
from employees
