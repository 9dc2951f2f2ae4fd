-- For people: the view that a reviewer reads first, and the functions that decide about runs and cases.

create view dirsync.failed_syncs as
select *
from (
  select id, enterprise_code, entity, entity_key, operation, nullif(field, '') as field, category,
         platform_code, message, remedy, blocked_by, occurrences, first_failed_at, last_failed_at, state,
         next_retry_at, swap_id
  from dirsync.dead_letter
  where state not in ('resolved', 'ignored')
  union all
  select null, enterprise_code, 'refund', outer_refund_no, 'send-refund', null, 'outcome_unknown',
         platform_code, coalesce(message, 'whether it was carried out is unknown'),
         case when waits
              then 'Find out from the vendor whether it was carried out, then: dirsync refund resolve '
                   || outer_refund_no || ' --as accepted (or rejected) --reason "…"'
              else 'Nothing for now: the service asks the order record by itself. '
                   'To ask at once: dirsync refund settle ' || outer_refund_no
         end,
         null, 1, sent_at, sent_at, case when waits then 'open' else 'retry_scheduled' end,
         next_settle_at, null::bigint
  from dirsync.refund,
       lateral (select next_settle_at is null or left_to_person_at is not null as waits) as person
  where state = 'unknown'
  union all
  select null, enterprise_code, 'topup', external_code, 'send-topup', null, 'outcome_unknown',
         platform_code, coalesce(message, 'whether it was carried out is unknown'),
         'See in the platform''s back office whether it is there, then: dirsync topup resolve '
         || external_code || ' --as accepted (or rejected) --reason "…"',
         null, 1, sent_at, sent_at, 'open', null, null
  from dirsync.topup
  where state = 'unknown'
) as failed
order by state <> 'open', last_failed_at desc, id desc;

comment on view dirsync.failed_syncs is
  'What a reviewer reads first: every case that is neither resolved nor ignored, and every refund and top-up '
  'of unknown outcome, open ones first, the latest on top. Act with dirsync.retry(id), ignore(id, reason), '
  'snooze(id, until, reason). A refund or top-up has no id, for none of these may send money again or hide '
  'that it is missing: its remedy says what to do.';

-- The columns are those of dead_letter, with the same comments but for what refunds and top-ups add.
do $$
declare
  same record;
begin
  for same in
    select v.attname, col_description(t.attrelid, t.attnum) as text
    from pg_attribute v
    join pg_attribute t on t.attname = v.attname and t.attrelid = 'dirsync.dead_letter'::regclass
    where v.attrelid = 'dirsync.failed_syncs'::regclass and v.attnum > 0
  loop
    execute format('comment on column dirsync.failed_syncs.%I is %L', same.attname, same.text);
  end loop;
end $$;
comment on column dirsync.failed_syncs.id is
  'Number of the case, for retry, ignore and snooze; null for a refund or top-up, see its remedy.';
comment on column dirsync.failed_syncs.entity is
  'employee, department, mirror, refund, topup, or enterprise: a field that is withheld from all employees '
  'of an enterprise.';
comment on column dirsync.failed_syncs.entity_key is
  'User id, department code, the mirror (orders, accounts, taxpayers), the number of a refund or top-up, or '
  'the enterprise code, (single enterprise) where there is none.';
comment on column dirsync.failed_syncs.operation is
  'The job that failed: update-employee, delete-department, bind-openid, mirror-orders, mirror-accounts, '
  'mirror-taxpayers; or send-refund, send-topup.';

-- Runs -----------------------------------------------------------------------

create function dirsync.request_run(
  kind text, keys text[], command text, arguments jsonb, max_age interval default null
) returns bigint
language plpgsql as $$
declare
  run bigint;
begin
  select r.id into run from dirsync.sync_run r
  where r.kind = request_run.kind and r.keys = request_run.keys
    and r.max_age is not distinct from request_run.max_age
    and r.state = 'requested' and not r.approved
  order by r.id limit 1;
  if run is null then
    insert into dirsync.sync_run (kind, keys, max_age, requested_by)
    values (request_run.kind, request_run.keys, request_run.max_age, dirsync.actor())
    returning id into run;
  end if;
  insert into dirsync.command (name, arguments, requested_by, run_id)
  values (command, arguments, dirsync.actor(), run);
  perform pg_notify('dirsync', 'run');
  return run;
end $$;
comment on function dirsync.request_run is
  'Requests a run, or returns the same one that is still waiting to begin.';

