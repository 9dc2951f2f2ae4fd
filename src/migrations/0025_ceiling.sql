-- A rate that was set is a ceiling: what the platform permits below it is learnt, for each set rate by itself.

comment on table dirsync.learnt_rate is 'What was learnt of a limit that no setting tells, or that was set too high. Kept over restarts; a deleted row is learnt anew.';
comment on column dirsync.learnt_rate.gate is 'Name of the gate, platform, wherever the slots are kept; platform@200 where PLATFORM_RATE_LIMIT is 200 and was refused.';
comment on column dirsync.learnt_rate.ceiling is 'The rate at which calls were last refused; null before the first refusal, and when a set rate is reached again.';
