-- Figures that cost the same however many rows there are: triggers keep them as rows are written,
-- and the tables are never counted.

create table dirsync.tally (
  source          text not null check (source in ('pending', 'employee', 'dead_letter', 'sync_run')),
  operation       text,
  enterprise_code text,
  run_id          bigint,
  priority        smallint,
  enqueued        boolean,
  since           timestamptz,
  category        text,
  state           text,
  n               bigint not null,
  platform_code   bigint,
  failures        bigint not null default 0
)
-- Read whole and often, written with every outcome: vacuumed by its changes, whatever its size.
with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000,
      autovacuum_analyze_scale_factor = 1);

comment on table dirsync.tally is
  'Row counts of some tables, by the columns that figures are shown for: the sum of n over rows that are '
  'otherwise alike. Triggers add a row per change; the scheduler sums rows up. The tables are never counted '
  'themselves.';
comment on column dirsync.tally.source is
  'The table whose rows are counted: pending, employee, dead_letter (without resolved ones) or sync_run.';
comment on column dirsync.tally.operation is 'pending: its operation.';
comment on column dirsync.tally.enterprise_code is 'pending, employee: the enterprise.';
comment on column dirsync.tally.run_id is 'pending: the run that asked last.';
comment on column dirsync.tally.priority is 'pending: its priority.';
comment on column dirsync.tally.enqueued is 'pending: whether it is in the queue.';
comment on column dirsync.tally.since is
  'pending: since when the entities have been out of sync, to the second.';
comment on column dirsync.tally.category is 'dead_letter: its category.';
comment on column dirsync.tally.state is 'dead_letter, sync_run: the state; employee: its standing.';
comment on column dirsync.tally.n is 'Rows gained less rows lost.';
comment on column dirsync.tally.platform_code is 'dead_letter: its error code of the platform.';
comment on column dirsync.tally.failures is
  'dead_letter: how often the cases have failed in all: occurrences gained less occurrences lost.';

create function dirsync.tally_pending() returns trigger
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  case tg_op
  when 'INSERT' then
    insert into dirsync.tally (source, operation, enterprise_code, run_id, priority, enqueued, since, n)
    select 'pending', operation, enterprise_code, run_id, priority, enqueued_at is not null,
           date_trunc('second', created_at), count(*)
    from added group by 2, 3, 4, 5, 6, 7;
  when 'DELETE' then
    insert into dirsync.tally (source, operation, enterprise_code, run_id, priority, enqueued, since, n)
    select 'pending', operation, enterprise_code, run_id, priority, enqueued_at is not null,
           date_trunc('second', created_at), -count(*)
    from removed group by 2, 3, 4, 5, 6, 7;
  else
    insert into dirsync.tally (source, operation, enterprise_code, run_id, priority, enqueued, since, n)
    select 'pending', operation, enterprise_code, run_id, priority, enqueued_at is not null,
           date_trunc('second', created_at), sum(n)
    from (select operation, enterprise_code, run_id, priority, enqueued_at, created_at, 1 as n from added
          union all
          select operation, enterprise_code, run_id, priority, enqueued_at, created_at, -1
          from removed) changed
    group by 2, 3, 4, 5, 6, 7 having sum(n) <> 0;
  end case;
  return null;
end $$;
comment on function dirsync.tally_pending is 'Keeps the tally of the outbox.';

create function dirsync.tally_employee() returns trigger
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  case tg_op
  when 'INSERT' then
    insert into dirsync.tally (source, enterprise_code, state, n)
    select 'employee', enterprise_code, standing, count(*) from added group by 2, 3;
  when 'DELETE' then
    insert into dirsync.tally (source, enterprise_code, state, n)
    select 'employee', enterprise_code, standing, -count(*) from removed group by 2, 3;
  else
    insert into dirsync.tally (source, enterprise_code, state, n)
    select 'employee', enterprise_code, standing, sum(n)
    from (select enterprise_code, standing, 1 as n from added
          union all
          select enterprise_code, standing, -1 from removed) changed
    group by 2, 3 having sum(n) <> 0;
  end case;
  return null;
end $$;
comment on function dirsync.tally_employee is 'Keeps the tally of employees.';

create function dirsync.tally_dead_letter() returns trigger
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  case tg_op
  when 'INSERT' then
    insert into dirsync.tally (source, category, platform_code, state, n, failures)
    select 'dead_letter', category, platform_code, state, count(*), sum(occurrences)
    from added where state <> 'resolved' group by 2, 3, 4;
  when 'DELETE' then
    insert into dirsync.tally (source, category, platform_code, state, n, failures)
    select 'dead_letter', category, platform_code, state, -count(*), -sum(occurrences)
    from removed where state <> 'resolved' group by 2, 3, 4;
  else
    insert into dirsync.tally (source, category, platform_code, state, n, failures)
    select 'dead_letter', category, platform_code, state, sum(n), sum(n * occurrences)
    from (select category, platform_code, state, occurrences, 1 as n from added
          union all
          select category, platform_code, state, occurrences, -1 from removed) changed
    where state <> 'resolved' group by 2, 3, 4 having sum(n) <> 0 or sum(n * occurrences) <> 0;
  end case;
  return null;
