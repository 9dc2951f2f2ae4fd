select
  ygbh as userid,
  case zt when '在职' then 1 else 0 end as active,
  xm as name,
  gh as code,
  case xb when '男' then 1 when '女' then 2 else 3 end as gender,
  sfzh as card_no,
  dzyx as email,
  sjh as mobile,
  bz as remark,
  bmbm as dept_code,
  zj as level,
  rzrq as entry_day
from yuangong
