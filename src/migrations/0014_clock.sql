-- Slots and pauses go back with a clock that is put back, instead of holding every call until it has caught up.

alter table dirsync.pacer add column reserved_at timestamptz;

comment on column dirsync.pacer.reserved_at is 'When a slot was last reserved: a clock that is before that was put back.';

create or replace function dirsync.lease_slots(
  _gate text, _holder text, _count int, _spacing_ms float8, _budget text, _budget_spacing_ms float8,
  out start_ms float8, out now_ms float8, out paused_until_ms float8, out shared boolean, out spacing_ms float8,
  out count int, out leased bigint, out learnt dirsync.learnt_rate
) language plpgsql as $$
declare
  _slots dirsync.pacer;
  _now timestamptz;
  _start timestamptz;
  _budget_next timestamptz;
  _budget_reserved timestamptz;
  _back interval;
begin
  select * into learnt from dirsync.learnt_rate where gate = _gate;
  spacing_ms := coalesce(_spacing_ms, 1000 / learnt.rate_per_second, 0);

  if _budget is not null then
    loop
      select next_at, reserved_at into _budget_next, _budget_reserved from dirsync.pacer where gate = _budget for update;
      exit when found;
      insert into dirsync.pacer (gate, next_at) values (_budget, '-infinity') on conflict do nothing;
    end loop;
  end if;
  loop
    select * into _slots from dirsync.pacer where gate = _gate for update;
    exit when found;
    insert into dirsync.pacer (gate, next_at, leased) values (_gate, '-infinity', coalesce(learnt.leased_at_change, 0))
    on conflict do nothing;
  end loop;

  _now := clock_timestamp();
  _budget_next := _budget_next - greatest(_budget_reserved - _now, interval '0');
  _back := _slots.reserved_at - _now;
  if _back > interval '0' then
    _slots.next_at := _slots.next_at - _back;
    _slots.paused_until := _slots.paused_until - _back;
    update dirsync.pacer p set next_at = _slots.next_at, paused_until = _slots.paused_until, reserved_at = _now where p.gate = _gate;
  end if;
  _start := greatest(_slots.next_at, _now, _slots.paused_until);
  count := case when spacing_ms > 0 then _count else 0 end;
  if _budget_next > _start + interval '10 ms' then
    count := 0;
    _start := _budget_next;
  elsif count > 0 then
    _start := greatest(_start, _budget_next);
    update dirsync.pacer p
    set next_at = _start + count * spacing_ms * interval '1 ms',
        leased = p.leased + count, previous_holder = p.holder, holder = _holder, reserved_at = _now
    where p.gate = _gate;
    update dirsync.pacer p
    set next_at = _start + _budget_spacing_ms * interval '1 ms', leased = p.leased + 1, previous_holder = p.holder, holder = _holder,
        reserved_at = _now
    where p.gate = _budget;
  end if;

  start_ms := extract(epoch from _start) * 1000;
  now_ms := extract(epoch from _now) * 1000;
  paused_until_ms := extract(epoch from _slots.paused_until) * 1000;
  shared := coalesce(_slots.holder <> _holder, false);
  leased := _slots.leased + count;
end $$;
