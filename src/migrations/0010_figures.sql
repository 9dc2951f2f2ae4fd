-- Figures that cost the same however many rows there are: triggers keep them as rows are written,
-- and nobody counts the tables.

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
  n               bigint not null
)
-- Read whole and often, written with every outcome: vacuumed by its changes, whatever its size.
with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000,
      autovacuum_analyze_scale_factor = 1);

comment on table dirsync.tally is
  'Row counts of some tables, by the columns that figures are shown for: the sum of n over rows that are '
  'otherwise alike. Triggers add a row per change; the scheduler sums rows up. Nobody counts the tables '
  'themselves.';
comment on column dirsync.tally.source is
  'The table whose rows are counted: pending, employee, dead_letter (without resolved ones) or sync_run.';
comment on column dirsync.tally.operation is 'pending: its operation.';
comment on column dirsync.tally.enterprise_code is 'pending, employee: the enterprise.';
comment on column dirsync.tally.run_id is 'pending: the run that asked last.';
comment on column dirsync.tally.priority is 'pending: its priority.';
comment on column dirsync.tally.enqueued is 'pending: whether it is in the queue.';
comment on column dirsync.tally.since is
  'pending: since when the entities have been out of step, to the second.';
comment on column dirsync.tally.category is 'dead_letter: its category.';
comment on column dirsync.tally.state is
  'dead_letter, sync_run: the state; employee: in_step, awaiting_activation, dead_lettered, waiting (or '
  'halted), left or vanished.';
comment on column dirsync.tally.n is 'Rows gained less rows lost.';

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
  -- How an employee stands is said three times: a function of its own would not be inlined,
  -- and would take seconds for a million rows.
  case tg_op
  when 'INSERT' then
    insert into dirsync.tally (source, enterprise_code, state, n)
    select 'employee', enterprise_code,
           case when vanished_at is not null then 'vanished'
                when not active then 'left'
                when acknowledged_hash = source_hash then 'in_step'
                when parked_hash = source_hash and platform_state = 'absent' then 'awaiting_activation'
                when parked_hash = source_hash then 'dead_lettered'
                else 'waiting' end, count(*)
    from added group by 2, 3;
  when 'DELETE' then
    insert into dirsync.tally (source, enterprise_code, state, n)
    select 'employee', enterprise_code,
           case when vanished_at is not null then 'vanished'
                when not active then 'left'
                when acknowledged_hash = source_hash then 'in_step'
                when parked_hash = source_hash and platform_state = 'absent' then 'awaiting_activation'
                when parked_hash = source_hash then 'dead_lettered'
                else 'waiting' end, -count(*)
    from removed group by 2, 3;
  else
    insert into dirsync.tally (source, enterprise_code, state, n)
    select 'employee', enterprise_code,
           case when vanished_at is not null then 'vanished'
                when not active then 'left'
                when acknowledged_hash = source_hash then 'in_step'
                when parked_hash = source_hash and platform_state = 'absent' then 'awaiting_activation'
                when parked_hash = source_hash then 'dead_lettered'
                else 'waiting' end, sum(n)
    from (select enterprise_code, vanished_at, active, acknowledged_hash, source_hash, parked_hash,
                 platform_state, 1 as n
          from added
          union all
          select enterprise_code, vanished_at, active, acknowledged_hash, source_hash, parked_hash,
                 platform_state, -1
          from removed) changed
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
    insert into dirsync.tally (source, category, state, n)
    select 'dead_letter', category, state, count(*) from added where state <> 'resolved' group by 2, 3;
  when 'DELETE' then
    insert into dirsync.tally (source, category, state, n)
    select 'dead_letter', category, state, -count(*) from removed where state <> 'resolved' group by 2, 3;
  else
    insert into dirsync.tally (source, category, state, n)
    select 'dead_letter', category, state, sum(n)
    from (select category, state, 1 as n from added union all select category, state, -1 from removed) changed
    where state <> 'resolved' group by 2, 3 having sum(n) <> 0;
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
                 state) kinds;
  if _rows is null or _rows < 200 + 2 * _kinds then
    return 0;
  end if;
  with taken as (
    delete from dirsync.tally returning *
  )
  insert into dirsync.tally (source, operation, enterprise_code, run_id, priority, enqueued, since,
                             category, state, n)
  select source, operation, enterprise_code, run_id, priority, enqueued, since, category, state, sum(n)
  from taken
  group by source, operation, enterprise_code, run_id, priority, enqueued, since, category, state
  having sum(n) <> 0;
  return _rows;
end $$;
comment on function dirsync.fold_tally is
  'Sums up the rows of the tally that are alike, once there are many. Returns how many rows it summed up; 0 '
  'when it was not worth it, or somebody else is doing it.';

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

-- Nobody may call a function of this schema but its owner, and the reviewer where migrate grants it.
-- A function of a later migration needs a revoke of its own.
revoke execute on all functions in schema dirsync from public;
