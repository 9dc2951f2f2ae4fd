-- Run once, when the cluster is made: the role that owns dirsync's tables. It is no superuser.
create role dirsync login createrole password 'demo-postgres';
alter database dirsync owner to dirsync;
