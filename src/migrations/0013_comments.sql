-- What two comments said was no longer so.

comment on column dirsync.learnt_rate.gate is 'Name of the gate, platform, wherever the slots are kept.';
comment on column dirsync.sync_run.keys is 'employees: the user ids asked for; changes: those that HR''s trigger named, or empty for all; retry: the dead letters asked for; else empty.';
