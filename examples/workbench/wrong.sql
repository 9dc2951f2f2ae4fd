select
  ygbh as userid,
  xm as nme
from yuangong
