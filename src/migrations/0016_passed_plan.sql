-- Nothing is sent that no plan has passed: held plans are stored, and workers send only what a plan saw.

alter table dirsync.sync_run drop constraint sync_run_state_check;
alter table dirsync.sync_run add constraint sync_run_state_check
  check (state in ('requested', 'planning', 'held', 'running', 'done', 'failed', 'source_suspect', 'rejected',
                   'superseded', 'cancelled'));
alter table dirsync.sync_run
  add column rejudge_at      timestamptz,
  add column judged_at       timestamptz,
  add column decision_reason text,
  add column cancelled_at    timestamptz;

comment on column dirsync.sync_run.state is
  'requested → planning → running → done; held waits for approve or reject; superseded: held until a later run took its place; source_suspect: HR looked wrong and nothing was enqueued; cancelled: its waiting work was taken back; failed: see message.';
comment on column dirsync.sync_run.approved is 'True once a person approved the held run: exactly its stored plan is carried out.';
comment on column dirsync.sync_run.decided_by is 'Database user or command that approved, rejected or cancelled.';
comment on column dirsync.sync_run.decided_at is 'When it was approved, rejected or cancelled.';
comment on column dirsync.sync_run.decision_reason is 'Reason given with reject or cancel.';
comment on column dirsync.sync_run.rejudge_at is 'held: when HR is to be judged again; null: nobody has asked.';
comment on column dirsync.sync_run.judged_at is 'held: when HR was last judged again.';
comment on column dirsync.sync_run.cancelled_at is 'When its waiting work was taken back; it ends with what was in hand.';
comment on column dirsync.sync_run.plan is
  'The plan in figures: counts by reason and a sample of keys; skipped: employees left out by max_age; changed_since: rows of a held plan that HR has changed meanwhile.';

create table dirsync.planned_work (
  run_id          bigint not null references dirsync.sync_run on delete cascade,
  operation       text not null check (operation in ('update-employee', 'delete-department')),
  enterprise_code text not null default '',
  entity_key      text not null,
  reason          text,
  active          boolean,
  source_hash     uuid,
  previous_hash   uuid,
  wave            smallint not null default 0,
  primary key (run_id, operation, enterprise_code, entity_key)
);
comment on table dirsync.planned_work is 'The plans of held runs, entity by entity: what approve carries out, and nothing else. Kept 30 days after the run has ended.';
comment on column dirsync.planned_work.run_id is 'The held run.';
comment on column dirsync.planned_work.operation is 'Which job would do the work.';
comment on column dirsync.planned_work.enterprise_code is 'Enterprise; empty for a single enterprise.';
comment on column dirsync.planned_work.entity_key is 'User id or department code.';
comment on column dirsync.planned_work.reason is 'Why there is work: new, changed, asked, left, vanished, delete; null: the row is only remembered.';
comment on column dirsync.planned_work.active is 'Whether HR has the employee as active; null for a department, or where HR has no row.';
comment on column dirsync.planned_work.source_hash is 'Hash of the HR row as the plan saw it; null where HR has no row.';
comment on column dirsync.planned_work.previous_hash is 'employee.source_hash at that time: a plan that passed later goes before this one.';
comment on column dirsync.planned_work.wave is 'Departments: children before parents.';

alter table dirsync.pending
  add column named     boolean not null default false,
  add column replan_at timestamptz;
create index pending_replan on dirsync.pending (replan_at) where replan_at is not null;
comment on column dirsync.pending.named is 'True where a person named the entity: it is sent as HR has it now, whatever a plan saw.';
comment on column dirsync.pending.replan_at is 'When a worker found another HR row than the plan saw. The row then waits (not_before is infinity) until a plan has judged it.';
comment on column dirsync.pending.not_before is 'Earliest moment of the next attempt; infinity: it waits for a plan (replan_at).';

alter table dirsync.attempt drop constraint attempt_outcome_check;
alter table dirsync.attempt add constraint attempt_outcome_check
  check (outcome in ('in_step', 'updated', 'partly_updated', 'deleted', 'bound', 'awaiting_activation', 'left', 'parked',
                     'retry', 'wait', 'halted', 'obsolete', 'replan'));
