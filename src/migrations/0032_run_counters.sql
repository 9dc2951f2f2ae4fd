-- How many runs ended and how long they took, counted for ever: the runs themselves are deleted after a time.

create table dirsync.run_count (
  kind    text,
  state   text,
  ended   bigint not null,
  seconds double precision not null,
  primary key (kind, state)
);
comment on table dirsync.run_count is 'Runs that ended, by kind and state; for metrics, so it only grows.';
comment on column dirsync.run_count.kind is 'Kind of the runs: changes, full, …';
comment on column dirsync.run_count.state is 'How they ended: done, failed, source_suspect, cancelled, …';
comment on column dirsync.run_count.ended is 'How many.';
comment on column dirsync.run_count.seconds is 'Sum of the times from their request to their end.';

create function dirsync.count_ended_runs() returns trigger
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  insert into dirsync.run_count as c (kind, state, ended, seconds)
  select a.kind, a.state, count(*), sum(extract(epoch from a.finished_at - a.requested_at))
  from added a join removed r using (id)
  -- A run ends once: finished_at is written then.
  where a.finished_at is not null and r.finished_at is null
  group by 1, 2 order by 1, 2
  on conflict (kind, state) do update set ended = c.ended + excluded.ended, seconds = c.seconds + excluded.seconds;
  return null;
end $$;
comment on function dirsync.count_ended_runs is 'Counts runs that end.';
revoke execute on function dirsync.count_ended_runs from public;

create trigger count_ended after update on dirsync.sync_run
referencing new table as added old table as removed
for each statement execute function dirsync.count_ended_runs();
