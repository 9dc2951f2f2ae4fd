-- What failed, and what people decide about it.

create table dirsync.dead_letter (
  id              bigint generated always as identity primary key,
  enterprise_code text not null default '',
  entity          text not null check (entity in ('employee', 'department')),
  entity_key      text not null,
  operation       text not null check (operation in ('update-employee', 'delete-department', 'bind-openid')),
  field           text not null default '',
  category        text not null,
  platform_code   bigint,
  trace_id        text,
  message         text not null,
  remedy          text not null,
  changed_fields  jsonb not null default '[]',
  blocked_by      text,
  source_hash     uuid,
  state           text not null default 'open'
                  check (state in ('open', 'retry_scheduled', 'blocked', 'awaiting_activation', 'retrying', 'snoozed', 'resolved', 'ignored')),
  first_failed_at timestamptz not null default now(),
  last_failed_at  timestamptz not null default now(),
  occurrences     integer not null default 1,
  next_retry_at   timestamptz,
  snooze_until    timestamptz,
  first_run_id    bigint,
  last_run_id     bigint,
  resolution      text,
  resolved_by     text,
  resolved_at     timestamptz,
  note            text,
  version         integer not null default 1,
  check ((state = 'resolved') = (resolved_at is not null)),
  check (state <> 'ignored' or note is not null)
);
create unique index dead_letter_case on dirsync.dead_letter (enterprise_code, entity, entity_key, operation, field)
  where state not in ('resolved', 'ignored');
create index dead_letter_entity on dirsync.dead_letter (enterprise_code, entity_key);
create index dead_letter_due on dirsync.dead_letter (next_retry_at) where state not in ('resolved', 'ignored', 'retrying');
create index dead_letter_blocked_by on dirsync.dead_letter (enterprise_code, blocked_by)
  where blocked_by is not null and state not in ('resolved', 'ignored');
create index dead_letter_resolved_at on dirsync.dead_letter (resolved_at) where state = 'resolved';

comment on table dirsync.dead_letter is 'Cases for review: one per entity, operation and field, however often it fails. The first success resolves it. Read dirsync.failed_syncs first.';
comment on column dirsync.dead_letter.id is 'Number of the case, for retry, ignore and snooze.';
comment on column dirsync.dead_letter.enterprise_code is 'Enterprise; empty for a single enterprise.';
comment on column dirsync.dead_letter.entity is 'employee or department.';
comment on column dirsync.dead_letter.entity_key is 'User id or department code.';
comment on column dirsync.dead_letter.operation is 'The job that failed: update-employee, delete-department, bind-openid.';
comment on column dirsync.dead_letter.field is 'The field that is held back (bind-openid: the merchant application id); empty: the whole entity.';
comment on column dirsync.dead_letter.category is 'Kind of failure: duplicate_mobile, missing_department, invalid_hr_row, not_on_platform, left_hr …';
comment on column dirsync.dead_letter.platform_code is 'Error code of the platform (specification section 7); null when dirsync found it itself.';
comment on column dirsync.dead_letter.trace_id is 'x-trace-id of the failed call: name it to the vendor''s support.';
comment on column dirsync.dead_letter.message is 'What failed, without personal data.';
comment on column dirsync.dead_letter.remedy is 'What to do about it.';
comment on column dirsync.dead_letter.changed_fields is 'The fields concerned: [{field, value}], values masked.';
comment on column dirsync.dead_letter.blocked_by is 'What has to change first: for a duplicate mobile the user id of its holder. The case is retried when that changes.';
comment on column dirsync.dead_letter.source_hash is 'Hash of the HR row that failed.';
comment on column dirsync.dead_letter.state is 'open: waits for a person (and a weekly probe); retry_scheduled, blocked, awaiting_activation: dirsync tries again by itself; retrying; snoozed; resolved; ignored until the HR row changes.';
comment on column dirsync.dead_letter.first_failed_at is 'First failure of the case.';
comment on column dirsync.dead_letter.last_failed_at is 'Latest failure of the case.';
comment on column dirsync.dead_letter.occurrences is 'How often it failed.';
comment on column dirsync.dead_letter.next_retry_at is 'When dirsync tries again by itself.';
comment on column dirsync.dead_letter.snooze_until is 'Snoozed until then.';
comment on column dirsync.dead_letter.first_run_id is 'Run of the first failure.';
comment on column dirsync.dead_letter.last_run_id is 'Run of the latest failure.';
comment on column dirsync.dead_letter.resolution is 'succeeded: a later attempt went through; obsolete: nothing is left to be done.';
comment on column dirsync.dead_letter.resolved_by is 'Who resolved it: dirsync, or a person.';
comment on column dirsync.dead_letter.resolved_at is 'When it was resolved.';
comment on column dirsync.dead_letter.note is 'Reason given with ignore or snooze.';
comment on column dirsync.dead_letter.version is 'Raised at every change.';