comment on column dirsync.attempt.outcome is
  'in_step: nothing to send, or nothing new in a mirror; updated: fields sent, or rows of a mirror written; partly_updated: some fields held back; left: gone from HR and from the platform; retry, wait, halted: to be repeated; replan: HR has another row than the plan saw, so nothing was sent; obsolete: nothing to do any more.';

comment on column dirsync.employee.source_hash is 'Hash of the HR row as the last plan that passed saw it. Only plans write it, and only this row is sent.';

create index sync_run_cancelled on dirsync.sync_run (cancelled_at) where cancelled_at is not null;
create index command_run on dirsync.command (run_id) where run_id is not null;
comment on column dirsync.command.name is
  'resync, retry, retry_category, ignore, snooze, approve, reject, cancel, pause, resume.';

-- Plans of earlier versions were shown and not stored, so there is nothing that could be approved.
update dirsync.sync_run
set state = 'superseded', finished_at = now(),
    message = 'Held by an earlier version of dirsync, which did not store plans: the next run judges HR anew.'
where state = 'held' or approved and state in ('requested', 'planning');

-- Decisions about runs -------------------------------------------------------

drop function dirsync.approve(bigint);
drop function dirsync.reject(bigint);
drop function dirsync.decide(bigint, boolean);

create function dirsync.note_command(name text, run bigint, arguments jsonb) returns void
language sql set search_path = pg_catalog, pg_temp as $$
  insert into dirsync.command (name, arguments, requested_by, run_id)
  values (note_command.name, jsonb_strip_nulls(arguments), dirsync.actor(), run)
$$;
comment on function dirsync.note_command is 'Writes down what a person asked for.';

create function dirsync.decide(run bigint, approve boolean, reason text) returns bigint
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  update dirsync.sync_run r
  set state = case when approve then 'requested' else 'rejected' end, approved = approve, rejudge_at = null,
      decided_by = dirsync.actor(), decided_at = now(), decision_reason = nullif(btrim(decide.reason), ''),
      finished_at = case when approve then null else now() end
  where r.id = run and r.state = 'held';
  if not found then
    raise exception 'there is no held run %', coalesce(run::text, 'null') using errcode = 'P0002',
      hint = 'select id, kind, message from dirsync.sync_run where state = ''held''';
  end if;
  perform dirsync.note_command(case when approve then 'approve' else 'reject' end, run,
                               jsonb_build_object('run', run, 'reason', nullif(btrim(decide.reason), '')));
  perform pg_notify('dirsync', 'run');
  return run;
end $$;
comment on function dirsync.decide is 'Approves or rejects a held run.';

create function dirsync.approve(run bigint) returns bigint
language sql security definer set search_path = pg_catalog, pg_temp as $$ select dirsync.decide(run, true, null) $$;
comment on function dirsync.approve is 'Lets a held run go on: exactly the plan that was stored is carried out. Returns its number.';

create function dirsync.reject(run bigint, reason text default null) returns bigint
language sql security definer set search_path = pg_catalog, pg_temp as $$ select dirsync.decide(run, false, reason) $$;
comment on function dirsync.reject is 'Ends a held run without writing anything. Returns its number.';

create function dirsync.take_back(run bigint) returns void
language sql set search_path = pg_catalog, pg_temp as $$
  with waiting as materialized (
    select p.operation, p.enterprise_code, p.entity_key, p.detail from dirsync.pending p
    where p.run_id = run and p.starts = 0
    order by p.operation, p.enterprise_code, p.entity_key, p.detail for update
  ), taken_back as (
    -- By its key: what somebody else has touched meanwhile is the same row in another place.
    delete from dirsync.pending p using waiting w
    where p.operation = w.operation and p.enterprise_code = w.enterprise_code and p.entity_key = w.entity_key
      and p.detail = w.detail and p.starts = 0
    returning p.operation, p.enterprise_code, p.entity_key
  )
  -- No plan has passed them any more: the next one judges them anew, breakers included.
  update dirsync.employee e set source_hash = coalesce(e.acknowledged_hash, e.parked_hash), vanished_at = null
  from taken_back t
  where t.operation = 'update-employee' and e.enterprise_code = t.enterprise_code and e.userid = t.entity_key
$$;
comment on function dirsync.take_back is 'Takes the waiting work of a cancelled run out of the outbox; what is in hand is not touched.';

