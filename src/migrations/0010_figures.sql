-- Figures that cost the same however many rows there are: triggers keep them as rows are written,
-- and the tables are never counted.

-- Row counts of some tables, by the columns that figures are shown for: the sum of n over rows that are
-- otherwise alike. Triggers add a row per change; the scheduler sums rows up. The tables are never counted
-- themselves.
create table dirsync.tally (
  -- The table whose rows are counted: pending, employee, dead_letter (without resolved ones) or sync_run.
  source          text not null check (source in ('pending', 'employee', 'dead_letter', 'sync_run')),
  operation       text,             -- pending: its operation.
  enterprise_code text,             -- pending, employee: the enterprise.
  run_id          bigint,           -- pending: the run that asked last.
  priority        smallint,         -- pending: its priority.
  enqueued        boolean,          -- pending: whether it is in the queue.
  since           timestamptz,      -- pending: since when the entities have been out of sync, to the second.
  category        text,             -- dead_letter: its category.
  state           text,             -- dead_letter, sync_run: the state; employee: its status.
  n               bigint not null,  -- Rows gained less rows lost.
  platform_code   bigint,           -- dead_letter: its error code of the platform.
  -- dead_letter: how often the cases have failed in all: occurrences gained less occurrences lost.
  failures        bigint not null default 0
)
-- Read whole and often, written with every outcome: vacuumed by its changes, whatever its size.
with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000,
      autovacuum_analyze_scale_factor = 1);

create function dirsync.tally_truncated() returns trigger
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  -- Rows that are being summed up elsewhere would come back.
  perform pg_advisory_xact_lock(1952541804); -- 'tall'
  delete from dirsync.tally where source = tg_table_name;
  return null;
end $$;
comment on function dirsync.tally_truncated is 'Forgets the tally of a table that was emptied.';

-- The columns of the tally for each table, the values that its rows count under, and which rows are counted.
do $$
declare
  counted record;
begin
  for counted in
    select * from (values
      ('pending', 'operation, enterprise_code, run_id, priority, enqueued, since',
       'operation, enterprise_code, run_id, priority, enqueued_at is not null,
        date_trunc(''second'', created_at)', '0', 'true'),
      ('employee', 'enterprise_code, state', 'enterprise_code, status', '0', 'true'),
      ('dead_letter', 'category, platform_code, state', 'category, platform_code, state', 'occurrences',
       'state <> ''resolved'''),
      ('sync_run', 'state', 'state', '0', 'true')
    ) as c (name, columns, expressions, failures, condition)
  loop
    execute format($function$
create function dirsync.tally_%1$s() returns trigger
language plpgsql set search_path = pg_catalog, pg_temp as $body$
begin
  case tg_op
  when 'INSERT' then
    insert into dirsync.tally (source, %2$s, n, failures)
    select %1$L, %3$s, count(*), sum(%4$s) from added where %5$s group by %3$s;
  when 'DELETE' then
    insert into dirsync.tally (source, %2$s, n, failures)
    select %1$L, %3$s, -count(*), -sum(%4$s) from removed where %5$s group by %3$s;
  else
    insert into dirsync.tally (source, %2$s, n, failures)
    select %1$L, %2$s, sum(n), sum(failures)
    from (select %3$s, 1, %4$s from added where %5$s
          union all
          select %3$s, -1, -%4$s from removed where %5$s) as changed (%2$s, n, failures)
    group by %2$s having sum(n) <> 0 or sum(failures) <> 0;
  end case;
  return null;
end $body$;
comment on function dirsync.tally_%1$s is 'Keeps the tally of table %1$s.';
create trigger tally_added after insert on dirsync.%1$I referencing new table as added
for each statement execute function dirsync.tally_%1$s();
create trigger tally_removed after delete on dirsync.%1$I referencing old table as removed
for each statement execute function dirsync.tally_%1$s();
create trigger tally_changed after update on dirsync.%1$I referencing old table as removed new table as added
for each statement execute function dirsync.tally_%1$s();
create trigger tally_truncated after truncate on dirsync.%1$I
for each statement execute function dirsync.tally_truncated();
$function$, counted.name, counted.columns, counted.expressions, counted.failures, counted.condition);
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
           sum((a.rate_limited ->> c.key)::int) as rate_limited
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
    'rateLimited', coalesce((select jsonb_object_agg(operation, rate_limited) from calls
                             where rate_limited > 0), '{}'),
    'deadLetters', coalesce((select jsonb_object_agg(category, n) from cases), '{}'))
