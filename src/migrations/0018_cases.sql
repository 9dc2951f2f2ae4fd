-- Cases are found by more, and listed in more orders, among a hundred thousand open and a million resolved ones.

create index employee_dept_code on dirsync.employee (dept_code) where dept_code is not null;
-- Searched for whatever their capitals.
create index employee_userid_lower on dirsync.employee ((lower(userid collate "C")), enterprise_code);
create index department_code_lower on dirsync.department ((lower(dept_code collate "C")), enterprise_code);
-- Cases of mirrors, of which each run asks several times.
create index dead_letter_mirror on dirsync.dead_letter (operation, id)
  where operation in ('mirror-orders', 'mirror-accounts', 'mirror-taxpayers') and state <> 'resolved';
-- Cases that wait for a value whoever has it, such as a work number, and employees whose last update gave one up.
create index dead_letter_wanted on dirsync.dead_letter
  (enterprise_code, category, (upper((changed_fields -> 0 ->> 'value') collate "C")))
  where category in ('duplicate_work_number', 'missing_department') and state not in ('resolved', 'ignored');
create index employee_given_up on dirsync.employee (enterprise_code, (overwritten ->> 'corp_code'))
  where overwritten ->> 'corp_code' is not null;
-- Whom a field is withheld from, beside fields that are withheld from all and other enterprises' employees. Rows with nothing
-- withheld are not in it: their updates cost what they did.
create function dirsync.withheld_fields(enterprise_code text, withheld text[]) returns text[]
language sql immutable set search_path = pg_catalog, pg_temp as $$
  select array(select enterprise_code || '/' || w.field from unnest(withheld) as w (field))
$$;
comment on function dirsync.withheld_fields is 'The fields that are withheld from an employee, each with the enterprise.';
create index employee_withheld_field
  on dirsync.employee using gin (dirsync.withheld_fields(enterprise_code, withheld)) where withheld <> '{}';
create index dead_letter_occurrences on dirsync.dead_letter (occurrences, id)
  where state not in ('resolved', 'ignored');
create index dead_letter_open_key on dirsync.dead_letter ((lower(entity_key collate "C")), id)
  where state not in ('resolved', 'ignored');
-- A part of a key is looked for in this index alone. The one above has no room for a long key twice.
create index dead_letter_open_part on dirsync.dead_letter (id) include (entity_key)
  where state not in ('resolved', 'ignored');
create index dead_letter_open_state on dirsync.dead_letter (state, id)
  where state not in ('resolved', 'ignored');
create index dead_letter_open_cause on dirsync.dead_letter (category, id)
  where state not in ('resolved', 'ignored');
create index dead_letter_open_assignee on dirsync.dead_letter ((coalesce(assignee, '')), id)
  where state not in ('resolved', 'ignored');
create index dead_letter_open_next_try on dirsync.dead_letter
  ((coalesce(next_retry_at, '2100-01-01 00:00:00+00'::timestamptz)), id)
  where state not in ('resolved', 'ignored');
-- What people have written.
create index dead_letter_event_words on dirsync.dead_letter_event (dead_letter_id)
  where event in ('commented', 'ignored', 'snoozed');

-- The last date that every reader knows; `set_snoozed` keeps to it.
update dirsync.dead_letter set snooze_until = '9999-12-31 00:00 UTC', next_retry_at = '9999-12-31 00:00 UTC'
where snooze_until > '9999-12-31 00:00 UTC';

-- The note is that of the decision in force; the history has those of earlier ones.
update dirsync.dead_letter set note = null
where note is not null and state not in ('snoozed', 'ignored', 'resolved');

-- A snooze that begins later than now was written before the clock was put back.
create index dead_letter_event_snoozed on dirsync.dead_letter_event (at) where event = 'snoozed';

-- Undo, and waking ------------------------------------------------------------

-- Rows are not checked again: every step that there is passes.
alter table dirsync.dead_letter_event
  drop constraint dead_letter_event_event_check,
  add constraint dead_letter_event_event_check
    check (event in ('opened', 'changed', 'retried', 'resolved', 'ignored', 'snoozed', 'reopened', 'assigned',
                     'commented', 'woken', 'undone')) not valid,
  add column before jsonb;
