-- A failure that passes by itself does not undo what a person has accepted.

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
  if old.state = 'ignored' and is_same and not accepts and f.category in ('platform_unavailable', 'token') then
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

comment on column dirsync.dead_letter.state is
  'open: waits for a person (and a weekly probe); retry_scheduled, blocked, awaiting_activation: dirsync '
  'tries again by itself; retrying: a run is trying it again; snoozed: rests until snooze_until; resolved; '
  'ignored: until the HR row changes, or it fails for another reason than that the platform was away.';