$$;
comment on function dirsync.run_result is
  'What came of a run: last outcome per entity; calls, their waiting time in milliseconds and those '
  'rejected as too fast, by operation; dead letters by category.';

-- History for curves ----------------------------------------------------------

-- How everything stood, every five minutes; kept for 35 days.
create table dirsync.status_history (
  at                     timestamptz primary key,     -- The five minutes that had begun.
  in_sync                integer not null,            -- Employees whose every field the platform confirmed.
  awaiting_activation    integer not null,            -- Employees not yet on the platform.
  dead_lettered          integer not null,            -- Employees of whom a field or the whole is in review.
  halted                 integer not null,            -- Employees to be sent while work stands still.
  waiting                integer not null,            -- Employees to be sent.
  open_cases             jsonb not null,              -- Cases neither resolved nor ignored, by category.
  cases                  integer not null,            -- The sum of them.
  pending                integer not null,            -- Rows in the outbox.
  oldest_pending_seconds integer not null,            -- Age of the oldest of them; 0 where there is none.
  is_halted              boolean not null,            -- Whether everything stood still, or was paused.
  held                   integer not null default 0,  -- Employees whose change in HR waits for a decision.
  rejected               integer not null default 0,  -- Employees whose change in HR a person rejected.
  accepted               integer not null default 0   -- Employees whose difference a person accepted.
);

create function dirsync.note_statuses() returns timestamptz
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  _at timestamptz := to_timestamp(floor(extract(epoch from now()) / 300) * 300);
begin
  insert into dirsync.status_history
    (at, in_sync, awaiting_activation, dead_lettered, halted, waiting, held, rejected, accepted, open_cases,
     cases, pending, oldest_pending_seconds, is_halted)
  with employees as (
    select case when state = 'waiting'
                     and exists (select from dirsync.halt h where h.scope in ('*', t.enterprise_code))
                then 'halted' else state end as status, sum(n) as n
    from dirsync.tally t where source = 'employee' group by 1
  ), outbox as (
    select since, sum(n) as n
    from dirsync.tally where source = 'pending' group by operation, since having sum(n) > 0
  ), cases as (
    select category, sum(n) as n
    from dirsync.tally where source = 'dead_letter' and state <> 'ignored' group by 1 having sum(n) > 0
  )
  select _at,
         coalesce(sum(n) filter (where status = 'in_sync'), 0),
         coalesce(sum(n) filter (where status = 'awaiting_activation'), 0),
         coalesce(sum(n) filter (where status = 'dead_lettered'), 0),
         coalesce(sum(n) filter (where status = 'halted'), 0),
         coalesce(sum(n) filter (where status = 'waiting'), 0),
         coalesce(sum(n) filter (where status = 'held'), 0),
         coalesce(sum(n) filter (where status = 'rejected'), 0),
         coalesce(sum(n) filter (where status = 'accepted'), 0),
         (select coalesce(jsonb_object_agg(category, n), '{}') from cases),
         (select coalesce(sum(n), 0) from cases),
         (select coalesce(sum(n), 0) from outbox),
         (select coalesce(greatest(extract(epoch from now() - min(since)), 0), 0)::int from outbox),
         exists (select from dirsync.halt where scope = '*')
  from employees
  on conflict (at) do nothing;

  -- Hours may have been missed, and the last one went on after it was summed up.
  insert into dirsync.call_hour as h (hour, operation, calls, rate_limited)
  select date_trunc('hour', minute), operation, sum(calls), sum(rate_limited)
  from dirsync.call_minute
  where minute >= coalesce((select max(hour) from dirsync.call_hour), '-infinity')
  group by 1, 2 order by 1, 2
  on conflict (hour, operation) do update set calls = excluded.calls, rate_limited = excluded.rate_limited;
  return _at;
end $$;
comment on function dirsync.note_statuses is
  'Writes down how everything stands, once per five minutes, and sums up the calls by hour. Returns the '
  'moment that it stands for.';