create table dirsync.dead_letter_event (
  id             bigint generated always as identity primary key,
  dead_letter_id bigint not null references dirsync.dead_letter on delete cascade,
  at             timestamptz not null default now(),
  actor          text not null default 'dirsync',
  event          text not null check (event in ('opened', 'changed', 'retried', 'resolved', 'ignored', 'snoozed', 'reopened')),
  run_id         bigint,
  note           text
);
create index dead_letter_event_case on dirsync.dead_letter_event (dead_letter_id, id);

comment on table dirsync.dead_letter_event is 'The story of a case: every change of state, by whom and why.';
comment on column dirsync.dead_letter_event.id is 'Number of the event.';
comment on column dirsync.dead_letter_event.dead_letter_id is 'The case.';
comment on column dirsync.dead_letter_event.at is 'When.';
comment on column dirsync.dead_letter_event.actor is 'dirsync, or who decided.';
comment on column dirsync.dead_letter_event.event is 'What happened; changed: it failed again for another reason.';
comment on column dirsync.dead_letter_event.run_id is 'Run in which it happened.';
comment on column dirsync.dead_letter_event.note is 'Category, or the reason that a person gave.';

create table dirsync.command (
  id             bigint generated always as identity primary key,
  name           text not null,
  arguments      jsonb not null default '{}',
  requested_by   text not null,
  requested_at   timestamptz not null default now(),
  run_id         bigint,
  dead_letter_id bigint
);
comment on table dirsync.command is 'What people asked for, through SQL, the shell or the console; append-only.';
comment on column dirsync.command.id is 'Number of the command.';
comment on column dirsync.command.name is 'resync, retry, retry_category, ignore, snooze, approve, reject.';
comment on column dirsync.command.arguments is 'Its arguments.';
comment on column dirsync.command.requested_by is 'Database user, and the shell user where the command line was used.';
comment on column dirsync.command.requested_at is 'When.';
comment on column dirsync.command.run_id is 'The run that it started or decided about.';
comment on column dirsync.command.dead_letter_id is 'The case that it decided about.';

create view dirsync.failed_syncs as
select id, enterprise_code, entity, entity_key, operation, nullif(field, '') as field, category, platform_code, message, remedy,
       blocked_by, occurrences, first_failed_at, last_failed_at, state, next_retry_at
from dirsync.dead_letter
where state not in ('resolved', 'ignored')
order by state <> 'open', last_failed_at desc, id desc;

comment on view dirsync.failed_syncs is 'What a reviewer reads first: every case that is neither resolved nor ignored, open ones first, the latest on top. Act with dirsync.retry(id), ignore(id, reason), snooze(id, until, reason).';

-- Functions for people -------------------------------------------------------

create function dirsync.actor() returns text language sql stable as $$
  select session_user || coalesce(' (' || nullif(current_setting('dirsync.actor', true), '') || ')', '')
$$;
comment on function dirsync.actor is 'Who is asking: the database user, and the shell user where the command line says so.';

create function dirsync.request_run(kind text, keys text[], command text, arguments jsonb) returns bigint
language plpgsql as $$
declare
  run bigint;
begin
  select r.id into run from dirsync.sync_run r
  where r.kind = request_run.kind and r.keys = request_run.keys and r.state = 'requested' and not r.approved
  order by r.id limit 1;
  if run is null then
    insert into dirsync.sync_run (kind, keys, requested_by) values (request_run.kind, request_run.keys, dirsync.actor())
    returning id into run;
  end if;
  insert into dirsync.command (name, arguments, requested_by, run_id) values (command, arguments, dirsync.actor(), run);
  perform pg_notify('dirsync', 'run');
  return run;
end $$;
comment on function dirsync.request_run is 'Requests a run, or returns the same one that is still waiting to begin.';

