-- Since when work that was put off can be done: the age of what waits is counted from then.

-- Nothing is written between the count and the first change that is counted by the new function. In the order of those who write.
lock table dirsync.pending in share row exclusive mode;
select pg_advisory_xact_lock(1952541804); -- 'tall'

alter table dirsync.tally add column due timestamptz;
comment on column dirsync.tally.due is
  'pending: what was tried, and its outcome put off: when it is to be tried again, to the minute; null: the rest.';

do $do$
declare
  _columns text := 'operation, enterprise_code, run_id, priority, enqueued, since, due';
  -- An execution that was lost puts nothing off, nor does who may not begin it: that is how work gets stuck.
  _values text := $values$operation, enterprise_code, run_id, priority, enqueued_at is not null, date_trunc('second', created_at),
      case when execution is not null and starts = in_hand::int
                and not_before > created_at + interval '1 minute' and not_before < 'infinity'
           then date_trunc('minute', not_before) end$values$;
begin
  execute format($function$
create or replace function dirsync.tally_pending() returns trigger
language plpgsql set search_path = pg_catalog, pg_temp as $body$
begin
  case tg_op
  when 'INSERT' then
    insert into dirsync.tally (source, %1$s, n)
    select 'pending', %2$s, count(*) from added group by %2$s;
  when 'DELETE' then
    insert into dirsync.tally (source, %1$s, n)
    select 'pending', %2$s, -count(*) from removed group by %2$s;
  else
    insert into dirsync.tally (source, %1$s, n)
    select 'pending', %1$s, sum(n)
    from (select %2$s, 1 from added union all select %2$s, -1 from removed) as changed (%1$s, n)
    group by %1$s having sum(n) <> 0;
  end case;
  return null;
end $body$;
$function$, _columns, _values);
  delete from dirsync.tally where source = 'pending';
  execute format(
    'insert into dirsync.tally (source, %1$s, n) select ''pending'', %2$s, count(*) from dirsync.pending group by %2$s',
    _columns, _values);
end $do$;

create or replace function dirsync.fold_tally() returns bigint
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
        group by source, operation, enterprise_code, run_id, priority, enqueued, since, due, category,
                 platform_code, state) kinds;
  if _rows is null or _rows < 200 + 2 * _kinds then
    return 0;
  end if;
  with taken as (
    delete from dirsync.tally returning *
  )
  insert into dirsync.tally (source, operation, enterprise_code, run_id, priority, enqueued, since, due,
                             category, platform_code, state, n, failures)
  select source, operation, enterprise_code, run_id, priority, enqueued, since, due, category, platform_code,
         state, sum(n), sum(failures)
  from taken
  group by source, operation, enterprise_code, run_id, priority, enqueued, since, due, category, platform_code,
           state
  having sum(n) <> 0 or sum(failures) <> 0;
  return _rows;
end $$;
