-- Cases: what failed and waits for a person or for its time, and the fields that are switched off.

-- Cases for review: one per entity, operation and field, however often it fails. The first success resolves
-- it. Read dirsync.failed_syncs first.
create table dirsync.dead_letter (
  -- Number of the case, for retry, ignore and snooze.
  id              bigint generated always as identity primary key,
  enterprise_code text not null default '',            -- Enterprise; empty for a single enterprise.
  -- employee, department, mirror, or enterprise: a field that is withheld from all employees of an
  -- enterprise.
  entity          text not null check (entity in ('employee', 'department', 'mirror', 'enterprise')),
  -- User id, department code, the mirror (orders, accounts, taxpayers), or the enterprise code, (single
  -- enterprise) where there is none.
  entity_key      text not null,
  -- The job that failed: update-employee, delete-department, bind-openid, mirror-orders, mirror-accounts,
  -- mirror-taxpayers.
  operation       text not null
                  check (operation in ('update-employee', 'delete-department', 'bind-openid', 'read-hr',
                                       'mirror-orders', 'mirror-accounts', 'mirror-taxpayers')),
  -- The field that is held back (bind-openid: the merchant application id; mirror-taxpayers: the
  -- identification number; mirror-orders: older_orders for those asked for one by one); empty: the whole
  -- entity.
  field           text not null default '',
  -- Kind of failure: duplicate_mobile, missing_department, invalid_hr_row, not_on_platform, not_applied,
  -- left_hr, unknown_payer …
  category        text not null,
  -- Error code of the platform (section 7); null when dirsync found the problem itself.
  platform_code   bigint,
  -- x-trace-id of the failed call. Name it to the vendor's support.
  trace_id        text,
  -- What failed, without personal data, for dirsync.in_language: failed_syncs has it in words.
  message         jsonb not null,
  remedy          jsonb not null,                      -- What to do about it, for dirsync.in_language.
  -- The fields concerned: [{field, value}], values masked.
  changed_fields  jsonb not null default '[]',
  -- What has to change first: for a duplicate mobile or e-mail address the user id of its holder. The case is
  -- retried as soon as that changes.
  blocked_by      text,
  -- Hash of the HR row that failed; of a department: of when HR closed it. Null where there is none.
  source_hash     uuid,
  -- open: waits for a person (and a weekly probe); retry_scheduled, blocked, awaiting_activation: dirsync
  -- tries again by itself; retrying: a run is trying it again; snoozed: until snooze_until; resolved;
  -- ignored: until the HR row changes, or it fails for another reason than that the platform was away.
  state           text not null default 'open'
                  check (state in ('open', 'retry_scheduled', 'blocked', 'awaiting_activation', 'retrying',
                                   'snoozed', 'resolved', 'ignored')),
  first_failed_at timestamptz not null default now(),  -- First failure of the case.
  last_failed_at  timestamptz not null default now(),  -- Latest failure of the case.
  occurrences     integer not null default 1,          -- How often it failed.
  next_retry_at   timestamptz,                         -- When dirsync tries again by itself.
  snooze_until    timestamptz,                         -- Snoozed until then.
  first_run_id    bigint,                              -- Run of the first failure.
  last_run_id     bigint,                              -- Run of the latest failure.
  -- succeeded: a later attempt went through; obsolete: nothing is left to be done; merged: the enterprise's
  -- dead letter about the field stands for it.
  resolution      text,
  resolved_by     text,                                -- Who resolved it: dirsync, or a person.
  resolved_at     timestamptz,                         -- When it was resolved.
  note            text,                                -- Reason given with ignore or snooze.
  -- Raised at every change, but not by comments, and not by how many employees a field is withheld from.
  version         integer not null default 1,
  -- Groups the cases of employees who want each other's mobile number or e-mail address: the number of the
  -- oldest of them. None can go first; see the remedy. Retrying one retries all.
  swap_id         bigint,
  assignee        text,                                -- The person who handles it; null: unassigned.
  check ((state = 'resolved') = (resolved_at is not null)),
  check (state <> 'ignored' or note is not null)
);
create unique index dead_letter_case
  on dirsync.dead_letter (enterprise_code, entity, entity_key, operation, field)
  where state not in ('resolved', 'ignored');
create index dead_letter_entity on dirsync.dead_letter (enterprise_code, entity_key);
create index dead_letter_enterprise on dirsync.dead_letter (enterprise_code, field)
  where entity = 'enterprise';
create index dead_letter_due on dirsync.dead_letter (next_retry_at)
  where state not in ('resolved', 'ignored', 'retrying');