comment on column dirsync.dead_letter.state is
  'open: waits for a person (and a weekly probe); blocked: the same, and it is tried again once its holder has changed, '
  'which had work when it failed; retry_scheduled, awaiting_activation: dirsync tries again by itself; retrying: a run '
  'is trying it again; snoozed: until snooze_until; resolved; ignored: until the HR row changes, or it fails for '
  'another reason than that the platform was away.';
comment on column dirsync.dead_letter_event.event is
  'What happened; changed: it failed again for another reason; assigned: the note says to whom, null for no one; '
  'woken: its snooze was ended early; undone: the note says which step was taken back.';
comment on column dirsync.dead_letter_event.before is
  'How the case was before it was ignored, snoozed or assigned, and the version that this gave it, for undo; null '
  'for other steps.';

create function dirsync.undo_time() returns interval
language sql immutable set search_path = pg_catalog, pg_temp as $$
  select interval '10 minutes'
$$;
comment on function dirsync.undo_time is 'How long a step of a case, or a bulk action, can be taken back.';

create function dirsync.case_before(d dirsync.dead_letter) returns jsonb
language sql immutable set search_path = pg_catalog, pg_temp as $$
  select jsonb_build_object('state', d.state, 'next_retry_at', d.next_retry_at, 'snooze_until', d.snooze_until,
                            'note', d.note, 'assignee', d.assignee, 'version', d.version + 1,
                            'gave', d.version + 1)
$$;
comment on function dirsync.case_before is
  'What an undo restores of a case, and the version that the case gets from the step that is about to be taken: gave '
  'stays as it was, version moves on when a later step is taken back.';

create function dirsync.locked_case(id bigint) returns dirsync.dead_letter
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  locked dirsync.dead_letter;
begin
  -- Whether a case is ignored is noted with its employee, and an outcome writes the employee first.
  perform from dirsync.employee e
  where (e.enterprise_code, e.userid) in (select d.enterprise_code, d.entity_key from dirsync.dead_letter d
                                          where d.id = locked_case.id and d.operation = 'update-employee')
  for no key update;
  select * into locked from dirsync.dead_letter d where d.id = locked_case.id for no key update;
  return locked;
end $$;
comment on function dirsync.locked_case is
  'Locks a case for a decision about it, and before it its employee, as outcomes do, so that neither waits for the other.';

create or replace function dirsync.expect_version(id bigint, version integer) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  if (dirsync.locked_case(id)).version <> expect_version.version then
    perform dirsync.refuse('DS409', 'said.case_has_changed',
      jsonb_build_object('case', id, 'change', dirsync.last_change(id)),
      hint => 'Look at it again before you decide.');
  end if;
end $$;

create or replace function dirsync.set_ignored(id bigint, reason text) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  was dirsync.dead_letter := dirsync.locked_case(id);
begin
  update dirsync.dead_letter d
  set state = 'ignored', note = reason, next_retry_at = null, snooze_until = null, version = d.version + 1
  where d.id = set_ignored.id and d.state not in ('resolved', 'ignored');
  if not found then
    perform dirsync.refuse('P0002', 'said.no_open_case', jsonb_build_object('case', id));
  end if;
  insert into dirsync.dead_letter_event (dead_letter_id, actor, event, note, before)
  values (id, dirsync.actor(), 'ignored', reason, dirsync.case_before(was));
end $$;

create or replace function dirsync.set_snoozed(id bigint, until timestamptz, reason text) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  was dirsync.dead_letter;
begin
  if until is null or until <= now() then
    perform dirsync.refuse('22023', 'said.snooze_needs_time',
      hint => 'select dirsync.snooze(17, now() + interval ''3 days'')');
  end if;
  -- Not every reader knows later dates, nor infinity.
  until := least(until, '9999-12-31 00:00 UTC');
  select * into was from dirsync.dead_letter d where d.id = set_snoozed.id for no key update;
  update dirsync.dead_letter d
  set state = 'snoozed', snooze_until = until, next_retry_at = until,
      -- Snoozed again, it keeps the reason; that of an earlier decision is not this one's.
      note = case when d.state = 'snoozed' then coalesce(reason, d.note) else reason end,
      version = d.version + 1
  where d.id = set_snoozed.id and d.state not in ('resolved', 'ignored');
  if not found then
    perform dirsync.refuse('P0002', 'said.no_open_case', jsonb_build_object('case', id));
  end if;
  insert into dirsync.dead_letter_event (dead_letter_id, actor, event, note, before)
  values (id, dirsync.actor(), 'snoozed', reason, dirsync.case_before(was));
