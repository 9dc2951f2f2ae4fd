-- What an operator does at the running service: a lower rate for a time, schedules that are paused or begun
-- now, a probe at once; and the figures of the past, for curves.

-- A lower rate for a time.

create table dirsync.rate_cap (
  per_second float8 not null check (per_second > 0),
  until      timestamptz not null,
  reason     text not null,
  set_by     text not null,
  since      timestamptz not null default now(),
  only_row   boolean primary key default true check (only_row)
);

comment on table dirsync.rate_cap is
  'At most one row: a rate that a person has set for a time, below what settings or learning permit. It ends '
  'by itself; a row whose time is over means nothing.';
comment on column dirsync.rate_cap.per_second is
  'Calls per second that may leave while it holds, of all processes together.';
comment on column dirsync.rate_cap.until is 'When it ends.';
comment on column dirsync.rate_cap.reason is 'Why it was set.';
comment on column dirsync.rate_cap.set_by is 'Who set it.';
comment on column dirsync.rate_cap.since is 'Since when a lower rate has held without a break.';
comment on column dirsync.rate_cap.only_row is 'Always true: there is at most one row.';

alter table dirsync.pacer add column spread_ms float8;
comment on column dirsync.pacer.spread_ms is
  'By how much further apart than without rate_cap the last slots lie; null where no cap was in the way.';

comment on column dirsync.process.pacer is
  'State of a worker''s pacer at its last sign of life: ratePerSecond (without rate_cap), set, learnt, '
  'ceiling, cap, waiting, pausedForMs, callsPerSecond, concurrency. Null for a process without one.';

drop function dirsync.lease_slots(text, text, int, float8, text, float8);

-- Of the two gates the budget is locked first, always: two processes never wait for each other.
create function dirsync.lease_slots(
  _gate text, _holder text, _count int, _spacing_ms float8, _budget text, _budget_spacing_ms float8,
  out start_ms float8, out now_ms float8, out paused_until_ms float8, out shared boolean,
  out spacing_ms float8, out count int, out leased bigint, out learnt dirsync.learnt_rate,
  out own_spacing_ms float8, out cap_per_second float8, out cap_until_ms float8
) language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  _slots dirsync.pacer;
  _now timestamptz;
  _start timestamptz;
  _budget_next timestamptz;
  _budget_reserved timestamptz;
  _back interval;
begin
  select * into learnt from dirsync.learnt_rate where gate = _gate;
  own_spacing_ms := coalesce(_spacing_ms, 1000 / learnt.rate_per_second, 0);

  if _budget is not null then
    loop
      select next_at, reserved_at into _budget_next, _budget_reserved
      from dirsync.pacer where gate = _budget for update;
      exit when found;
      insert into dirsync.pacer (gate, next_at) values (_budget, '-infinity') on conflict do nothing;
    end loop;
  end if;
  loop
    select * into _slots from dirsync.pacer where gate = _gate for update;
    exit when found;
    insert into dirsync.pacer (gate, next_at, leased)
    values (_gate, '-infinity', coalesce(learnt.leased_at_change, 0))
    on conflict do nothing;
  end loop;

  -- Slots and pauses go back with a clock that is put back: else no call would leave until it has caught up.
  _now := clock_timestamp();
  _budget_next := _budget_next - greatest(_budget_reserved - _now, interval '0');
  _back := _slots.reserved_at - _now;
  if _back > interval '0' then
    _slots.next_at := _slots.next_at - _back;
    _slots.paused_until := _slots.paused_until - _back;
    update dirsync.pacer p
    set next_at = _slots.next_at, paused_until = _slots.paused_until, reserved_at = _now
    where p.gate = _gate;
  end if;

  select per_second, extract(epoch from until) * 1000 into cap_per_second, cap_until_ms
  from dirsync.rate_cap where until > _now;
  -- A cap above the rate is in nobody's way; nor is there a rate to lower before one was learnt.
  spacing_ms := case when own_spacing_ms > 0 then greatest(own_spacing_ms, 1000 / cap_per_second) else 0 end;
  -- Once a cap is over, or is another one, the next slot lies as far from the last one as it now should.
  if _slots.spread_ms is not null then
    _slots.next_at := _slots.next_at
      - greatest(_slots.spread_ms - (spacing_ms - own_spacing_ms), 0) * interval '1 ms';
  end if;

  _start := greatest(_slots.next_at, _now, _slots.paused_until);
  count := case when spacing_ms > 0 then _count else 0 end;
  if _budget_next > _start + interval '10 ms' then
    count := 0;
    _start := _budget_next;
  elsif spacing_ms > own_spacing_ms and _slots.next_at > _now + interval '500 ms' then
    -- Nobody reserves a moment that is far away only because of the cap: it may be lifted before.
    count := 0;
  elsif count > 0 then
    if spacing_ms > own_spacing_ms then
      count := least(count, greatest(1, floor(500 / spacing_ms)::int));
    end if;
    _start := greatest(_start, _budget_next);
    update dirsync.pacer p
    set next_at = _start + count * spacing_ms * interval '1 ms',
        spread_ms = nullif(spacing_ms - own_spacing_ms, 0),
        leased = p.leased + count, previous_holder = p.holder, holder = _holder, reserved_at = _now
    where p.gate = _gate;
    update dirsync.pacer p
    set next_at = _start + _budget_spacing_ms * interval '1 ms',
        leased = p.leased + 1, previous_holder = p.holder, holder = _holder, reserved_at = _now
    where p.gate = _budget;
  end if;

  start_ms := extract(epoch from _start) * 1000;
  now_ms := extract(epoch from _now) * 1000;
  paused_until_ms := extract(epoch from _slots.paused_until) * 1000;
  shared := coalesce(_slots.holder <> _holder, false);
  leased := _slots.leased + count;