create index dead_letter_blocked_by on dirsync.dead_letter (enterprise_code, blocked_by)
  where blocked_by is not null and state not in ('resolved', 'ignored');
create index dead_letter_swap_id on dirsync.dead_letter (swap_id) where swap_id is not null;
create index dead_letter_resolved_at on dirsync.dead_letter (resolved_at) where state = 'resolved';
create index dead_letter_first_run on dirsync.dead_letter (first_run_id);
create index dead_letter_last_run on dirsync.dead_letter (last_run_id);
-- Finding cases among a hundred thousand open and a million resolved ones.
create index dead_letter_state on dirsync.dead_letter (state, last_failed_at desc, id desc);
create index dead_letter_cause on dirsync.dead_letter
  (category, (coalesce(platform_code, 0)), last_failed_at desc, id desc)
  where state not in ('resolved', 'ignored');
create index dead_letter_oldest on dirsync.dead_letter
  (category, (coalesce(platform_code, 0)), first_failed_at, id)
  where state not in ('resolved', 'ignored');
create index dead_letter_closed on dirsync.dead_letter (category, state, last_failed_at desc, id desc)
  where state in ('resolved', 'ignored');
create index dead_letter_first_failed on dirsync.dead_letter (first_failed_at, id)
  where state not in ('resolved', 'ignored');
-- Only Latin capitals are the same as small letters here: that is three times as fast.
create index dead_letter_key on dirsync.dead_letter ((lower(entity_key collate "C")) text_pattern_ops);
create index dead_letter_assignee on dirsync.dead_letter (assignee) where assignee is not null;
create index dead_letter_blocker on dirsync.dead_letter (blocked_by) where blocked_by is not null;
-- Rule breaks by column.
create index dead_letter_broken_rule on dirsync.dead_letter (field)
  where category = 'invalid_hr_row' and state not in ('resolved', 'ignored');
create index dead_letter_read_hr on dirsync.dead_letter (field)
  where operation = 'read-hr' and state <> 'resolved';

-- The story of a case: every change of state, by whom and why.
create table dirsync.dead_letter_event (
  id             bigint generated always as identity primary key,  -- Number of the event.
  -- The case.
  dead_letter_id bigint not null references dirsync.dead_letter on delete cascade,
  at             timestamptz not null default now(),               -- When.
  actor          text not null default 'dirsync',                  -- dirsync, or who decided.
  -- What happened; changed: it failed again for another reason; assigned: the note says to whom, null for no
  -- one.
  event          text not null
                 check (event in ('opened', 'changed', 'retried', 'resolved', 'ignored', 'snoozed',
                                  'reopened', 'assigned',
                                  'commented')),
  run_id         bigint,                                           -- Run in which it happened.
  -- Category, the reason that a person gave, whom the case was assigned to, or the comment.
  note           text,
  -- What dirsync itself says about it, for dirsync.in_language; null: the note says it.
  said           jsonb
);
create index dead_letter_event_case on dirsync.dead_letter_event (dead_letter_id, id);

create function dirsync.record_failure(failure jsonb) returns bigint
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
                           else f.next_retry_at end
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
comment on function dirsync.record_failure is
  'Opens a case, or counts up the open one of the same entity, operation and field.';

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

create function dirsync.last_change(id bigint) returns jsonb
language sql stable set search_path = pg_catalog, pg_temp as $$
  select case when e.at is null or d.last_failed_at > e.at
              then jsonb_build_object('key', 'said.it_failed_again', 'values', jsonb_build_object(
                     'time', dirsync.moment(d.last_failed_at)))
              else jsonb_build_object('key', 'said.was_changed_by', 'values', jsonb_build_object(
                     'name', e.actor, 'event', e.event, 'time', dirsync.moment(e.at))) end
  from dirsync.dead_letter d
  left join lateral (
    select at, actor, event from dirsync.dead_letter_event v
    where v.dead_letter_id = d.id and v.event <> 'commented' order by v.id desc limit 1) e on true
  where d.id = last_change.id
$$;
comment on function dirsync.last_change is 'Who changed a case last, how and when, as a message.';

create function dirsync.expect_version(id bigint, version integer) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  now_at integer;
begin
  select d.version into now_at from dirsync.dead_letter d where d.id = expect_version.id for no key update;
  if now_at <> expect_version.version then
    perform dirsync.refuse('DS409', 'said.case_has_changed',
      jsonb_build_object('case', id, 'change', dirsync.last_change(id)),
      hint => 'Look at it again before you decide.');
  end if;
