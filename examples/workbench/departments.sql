select
  bmbm as dept_code,
  sjbm as parent_code,
  case zt when '启用' then 1 when '关闭' then 0 else 2 end as active
from bumen
