-- What the processes share about calls to the platform: the access token, the pacer, and how the calls went.

create table dirsync.platform_token (
  base_url     text not null,
  app_id       text not null,
  sealed_token bytea not null,
  created_at   timestamptz not null,
  expires_at   timestamptz not null,
  primary key (base_url, app_id)
);

comment on table dirsync.platform_token is
  'The platform''s access token, shared by all processes. It may be removed at any time: the next call '
  'creates a new one.';
comment on column dirsync.platform_token.base_url is 'Base address of the platform that issued it.';
comment on column dirsync.platform_token.app_id is 'Application id it was issued to.';
comment on column dirsync.platform_token.sealed_token is
  'The token, encrypted (AES-256-GCM: nonce, tag, text) with a key derived from the application secret; '
  'unreadable once the secret changes.';
comment on column dirsync.platform_token.created_at is
  'When it was asked for; it is renewed after 80 % of its life.';
comment on column dirsync.platform_token.expires_at is 'When it expires, as the platform said.';

create table dirsync.token_creation (
  id         bigint generated always as identity primary key,
  base_url   text not null,
  app_id     text not null,
  created_at timestamptz not null default clock_timestamp()
);
create index token_creation_app on dirsync.token_creation (base_url, app_id, created_at);

comment on table dirsync.token_creation is
  'Token creations of the last hour, each noted before it was tried. After 50 of them no further token is '
  'asked for (the platform permits 60).';
comment on column dirsync.token_creation.id is 'Number of the creation.';
comment on column dirsync.token_creation.base_url is 'Base address of the platform.';
comment on column dirsync.token_creation.app_id is 'Application id.';
comment on column dirsync.token_creation.created_at is 'When it was about to be tried.';

-- Unlogged: it is written many times a second and says nothing worth keeping over a crash of the server.
create unlogged table dirsync.pacer (
  gate            text primary key,
  next_at         timestamptz not null,
  reserved_at     timestamptz,
  leased          bigint not null default 0,
  holder          text,
  previous_holder text,
  paused_until    timestamptz,
  pause_reason    text,
  spread_ms       float8
);

comment on table dirsync.pacer is
  'The gates for calls to the platform. Processes reserve evenly spaced slots by moving next_at.';
comment on column dirsync.pacer.gate is
  'Name of the gate: platform, or operation: and the operation that has a budget of its own.';
comment on column dirsync.pacer.next_at is
  'The first slot that is not reserved yet; in the past if there is less to do than the rate permits.';
comment on column dirsync.pacer.reserved_at is
  'When a slot was last reserved. A clock that shows an earlier time was put back.';
comment on column dirsync.pacer.leased is 'How many slots have ever been reserved.';
comment on column dirsync.pacer.holder is 'The process that reserved last.';
comment on column dirsync.pacer.previous_holder is
  'The process that reserved before; the same one when it is alone.';
comment on column dirsync.pacer.paused_until is
  'No call before this moment, because the platform asked for it.';
comment on column dirsync.pacer.pause_reason is 'What the platform answered that made us pause.';
comment on column dirsync.pacer.spread_ms is
  'By how much further apart than without rate_cap the last slots lie; null where no cap was in the way.';

create table dirsync.learnt_rate (
  gate             text primary key,
  version          bigint not null,
  rate_per_second  float8 not null,
  ceiling          float8,
  lowered_at       timestamptz,
  changed_at       timestamptz not null,
  leased_at_change bigint not null
);

comment on table dirsync.learnt_rate is
  'What was learnt of a limit that no setting gives, or that was set too high. Kept over restarts; a '
  'deleted row is learnt anew.';
comment on column dirsync.learnt_rate.gate is
  'Name of the gate: platform; platform@200 where PLATFORM_RATE_LIMIT is 200 and calls were refused at that '
  'rate.';
comment on column dirsync.learnt_rate.version is
  'Counts the changes. Of two processes that learn at the same moment one gives way.';
comment on column dirsync.learnt_rate.rate_per_second is
  'Calls per second that may leave, of all processes together.';
comment on column dirsync.learnt_rate.ceiling is
  'The rate at which calls were last refused; null before the first refusal, and when a set rate is reached '
  'again.';
comment on column dirsync.learnt_rate.lowered_at is 'When it was last lowered; null if never.';
comment on column dirsync.learnt_rate.changed_at is 'When it was last changed.';
comment on column dirsync.learnt_rate.leased_at_change is 'pacer.leased at that time.';

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
  'At most one row: a rate that a person has set for a time, below what settings or learning permit. It '
  'ends by itself; a row whose time is over means nothing.';
comment on column dirsync.rate_cap.per_second is
  'Calls per second that may leave while it holds, of all processes together.';
comment on column dirsync.rate_cap.until is 'When it ends.';
comment on column dirsync.rate_cap.reason is 'Why it was set.';
comment on column dirsync.rate_cap.set_by is 'Who set it.';
comment on column dirsync.rate_cap.since is 'Since when a lower rate has held without a break.';
comment on column dirsync.rate_cap.only_row is 'Always true: there is at most one row.';

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
  'learnt, wider while a person has lowered the rate. With a budget: one slot that is free in both gates, '
  'or none and the moment when the budget has one. own_spacing_ms is the spacing without a cap. Times in '
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

create table dirsync.call_minute (
  minute          timestamptz not null,
  operation       text not null,
  calls           integer not null,
  too_fast        integer not null,
  failed          integer not null,
  waited_ms       bigint not null,
  longest_wait_ms integer not null,
  duration_ms     bigint not null,
  primary key (minute, operation)
);

comment on table dirsync.call_minute is
  'Calls to the platform of all processes by minute and operation; kept for 30 days.';
comment on column dirsync.call_minute.minute is
  'Beginning of the minute in which they were written down, a few seconds after they ended.';
comment on column dirsync.call_minute.operation is 'Operation of the platform, for example employee/get.';
comment on column dirsync.call_minute.calls is 'Exchanges with the platform, whatever came of them.';
comment on column dirsync.call_minute.too_fast is
  'How many of them the platform rejected because there were too many.';
comment on column dirsync.call_minute.failed is
  'How many of them failed, including those that were too fast.';
comment on column dirsync.call_minute.waited_ms is
  'Time that they waited for the pacer, all together, in milliseconds.';
comment on column dirsync.call_minute.longest_wait_ms is
  'Longest time that one of them waited for the pacer, in milliseconds.';
comment on column dirsync.call_minute.duration_ms is
  'Time that the exchanges took, all together, in milliseconds.';

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