end $$;
comment on function dirsync.expect_version is
  'Locks a case for the rest of the transaction; refuses if it has been changed since it had this version.';

-- Each of these changes a case without writing down a command: its caller has.
create function dirsync.set_ignored(id bigint, reason text) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  update dirsync.dead_letter d
  set state = 'ignored', note = reason, next_retry_at = null, snooze_until = null, version = d.version + 1
  where d.id = set_ignored.id and d.state not in ('resolved', 'ignored');
  if not found then
    perform dirsync.refuse('P0002', 'said.no_open_case', jsonb_build_object('case', id));
  end if;
  insert into dirsync.dead_letter_event (dead_letter_id, actor, event, note)
  values (id, dirsync.actor(), 'ignored', reason);
end $$;
comment on function dirsync.set_ignored is 'Closes a case as accepted.';

create function dirsync.set_snoozed(id bigint, until timestamptz, reason text) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  if until is null or until <= now() then
    perform dirsync.refuse('22023', 'said.snooze_needs_time',
      hint => 'select dirsync.snooze(17, now() + interval ''3 days'')');
  end if;
  update dirsync.dead_letter d
  set state = 'snoozed', snooze_until = until, next_retry_at = until, note = coalesce(reason, d.note),
      version = d.version + 1
  where d.id = set_snoozed.id and d.state not in ('resolved', 'ignored');
  if not found then
    perform dirsync.refuse('P0002', 'said.no_open_case', jsonb_build_object('case', id));
  end if;
  insert into dirsync.dead_letter_event (dead_letter_id, actor, event, note)
  values (id, dirsync.actor(), 'snoozed', reason);
end $$;
comment on function dirsync.set_snoozed is 'Snoozes a case until a time.';

create function dirsync.set_assigned(id bigint, assignee text) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  update dirsync.dead_letter d set assignee = set_assigned.assignee, version = d.version + 1
  where d.id = set_assigned.id;
  if not found then
    perform dirsync.refuse('P0002', 'said.no_case', jsonb_build_object('case', id));
  end if;
  insert into dirsync.dead_letter_event (dead_letter_id, actor, event, note)
  values (id, dirsync.actor(), 'assigned', assignee);
end $$;
comment on function dirsync.set_assigned is 'Assigns a case to a person, or to no one.';

create function dirsync.add_comment(id bigint, text text) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  perform from dirsync.dead_letter d where d.id = add_comment.id for key share;
  if not found then
    perform dirsync.refuse('P0002', 'said.no_case', jsonb_build_object('case', id));
  end if;
  insert into dirsync.dead_letter_event (dead_letter_id, actor, event, note)
  values (id, dirsync.actor(), 'commented', text);
end $$;
comment on function dirsync.add_comment is 'Adds a comment to the story of a case.';

-- Fields that are switched off: each block is a case of the enterprise --------

-- Fields that are withheld from an enterprise's employees because the platform says that they are switched
-- off. One dead letter of entity enterprise stands for each. The block goes when any employee gets the field
-- through.
create table dirsync.field_block (
  enterprise_code text not null default '',            -- Enterprise; empty for a single enterprise.
  field           text not null,                       -- Field that is not sent.
  -- employee_attribute: lists of attributeCodes; values that have all of one list are withheld. Null: the
  -- field as a whole.
  codes           jsonb,
  platform_code   bigint,                              -- Error code of the platform.
  message         jsonb not null default '[]',         -- What the platform said, for dirsync.in_language.
  since           timestamptz not null default now(),  -- Since when the field has been withheld.
  -- The employee who tries whether the field gets through, or tried last; the next one in order follows.
  probe_userid    text,
  probing         boolean not null default false,      -- True while that employee is to try.
  probes          integer not null default 0,          -- Probes that failed.
  -- When to try again, whatever a person decided about the dead letter.
  next_probe_at   timestamptz not null default now(),
  primary key (enterprise_code, field)
);
create index field_block_due on dirsync.field_block (next_probe_at);

-- Refusals that may mean that a field is switched off for all: the latest one per field and employee.
create table dirsync.field_refusal (
  enterprise_code text not null default '',            -- Enterprise; empty for a single enterprise.
  field           text not null,                       -- The field that the platform refused.
  userid          text not null,                       -- The employee whose value it was.
  -- Hash of the value. Refusals of different values speak against the field, not the value.
  value_hash      text not null,
  -- employee_attribute: the attributeCodes that the value had; else null.
  codes           text[],
  run_id          bigint,                              -- Run in which it was refused.
  refused_at      timestamptz not null default now(),  -- When.
  primary key (enterprise_code, field, userid)
);
