-- Maps HR's units to departments. A unit that is to be closed in the future is active until then.

select
  u.company                                  as enterprise_code,
  u.code                                     as dept_code,
  parent.code                                as parent_code,
  u.closed_at is null or u.closed_at > now() as active,
  u.closed_at                                as closed_at,
  u.title                                    as name
from hr.org_unit u
left join hr.org_unit parent on parent.unit_id = u.parent_id