end $$;

create or replace function dirsync.record_failure(failure jsonb) returns bigint
language plpgsql as $$
declare
  f       dirsync.dead_letter := jsonb_populate_record(null::dirsync.dead_letter, failure);
  old     dirsync.dead_letter;
  is_same boolean;
  accepts boolean;
  sleeps  boolean;
begin
  -- What HR says of a department: one that it opens and closes again is another matter.
  if f.operation = 'delete-department' then
    select md5(concat_ws(' ', p.active, extract(epoch from p.closed_at),
                         extract(epoch from p.first_missing_at)))
    into f.source_hash
    from dirsync.department p
    where p.enterprise_code = f.enterprise_code and p.dept_code = f.entity_key;
  end if;
  select * into old from dirsync.dead_letter d
  where d.enterprise_code = f.enterprise_code and d.entity = f.entity and d.entity_key = f.entity_key
    and d.operation = f.operation and d.field = f.field and d.state <> 'resolved'
  order by (d.state <> 'ignored') desc, d.id desc limit 1 for update;

  if old.id is null then
    insert into dirsync.dead_letter (
      enterprise_code, entity, entity_key, operation, field, category, platform_code,
      trace_id, message, remedy, changed_fields, blocked_by, source_hash,
      state, next_retry_at, first_run_id, last_run_id)
    values (
      f.enterprise_code, f.entity, f.entity_key, f.operation, f.field, f.category, f.platform_code,
      f.trace_id, f.message, f.remedy, coalesce(f.changed_fields, '[]'), f.blocked_by, f.source_hash,
      f.state, f.next_retry_at, f.last_run_id, f.last_run_id)
    returning * into old;
    insert into dirsync.dead_letter_event (dead_letter_id, event, run_id, note)
    values (old.id, 'opened', f.last_run_id, f.category);
    return old.id;
  end if;

  is_same := old.source_hash is not distinct from f.source_hash;
  -- An ignored case stays ignored while HR gives the same row and that fails for the same reason; a snoozed
  -- one sleeps on. Parts of a mirror and fields of an enterprise have no HR row: the reason alone counts.
  accepts := old.state = 'ignored' and is_same and old.category = f.category;
  -- That the platform could not be asked says nothing about the row: what was accepted stays as it is.
  if old.state = 'ignored' and is_same and not accepts
     and f.category in ('platform_unavailable', 'token') then
    return old.id;
  end if;
  sleeps := old.state = 'snoozed' and old.snooze_until > now();
  update dirsync.dead_letter d
  set category = f.category, platform_code = f.platform_code, trace_id = f.trace_id,
      message = f.message, remedy = f.remedy,
      changed_fields = coalesce(f.changed_fields, '[]'), blocked_by = f.blocked_by,
      source_hash = f.source_hash,
      occurrences = d.occurrences + 1, last_failed_at = now(), last_run_id = f.last_run_id,
      version = d.version + 1,
      state = case when accepts or sleeps then old.state else f.state end,
      next_retry_at = case when accepts then null
                           when sleeps then old.snooze_until
                           else f.next_retry_at end,
      -- What a person said of a decision ends with it.
      note = case when accepts or sleeps then old.note end
  where d.id = old.id;
  if old.state = 'ignored' and not accepts then
    insert into dirsync.dead_letter_event (dead_letter_id, event, run_id, note)
    values (old.id, 'reopened', f.last_run_id,
            case when is_same then f.category else 'the HR row changed' end);
  elsif old.category <> f.category then
    insert into dirsync.dead_letter_event (dead_letter_id, event, run_id, note)
    values (old.id, 'changed', f.last_run_id, f.category);
  end if;
  return old.id;
end $$;
create or replace function dirsync.set_assigned(id bigint, assignee text) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  was  dirsync.dead_letter;
  -- A user by their name, however it was typed: by it they find what is theirs.
  name text := coalesce((select u.name from dirsync.console_user u where u.name = lower(assignee)), assignee);
