-- What the processes share about calls to the platform: the access token, the pacer, and how the calls went.

-- The platform's access token, shared by all processes. It may be removed at any time: the next call creates
-- a new one.
create table dirsync.platform_token (
  base_url     text not null,         -- Base address of the platform that issued it.
  app_id       text not null,         -- Application id it was issued to.
  -- The token, encrypted (AES-256-GCM: nonce, tag, text) with a key derived from the application secret;
  -- unreadable once the secret changes.
  sealed_token bytea not null,
  created_at   timestamptz not null,  -- When it was asked for; it is renewed after 80 % of its life.
  expires_at   timestamptz not null,  -- When it expires, as the platform said.
  primary key (base_url, app_id)
);

-- Token creations of the last hour, each noted before it was tried. After 50 of them no further token is
-- asked for (the platform permits 60).
create table dirsync.token_creation (
  id         bigint generated always as identity primary key,  -- Number of the creation.
  base_url   text not null,                                    -- Base address of the platform.
  app_id     text not null,                                    -- Application id.
  created_at timestamptz not null default clock_timestamp()    -- When it was about to be tried.
);
create index token_creation_app on dirsync.token_creation (base_url, app_id, created_at);

-- The gates for calls to the platform. Processes reserve evenly spaced slots by moving next_at. Unlogged: it
-- is written many times a second and says nothing worth keeping over a crash of the server.
create unlogged table dirsync.pacer (
  -- Name of the gate: platform, or operation: and the operation that has a budget of its own.
  gate            text primary key,
  -- The first slot that is not reserved yet; in the past if there is less to do than the rate permits.
  next_at         timestamptz not null,
  -- When a slot was last reserved. A clock that shows an earlier time was put back.
  reserved_at     timestamptz,
  -- How many slots have ever been reserved.
  leased          bigint not null default 0,
  holder          text,                  -- The process that reserved last.
  paused_until    timestamptz,           -- No call before this moment, because the platform asked for it.
  pause_reason    text,                  -- What the platform answered that made us pause.
  -- By how much further apart than without rate_cap the last slots lie; null where no cap was in the way.
  spread_ms       float8
);

-- What was learnt of a limit that no setting gives, or that was set too high. Kept over restarts; a deleted
-- row is learnt anew.
create table dirsync.learnt_rate (
  -- Name of the gate: platform; platform@200 where PLATFORM_RATE_LIMIT is 200 and calls were refused at that
  -- rate.
  gate             text primary key,
  -- Counts the changes. Of two processes that learn at the same moment one gives way.
  version          bigint not null,
  rate_per_second  float8 not null,       -- Calls per second that may leave, of all processes together.
  -- The rate at which calls were last refused; null before the first refusal, and when a set rate is reached
  -- again.
  ceiling          float8,
  lowered_at       timestamptz,           -- When it was last lowered; null if never.
  changed_at       timestamptz not null,  -- When it was last changed.
  leased_at_change bigint not null        -- pacer.leased at that time.
);

-- At most one row: a rate that a person has set for a time, below what settings or learning permit. It ends
-- by itself; a row whose time is over means nothing.
create table dirsync.rate_cap (
  -- Calls per second that may leave while it holds, of all processes together.
  per_second float8 not null check (per_second > 0),
  until      timestamptz not null,                              -- When it ends.
  reason     text not null,                                     -- Why it was set.
  set_by     text not null,                                     -- Who set it.
  -- Since when a lower rate has held without a break.
  since      timestamptz not null default now(),
  only_row   boolean primary key default true check (only_row)  -- Always true: there is at most one row.
);

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
  -- A cap above the rate has no effect; nor is there a rate to lower before one was learnt.
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
    -- Do not reserve a moment that is far away only because of the cap: it may be lifted before.
    count := 0;
  elsif count > 0 then
    if spacing_ms > own_spacing_ms then
      count := least(count, greatest(1, floor(500 / spacing_ms)::int));
    end if;
    _start := greatest(_start, _budget_next);
    update dirsync.pacer p
    set next_at = _start + count * spacing_ms * interval '1 ms',
        spread_ms = nullif(spacing_ms - own_spacing_ms, 0),
        leased = p.leased + count, holder = _holder, reserved_at = _now
    where p.gate = _gate;
    update dirsync.pacer p
    set next_at = _start + _budget_spacing_ms * interval '1 ms',
        leased = p.leased + 1, holder = _holder, reserved_at = _now
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
  'learnt, wider while a person has lowered the rate. With a budget: one slot that is free in both gates, '
  'or none and the moment when the budget has one. own_spacing_ms is the spacing without a cap. Times in '
  'milliseconds since 1970.';

create function dirsync.lower_rate(per_second float8, until timestamptz, reason text) returns float8
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  if per_second is null or not per_second between 0.01 and 100000 then
    perform dirsync.refuse('22023', 'said.lower_rate_needs_rate',
      hint => 'select dirsync.pause(''reason'') stops all calls');
  end if;
  if until is null or until <= now() or until > now() + interval '30 days' then
    perform dirsync.refuse('22023', 'said.lower_rate_needs_time',
      hint => 'PLATFORM_RATE_LIMIT sets a rate for good');
  end if;
  if coalesce(btrim(reason), '') = '' then
    perform dirsync.refuse('22023', 'said.needs_reason', jsonb_build_object('name', 'lower_rate'),
      hint => 'select dirsync.lower_rate(5, now() + interval ''2 hours'', ''the vendor asked for it'')');
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

-- Calls to the platform of all processes by minute and operation; kept for 30 days.
create table dirsync.call_minute (
  -- Beginning of the minute in which they were written down, a few seconds after they ended.
  minute          timestamptz not null,
  operation       text not null,     -- Operation of the platform, for example employee/get.
  calls           integer not null,  -- Exchanges with the platform, whatever came of them.
  rate_limited    integer not null,  -- How many of them the platform rejected because there were too many.
  failed          integer not null,  -- How many of them failed, including those that were too fast.
  waited_ms       bigint not null,   -- Time that they waited for the pacer, all together, in milliseconds.
  longest_wait_ms integer not null,  -- Longest time that one of them waited for the pacer, in milliseconds.
  duration_ms     bigint not null,   -- Time that the exchanges took, all together, in milliseconds.
  primary key (minute, operation)
);

-- call_minute summed up by hour, so that a month is read in milliseconds; kept for 35 days.
create table dirsync.call_hour (
  hour         timestamptz not null,  -- Beginning of the hour.
  operation    text not null,         -- Operation of the platform.
  calls        integer not null,      -- Exchanges with the platform, whatever came of them.
  rate_limited integer not null,      -- How many of them the platform rejected because there were too many.
  primary key (hour, operation)
);