create function dirsync.resync(kind text default 'changes', key text default null) returns bigint
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  wanted text := case kind when 'employee' then 'employees' else kind end;
begin
  if wanted is null or wanted not in ('changes', 'full', 'employees', 'departments', 'openids') then
    raise exception 'there is no run of kind %', coalesce(quote_literal(kind), 'null')
      using errcode = '22023', hint = 'changes, full, employees, departments or openids';
  end if;
  if wanted = 'employees' and coalesce(btrim(key), '') = '' then
    raise exception 'a run of kind employees needs the user id as key' using errcode = '22023',
      hint = 'select dirsync.resync(''employees'', ''e10001'')';
  end if;
  if wanted <> 'employees' and key is not null then
    raise exception 'a run of kind % takes no key', wanted using errcode = '22023';
  end if;
  return dirsync.request_run(wanted, case when wanted = 'employees' then array[btrim(key)] else '{}' end, 'resync',
                             jsonb_strip_nulls(jsonb_build_object('kind', wanted, 'key', key)));
end $$;
comment on function dirsync.resync is 'Starts a run now and returns its number: resync(), resync(''full''), resync(''employees'', ''e10001''), resync(''departments''), resync(''openids'').';

create function dirsync.retry(id bigint) returns bigint
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  perform from dirsync.dead_letter d where d.id = retry.id and d.state <> 'resolved';
  if not found then
    raise exception 'there is no unresolved dead letter %', coalesce(retry.id::text, 'null') using errcode = 'P0002';
  end if;
  return dirsync.request_run('retry', array[retry.id::text], 'retry', jsonb_build_object('id', retry.id));
end $$;
comment on function dirsync.retry is 'Tries a dead letter again now; returns the number of the run that does it.';

create function dirsync.retry_category(category text) returns bigint
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  ids text[];
begin
  select array_agg(d.id::text order by d.id) into ids from dirsync.dead_letter d
  where d.category = retry_category.category and d.state not in ('resolved', 'ignored');
  if ids is null then
    raise exception 'there is no open dead letter of category %', coalesce(quote_literal(category), 'null') using errcode = 'P0002',
      hint = 'select distinct category from dirsync.failed_syncs';
  end if;
  return dirsync.request_run('retry', ids, 'retry_category', jsonb_build_object('category', category));
end $$;
comment on function dirsync.retry_category is 'Tries every open dead letter of a category again now; returns the number of the run that does it.';

create function dirsync.ignore(id bigint, reason text) returns bigint
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  if coalesce(btrim(reason), '') = '' then
    raise exception 'ignore needs a reason' using errcode = '22023', hint = 'select dirsync.ignore(17, ''shared phone, agreed with the works council'')';
  end if;
  update dirsync.dead_letter d
  set state = 'ignored', note = btrim(reason), next_retry_at = null, snooze_until = null, version = d.version + 1
  where d.id = ignore.id and d.state not in ('resolved', 'ignored');
  if not found then
    raise exception 'there is no open dead letter %', coalesce(ignore.id::text, 'null') using errcode = 'P0002';
  end if;
  insert into dirsync.dead_letter_event (dead_letter_id, actor, event, note) values (ignore.id, dirsync.actor(), 'ignored', btrim(reason));
  insert into dirsync.command (name, arguments, requested_by, dead_letter_id)
  values ('ignore', jsonb_build_object('id', ignore.id, 'reason', reason), dirsync.actor(), ignore.id);
  return ignore.id;
end $$;
comment on function dirsync.ignore is 'Closes a case as accepted, with a reason; it reopens when the HR row changes. Returns its number.';

create function dirsync.snooze(id bigint, until timestamptz, reason text default null) returns bigint
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  if until is null or until <= now() then
    raise exception 'snooze needs a time in the future' using errcode = '22023', hint = 'select dirsync.snooze(17, now() + interval ''3 days'')';
  end if;
  update dirsync.dead_letter d
  set state = 'snoozed', snooze_until = until, next_retry_at = until, note = coalesce(nullif(btrim(reason), ''), d.note), version = d.version + 1
  where d.id = snooze.id and d.state not in ('resolved', 'ignored');
  if not found then
    raise exception 'there is no open dead letter %', coalesce(snooze.id::text, 'null') using errcode = 'P0002';
  end if;
  insert into dirsync.dead_letter_event (dead_letter_id, actor, event, note) values (snooze.id, dirsync.actor(), 'snoozed', reason);
  insert into dirsync.command (name, arguments, requested_by, dead_letter_id)
  values ('snooze', jsonb_strip_nulls(jsonb_build_object('id', snooze.id, 'until', until, 'reason', reason)), dirsync.actor(), snooze.id);
  return snooze.id;
end $$;
comment on function dirsync.snooze is 'Lets a case rest until a time; then it is tried again. Returns its number.';

