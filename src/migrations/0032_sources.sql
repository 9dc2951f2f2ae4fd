-- Nothing is written between the count of cases and the first change that is counted by the new function.
lock table dirsync.dead_letter in share row exclusive mode;
select pg_advisory_xact_lock(1952541804); -- 'tall'

-- A source that gets its enterprises back must not go on where it was: another one may have sent their rows since. Runs tell what
-- it has read since, whatever the clock does; alerts go by the time, unless that is of the future.

alter table dirsync.hr_source add column codes_since bigint, add column codes_since_at timestamptz;
comment on column dirsync.hr_source.codes_since is
  'The newest run when the source got its present enterprises: what it read by then is out of date. Null: that was before this was kept.';
comment on column dirsync.hr_source.codes_since_at is
  'When the source got its present enterprises. Null: that was before this was kept.';
alter table dirsync.deployment add column one_hr_since bigint, add column one_hr_since_at timestamptz;
comment on column dirsync.deployment.one_hr_since is
  'The newest run when there was one HR system once more, after several sources. Null: there never were several before.';
comment on column dirsync.deployment.one_hr_since_at is
  'When there was one HR system once more, after several sources. Null: there never were several before, or it was before this was kept.';

-- A user, password or parameters in the platform's address were never sent. They are refused now, and are no part of the account.
update dirsync.deployment
set base_url = rtrim(regexp_replace(regexp_replace(base_url, '\?.*', ''), '^(https?://)[^/]*@', '\1'), '/')
where base_url ~ '[@?]';
delete from dirsync.platform_token where base_url ~ '[@?]';
delete from dirsync.token_creation where base_url ~ '[@?]';

-- It may have been a mistake that an enterprise has no source any more, of which people are told for a while.
alter table dirsync.deployment add column source_lost_at timestamptz;
comment on column dirsync.deployment.source_lost_at is
  'When an enterprise with employees last lost its HR source. Null: none did since this was kept.';
update dirsync.deployment set source_lost_at = now() where exists (select from dirsync.hr_source);

-- Employees whose enterprise no HR source has are in no way in sync.
alter table dirsync.status_history add column no_source integer not null default 0;
comment on column dirsync.status_history.no_source is 'Employees in service whose enterprise no HR source has.';

create or replace function dirsync.note_statuses() returns timestamptz
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  _at timestamptz := to_timestamp(floor(extract(epoch from now()) / 300) * 300);
begin
  insert into dirsync.status_history
    (at, in_sync, awaiting_activation, dead_lettered, halted, waiting, held, rejected, accepted, no_source,
     open_cases, cases, pending, oldest_pending_seconds, is_halted)
  with employees as (
    select case when state not in ('left', 'vanished', 'held') and exists (select from dirsync.hr_source)
                     and not exists (select from dirsync.hr_source h where t.enterprise_code = any (h.enterprise_codes))
                then 'no_source'
                when state = 'waiting'
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
         coalesce(sum(n) filter (where status = 'no_source'), 0),
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

-- Which cases are not retried, as no HR source has their enterprise.
comment on column dirsync.tally.operation is 'pending, dead_letter: its operation.';
comment on column dirsync.tally.enterprise_code is 'pending, employee, dead_letter: the enterprise.';
do $do$
declare
  _columns text := 'operation, enterprise_code, category, platform_code, state';
begin
  execute format($function$
create or replace function dirsync.tally_dead_letter() returns trigger
language plpgsql set search_path = pg_catalog, pg_temp as $body$
begin
  case tg_op
  when 'INSERT' then
    insert into dirsync.tally (source, %1$s, n, failures)
    select 'dead_letter', %1$s, count(*), sum(occurrences) from added where state <> 'resolved' group by %1$s;
  when 'DELETE' then
    insert into dirsync.tally (source, %1$s, n, failures)
    select 'dead_letter', %1$s, -count(*), -sum(occurrences) from removed where state <> 'resolved' group by %1$s;
  else
    insert into dirsync.tally (source, %1$s, n, failures)
    select 'dead_letter', %1$s, sum(n), sum(failures)
    from (select %1$s, 1, occurrences from added where state <> 'resolved'
          union all
          select %1$s, -1, -occurrences from removed where state <> 'resolved') as changed (%1$s, n, failures)
    group by %1$s having sum(n) <> 0 or sum(failures) <> 0;
  end case;
  return null;
end $body$;
$function$, _columns);
  delete from dirsync.tally where source = 'dead_letter';
  execute format(
    $insert$insert into dirsync.tally (source, %1$s, n, failures)
            select 'dead_letter', %1$s, count(*), sum(occurrences) from dirsync.dead_letter
            where state <> 'resolved' group by %1$s$insert$,
    _columns);
end $do$;

-- Only what is retried by itself has a time for it.
create or replace view dirsync.failure as
select *
from (
  select id, enterprise_code, entity, entity_key, operation, nullif(field, '') as field, category,
         platform_code, message, remedy, blocked_by, occurrences, first_failed_at, last_failed_at, state,
         case when (operation not in ('update-employee', 'delete-department', 'bind-openid')
                    or not exists (select from dirsync.hr_source)
                    or exists (select from dirsync.hr_source h where d.enterprise_code = any (h.enterprise_codes)))
                and not exists (select from dirsync.job_schedule
                                where job = 'retry-due' and (paused_at is not null or interval_seconds is null))
              then next_retry_at end as next_retry_at, swap_id
  from dirsync.dead_letter d
  where state not in ('resolved', 'ignored')
  union all
  select null, enterprise_code, 'refund', outer_refund_no, 'send-refund', null, 'outcome_unknown',
         platform_code, coalesce(message, '{"key": "said.carried_out_unknown"}'),
         jsonb_build_object(
           'key', case when waits then 'said.refund_resolve' else 'said.refund_by_itself' end,
           'values', jsonb_build_object('number', outer_refund_no)),
         null, 1, sent_at, sent_at, case when waits then 'open' else 'retry_scheduled' end,
         next_settle_at, null::bigint
  from dirsync.refund,
       lateral (select next_settle_at is null or left_to_person_at is not null as waits) as person
  where state = 'unknown'
  union all
  select null, enterprise_code, 'topup', external_code, 'send-topup', null, 'outcome_unknown',
         platform_code, coalesce(message, '{"key": "said.carried_out_unknown"}'),
         jsonb_build_object('key', 'said.topup_resolve',
                            'values', jsonb_build_object('number', external_code)),
         null, 1, sent_at, sent_at, 'open', null, null
  from dirsync.topup
  where state = 'unknown'
) as failed
order by state <> 'open', last_failed_at desc, id desc;