begin
  select * into was from dirsync.dead_letter d where d.id = set_assigned.id for no key update;
  update dirsync.dead_letter d set assignee = name, version = d.version + 1
  where d.id = set_assigned.id;
  if not found then
    perform dirsync.refuse('P0002', 'said.no_case', jsonb_build_object('case', id));
  end if;
  insert into dirsync.dead_letter_event (dead_letter_id, actor, event, note, before)
  values (id, dirsync.actor(), 'assigned', name, dirsync.case_before(was));
end $$;

-- The steps of one transaction come one after the other.
alter table dirsync.dead_letter_event alter column at set default clock_timestamp();

create function dirsync.holder_has_changed(d dirsync.dead_letter) returns boolean
language sql stable set search_path = pg_catalog, pg_temp as $$
  select exists (select from dirsync.attempt a
                 left join dirsync.pending p using (operation, enterprise_code, entity_key)
                 where a.enterprise_code = d.enterprise_code and a.entity_key = d.blocked_by
                   and a.operation = 'update-employee'
                   and (d.field = any (a.fields) or a.outcome in ('left', 'awaiting_activation') or p.sent_unknown)
                   and a.started_at + a.duration_ms * interval '1 millisecond' > d.last_failed_at
                   and a.started_at <= now())
      or exists (select from dirsync.employee e
                 where e.enterprise_code = d.enterprise_code and e.userid = d.blocked_by
                   and e.platform_state = 'absent' and e.queried_at > d.last_failed_at)
$$;
comment on function dirsync.holder_has_changed is
  'Whether the platform has accepted another value of the employee who blocks a case, or may have, since it failed last, or has '
  'that employee no longer: the value may be free. As far back as attempts are kept.';

create function dirsync.next_turn(d dirsync.dead_letter, out state text, out at timestamptz)
language sql stable set search_path = pg_catalog, pg_temp as $$
  select case when d.category = 'not_on_platform' then 'awaiting_activation'
              when d.entity = 'mirror' or heals then 'retry_scheduled'
              else 'open' end,
         now() + case when d.entity = 'mirror' then interval '1 hour'
                      -- Each run that reads every row of HR decides about it, and a retry would ask for one.
                      when d.operation = 'read-hr' or d.entity_key = '(no user id)' then null
                      -- Of a rejected employee nothing is sent, whatever has changed.
                      when exists (select from dirsync.employee e
                                   where e.enterprise_code = d.enterprise_code and e.userid = d.entity_key
                                     and e.rejected)
                        then interval '7 days'
                      -- What it waits for may be free: that may have been the reason for the retry.
                      when d.blocked_by is not null then interval '1 minute'
                      when heals then least(interval '1 hour' * 2 ^ least(d.occurrences - 1, 5), interval '1 day')
                      else interval '7 days' end
  -- As HEALING in outcome.ts has them.
  from (select d.category in ('not_on_platform', 'platform_unavailable', 'unclassified', 'unsettled_hr_row')) h (heals)
$$;
comment on function dirsync.next_turn is
  'The state of a case that waits for its next turn, and when that comes: as after its latest failure, but soon if it waits for '
  'another employee. Null: it has none.';

create function dirsync.set_woken(id bigint) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  was jsonb;
begin
  -- Of several snoozes in a row the first one has it.
  select v.before into was from dirsync.dead_letter_event v
  where v.dead_letter_id = set_woken.id and v.event = 'snoozed' and v.before ->> 'state' <> 'snoozed'
  order by v.id desc limit 1;
  update dirsync.dead_letter d
  set state = case when was ->> 'state' in ('open', 'retry_scheduled', 'awaiting_activation', 'blocked')
                   then was ->> 'state' else (dirsync.next_turn(d)).state end,
      -- As before it was snoozed, where that has not passed. Its holder's change was not waited for.
      next_retry_at = case when dirsync.holder_has_changed(d) then now() + interval '1 minute'
                           when (was ->> 'next_retry_at')::timestamptz > now()
                           then (was ->> 'next_retry_at')::timestamptz else (dirsync.next_turn(d)).at end,
      snooze_until = null, note = null, version = d.version + 1
  where d.id = set_woken.id and d.state = 'snoozed';
  if not found then
    perform dirsync.refuse('P0002', 'said.no_snoozed_case', jsonb_build_object('case', id));
  end if;
  insert into dirsync.dead_letter_event (dead_letter_id, actor, event) values (id, dirsync.actor(), 'woken');