create function dirsync.decide(run bigint, approve boolean) returns bigint
language plpgsql as $$
begin
  update dirsync.sync_run r
  set state = case when approve then 'requested' else 'rejected' end, approved = approve,
      decided_by = dirsync.actor(), decided_at = now(), finished_at = case when approve then null else now() end
  where r.id = run and r.state = 'held';
  if not found then
    raise exception 'there is no held run %', coalesce(run::text, 'null') using errcode = 'P0002',
      hint = 'select id, kind, message from dirsync.sync_run where state = ''held''';
  end if;
  insert into dirsync.command (name, arguments, requested_by, run_id)
  values (case when approve then 'approve' else 'reject' end, jsonb_build_object('run', run), dirsync.actor(), run);
  perform pg_notify('dirsync', 'run');
  return run;
end $$;
comment on function dirsync.decide is 'Approves or rejects a held run.';

create function dirsync.approve(run bigint) returns bigint
language sql security definer set search_path = pg_catalog, pg_temp as $$ select dirsync.decide(run, true) $$;
comment on function dirsync.approve is 'Lets a held run go on: it is planned anew without its breakers. Returns its number.';

create function dirsync.reject(run bigint) returns bigint
language sql security definer set search_path = pg_catalog, pg_temp as $$ select dirsync.decide(run, false) $$;
comment on function dirsync.reject is 'Ends a held run without writing anything. Returns its number.';

-- Functions for the engine ---------------------------------------------------

create function dirsync.record_failure(failure jsonb) returns bigint
language plpgsql as $$
declare
  f   dirsync.dead_letter := jsonb_populate_record(null::dirsync.dead_letter, failure);
  old dirsync.dead_letter;
begin
  select * into old from dirsync.dead_letter d
  where d.enterprise_code = f.enterprise_code and d.entity = f.entity and d.entity_key = f.entity_key
    and d.operation = f.operation and d.field = f.field and d.state <> 'resolved'
  order by (d.state <> 'ignored') desc, d.id desc limit 1 for update;

  if old.id is null then
    insert into dirsync.dead_letter (enterprise_code, entity, entity_key, operation, field, category, platform_code, trace_id, message, remedy,
                                     changed_fields, blocked_by, source_hash, state, next_retry_at, first_run_id, last_run_id)
    values (f.enterprise_code, f.entity, f.entity_key, f.operation, f.field, f.category, f.platform_code, f.trace_id, f.message, f.remedy,
            coalesce(f.changed_fields, '[]'), f.blocked_by, f.source_hash, f.state, f.next_retry_at, f.last_run_id, f.last_run_id)
    returning * into old;
    insert into dirsync.dead_letter_event (dead_letter_id, event, run_id, note) values (old.id, 'opened', f.last_run_id, f.category);
    return old.id;
  end if;

  update dirsync.dead_letter d
  set category = f.category, platform_code = f.platform_code, trace_id = f.trace_id, message = f.message, remedy = f.remedy,
      changed_fields = coalesce(f.changed_fields, '[]'), blocked_by = f.blocked_by, source_hash = f.source_hash,
      occurrences = d.occurrences + 1, last_failed_at = now(), last_run_id = f.last_run_id, version = d.version + 1,
      -- An ignored case stays ignored while HR gives the same row; a snoozed one sleeps on.
      state = case when old.state = 'ignored' and old.source_hash is not distinct from f.source_hash then 'ignored'
                   when old.state = 'snoozed' and old.snooze_until > now() then 'snoozed'
                   else f.state end,
      next_retry_at = case when old.state = 'ignored' and old.source_hash is not distinct from f.source_hash then null
                           when old.state = 'snoozed' and old.snooze_until > now() then old.snooze_until
                           else f.next_retry_at end
  where d.id = old.id;
  if old.state = 'ignored' and old.source_hash is distinct from f.source_hash then
    insert into dirsync.dead_letter_event (dead_letter_id, event, run_id, note) values (old.id, 'reopened', f.last_run_id, 'the HR row changed');
  elsif old.category <> f.category then
    insert into dirsync.dead_letter_event (dead_letter_id, event, run_id, note) values (old.id, 'changed', f.last_run_id, f.category);
  end if;
  return old.id;
end $$;
comment on function dirsync.record_failure is 'Opens a case, or counts up the open one of the same entity, operation and field.';

-- Only the reviewer's role and the owner may call anything here (see the role dirsync_reviewer, granted by migrate).
revoke execute on all functions in schema dirsync from public;