create function dirsync.resync(
  kind text default 'changes', key text default null, max_age interval default null
) returns bigint
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  wanted text := case kind when 'employee' then 'employees' else kind end;
begin
  if wanted is null
     or wanted not in ('changes', 'full', 'employees', 'departments', 'openids',
                       'orders', 'accounts', 'taxpayers') then
    raise exception 'there is no run of kind %', coalesce(quote_literal(kind), 'null')
      using errcode = '22023',
      hint = 'changes, full, employees, departments, openids, orders, accounts or taxpayers';
  end if;
  if wanted = 'employees' and coalesce(btrim(key), '') = '' then
    raise exception 'a run of kind employees needs the user id as key' using errcode = '22023',
      hint = 'select dirsync.resync(''employees'', ''e10001'')';
  end if;
  if wanted <> 'employees' and key is not null then
    raise exception 'a run of kind % takes no key', wanted using errcode = '22023';
  end if;
  if wanted <> 'full' and max_age is not null then
    raise exception 'a run of kind % takes no max_age', wanted using errcode = '22023',
      hint = 'select dirsync.resync(''full'', max_age => ''6 hours'')';
  end if;
  if max_age <= interval '0' then
    raise exception 'max_age is %: it has to be longer than nothing', max_age using errcode = '22023',
      hint = 'select dirsync.resync(''full'', max_age => ''6 hours'')';
  end if;
  return dirsync.request_run(
    wanted, case when wanted = 'employees' then array[btrim(key)] else '{}' end, 'resync',
    jsonb_strip_nulls(jsonb_build_object('kind', wanted, 'key', key, 'max_age', max_age)), max_age);
end $$;
comment on function dirsync.resync is
  'Starts a run now and returns its number: resync(), resync(''full''), resync(''full'', max_age => ''6 '
  'hours''), resync(''employees'', ''e10001''), resync(''departments''), resync(''openids''), '
  'resync(''orders''), resync(''accounts''), resync(''taxpayers'').';

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
language sql security definer set search_path = pg_catalog, pg_temp as $$
  select dirsync.decide(run, true, null)
$$;
comment on function dirsync.approve is
  'Lets a held run go on: exactly the plan that was stored is carried out. Returns its number.';

create function dirsync.reject(run bigint, reason text default null) returns bigint
language sql security definer set search_path = pg_catalog, pg_temp as $$
  select dirsync.decide(run, false, reason)
$$;
comment on function dirsync.reject is 'Ends a held run without writing anything. Returns its number.';

create function dirsync.take_back(run bigint) returns void
language sql set search_path = pg_catalog, pg_temp as $$
  with waiting as materialized (
    select p.operation, p.enterprise_code, p.entity_key, p.detail from dirsync.pending p
    where p.run_id = run and p.starts = 0
    order by p.operation, p.enterprise_code, p.entity_key, p.detail for update
  ), taken_back as (
    -- Found by key: a row that somebody else has touched meanwhile lies in another place.
    delete from dirsync.pending p using waiting w
    where p.operation = w.operation and p.enterprise_code = w.enterprise_code and p.entity_key = w.entity_key
      and p.detail = w.detail and p.starts = 0
    returning p.operation, p.enterprise_code, p.entity_key
  )
  -- No plan covers them any more: the next one judges them anew, breakers included.
  update dirsync.employee e set source_hash = coalesce(e.acknowledged_hash, e.parked_hash), vanished_at = null
  from taken_back t
  where t.operation = 'update-employee' and e.enterprise_code = t.enterprise_code and e.userid = t.entity_key
$$;
comment on function dirsync.take_back is
  'Takes the waiting work of a cancelled run out of the outbox. Work in hand is not touched.';

create function dirsync.cancel(run bigint, reason text default null) returns bigint
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  was text;
begin
  select r.state into was from dirsync.sync_run r where r.id = run for no key update;
  if was = 'held' then
    raise exception 'run % is held, so nothing of it is under way: reject it instead', run
      using errcode = 'P0002', hint = format('select dirsync.reject(%s, ''reason'')', run);
  end if;
  if was is null then
    raise exception 'there is no run %', coalesce(run::text, 'null') using errcode = 'P0002';
  end if;
  if was not in ('requested', 'planning', 'running') then
    raise exception 'run % is %, so nothing of it is under way', run, was
      using errcode = 'P0002',
      hint = 'select id, kind, state from dirsync.sync_run where finished_at is null';
  end if;

  perform dirsync.take_back(run);
  -- Cases that waited for this run wait again; they come back by themselves.
  update dirsync.dead_letter d
  set state = 'open', next_retry_at = now() + interval '7 days', version = d.version + 1
  where d.state = 'retrying'
    and not exists (select from dirsync.pending p
                    where p.enterprise_code = d.enterprise_code and p.entity_key = d.entity_key
                      and p.operation = d.operation)
    and exists (select from dirsync.dead_letter_event v
                where v.dead_letter_id = d.id and v.event = 'retried' and v.run_id = run);
  delete from dirsync.mirror_task t where t.run_id = run;

  -- A running run ends with what was in hand; a mirror has nothing in hand that anybody waits for.
  update dirsync.sync_run r
  set cancelled_at = now(), decided_by = dirsync.actor(), decided_at = now(),
      decision_reason = nullif(btrim(cancel.reason), ''),
      state = case when was = 'running' and r.kind not in ('orders', 'accounts', 'taxpayers')
                   then 'running' else 'cancelled' end,
      finished_at = case when was = 'running' and r.kind not in ('orders', 'accounts', 'taxpayers')
                         then null else now() end
  where r.id = run;
  perform dirsync.note_command(
    'cancel', run, jsonb_build_object('run', run, 'reason', nullif(btrim(cancel.reason), '')));
  perform pg_notify('dirsync', 'run');
  return run;