end $$;
comment on function dirsync.set_woken is 'Ends the snooze of a case: it is as before, and waits for a person.';

create function dirsync.wake(id bigint) returns bigint
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  perform dirsync.note_command('wake', null, jsonb_build_object('id', id), id);
  perform dirsync.set_woken(id);
  return id;
end $$;
comment on function dirsync.wake is
  'Ends the snooze of a case early, without trying it again: it is as it was before. Returns its number.';

create function dirsync.last_step(id bigint) returns dirsync.dead_letter_event
language sql stable set search_path = pg_catalog, pg_temp as $$
  select s from dirsync.dead_letter_event s
  where s.dead_letter_id = last_step.id and s.before is not null
  order by s.before ? 'undone', s.id desc limit 1
$$;
comment on function dirsync.last_step is
  'The last ignore, snooze or assignment of a case that was not taken back; if all were, the last of those.';

create function dirsync.undoable(id bigint, out event text, out until timestamptz)
language sql stable set search_path = pg_catalog, pg_temp as $$
  select v.event, v.at + dirsync.undo_time()
  from dirsync.last_step(undoable.id) v
  join dirsync.dead_letter d on d.id = v.dead_letter_id
  where (v.before ->> 'version')::integer = d.version and v.at > now() - dirsync.undo_time()
$$;
comment on function dirsync.undoable is
  'The last step of a case that can be undone, and until when; null if there is none, or if anything happened since.';

create function dirsync.set_undone(id bigint, within interval) returns text
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  d    dirsync.dead_letter := dirsync.locked_case(id);
  was  dirsync.dead_letter;
  step dirsync.dead_letter_event;
begin
  if d.id is null then
    perform dirsync.refuse('P0002', 'said.no_case', jsonb_build_object('case', id));
  end if;
  select * into step from dirsync.last_step(d.id);
  if step.id is null or step.at < now() - within then
    perform dirsync.refuse('P0002', 'said.nothing_to_undo', jsonb_build_object('case', id));
  end if;
  if (step.before ->> 'version')::integer <> d.version then
    perform dirsync.refuse('DS409', 'said.case_has_changed',
      jsonb_build_object('case', id, 'change', dirsync.last_change(id)),
      hint => 'Look at it again before you decide.');
  end if;
  was := jsonb_populate_record(d, step.before);
  update dirsync.dead_letter c
  set state = was.state,
      -- Ignored or snoozed, it did not wait for its holder's change.
      next_retry_at = case when was.state in ('open', 'blocked') and dirsync.holder_has_changed(c)
                             then now() + interval '1 minute'
                           else was.next_retry_at end,
      snooze_until = was.snooze_until, note = was.note,
      assignee = was.assignee, version = d.version + 1
  where c.id = d.id;
  -- The step before it, if nothing came between them, is now the last one: the case is as that one has left it.
  update dirsync.dead_letter_event v
  set before = v.before || jsonb_build_object('version', d.version + 1)
  where v.dead_letter_id = d.id and v.id < step.id and v.before is not null and not v.before ? 'undone'
    and (v.before ->> 'version')::integer = (step.before ->> 'gave')::integer - 1;
  update dirsync.dead_letter_event v set before = v.before || '{"undone": true}' where v.id = step.id;
  insert into dirsync.dead_letter_event (dead_letter_id, actor, event, note)
  values (id, dirsync.actor(), 'undone', step.event);
  return step.event;
end $$;
comment on function dirsync.set_undone is
  'Takes back the last ignore, snooze or assignment of a case, no older than given; null: however old. Refuses if '
  'anything happened to the case since. Returns the step.';

create function dirsync.undo(id bigint) returns text
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  perform dirsync.note_command('undo', null, jsonb_build_object('id', id), id);
  return dirsync.set_undone(id, dirsync.undo_time());
end $$;
comment on function dirsync.undo is
  'Takes back the last ignore, snooze or assignment of a case, within ten minutes and if nothing happened to it '
  'since: it is as it was. Returns what was undone.';

