-- As every function of this schema: its own search_path, and nobody's but the roles it is granted to.

alter function dirsync.lease_slots set search_path = pg_catalog, pg_temp;
revoke execute on function dirsync.lease_slots from public;