end $$;
comment on function dirsync.cancel is
  'Takes the waiting work of a run back; work in hand is finished. The next run judges anew what was taken '
  'back. Returns its number.';

-- Cases ----------------------------------------------------------------------

create function dirsync.retry(id bigint) returns bigint
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  perform from dirsync.dead_letter d where d.id = retry.id and d.state <> 'resolved';
  if not found then
    raise exception 'there is no unresolved dead letter %', coalesce(retry.id::text, 'null')
      using errcode = 'P0002';
  end if;
  return dirsync.request_run('retry', array[retry.id::text], 'retry', jsonb_build_object('id', retry.id));
end $$;
comment on function dirsync.retry is
  'Tries a dead letter again now; returns the number of the run that does it.';

create function dirsync.retry_category(category text) returns bigint
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  ids text[];
begin
  select array_agg(d.id::text order by d.id) into ids from dirsync.dead_letter d
  where d.category = retry_category.category and d.state not in ('resolved', 'ignored');
  if ids is null then
    raise exception 'there is no open dead letter of category %', coalesce(quote_literal(category), 'null')
      using errcode = 'P0002', hint = 'select distinct category from dirsync.failed_syncs';
  end if;
  return dirsync.request_run('retry', ids, 'retry_category', jsonb_build_object('category', category));
end $$;
comment on function dirsync.retry_category is
  'Tries every open dead letter of a category again now; returns the number of the run that does it.';

create function dirsync.ignore(id bigint, reason text) returns bigint
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  if coalesce(btrim(reason), '') = '' then
    raise exception 'ignore needs a reason' using errcode = '22023',
      hint = 'select dirsync.ignore(17, ''shared phone, agreed with the works council'')';
  end if;
  update dirsync.dead_letter d
  set state = 'ignored', note = btrim(reason), next_retry_at = null, snooze_until = null,
      version = d.version + 1
  where d.id = ignore.id and d.state not in ('resolved', 'ignored');
  if not found then
    raise exception 'there is no open dead letter %', coalesce(ignore.id::text, 'null')
      using errcode = 'P0002';
  end if;
  insert into dirsync.dead_letter_event (dead_letter_id, actor, event, note)
  values (ignore.id, dirsync.actor(), 'ignored', btrim(reason));
  insert into dirsync.command (name, arguments, requested_by, dead_letter_id)
  values ('ignore', jsonb_build_object('id', ignore.id, 'reason', reason), dirsync.actor(), ignore.id);
  return ignore.id;
end $$;
comment on function dirsync.ignore is
  'Closes a case as accepted, with a reason. It reopens when the HR row changes. Returns its number.';

create function dirsync.snooze(id bigint, until timestamptz, reason text default null) returns bigint
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  if until is null or until <= now() then
    raise exception 'snooze needs a time in the future' using errcode = '22023',
      hint = 'select dirsync.snooze(17, now() + interval ''3 days'')';
  end if;
  update dirsync.dead_letter d
  set state = 'snoozed', snooze_until = until, next_retry_at = until,
      note = coalesce(nullif(btrim(reason), ''), d.note), version = d.version + 1
  where d.id = snooze.id and d.state not in ('resolved', 'ignored');
  if not found then
    raise exception 'there is no open dead letter %', coalesce(snooze.id::text, 'null')
      using errcode = 'P0002';
  end if;
  insert into dirsync.dead_letter_event (dead_letter_id, actor, event, note)
  values (snooze.id, dirsync.actor(), 'snoozed', reason);
  insert into dirsync.command (name, arguments, requested_by, dead_letter_id)
  values ('snooze', jsonb_strip_nulls(jsonb_build_object('id', snooze.id, 'until', until, 'reason', reason)),
          dirsync.actor(), snooze.id);
  return snooze.id;
end $$;
comment on function dirsync.snooze is
  'Lets a case rest until a time; then it is tried again. Returns its number.';