-- Of many at once: an action of its own, with the cases that the undone one has changed.
alter table dirsync.bulk_action
  drop constraint bulk_action_action_check,
  add constraint bulk_action_action_check
    check (action in ('retry', 'snooze', 'ignore', 'assign', 'comment', 'undo')),
  add column undoes bigint;
comment on column dirsync.bulk_action.action is 'retry, snooze, ignore, assign, comment, or undo of such an action.';
comment on column dirsync.bulk_action.undoes is 'undo: the number of the action that it takes back; else null.';
create index bulk_action_undoes on dirsync.bulk_action (undoes) where undoes is not null;
-- One that was stopped may be followed by another, for what it has not reached.
create unique index bulk_action_undone on dirsync.bulk_action (undoes) where state <> 'stopped';

create function dirsync.bulk_undo_ends(bulk dirsync.bulk_action) returns timestamptz
language sql stable set search_path = pg_catalog, pg_temp as $$
  select greatest(bulk.finished_at, max(u.finished_at)) + dirsync.undo_time()
  from dirsync.bulk_action u where u.undoes = bulk.id
$$;
comment on function dirsync.bulk_undo_ends is
  'Until when an action of many cases can be taken back: ten minutes after its end, or that of an undo that was stopped.';

create function dirsync.bulk_undo(id bigint, actor text) returns bigint
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  bulk   dirsync.bulk_action := dirsync.bulk_locked(id);
  undone dirsync.bulk_action;
  -- Without those that an undo has reached before it was stopped.
  cases  bigint[] := array(
    select i.dead_letter_id from dirsync.bulk_item i
    where i.bulk_id = bulk.id and i.outcome = 'done'
      and not exists (select from dirsync.bulk_action u
                      join dirsync.bulk_item r on r.bulk_id = u.id and r.dead_letter_id = i.dead_letter_id
                      where u.undoes = bulk.id and r.outcome is not null));
begin
  select * into undone from dirsync.bulk_action b where b.undoes = bulk.id and b.state <> 'stopped';
  if undone.id is not null then
    perform dirsync.refuse('DS409', 'said.bulk_was_undone',
      jsonb_build_object('id', id, 'name', undone.requested_by, 'time', dirsync.moment(undone.created_at)));
  end if;
  if bulk.action not in ('ignore', 'snooze', 'assign') or cases = '{}' or bulk.finished_at is null
     or dirsync.bulk_undo_ends(bulk) < now() then
    perform dirsync.refuse('DS409', 'said.no_bulk_undo', jsonb_build_object('id', id));
  end if;
  perform dirsync.note_command('bulk_undo', null, jsonb_build_object('bulk', id, 'cases', cardinality(cases)));
  insert into dirsync.bulk_action (action, state, total, actor, confirmed_at, undoes)
  values ('undo', 'requested', cardinality(cases), bulk_undo.actor, now(), bulk.id)
  returning * into undone;
  -- The version that the undone action gave each case, or a later one that took back what came after it: one that has
  -- another version has changed since.
  insert into dirsync.bulk_item (bulk_id, dead_letter_id, version)
  select undone.id, i.dead_letter_id,
         coalesce((select (v.before ->> 'version')::integer from dirsync.dead_letter_event v
                   where v.dead_letter_id = i.dead_letter_id and (v.before ->> 'gave')::integer = i.version + 1
                     and not v.before ? 'undone'),
                  i.version + 1)
  from dirsync.bulk_item i
  where i.bulk_id = bulk.id and i.dead_letter_id = any (cases);
  perform pg_notify('dirsync', 'bulk');
  return undone.id;
end $$;
comment on function dirsync.bulk_undo is
  'Has a bulk ignore, snooze or assignment taken back in the background, up to ten minutes after it ended, or an undo of it '
  'was stopped: of each case to which nothing happened since. Returns the number of the action that does it.';

create or replace function dirsync.bulk_act(bulk dirsync.bulk_action, item dirsync.bulk_item) returns text
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  d     dirsync.dead_letter := dirsync.locked_case(item.dead_letter_id);
  why   text;
  key   text;
  given text;
