-- Taking work back: what is unknown of the platform stays unknown, and no case waits for work that is gone.
-- What a person has decided about a case: a retry is theirs, and acceptance lasts as long as its reason does.

create or replace function dirsync.take_back(run bigint) returns void
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
    returning p.operation, p.enterprise_code, p.entity_key, p.sent_unknown
  )
  -- No plan covers them any more: the next one judges them anew, breakers included, and until then nobody is in
  -- step, as no row has this hash. Where the platform may have been changed unnoticed nothing is acknowledged
  -- any more, so that the next plan has it asked.
  update dirsync.employee e
  set source_hash = case when coalesce(e.acknowledged_hash, e.parked_hash) is not null
                         then uuid '00000000-0000-0000-0000-000000000000' end,
      vanished_at = null,
      acknowledged_hash = case when not t.sent_unknown then e.acknowledged_hash end,
      parked_hash = case when not t.sent_unknown then e.parked_hash end
  from taken_back t
  where t.operation = 'update-employee' and e.enterprise_code = t.enterprise_code and e.userid = t.entity_key
$$;

create function dirsync.rest_cases() returns bigint
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  ids    bigint[];
  rested bigint;
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
  set state = case d.entity when 'mirror' then 'retry_scheduled' else 'open' end,
      next_retry_at = now() + case d.entity when 'mirror' then interval '1 hour' else interval '7 days' end,
      version = d.version + 1
  where d.id = any (ids);
  get diagnostics rested = row_count;
  return rested;
end $$;
comment on function dirsync.rest_cases is
  'Lets the cases wait for their next turn that are being retried although their work is gone: it was taken '
  'back, or ended before it came to them. Returns how many there were.';

create or replace function dirsync.cancel(run bigint, reason text default null) returns bigint
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  was  dirsync.sync_run;
  said text := dirsync.text_of(reason, 'reason', 2000);
begin
  select * into was from dirsync.sync_run r where r.id = run for no key update;
  if was.state = 'held' then
    raise exception 'run % is held, so nothing of it is under way: reject it instead', run
      using errcode = 'P0002', hint = format('select dirsync.reject(%s, ''reason'')', run);
  end if;
  if was.state is null then
    raise exception 'there is no run %', coalesce(run::text, 'null') using errcode = 'P0002';
  end if;
  if was.state not in ('requested', 'planning', 'running') then
    if was.state in ('rejected', 'cancelled') then
      perform dirsync.refuse_decided(was);
    end if;
    raise exception 'run % is %, so nothing of it is under way', run, was.state
      using errcode = 'P0002',
      hint = 'select id, kind, state from dirsync.sync_run where finished_at is null';
  end if;
  perform dirsync.note_command('cancel', run, jsonb_build_object('run', run, 'reason', said));

  perform dirsync.take_back(run);
  delete from dirsync.mirror_task t where t.run_id = run;
  -- A running run ends with what was in hand; a mirror has nothing in hand that anybody waits for.
  update dirsync.sync_run r
  set cancelled_at = now(), decided_by = dirsync.actor(), decided_at = now(), decision_reason = said,
      state = case when was.state = 'running' and r.kind not in ('orders', 'accounts', 'taxpayers')
                   then 'running' else 'cancelled' end,
      finished_at = case when was.state = 'running' and r.kind not in ('orders', 'accounts', 'taxpayers')
                         then null else now() end
  where r.id = run;
  perform dirsync.rest_cases();
  perform pg_notify('dirsync', 'run');
  return run;
end $$;

create or replace function dirsync.request_run(
  kind text, keys text[], command text, arguments jsonb, max_age interval default null, source text default ''
) returns bigint
language plpgsql as $$
declare
  run bigint;
  joins boolean;
begin
  select r.id into run from dirsync.sync_run r
  where r.kind = request_run.kind and r.keys = request_run.keys and r.hr_source = request_run.source
    and r.max_age is not distinct from request_run.max_age
    and r.state = 'requested' and not r.approved
    -- A retry by itself has time, leaves ignored cases alone, and does not look at the mapping.
    and (r.kind <> 'retry' or r.requested_by <> 'cron')
  order by r.id limit 1;
  joins := run is not null;
  if not joins then
    run := nextval(pg_get_serial_sequence('dirsync.sync_run', 'id'));
  end if;
  perform dirsync.note_command(
    command, run, arguments, case when command = 'retry' then (arguments ->> 'id')::bigint end);
  if not joins then
    insert into dirsync.sync_run (id, kind, keys, max_age, hr_source, requested_by) overriding system value
    values (run, request_run.kind, request_run.keys, request_run.max_age, request_run.source,
            dirsync.actor());
  end if;
  perform pg_notify('dirsync', 'run');
  return run;
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

-- Since now these have the hash of the employee's HR row, so that one that was ignored ends with it.
update dirsync.dead_letter d set source_hash = e.source_hash
from dirsync.employee e
where d.operation = 'bind-openid' and d.state <> 'resolved' and d.source_hash is null
  and e.enterprise_code = d.enterprise_code and e.userid = d.entity_key;

comment on column dirsync.employee.source_hash is
  'Hash of the HR row as the last plan that passed saw it. Only this row is sent. Zeros: the work of that plan '
  'was taken back, and the next one judges whatever HR has.';
comment on column dirsync.dead_letter.source_hash is
  'Hash of the HR row that failed; of a department: of when HR closed it. Null where there is none.';
comment on column dirsync.dead_letter.state is
  'open: waits for a person (and a weekly probe); retry_scheduled, blocked, awaiting_activation: dirsync '
  'tries again by itself; retrying: a run is trying it again; snoozed: rests until snooze_until; resolved; '
  'ignored: until the HR row changes, or it fails for another reason.';
comment on column dirsync.dead_letter.version is
  'Raised at every change, but not by comments, and not by how many employees a field is withheld from.';

revoke execute on all functions in schema dirsync from public;