end $$;
comment on function dirsync.lease_slots is
  'Reserves the next free slots of a gate, never in the past or within its pause, spaced as given or as '
  'learnt, wider while a person has lowered the rate. With a budget: one slot that is free in both gates, or '
  'none and the moment when the budget has one. own_spacing_ms is the spacing without a cap. Times in '
  'milliseconds since 1970.';

create function dirsync.lower_rate(per_second float8, until timestamptz, reason text) returns float8
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  if per_second is null or not per_second between 0.01 and 100000 then
    raise exception 'lower_rate needs a rate between 0.01 and 100000 calls per second'
      using errcode = '22023', hint = 'select dirsync.pause(''reason'') stops all calls';
  end if;
  if until is null or until <= now() or until > now() + interval '30 days' then
    raise exception 'lower_rate needs a time in the next 30 days' using errcode = '22023',
      hint = 'PLATFORM_RATE_LIMIT sets a rate for good';
  end if;
  if coalesce(btrim(reason), '') = '' then
    raise exception 'lower_rate needs a reason' using errcode = '22023',
      hint = 'select dirsync.lower_rate(5, now() + interval ''2 hours'', ''the vendor asked for it'')';
  end if;
  perform dirsync.note_command('lower_rate', null, jsonb_build_object(
    'per_second', per_second, 'until', until, 'reason', btrim(reason)));
  insert into dirsync.rate_cap as c (per_second, until, reason, set_by)
  values (lower_rate.per_second, lower_rate.until, btrim(lower_rate.reason), dirsync.actor())
  on conflict (only_row) do update
  set (per_second, until, reason, set_by, since)
    = (excluded.per_second, excluded.until, excluded.reason, excluded.set_by,
       case when c.until > now() then c.since else now() end);
  return per_second;
end $$;
comment on function dirsync.lower_rate is
  'Lowers the rate of calls to the platform, of all processes together, until a time; then it comes back by '
  'itself. Holds within a second. Returns the rate.';

create function dirsync.restore_rate() returns boolean
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  if not exists (select from dirsync.rate_cap where until > now()) then
    return false;
  end if;
  perform dirsync.note_command('restore_rate', null, '{}');
  delete from dirsync.rate_cap;
  return true;
end $$;
comment on function dirsync.restore_rate is
  'Ends lower_rate() before its time. Returns whether the rate was lowered.';

-- Schedules.

alter table dirsync.job_schedule
  add column paused_at        timestamptz,
  add column paused_by        text,
  add column pause_reason     text,
  add column run_requested_at timestamptz,
  add column run_requested_by text;
comment on column dirsync.job_schedule.paused_at is
  'Since when its ticks are left out; null: it is not paused.';
