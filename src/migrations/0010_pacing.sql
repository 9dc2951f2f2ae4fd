-- The pacer learns the platform's limit, keeps budgets of operations beside it, and pauses every process at once.

create table dirsync.learnt_rate (
  gate             text primary key,
  version          bigint not null,
  rate_per_second  float8 not null,
  ceiling          float8,
  lowered_at       timestamptz,
  changed_at       timestamptz not null,
  leased_at_change bigint not null
);

comment on table dirsync.learnt_rate is 'What was learnt of a limit that no setting tells. Kept over restarts; a deleted row is learnt anew.';
comment on column dirsync.learnt_rate.gate is 'Name of the gate, as in dirsync.pacer; preceded by platform and application where Redis keeps the slots.';
comment on column dirsync.learnt_rate.version is 'Counts the changes, so that of two processes that learn at the same moment one gives way.';
comment on column dirsync.learnt_rate.rate_per_second is 'Calls per second that are let go, of all processes together.';
comment on column dirsync.learnt_rate.ceiling is 'The rate at which calls were last refused; null before the first refusal.';
comment on column dirsync.learnt_rate.lowered_at is 'When it was last lowered; null if never.';
comment on column dirsync.learnt_rate.changed_at is 'When it was last changed.';
comment on column dirsync.learnt_rate.leased_at_change is 'Slots that had ever been reserved by then.';

alter table dirsync.pacer add column leased bigint not null default 0;

comment on table dirsync.pacer is 'The gates for calls to the platform: processes reserve evenly spaced slots by moving next_at. Not used where Redis keeps them.';
comment on column dirsync.pacer.gate is 'Name of the gate: platform, or operation: and the operation that has a budget of its own.';
comment on column dirsync.pacer.leased is 'Slots ever reserved.';

create function dirsync.lease_slots(
  _gate text, _holder text, _count int, _spacing_ms float8, _budget text, _budget_spacing_ms float8,
  out start_ms float8, out now_ms float8, out paused_until_ms float8, out shared boolean, out spacing_ms float8,
  out count int, out leased bigint, out learnt dirsync.learnt_rate
) language plpgsql as $$
declare
  _slots dirsync.pacer;
  _now timestamptz;
  _start timestamptz;
  _budget_next timestamptz;
begin
  select * into learnt from dirsync.learnt_rate where gate = _gate;
  spacing_ms := coalesce(_spacing_ms, 1000 / learnt.rate_per_second, 0);

  if _budget is not null then
    loop
      select next_at into _budget_next from dirsync.pacer where gate = _budget for update;
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
  _start := greatest(_slots.next_at, _now, _slots.paused_until);
  count := case when spacing_ms > 0 then _count else 0 end;
  if _budget_next > _start + interval '10 ms' then
    count := 0;
    _start := _budget_next;
  elsif count > 0 then
    _start := greatest(_start, _budget_next);
    update dirsync.pacer p
    set next_at = _start + count * spacing_ms * interval '1 ms',
        leased = p.leased + count, previous_holder = p.holder, holder = _holder
    where p.gate = _gate;
    update dirsync.pacer p
    set next_at = _start + _budget_spacing_ms * interval '1 ms', leased = p.leased + 1, previous_holder = p.holder, holder = _holder
    where p.gate = _budget;
  end if;

  start_ms := extract(epoch from _start) * 1000;
  now_ms := extract(epoch from _now) * 1000;
  paused_until_ms := extract(epoch from _slots.paused_until) * 1000;
  shared := coalesce(_slots.holder <> _holder, false);
  leased := _slots.leased + count;
end $$;

comment on function dirsync.lease_slots is 'Reserves the next free slots of a gate, never in the past or within its pause, spaced as given or as learnt. With a budget: one slot that both gates have free, or none and the moment from which the budget has one. Times in milliseconds since 1970.';
