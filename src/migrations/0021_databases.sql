-- An outcome that is written twice, because nobody knew whether it had been committed, leaves one attempt.

alter table dirsync.attempt add column execution bigint;
comment on column dirsync.attempt.execution is 'The execution of the job (see pending.execution) whose outcome this is; null for what is no execution, and before that was noted.';

create unique index attempt_execution on dirsync.attempt (execution);