comment on column dirsync.job_schedule.paused_by is 'Who paused it.';
comment on column dirsync.job_schedule.pause_reason is 'Why it was paused.';
comment on column dirsync.job_schedule.run_requested_at is
  'When a person asked to run it at once, until a scheduler begins it; due_at of that tick.';
comment on column dirsync.job_schedule.run_requested_by is 'Who asked for that.';

alter table dirsync.job_tick
  add column skipped      text,
  add column requested_by text;
comment on column dirsync.job_tick.skipped is
  'Why the tick was left out: the job was paused. Null: it ran.';
comment on column dirsync.job_tick.requested_by is
  'Who asked for a run outside the schedule; null: it was due.';

create function dirsync.pause_effect(job text) returns text
language sql immutable parallel safe set search_path = pg_catalog, pg_temp as $$
  select case
    -- The queue may lose what it was given at any time; nothing else would notice.
    when job = 'sweep' then 'refused'
    when job in ('sync-changes', 'full-resync', 'retry-due') then 'stalls'
    else 'none'
  end
$$;
comment on function dirsync.pause_effect is
  'What pausing a cron job means for the directory: none; stalls: employees stay out of step until it is '
  'resumed; refused: it may not be paused.';

create function dirsync.pause_schedule(job text, reason text) returns text
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  _warning text;
begin
  if coalesce(btrim(reason), '') = '' then
    raise exception 'pause_schedule needs a reason' using errcode = '22023',
      hint = 'select dirsync.pause_schedule(''full-resync'', ''the vendor works on it tonight'')';
  end if;
  if dirsync.pause_effect(job) = 'refused' then
    raise exception '% cannot be paused: what the queue loses would never be sent', job
      using errcode = '22023', hint = 'select dirsync.pause(''reason'') stops all calls';
  end if;
  if not exists (select from dirsync.job_schedule s where s.job = pause_schedule.job) then
    raise exception 'there is no cron job %', coalesce(job, 'null') using errcode = 'P0002';
  end if;
  perform dirsync.note_command('pause_schedule', null,
                               jsonb_build_object('job', job, 'reason', btrim(reason)));
  update dirsync.job_schedule s
  set paused_at = coalesce(s.paused_at, now()), paused_by = dirsync.actor(), pause_reason = btrim(reason)
  where s.job = pause_schedule.job;
  _warning := case job
    when 'sync-changes' then 'what HR changes is sent by full-resync only, until sync-changes is resumed'
    when 'full-resync' then
      'what was changed on the platform itself is not noticed until full-resync is resumed'
    when 'retry-due' then
      'cases that are due or whose snooze is over are not tried again until retry-due is resumed'
  end;
  if _warning is not null then
    raise warning '%', _warning;
  end if;
  return _warning;
end $$;
comment on function dirsync.pause_schedule is
  'Leaves out the ticks of a cron job until resume_schedule(), over restarts too. Returns what that means '
  'for the directory, or null where it means nothing to it. The sweep cannot be paused.';

create function dirsync.resume_schedule(job text) returns boolean
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  _paused_at timestamptz;
begin
  select s.paused_at into _paused_at
  from dirsync.job_schedule s where s.job = resume_schedule.job for update;
  if not found then
    raise exception 'there is no cron job %', coalesce(job, 'null') using errcode = 'P0002';
  end if;
  if _paused_at is null then
    return false;
  end if;
  perform dirsync.note_command('resume_schedule', null, jsonb_build_object('job', job));
  update dirsync.job_schedule s set paused_at = null, paused_by = null, pause_reason = null
  where s.job = resume_schedule.job;
  return true;
end $$;
comment on function dirsync.resume_schedule is
  'Lets a cron job run again from its next tick on. Returns whether it was paused.';

create function dirsync.run_schedule(job text) returns timestamptz
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  _at timestamptz;
begin
  select s.run_requested_at into _at from dirsync.job_schedule s where s.job = run_schedule.job for update;
  if not found then
    raise exception 'there is no cron job %', coalesce(job, 'null') using errcode = 'P0002';
  end if;
  perform dirsync.note_command('run_schedule', null, jsonb_build_object('job', job));
  if _at is null then
    -- Ticks by the schedule are due at whole seconds: this one is never taken for one of them.
    _at := date_trunc('milliseconds', clock_timestamp());
    if _at = date_trunc('second', _at) then
      _at := _at + interval '1 ms';
    end if;
    update dirsync.job_schedule s set run_requested_at = _at, run_requested_by = dirsync.actor()
    where s.job = run_schedule.job;
  end if;
  perform pg_notify('dirsync', 'schedule');
  return _at;
