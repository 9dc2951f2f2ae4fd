-- What is shown is so: how an employee stands is decided in one place, and what a person has held, rejected
-- or accepted is a standing of its own.

alter table dirsync.employee
  add column held_run  bigint,
  add column held_hash uuid,
  add column rejected  boolean not null default false,
  add column accepted  boolean not null default false;
alter table dirsync.employee
  add column standing text not null generated always as (
    case when held_run is not null and rejected then 'rejected'
         when held_run is not null then 'held'
         when vanished_at is not null then 'vanished'
         when not active then 'left'
         when acknowledged_hash = source_hash then 'in_step'
         when parked_hash = source_hash and platform_state = 'absent' then 'awaiting_activation'
         when parked_hash = source_hash and accepted then 'accepted'
         when parked_hash = source_hash then 'dead_lettered'
         else 'waiting' end) stored;
comment on column dirsync.employee.held_run is
  'The held run that waits for a decision about another HR row, or that was rejected; null: there is none.';
comment on column dirsync.employee.held_hash is
  'Hash of that HR row; null where HR has no row any more, or held_run is null.';
comment on column dirsync.employee.rejected is
  'True once a person has rejected held_run: nothing is planned until HR has yet another row.';
comment on column dirsync.employee.accepted is
  'True while a person has ignored cases of the employee, and no other case is unresolved.';
comment on column dirsync.employee.standing is
  'How the employee stands, for every screen, list and figure. held: HR has another row, which waits for a '
  'decision about held_run; rejected: a person rejected it; vanished, left: as HR says; in_step: the platform '
  'confirmed every field; awaiting_activation: not yet on the platform; accepted: it differs, and a person '
  'ignored that; dead_lettered: a field or the whole is in review; waiting: to be sent.';

drop index dirsync.employee_standing;
create index employee_standing on dirsync.employee (standing, enterprise_code, userid)
  where standing <> 'in_step';
create index employee_held on dirsync.employee (held_run) where held_run is not null;

alter table dirsync.department add column rejected_run bigint;
comment on column dirsync.department.rejected_run is
  'The run with which a person rejected its deletion; null: nobody has, or HR has changed it since.';

alter table dirsync.planned_work add column acknowledged jsonb;
comment on column dirsync.planned_work.acknowledged is
  'Of a row whose fields nobody had read when the plan was carried out: per field the hash of the value '
  'that the platform had confirmed by then. What was approved can be told by it afterwards.';

create or replace function dirsync.tally_employee() returns trigger
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
comment on column dirsync.tally.state is
  'dead_letter, sync_run: the state; employee: its standing.';

alter table dirsync.standing_history
  add column held     integer not null default 0,
  add column rejected integer not null default 0,
  add column accepted integer not null default 0;
comment on column dirsync.standing_history.held is 'Employees whose change in HR waits for a decision.';
comment on column dirsync.standing_history.rejected is 'Employees whose change in HR a person rejected.';
comment on column dirsync.standing_history.accepted is 'Employees whose difference a person accepted.';

create or replace function dirsync.note_standing() returns timestamptz
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

-- A rejection lasts until HR changes the rows in question; whatever else waited for the decision goes on.
create or replace function dirsync.decide(run bigint, approve boolean, reason text) returns bigint
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  was  dirsync.sync_run;
  said text := dirsync.text_of(reason, 'reason', 2000);
begin
  select * into was from dirsync.sync_run r where r.id = run for no key update;
  if was.state is distinct from 'held' then
    perform dirsync.refuse_decided(was);
    raise exception 'there is no held run %', coalesce(run::text, 'null') using errcode = 'P0002',
      hint = 'select id, kind, message from dirsync.sync_run where state = ''held''';
  end if;
  perform dirsync.note_command(case when approve then 'approve' else 'reject' end, run,
                               jsonb_build_object('run', run, 'reason', said));
  if not approve then
    -- What HR has changed since the plan was stored, nobody has seen: the next plan judges it.
    with planned as materialized (
      select e.enterprise_code, e.userid from dirsync.employee e
      join dirsync.planned_work w
        on w.run_id = run and w.operation = 'update-employee' and w.enterprise_code = e.enterprise_code
       and w.entity_key = e.userid
      where e.held_run = run and e.held_hash is not distinct from w.source_hash
      order by 1, 2 for update of e
    )
    update dirsync.employee e set rejected = true
    from planned p where p.enterprise_code = e.enterprise_code and p.userid = e.userid;
    update dirsync.department d set rejected_run = run
    from dirsync.planned_work w
    where w.run_id = run and w.operation = 'delete-department'
      and w.enterprise_code = d.enterprise_code and w.entity_key = d.dept_code;
  end if;
  update dirsync.sync_run r
  set state = case when approve then 'requested' else 'rejected' end, approved = approve, rejudge_at = null,
      decided_by = dirsync.actor(), decided_at = now(), decision_reason = said,
      finished_at = case when approve then null else now() end
  where r.id = run;
  -- What changed in HR while it was held has waited long enough.
  if was.kind in ('changes', 'full') then
    insert into dirsync.sync_run (kind, requested_by, hr_source)
    select 'changes', dirsync.actor(), was.hr_source
    where not exists (select from dirsync.sync_run r
                      where r.kind = 'changes' and r.keys = '{}' and r.state = 'requested'
                        and r.hr_source = was.hr_source and r.id <> run);
  end if;
  perform pg_notify('dirsync', 'run');
  return run;
end $$;

-- An ignored case is a difference that a person has accepted.
create function dirsync.note_accepted() returns trigger
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  with concerned as materialized (
    select e.enterprise_code, e.userid, e.accepted,
           (select coalesce(bool_and(d.state = 'ignored'), false) from dirsync.dead_letter d
            where d.enterprise_code = e.enterprise_code and d.entity_key = e.userid
              and d.operation = 'update-employee' and d.state <> 'resolved') as is_accepted
    from dirsync.employee e
    where (e.enterprise_code, e.userid) in (select enterprise_code, entity_key from added
                                            where operation = 'update-employee')
    order by 1, 2
  )
  update dirsync.employee e set accepted = c.is_accepted
  from concerned c
  where c.accepted <> c.is_accepted and e.enterprise_code = c.enterprise_code and e.userid = c.userid;
  return null;
end $$;
comment on function dirsync.note_accepted is 'Keeps employee.accepted as cases are written.';
create trigger accepted_by_insert after insert on dirsync.dead_letter referencing new table as added
  for each statement execute function dirsync.note_accepted();
create trigger accepted_by_update after update on dirsync.dead_letter referencing new table as added
  for each statement execute function dirsync.note_accepted();
update dirsync.employee e set accepted = true
from (select enterprise_code, entity_key from dirsync.dead_letter
      where operation = 'update-employee' and state <> 'resolved'
      group by 1, 2 having bool_and(state = 'ignored')) d
where d.enterprise_code = e.enterprise_code and d.entity_key = e.userid;
revoke execute on function dirsync.note_accepted() from public;
