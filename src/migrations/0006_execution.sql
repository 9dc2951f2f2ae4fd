-- Which execution of a job is the latest: numbers that are never used twice, so that an outcome which comes too late is known as such.

create sequence dirsync.execution;
comment on sequence dirsync.execution is 'Numbers the executions of jobs (see pending.execution).';

alter table dirsync.pending add column execution bigint;
comment on column dirsync.pending.execution is 'The execution that began last; the outcome of an earlier one changes nothing.';