end $$;
comment on function dirsync.run_schedule is
  'Runs a cron job once, at once, also while it is paused. Returns when that was asked for; while an earlier '
  'request waits for a scheduler, the same.';

-- Halts.

create function dirsync.probe_now(scope text) returns text
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  _category text;
begin
  select h.category into _category from dirsync.halt h where h.scope = probe_now.scope for update;
  if not found then
    raise exception 'nothing is halted for %', coalesce(scope, 'null') using errcode = 'P0002';
  end if;
  if _category = 'paused' then
    raise exception 'all calls are paused by a person, so no probe would end that' using errcode = '22023',
      hint = 'select dirsync.resume()';
  end if;
  perform dirsync.note_command('probe_now', null, jsonb_build_object('scope', scope));
  update dirsync.halt h set next_probe_at = now() where h.scope = probe_now.scope;
  perform pg_notify('dirsync', 'feed');
  return scope;
end $$;
comment on function dirsync.probe_now is
  'Lets the next job of a halt through at once, to see whether work can go on. Returns the scope.';

-- History for curves.

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
  is_halted              boolean not null
);
comment on table dirsync.standing_history is
  'How everything stood, every five minutes; kept for 35 days.';
comment on column dirsync.standing_history.at is 'The five minutes that had begun.';
comment on column dirsync.standing_history.in_step is 'Employees whose every field the platform confirmed.';
comment on column dirsync.standing_history.awaiting_activation is 'Employees not yet on the platform.';
comment on column dirsync.standing_history.dead_lettered is
  'Employees of whom a field or the whole is in review.';
comment on column dirsync.standing_history.halted is 'Employees to be sent while work stands still.';
comment on column dirsync.standing_history.waiting is 'Employees to be sent.';
comment on column dirsync.standing_history.open_cases is
  'Cases neither resolved nor ignored, by category.';
comment on column dirsync.standing_history.cases is 'The sum of them.';
comment on column dirsync.standing_history.pending is 'Rows in the outbox.';
comment on column dirsync.standing_history.oldest_pending_seconds is
  'Age of the oldest of them; 0 where there is none.';
comment on column dirsync.standing_history.is_halted is 'Whether everything stood still, or was paused.';

create table dirsync.call_hour (
  hour      timestamptz not null,
  operation text not null,
  calls     integer not null,
  too_fast  integer not null,
  primary key (hour, operation)
);
comment on table dirsync.call_hour is
  'call_minute summed up by hour, so that a month is read in milliseconds; kept for 35 days.';
comment on column dirsync.call_hour.hour is 'Beginning of the hour.';
comment on column dirsync.call_hour.operation is 'Operation of the platform.';
comment on column dirsync.call_hour.calls is 'Exchanges with the platform, whatever came of them.';
comment on column dirsync.call_hour.too_fast is
  'How many of them the platform rejected because there were too many.';

create index sync_run_to_show on dirsync.sync_run (finished_at)
  where kind = 'full' or state in ('failed', 'source_suspect', 'rejected', 'cancelled');

create function dirsync.note_standing() returns timestamptz
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  _at timestamptz := to_timestamp(floor(extract(epoch from now()) / 300) * 300);
begin
  insert into dirsync.standing_history
    (at, in_step, awaiting_activation, dead_lettered, halted, waiting, open_cases, cases, pending,
     oldest_pending_seconds, is_halted)
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

revoke execute on function
  dirsync.lease_slots(text, text, int, float8, text, float8),
  dirsync.lower_rate(float8, timestamptz, text),
  dirsync.restore_rate(),
  dirsync.pause_effect(text),
  dirsync.pause_schedule(text, text),
  dirsync.resume_schedule(text),
  dirsync.run_schedule(text),
  dirsync.probe_now(text),
  dirsync.note_standing()
from public;