create function dirsync.cancel(run bigint, reason text default null) returns bigint
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  was text;
begin
  select r.state into was from dirsync.sync_run r where r.id = run for no key update;
  if was = 'held' then
    raise exception 'run % is held, so nothing of it is under way: reject it instead', run using errcode = 'P0002',
      hint = format('select dirsync.reject(%s, ''reason'')', run);
  end if;
  if was is null then
    raise exception 'there is no run %', coalesce(run::text, 'null') using errcode = 'P0002';
  end if;
  if was not in ('requested', 'planning', 'running') then
    raise exception 'run % is %, so nothing of it is under way', run, was using errcode = 'P0002',
      hint = 'select id, kind, state from dirsync.sync_run where finished_at is null';
  end if;

  perform dirsync.take_back(run);
  -- Cases that waited for this run wait again; they come back by themselves.
  update dirsync.dead_letter d set state = 'open', next_retry_at = now() + interval '7 days', version = d.version + 1
  where d.state = 'retrying'
    and not exists (select from dirsync.pending p
                    where p.enterprise_code = d.enterprise_code and p.entity_key = d.entity_key
                      and p.operation = d.operation)
    and exists (select from dirsync.dead_letter_event v
                where v.dead_letter_id = d.id and v.event = 'retried' and v.run_id = run);
  delete from dirsync.mirror_task t where t.run_id = run;

  update dirsync.sync_run r
  set cancelled_at = now(), decided_by = dirsync.actor(), decided_at = now(),
      decision_reason = nullif(btrim(cancel.reason), ''),
      state = case when was = 'running' and r.kind not in ('orders', 'accounts', 'taxpayers') then 'running' else 'cancelled' end,
      finished_at = case when was = 'running' and r.kind not in ('orders', 'accounts', 'taxpayers') then null else now() end
  where r.id = run;
  perform dirsync.note_command('cancel', run, jsonb_build_object('run', run, 'reason', nullif(btrim(cancel.reason), '')));
  perform pg_notify('dirsync', 'run');
  return run;
end $$;
comment on function dirsync.cancel is 'Takes the waiting work of a run back; what is in hand ends. The next run judges anew what was taken back. Returns its number.';

-- Pause ----------------------------------------------------------------------

alter table dirsync.halt add column raised_by text not null default 'dirsync';
comment on column dirsync.halt.raised_by is 'dirsync, or the person who paused all calls.';
comment on column dirsync.halt.category is 'clock_skew, credentials, enterprise_code, platform_unavailable …; paused: a person stopped all calls.';
comment on column dirsync.halt.next_probe_at is 'When the next job is let through to see whether it works again; infinity: not before resume().';

create function dirsync.pause(reason text) returns text
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  if coalesce(btrim(reason), '') = '' then
    raise exception 'pause needs a reason' using errcode = '22023', hint = 'select dirsync.pause(''platform maintenance until 18:00'')';
  end if;
  insert into dirsync.halt as h (scope, category, message, remedy, next_probe_at, raised_by)
  values ('*', 'paused', format('All calls are paused by %s: %s', dirsync.actor(), btrim(reason)),
          'Let them go on with `dirsync resume`.', 'infinity', dirsync.actor())
  on conflict (scope) do update
  set (category, platform_code, message, remedy, next_probe_at, raised_by, since, probes)
    = (excluded.category, null, excluded.message, excluded.remedy, excluded.next_probe_at, excluded.raised_by,
       case when h.category = 'paused' then h.since else now() end, 0);
  perform dirsync.note_command('pause', null, jsonb_build_object('reason', btrim(reason)));
  perform pg_notify('dirsync', 'feed');
  return btrim(reason);
end $$;
comment on function dirsync.pause is 'Stops all calls of this deployment to the platform within a second, until resume(). Returns the reason.';

create function dirsync.resume() returns boolean
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  delete from dirsync.halt h where h.scope = '*' and h.category = 'paused';
  if not found then
    return false;
  end if;
  perform dirsync.note_command('resume', null, '{}');
  perform pg_notify('dirsync', 'feed');
  return true;
end $$;
comment on function dirsync.resume is 'Lets calls go on after pause(). Returns whether they were paused.';

revoke execute on function dirsync.note_command, dirsync.take_back, dirsync.decide, dirsync.approve, dirsync.reject, dirsync.cancel,
  dirsync.pause, dirsync.resume from public;