end $$;
comment on function dirsync.tally_dead_letter is 'Keeps the tally of cases that are not resolved.';

create function dirsync.tally_sync_run() returns trigger
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  case tg_op
  when 'INSERT' then
    insert into dirsync.tally (source, state, n) select 'sync_run', state, count(*) from added group by 2;
  when 'DELETE' then
    insert into dirsync.tally (source, state, n) select 'sync_run', state, -count(*) from removed group by 2;
  else
    insert into dirsync.tally (source, state, n)
    select 'sync_run', state, sum(n)
    from (select state, 1 as n from added union all select state, -1 from removed) changed
    group by 2 having sum(n) <> 0;
  end case;
  return null;
end $$;
comment on function dirsync.tally_sync_run is 'Keeps the tally of runs.';

create function dirsync.tally_truncated() returns trigger
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  -- Rows that are being summed up elsewhere would come back.
  perform pg_advisory_xact_lock(1952541804); -- 'tall'
  delete from dirsync.tally where source = tg_table_name;
  return null;
end $$;
comment on function dirsync.tally_truncated is 'Forgets the tally of a table that was emptied.';

do $$
declare
  _table text;
begin
  foreach _table in array array['pending', 'employee', 'dead_letter', 'sync_run'] loop
    execute format('create trigger tally_added after insert on dirsync.%1$I referencing new table as added
                    for each statement execute function dirsync.tally_%1$s()', _table);
    execute format('create trigger tally_removed after delete on dirsync.%1$I referencing old table as removed
                    for each statement execute function dirsync.tally_%1$s()', _table);
    execute format('create trigger tally_changed after update on dirsync.%1$I
                    referencing old table as removed new table as added
                    for each statement execute function dirsync.tally_%1$s()', _table);
    execute format('create trigger tally_truncated after truncate on dirsync.%I
                    for each statement execute function dirsync.tally_truncated()', _table);
  end loop;
end $$;

create function dirsync.fold_tally() returns bigint
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  _rows bigint;
  _kinds bigint;
begin
  if not pg_try_advisory_xact_lock(1952541804) then -- 'tall'
    return 0;
  end if;
  select sum(rows), count(*) into _rows, _kinds
  from (select count(*) as rows from dirsync.tally
        group by source, operation, enterprise_code, run_id, priority, enqueued, since, category,
                 platform_code, state) kinds;
  if _rows is null or _rows < 200 + 2 * _kinds then
    return 0;
  end if;
  with taken as (
    delete from dirsync.tally returning *
  )
  insert into dirsync.tally (source, operation, enterprise_code, run_id, priority, enqueued, since,
                             category, platform_code, state, n, failures)
  select source, operation, enterprise_code, run_id, priority, enqueued, since, category, platform_code,
         state, sum(n), sum(failures)
  from taken
  group by source, operation, enterprise_code, run_id, priority, enqueued, since, category, platform_code,
           state
  having sum(n) <> 0 or sum(failures) <> 0;
  return _rows;
end $$;
comment on function dirsync.fold_tally is
  'Sums up the rows of the tally that are alike, once there are many. Returns how many rows it summed up; 0 '
  'if it was not worth it, or another process is doing it.';

-- Counted once, when a run ends: sync_run keeps it.
create function dirsync.run_result(run bigint) returns jsonb
language sql stable as $$
  with last_attempt as (
    select distinct on (operation, enterprise_code, entity_key, detail) outcome
    from dirsync.attempt where run_id = run
    order by operation, enterprise_code, entity_key, detail, id desc
  ), outcomes as (
    select outcome, count(*) as n from last_attempt group by outcome
  ), calls as (
    select c.key as operation, sum(c.value::int) as n, sum((a.waited_ms ->> c.key)::bigint) as waited_ms,
           sum((a.too_fast ->> c.key)::int) as too_fast
    from dirsync.attempt a, jsonb_each_text(a.calls) c where a.run_id = run group by c.key
  ), cases as (
    select category, count(*) as n from dirsync.dead_letter
    where last_run_id = run and state not in ('resolved', 'ignored') group by category
  )
  select jsonb_build_object(
    'outcomes', coalesce((select jsonb_object_agg(outcome, n) from outcomes), '{}'),
    'calls', coalesce((select jsonb_object_agg(operation, n) from calls), '{}'),
    'waitedMs', coalesce((select jsonb_object_agg(operation, waited_ms) from calls
                          where waited_ms is not null), '{}'),
    'tooFast', coalesce((select jsonb_object_agg(operation, too_fast) from calls where too_fast > 0), '{}'),
    'deadLetters', coalesce((select jsonb_object_agg(category, n) from cases), '{}'))
$$;
comment on function dirsync.run_result is
  'What came of a run: last outcome per entity; calls, their waiting time in milliseconds and those '
  'rejected as too fast, by operation; dead letters by category.';

-- History for curves ----------------------------------------------------------

create table dirsync.standing_history (
  at                     timestamptz primary key,
  in_step                integer not null,
  awaiting_activation    integer not null,
  dead_lettered          integer not null,
  halted                 integer not null,
  waiting                integer not null,
  open_cases             jsonb not null,
  cases                  integer not null,
  pending                integer not null,
  oldest_pending_seconds integer not null,
  is_halted              boolean not null,
  held                   integer not null default 0,
  rejected               integer not null default 0,
  accepted               integer not null default 0
);

comment on table dirsync.standing_history is 'How everything stood, every five minutes; kept for 35 days.';
comment on column dirsync.standing_history.at is 'The five minutes that had begun.';
comment on column dirsync.standing_history.in_step is 'Employees whose every field the platform confirmed.';
comment on column dirsync.standing_history.awaiting_activation is 'Employees not yet on the platform.';
comment on column dirsync.standing_history.dead_lettered is
  'Employees of whom a field or the whole is in review.';
comment on column dirsync.standing_history.halted is 'Employees to be sent while work stands still.';
comment on column dirsync.standing_history.waiting is 'Employees to be sent.';
comment on column dirsync.standing_history.open_cases is 'Cases neither resolved nor ignored, by category.';
comment on column dirsync.standing_history.cases is 'The sum of them.';
comment on column dirsync.standing_history.pending is 'Rows in the outbox.';
comment on column dirsync.standing_history.oldest_pending_seconds is
  'Age of the oldest of them; 0 where there is none.';
comment on column dirsync.standing_history.is_halted is 'Whether everything stood still, or was paused.';
comment on column dirsync.standing_history.held is 'Employees whose change in HR waits for a decision.';
comment on column dirsync.standing_history.rejected is 'Employees whose change in HR a person rejected.';
comment on column dirsync.standing_history.accepted is 'Employees whose difference a person accepted.';

create function dirsync.note_standing() returns timestamptz
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  _at timestamptz := to_timestamp(floor(extract(epoch from now()) / 300) * 300);
begin
  insert into dirsync.standing_history
    (at, in_step, awaiting_activation, dead_lettered, halted, waiting, held, rejected, accepted, open_cases,
     cases, pending, oldest_pending_seconds, is_halted)
  with employees as (
    select case when state = 'waiting'
                     and exists (select from dirsync.halt h where h.scope in ('*', t.enterprise_code))
                then 'halted' else state end as standing, sum(n) as n
    from dirsync.tally t where source = 'employee' group by 1
  ), outbox as (
    select since, sum(n) as n
    from dirsync.tally where source = 'pending' group by operation, since having sum(n) > 0
  ), cases as (
    select category, sum(n) as n
    from dirsync.tally where source = 'dead_letter' and state <> 'ignored' group by 1 having sum(n) > 0
  )
  select _at,
         coalesce(sum(n) filter (where standing = 'in_step'), 0),
         coalesce(sum(n) filter (where standing = 'awaiting_activation'), 0),
         coalesce(sum(n) filter (where standing = 'dead_lettered'), 0),
         coalesce(sum(n) filter (where standing = 'halted'), 0),
         coalesce(sum(n) filter (where standing = 'waiting'), 0),
         coalesce(sum(n) filter (where standing = 'held'), 0),
         coalesce(sum(n) filter (where standing = 'rejected'), 0),
         coalesce(sum(n) filter (where standing = 'accepted'), 0),
         (select coalesce(jsonb_object_agg(category, n), '{}') from cases),
         (select coalesce(sum(n), 0) from cases),
         (select coalesce(sum(n), 0) from outbox),
         (select coalesce(greatest(extract(epoch from now() - min(since)), 0), 0)::int from outbox),
         exists (select from dirsync.halt where scope = '*')
  from employees
  on conflict (at) do nothing;

  -- Hours may have been missed, and the last one went on after it was summed up.
  insert into dirsync.call_hour as h (hour, operation, calls, too_fast)
  select date_trunc('hour', minute), operation, sum(calls), sum(too_fast)
  from dirsync.call_minute
  where minute >= coalesce((select max(hour) from dirsync.call_hour), '-infinity')
  group by 1, 2 order by 1, 2
  on conflict (hour, operation) do update set calls = excluded.calls, too_fast = excluded.too_fast;
  return _at;
end $$;
comment on function dirsync.note_standing is
  'Writes down how everything stands, once per five minutes, and sums up the calls by hour. Returns the '
  'moment that it stands for.';