begin
  why := dirsync.bulk_skip_reason(item, d, bulk.action);
  if why is not null then
    perform dirsync.bulk_skip(item, why);
    return 'skipped';
  end if;
  -- For the notice that tells of it: one for all cases of the action.
  perform set_config('dirsync.bulk', bulk.id::text, true);
  case bulk.action
    when 'ignore' then
      perform dirsync.set_ignored(d.id, bulk.arguments ->> 'reason');
    when 'snooze' then
      perform dirsync.set_snoozed(d.id, (bulk.arguments ->> 'until')::timestamptz,
                                  bulk.arguments ->> 'reason');
    when 'assign' then
      perform dirsync.set_assigned(d.id, bulk.arguments ->> 'assignee');
    when 'comment' then
      perform dirsync.add_comment(d.id, bulk.arguments ->> 'text');
    when 'undo' then
      perform dirsync.set_undone(d.id, null);
  end case;
  update dirsync.bulk_item i set outcome = 'done', at = clock_timestamp()
  where i.bulk_id = item.bulk_id and i.dead_letter_id = item.dead_letter_id;
  return 'done';
exception
  -- The batch is tried again as a whole.
  when deadlock_detected or serialization_failure or lock_not_available then
    raise;
  -- What was done to this case is undone; the others go on.
  when others then
    get stacked diagnostics key = constraint_name, given = pg_datatype_name;
    update dirsync.bulk_item i
    set outcome = 'failed', code = 'error', at = clock_timestamp(),
        -- As `dirsync.refuse` says it for programs.
        message = case when key like 'said.%' then jsonb_build_object('key', key, 'values', given::jsonb)
                       else jsonb_build_object('key', 'said.words', 'values', jsonb_build_object('words', sqlerrm)) end
    where i.bulk_id = item.bulk_id and i.dead_letter_id = item.dead_letter_id;
    return 'failed';
end $$;

-- How people see the list --------------------------------------------------------

-- Views of the list of cases that people have saved: a filter, an order and columns under a name.
create table dirsync.case_view (
  id         bigint generated always as identity primary key,  -- Number of the view.
  owner      text not null,                       -- Who saved it: a user of the console, or token:NAME.
  name       text not null,                       -- What they call it.
  shared     boolean not null,                    -- Whether others see it, too.
  -- Filter, order and columns as the console's address has them.
  query      text not null,
  created_at timestamptz not null default now(),  -- When it was first saved.
  unique (owner, name)
);
create index case_view_shared on dirsync.case_view (name) where shared;

alter table dirsync.console_user add column preferences jsonb not null default '{}';
comment on column dirsync.console_user.preferences is
  'What they have chosen for lists: cases: columns and whether rows are compact.';

-- A case is found by the trace id that the vendor's support asks for. Version 1.0 keeps ids that are too long for an index.
create index dead_letter_trace on dirsync.dead_letter ((left(trace_id, 200))) where trace_id is not null;

create or replace function dirsync.end_lost_retries() returns bigint
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  ids    bigint[];
  ended bigint;
begin
  -- Looked for twice: during the first look another transaction may mark one anew and ask for its work. Once
  -- they are locked that has to wait, so the second look sees how they are.
  for look in 1..2 loop
    select array_agg(lost.id) into ids
    from (select d.id from dirsync.dead_letter d
          where d.state = 'retrying' and (look = 1 or d.id = any (ids))
            -- The probe of an enterprise's case is given to another employee when it is lost.
            and d.entity <> 'enterprise'
            and not exists (select from dirsync.pending p
                            where p.operation = d.operation and p.enterprise_code = d.enterprise_code
                              and p.entity_key = d.entity_key
                              and (d.operation <> 'bind-openid' or p.detail = d.field))
            and not exists (select from dirsync.sync_run r
                            where r.finished_at is null and r.state in ('requested', 'running')
                              and 'mirror-' || r.kind = d.operation)
          for no key update of d skip locked) lost;
  end loop;
  update dirsync.dead_letter d
  set (state, next_retry_at) = (select t.state, t.at from dirsync.next_turn(d) t),
      note = null, version = d.version + 1
  where d.id = any (ids);
  get diagnostics ended = row_count;
  return ended;
end $$;

-- Only the owner may call a function of this schema, and the reviewer where migrate grants it.
revoke execute on all functions in schema dirsync from public;
