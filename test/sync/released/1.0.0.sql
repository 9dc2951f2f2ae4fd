

SET statement_timeout = 0;
SET lock_timeout = 0;
SET idle_in_transaction_session_timeout = 0;
SET client_encoding = 'UTF8';
SET standard_conforming_strings = on;
SELECT pg_catalog.set_config('search_path', '', false);
SET check_function_bodies = false;
SET xmloption = content;
SET client_min_messages = warning;
SET row_security = off;
CREATE SCHEMA dirsync;
CREATE FUNCTION dirsync.acknowledge_alert(id bigint, reason text DEFAULT NULL::text) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
  if acknowledge_alert.id is null then
    perform dirsync.refuse('22023', 'said.acknowledge_needs_number',
      hint => 'select dirsync.acknowledge_alert(71, ''we are on it'')');
  end if;
  perform from dirsync.alert a
  where a.id = acknowledge_alert.id and a.state = 'firing' and a.acknowledged_by is null for update;
  if not found then
    return false;
  end if;
  perform dirsync.note_command('acknowledge_alert', null, jsonb_strip_nulls(
    jsonb_build_object('alert', id, 'reason', nullif(btrim(reason), ''))));
  update dirsync.alert a
  set acknowledged_by = dirsync.actor(), acknowledged_at = now(),
      acknowledged_reason = nullif(btrim(reason), '')
  where a.id = acknowledge_alert.id;
  return true;
end $$;
COMMENT ON FUNCTION dirsync.acknowledge_alert(id bigint, reason text) IS 'Says that you take care of an alert: its channels are told so once, and not again until it is over. Returns false if it is over already, or another person was first.';
CREATE FUNCTION dirsync.actor() RETURNS text
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
  select session_user || coalesce(' (' || dirsync.own_word('dirsync.actor') || ')', '')
$$;
COMMENT ON FUNCTION dirsync.actor() IS 'Who is asking: the database user, and whom the command line or the console names, if that is whose session it is.';
CREATE FUNCTION dirsync.add_comment(id bigint, text text) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
  perform from dirsync.dead_letter d where d.id = add_comment.id for key share;
  if not found then
    perform dirsync.refuse('P0002', 'said.no_case', jsonb_build_object('case', id));
  end if;
  insert into dirsync.dead_letter_event (dead_letter_id, actor, event, note)
  values (id, dirsync.actor(), 'commented', text);
end $$;
COMMENT ON FUNCTION dirsync.add_comment(id bigint, text text) IS 'Adds a comment to the story of a case.';
CREATE FUNCTION dirsync.address() RETURNS text
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
  select coalesce(dirsync.own_word('dirsync.address'), host(inet_client_addr()))
$$;
COMMENT ON FUNCTION dirsync.address() IS 'Where a command comes from: as the console says, else the address of the database client; null if that is on the same machine.';
CREATE FUNCTION dirsync.admit_sign_in(address_key text, address text, name text) RETURNS integer
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
  _name_key text := encode(sha256(convert_to(name, 'UTF8')), 'hex');
  -- Failing with a name on purpose must not lock out its owner, who has signed in from here
  -- before.
  _slow_name boolean := not exists (
    select from dirsync.console_session s
    where s.user_name = admit_sign_in.name and s.address = admit_sign_in.address);
  _now timestamptz := clock_timestamp();
  _kind text;
  _wait integer;
begin
  select ceil(extract(epoch from max(f.blocked_until) - _now)) into _wait
  from dirsync.sign_in_failure f
  where (f.kind = 'address' and f.key = address_key or f.kind = 'name' and f.key = _name_key and _slow_name)
    and f.blocked_until > _now;
  if _wait > 0 then
    return _wait;
  end if;

  -- The address before the name, everywhere, so that there is no deadlock.
  foreach _kind in array case when _slow_name then array['address', 'name'] else array['address'] end loop
    insert into dirsync.sign_in_failure as f (kind, key, failures, last_at, blocked_until)
    values (_kind, case _kind when 'address' then address_key else _name_key end, 1, _now, _now)
    on conflict (kind, key) do update
    set failures = case when f.last_at < _now - interval '15 minutes' then 1 else f.failures + 1 end,
        last_at = greatest(f.last_at, _now),
        blocked_until = greatest(f.last_at, _now) + dirsync.sign_in_pause(_kind,
          case when f.last_at < _now - interval '15 minutes' then 1 else f.failures + 1 end)
    where f.blocked_until <= clock_timestamp();
    -- Others were admitted in the same moment, and this one comes too late.
    if not found then
      return 1;
    end if;
  end loop;

  -- Each attempt clears up after a few old ones: the table never grows beyond an hour of them.
  delete from dirsync.sign_in_failure
  where ctid = any (array(select f.ctid from dirsync.sign_in_failure f
                          where f.last_at < _now - interval '1 hour' limit 5 for update skip locked));
  return 0;
end $$;
COMMENT ON FUNCTION dirsync.admit_sign_in(address_key text, address text, name text) IS 'Asks for leave to look at a password. Returns 0 and counts the attempt as failed until forgive_sign_in says otherwise, or the seconds to wait.';
CREATE FUNCTION dirsync.approve(run bigint) RETURNS bigint
    LANGUAGE sql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
  select dirsync.decide(run, true, null)
$$;
COMMENT ON FUNCTION dirsync.approve(run bigint) IS 'Lets a held run go on: exactly the plan that was stored is carried out. Returns its number.';
CREATE FUNCTION dirsync.assign(id bigint, assignee text) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
  name text := dirsync.text_of(assignee, 'name', 200);
begin
  perform dirsync.note_command('assign', null, jsonb_build_object('id', id, 'assignee', name), id);
  perform dirsync.set_assigned(id, name);
  return id;
end $$;
COMMENT ON FUNCTION dirsync.assign(id bigint, assignee text) IS 'Assigns a case to a person, assign(17, ''mei''), or to no one, assign(17, null). Returns its number.';


SET default_tablespace = '';

SET default_table_access_method = heap;
CREATE TABLE dirsync.bulk_action (
    id bigint NOT NULL,
    action text NOT NULL,
    filter jsonb,
    arguments jsonb DEFAULT '{}'::jsonb NOT NULL,
    state text DEFAULT 'preview'::text NOT NULL,
    total integer DEFAULT 0 NOT NULL,
    more boolean DEFAULT false NOT NULL,
    categories jsonb DEFAULT '{}'::jsonb NOT NULL,
    states jsonb DEFAULT '{}'::jsonb NOT NULL,
    done integer DEFAULT 0 NOT NULL,
    skipped integer DEFAULT 0 NOT NULL,
    failed integer DEFAULT 0 NOT NULL,
    actor text,
    requested_by text DEFAULT dirsync.actor() NOT NULL,
    address text DEFAULT dirsync.address(),
    reason text,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    confirmed_at timestamp with time zone,
    started_at timestamp with time zone,
    worked_at timestamp with time zone,
    finished_at timestamp with time zone,
    version integer DEFAULT 1 NOT NULL,
    CONSTRAINT bulk_action_action_check CHECK ((action = ANY (ARRAY['retry'::text, 'snooze'::text, 'ignore'::text, 'assign'::text, 'comment'::text]))),
    CONSTRAINT bulk_action_state_check CHECK ((state = ANY (ARRAY['preview'::text, 'requested'::text, 'running'::text, 'done'::text, 'stopped'::text])))
);
COMMENT ON TABLE dirsync.bulk_action IS 'Actions on many cases at once: first a preview that names the cases, then, once a person has confirmed it, carried out in the background.';
COMMENT ON COLUMN dirsync.bulk_action.id IS 'Number of the action.';
COMMENT ON COLUMN dirsync.bulk_action.action IS 'retry, snooze, ignore, assign or comment.';
COMMENT ON COLUMN dirsync.bulk_action.filter IS 'What the cases had to match when the preview was made; null: they were chosen one by one.';
COMMENT ON COLUMN dirsync.bulk_action.arguments IS 'until and reason, assignee, or text.';
COMMENT ON COLUMN dirsync.bulk_action.state IS 'preview: not confirmed yet; requested: waits for a process; running; done; stopped: by a person.';
COMMENT ON COLUMN dirsync.bulk_action.total IS 'Cases that it is about.';
COMMENT ON COLUMN dirsync.bulk_action.more IS 'Whether more cases matched than one action takes; the rest is left out.';
COMMENT ON COLUMN dirsync.bulk_action.categories IS 'Cases by category, when the preview was made.';
COMMENT ON COLUMN dirsync.bulk_action.states IS 'Cases by state, when the preview was made.';
COMMENT ON COLUMN dirsync.bulk_action.done IS 'Cases that it was done to.';
COMMENT ON COLUMN dirsync.bulk_action.skipped IS 'Cases that had changed since the preview, or were closed.';
COMMENT ON COLUMN dirsync.bulk_action.failed IS 'Cases where it went wrong.';
COMMENT ON COLUMN dirsync.bulk_action.actor IS 'Whom the console or the shell named: what is done is done in their name.';
COMMENT ON COLUMN dirsync.bulk_action.requested_by IS 'Who made the preview; then who confirmed it.';
COMMENT ON COLUMN dirsync.bulk_action.address IS 'From where.';
COMMENT ON COLUMN dirsync.bulk_action.reason IS 'Why, where a reason was given.';
COMMENT ON COLUMN dirsync.bulk_action.created_at IS 'When the preview was made.';
COMMENT ON COLUMN dirsync.bulk_action.confirmed_at IS 'When a person confirmed it.';
COMMENT ON COLUMN dirsync.bulk_action.started_at IS 'When a process began.';
COMMENT ON COLUMN dirsync.bulk_action.worked_at IS 'When a process last worked on it: whichever has waited longest is next.';
COMMENT ON COLUMN dirsync.bulk_action.finished_at IS 'When it was done or stopped.';
COMMENT ON COLUMN dirsync.bulk_action.version IS 'Raised at every change.';
CREATE TABLE dirsync.bulk_item (
    bulk_id bigint NOT NULL,
    dead_letter_id bigint NOT NULL,
    version integer NOT NULL,
    outcome text,
    code text,
    message jsonb,
    run_id bigint,
    at timestamp with time zone,
    CONSTRAINT bulk_item_code_check CHECK ((code = ANY (ARRAY['changed'::text, 'closed'::text, 'gone'::text, 'error'::text]))),
    CONSTRAINT bulk_item_outcome_check CHECK ((outcome = ANY (ARRAY['done'::text, 'skipped'::text, 'failed'::text])))
);
COMMENT ON TABLE dirsync.bulk_item IS 'The cases of a bulk action, and what came of each.';
COMMENT ON COLUMN dirsync.bulk_item.bulk_id IS 'The action.';
COMMENT ON COLUMN dirsync.bulk_item.dead_letter_id IS 'The case.';
COMMENT ON COLUMN dirsync.bulk_item.version IS 'Version of the case when the preview was made. A case that has another one is skipped.';
COMMENT ON COLUMN dirsync.bulk_item.outcome IS 'done, skipped or failed; null: its turn has not come.';
COMMENT ON COLUMN dirsync.bulk_item.code IS 'Why it was not done: changed since the preview, closed, gone (deleted), or an error.';
COMMENT ON COLUMN dirsync.bulk_item.message IS 'changed: who changed it, how and when; error: the error. For dirsync.in_language.';
COMMENT ON COLUMN dirsync.bulk_item.run_id IS 'The run that tries it again.';
COMMENT ON COLUMN dirsync.bulk_item.at IS 'When its turn came.';
CREATE FUNCTION dirsync.bulk_act(bulk dirsync.bulk_action, item dirsync.bulk_item) RETURNS text
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
  d   dirsync.dead_letter;
  why text;
begin
  select * into d from dirsync.dead_letter c where c.id = item.dead_letter_id for no key update;
  why := dirsync.bulk_skip_reason(item, d, bulk.action);
  if why is not null then
    perform dirsync.bulk_skip(item, why);
    return 'skipped';
  end if;
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
    update dirsync.bulk_item i
    set outcome = 'failed', code = 'error', at = clock_timestamp(),
        message = jsonb_build_object('key', 'said.words', 'values', jsonb_build_object('words', sqlerrm))
    where i.bulk_id = item.bulk_id and i.dead_letter_id = item.dead_letter_id;
    return 'failed';
end $$;
COMMENT ON FUNCTION dirsync.bulk_act(bulk dirsync.bulk_action, item dirsync.bulk_item) IS 'Does to one case what a bulk action is about. Returns the outcome.';
CREATE FUNCTION dirsync.bulk_begin(action text, filter jsonb, arguments jsonb, actor text) RETURNS bigint
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
  bulk   bigint;
  reason text := dirsync.text_of(arguments ->> 'reason', 'reason', 2000);
  until  timestamptz := arguments ->> 'until';
  name   text := dirsync.text_of(arguments ->> 'assignee', 'name', 200);
  said   text := dirsync.text_of(arguments ->> 'text', 'comment', 2000);
begin
  if action = 'ignore' and reason is null then
    perform dirsync.refuse('22023', 'said.needs_reason', jsonb_build_object('name', 'ignore'));
  end if;
  if action = 'comment' and said is null then
    perform dirsync.refuse('22023', 'said.comment_needs_text');
  end if;
  if action = 'snooze' and (until is null or until <= now()) then
    perform dirsync.refuse('22023', 'said.snooze_needs_time');
  end if;
  insert into dirsync.bulk_action (action, filter, arguments, actor, reason)
  values (action, filter,
          jsonb_strip_nulls(jsonb_build_object('until', until, 'reason', reason, 'assignee', name,
                                               'text', said)),
          actor, reason)
  returning id into bulk;
  return bulk;
end $$;
COMMENT ON FUNCTION dirsync.bulk_begin(action text, filter jsonb, arguments jsonb, actor text) IS 'Begins the preview of a bulk action. Returns its number.';
CREATE FUNCTION dirsync.bulk_locked(id bigint) RETURNS dirsync.bulk_action
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
  bulk dirsync.bulk_action;
begin
  select * into bulk from dirsync.bulk_action b where b.id = bulk_locked.id for no key update;
  if bulk.id is null then
    perform dirsync.refuse('P0002', 'said.no_bulk_action', jsonb_build_object('id', id));
  end if;
  return bulk;
end $$;
COMMENT ON FUNCTION dirsync.bulk_locked(id bigint) IS 'A bulk action, locked for the rest of the transaction.';
CREATE FUNCTION dirsync.bulk_retry(bulk dirsync.bulk_action, most integer, OUT done integer, OUT skipped integer) RETURNS record
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
  ids   bigint[];
  until bigint;
  run   bigint;
begin
  select array_agg(i.dead_letter_id) filter (where dirsync.bulk_skip_reason(i, d, bulk.action) is null),
         max(i.dead_letter_id)
  into ids, until
  from (select t.dead_letter_id from dirsync.bulk_item t where t.bulk_id = bulk.id and t.outcome is null
        order by t.dead_letter_id limit most) turn
  join dirsync.bulk_item i on i.bulk_id = bulk.id and i.dead_letter_id = turn.dead_letter_id
  left join dirsync.dead_letter d on d.id = i.dead_letter_id;
  done := coalesce(cardinality(ids), 0);
  if done > 0 then
    run := dirsync.request_run('retry', ids::text[], 'bulk_retry',
                               jsonb_build_object('bulk', bulk.id, 'cases', done));
    update dirsync.bulk_item i set outcome = 'done', run_id = run, at = clock_timestamp()
    from unnest(ids) as tried (id)
    where i.bulk_id = bulk.id and i.dead_letter_id = tried.id;
  end if;
  -- One that was as it should be a moment later has changed in between.
  perform dirsync.bulk_skip(i, coalesce(dirsync.bulk_skip_reason(i, d, bulk.action), 'changed'))
  from dirsync.bulk_item i left join dirsync.dead_letter d on d.id = i.dead_letter_id
  where i.bulk_id = bulk.id and i.outcome is null and i.dead_letter_id <= until;
  get diagnostics skipped = row_count;
end $$;
COMMENT ON FUNCTION dirsync.bulk_retry(bulk dirsync.bulk_action, most integer, OUT done integer, OUT skipped integer) IS 'Requests one run for the next cases of a bulk retry. Returns how many it is about, and how many are left alone.';
CREATE FUNCTION dirsync.bulk_skip(item dirsync.bulk_item, why text) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
  update dirsync.bulk_item i
  set outcome = 'skipped', code = why, at = clock_timestamp(),
      message = case when why = 'changed' then dirsync.last_change(i.dead_letter_id) end
  where i.bulk_id = item.bulk_id and i.dead_letter_id = item.dead_letter_id;
end $$;
COMMENT ON FUNCTION dirsync.bulk_skip(item dirsync.bulk_item, why text) IS 'Writes down that a bulk action has left a case alone, and why.';
CREATE TABLE dirsync.dead_letter (
    id bigint NOT NULL,
    enterprise_code text DEFAULT ''::text NOT NULL,
    entity text NOT NULL,
    entity_key text NOT NULL,
    operation text NOT NULL,
    field text DEFAULT ''::text NOT NULL,
    category text NOT NULL,
    platform_code bigint,
    trace_id text,
    message jsonb NOT NULL,
    remedy jsonb NOT NULL,
    changed_fields jsonb DEFAULT '[]'::jsonb NOT NULL,
    blocked_by text,
    source_hash uuid,
    state text DEFAULT 'open'::text NOT NULL,
    first_failed_at timestamp with time zone DEFAULT now() NOT NULL,
    last_failed_at timestamp with time zone DEFAULT now() NOT NULL,
    occurrences integer DEFAULT 1 NOT NULL,
    next_retry_at timestamp with time zone,
    snooze_until timestamp with time zone,
    first_run_id bigint,
    last_run_id bigint,
    resolution text,
    resolved_by text,
    resolved_at timestamp with time zone,
    note text,
    version integer DEFAULT 1 NOT NULL,
    swap_id bigint,
    assignee text,
    CONSTRAINT dead_letter_check CHECK (((state = 'resolved'::text) = (resolved_at IS NOT NULL))),
    CONSTRAINT dead_letter_check1 CHECK (((state <> 'ignored'::text) OR (note IS NOT NULL))),
    CONSTRAINT dead_letter_entity_check CHECK ((entity = ANY (ARRAY['employee'::text, 'department'::text, 'mirror'::text, 'enterprise'::text]))),
    CONSTRAINT dead_letter_operation_check CHECK ((operation = ANY (ARRAY['update-employee'::text, 'delete-department'::text, 'bind-openid'::text, 'read-hr'::text, 'mirror-orders'::text, 'mirror-accounts'::text, 'mirror-taxpayers'::text]))),
    CONSTRAINT dead_letter_state_check CHECK ((state = ANY (ARRAY['open'::text, 'retry_scheduled'::text, 'blocked'::text, 'awaiting_activation'::text, 'retrying'::text, 'snoozed'::text, 'resolved'::text, 'ignored'::text])))
);
COMMENT ON TABLE dirsync.dead_letter IS 'Cases for review: one per entity, operation and field, however often it fails. The first success resolves it. Read dirsync.failed_syncs first.';
COMMENT ON COLUMN dirsync.dead_letter.id IS 'Number of the case, for retry, ignore and snooze.';
COMMENT ON COLUMN dirsync.dead_letter.enterprise_code IS 'Enterprise; empty for a single enterprise.';
COMMENT ON COLUMN dirsync.dead_letter.entity IS 'employee, department, mirror, or enterprise: a field that is withheld from all employees of an enterprise.';
COMMENT ON COLUMN dirsync.dead_letter.entity_key IS 'User id, department code, the mirror (orders, accounts, taxpayers), or the enterprise code, (single enterprise) where there is none.';
COMMENT ON COLUMN dirsync.dead_letter.operation IS 'The job that failed: update-employee, delete-department, bind-openid, mirror-orders, mirror-accounts, mirror-taxpayers.';
COMMENT ON COLUMN dirsync.dead_letter.field IS 'The field that is held back (bind-openid: the merchant application id; mirror-taxpayers: the identification number; mirror-orders: older_orders for those asked for one by one); empty: the whole entity.';
COMMENT ON COLUMN dirsync.dead_letter.category IS 'Kind of failure: duplicate_mobile, missing_department, invalid_hr_row, not_on_platform, not_applied, left_hr, unknown_payer …';
COMMENT ON COLUMN dirsync.dead_letter.platform_code IS 'Error code of the platform (section 7); null when dirsync found the problem itself.';
COMMENT ON COLUMN dirsync.dead_letter.trace_id IS 'x-trace-id of the failed call. Name it to the vendor''s support.';
COMMENT ON COLUMN dirsync.dead_letter.message IS 'What failed, without personal data, for dirsync.in_language: failed_syncs has it in words.';
COMMENT ON COLUMN dirsync.dead_letter.remedy IS 'What to do about it, for dirsync.in_language.';
COMMENT ON COLUMN dirsync.dead_letter.changed_fields IS 'The fields concerned: [{field, value}], values masked.';
COMMENT ON COLUMN dirsync.dead_letter.blocked_by IS 'What has to change first: for a duplicate mobile or e-mail address the user id of its holder. The case is retried as soon as that changes.';
COMMENT ON COLUMN dirsync.dead_letter.source_hash IS 'Hash of the HR row that failed; of a department: of when HR closed it. Null where there is none.';
COMMENT ON COLUMN dirsync.dead_letter.state IS 'open: waits for a person (and a weekly probe); retry_scheduled, blocked, awaiting_activation: dirsync tries again by itself; retrying: a run is trying it again; snoozed: until snooze_until; resolved; ignored: until the HR row changes, or it fails for another reason than that the platform was away.';
COMMENT ON COLUMN dirsync.dead_letter.first_failed_at IS 'First failure of the case.';
COMMENT ON COLUMN dirsync.dead_letter.last_failed_at IS 'Latest failure of the case.';
COMMENT ON COLUMN dirsync.dead_letter.occurrences IS 'How often it failed.';
COMMENT ON COLUMN dirsync.dead_letter.next_retry_at IS 'When dirsync tries again by itself.';
COMMENT ON COLUMN dirsync.dead_letter.snooze_until IS 'Snoozed until then.';
COMMENT ON COLUMN dirsync.dead_letter.first_run_id IS 'Run of the first failure.';
COMMENT ON COLUMN dirsync.dead_letter.last_run_id IS 'Run of the latest failure.';
COMMENT ON COLUMN dirsync.dead_letter.resolution IS 'succeeded: a later attempt went through; obsolete: nothing is left to be done; merged: the enterprise''s dead letter about the field stands for it.';
COMMENT ON COLUMN dirsync.dead_letter.resolved_by IS 'Who resolved it: dirsync, or a person.';
COMMENT ON COLUMN dirsync.dead_letter.resolved_at IS 'When it was resolved.';
COMMENT ON COLUMN dirsync.dead_letter.note IS 'Reason given with ignore or snooze.';
COMMENT ON COLUMN dirsync.dead_letter.version IS 'Raised at every change, but not by comments, and not by how many employees a field is withheld from.';
COMMENT ON COLUMN dirsync.dead_letter.swap_id IS 'Groups the cases of employees who want each other''s mobile number or e-mail address: the number of the oldest of them. None can go first; see the remedy. Retrying one retries all.';
COMMENT ON COLUMN dirsync.dead_letter.assignee IS 'The person who handles it; null: unassigned.';
CREATE FUNCTION dirsync.bulk_skip_reason(item dirsync.bulk_item, d dirsync.dead_letter, action text) RETURNS text
    LANGUAGE sql IMMUTABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
  select case when d.id is null then 'gone'
              when d.version <> item.version then 'changed'
              when d.state = 'resolved' and action in ('retry', 'snooze', 'ignore')
                or d.state = 'ignored' and action in ('snooze', 'ignore') then 'closed' end
$$;
COMMENT ON FUNCTION dirsync.bulk_skip_reason(item dirsync.bulk_item, d dirsync.dead_letter, action text) IS 'Why a bulk action leaves a case alone, as the code of its item; null when it does not.';
CREATE FUNCTION dirsync.bulk_start(id bigint, actor text) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
  bulk dirsync.bulk_action := dirsync.bulk_locked(id);
begin
  if bulk.state <> 'preview' then
    perform dirsync.refuse('DS409',
      case when bulk.confirmed_at is null then 'said.bulk_was_thrown_away' else 'said.bulk_was_started' end,
      jsonb_build_object('id', id, 'name', bulk.requested_by,
                         'time', dirsync.moment(coalesce(bulk.confirmed_at, bulk.finished_at))),
      hint => 'Look at it again before you decide.');
  end if;
  perform dirsync.note_command(
    'bulk_' || bulk.action, null,
    bulk.arguments || jsonb_build_object('bulk', id, 'cases', bulk.total, 'filter', bulk.filter));
  update dirsync.bulk_action b
  set state = 'requested', actor = bulk_start.actor, requested_by = dirsync.actor(),
      address = dirsync.address(), confirmed_at = now(), version = b.version + 1
  where b.id = bulk.id;
  perform pg_notify('dirsync', 'bulk');
end $$;
COMMENT ON FUNCTION dirsync.bulk_start(id bigint, actor text) IS 'Has a bulk action that was previewed carried out.';
CREATE FUNCTION dirsync.bulk_step(most integer, most_retried integer) RETURNS bigint
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
  bulk    dirsync.bulk_action;
  item    dirsync.bulk_item;
  _done    integer := 0;
  _skipped integer := 0;
  _failed  integer := 0;
  goes_on boolean;
begin
  -- One process at a time works on an action; whichever has waited longest is next.
  select * into bulk from dirsync.bulk_action b where b.state in ('requested', 'running')
  order by b.worked_at nulls first, b.id limit 1
  for no key update skip locked;
  if bulk.id is null then
    return null;
  end if;
  perform set_config('dirsync.actor', coalesce(bulk.actor, ''), true),
          set_config('dirsync.address', coalesce(bulk.address, ''), true);

  if bulk.action = 'retry' then
    select r.done, r.skipped into _done, _skipped from dirsync.bulk_retry(bulk, most_retried) r;
  else
    for item in
      select * from dirsync.bulk_item i where i.bulk_id = bulk.id and i.outcome is null
      order by i.dead_letter_id limit most
    loop
      case dirsync.bulk_act(bulk, item)
        when 'done' then _done := _done + 1;
        when 'skipped' then _skipped := _skipped + 1;
        else _failed := _failed + 1;
      end case;
    end loop;
  end if;

  goes_on := exists (select from dirsync.bulk_item i where i.bulk_id = bulk.id and i.outcome is null);
  update dirsync.bulk_action b
  set state = case when goes_on then 'running' else 'done' end,
      done = b.done + _done, skipped = b.skipped + _skipped,
      failed = b.failed + _failed,
      started_at = coalesce(b.started_at, now()), worked_at = clock_timestamp(), version = b.version + 1,
      finished_at = case when not goes_on then clock_timestamp() end
  where b.id = bulk.id;
  perform pg_notify('dirsync', 'bulk');
  return bulk.id;
end $$;
COMMENT ON FUNCTION dirsync.bulk_step(most integer, most_retried integer) IS 'Carries out the next batch of a bulk action, all or nothing of it, so that a process that dies leaves nothing half done. Returns the number of the action; null when none waits.';
CREATE FUNCTION dirsync.bulk_stop(id bigint) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
  bulk dirsync.bulk_action := dirsync.bulk_locked(id);
begin
  if bulk.finished_at is not null then
    perform dirsync.refuse('DS409', 'said.bulk_is_over',
      jsonb_build_object('id', id, 'bulk_state', bulk.state, 'time', dirsync.moment(bulk.finished_at)),
      hint => 'Look at it again before you decide.');
  end if;
  -- A preview that is thrown away has done nothing.
  if bulk.state <> 'preview' then
    perform dirsync.note_command('bulk_stop', null, jsonb_build_object('bulk', id));
  end if;
  update dirsync.bulk_action b set state = 'stopped', finished_at = now(), version = b.version + 1
  where b.id = bulk.id;
  perform pg_notify('dirsync', 'bulk');
end $$;
COMMENT ON FUNCTION dirsync.bulk_stop(id bigint) IS 'Stops a bulk action after the batch in hand, or throws a preview away. What is done stays done.';
CREATE FUNCTION dirsync.cancel(run bigint, reason text DEFAULT NULL::text) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
  was  dirsync.sync_run;
  said text := dirsync.text_of(reason, 'reason', 2000);
begin
  select * into was from dirsync.sync_run r where r.id = run for no key update;
  if was.state = 'held' then
    perform dirsync.refuse('P0002', 'said.run_is_held', jsonb_build_object('run', run),
      hint => format('select dirsync.reject(%s, ''reason'')', run));
  end if;
  if was.state is null then
    perform dirsync.refuse('P0002', 'said.no_run', jsonb_build_object('run', run));
  end if;
  if was.state not in ('requested', 'planning', 'running') then
    if was.state in ('rejected', 'cancelled') then
      perform dirsync.refuse_decided(was);
    end if;
    perform dirsync.refuse('P0002', 'said.run_is_over',
      jsonb_build_object('run', run, 'run_state', was.state),
      hint => 'select id, kind, state from dirsync.sync_run where finished_at is null');
  end if;
  perform dirsync.note_command('cancel', run, jsonb_build_object('run', run, 'reason', said));

  perform dirsync.take_back(run);
  delete from dirsync.mirror_task t where t.run_id = run;
  -- A running run ends with the work in hand; a mirror has none that needs to be waited for.
  update dirsync.sync_run r
  set cancelled_at = now(), decided_by = dirsync.actor(), decided_at = now(), decision_reason = said,
      state = case when was.state = 'running' and r.kind not in ('orders', 'accounts', 'taxpayers')
                   then 'running' else 'cancelled' end,
      finished_at = case when was.state = 'running' and r.kind not in ('orders', 'accounts', 'taxpayers')
                         then null else now() end
  where r.id = run;
  perform dirsync.end_lost_retries();
  perform pg_notify('dirsync', 'run');
  return run;
end $$;
COMMENT ON FUNCTION dirsync.cancel(run bigint, reason text) IS 'Takes the waiting work of a run back; work in hand is finished. The next run plans anew what was taken back. Returns its number.';
CREATE FUNCTION dirsync.cancel_dry_run(dry_run bigint) RETURNS bigint
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
  was text;
begin
  select d.state into was from dirsync.dry_run d where d.id = cancel_dry_run.dry_run for no key update;
  if was is null then
    perform dirsync.refuse('P0002', 'said.no_such_dry_run', jsonb_build_object('id', dry_run));
  end if;
  if was not in ('requested', 'running') then
    perform dirsync.refuse('P0002', 'said.dry_run_is_over',
      jsonb_build_object('id', dry_run, 'dry_run_state', was));
  end if;
  perform dirsync.note_command('cancel_dry_run', null, jsonb_build_object('dry_run', dry_run));
  update dirsync.dry_run d set state = 'cancelled', finished_at = now(), phase = null
  where d.id = cancel_dry_run.dry_run;
  return dry_run;
end $$;
COMMENT ON FUNCTION dirsync.cancel_dry_run(dry_run bigint) IS 'Ends a dry run that is not over; the process that carries it out stops within a second. Returns its number.';
CREATE FUNCTION dirsync.clear_quiet_hours() RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
  if not exists (select from dirsync.quiet_hours) then
    return false;
  end if;
  perform dirsync.note_command('clear_quiet_hours', null, '{}');
  delete from dirsync.quiet_hours;
  return true;
end $$;
COMMENT ON FUNCTION dirsync.clear_quiet_hours() IS 'Ends quiet hours for good. Returns whether there were any.';
CREATE FUNCTION dirsync.comment(id bigint, text text) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
  said text := dirsync.text_of(text, 'comment', 2000);
begin
  if said is null then
    perform dirsync.refuse('22023', 'said.comment_needs_text',
      hint => 'select dirsync.comment(17, ''called him: new number on Monday'')');
  end if;
  perform dirsync.note_command('comment', null, jsonb_build_object('id', id, 'text', said), id);
  perform dirsync.add_comment(id, said);
  return id;
end $$;
COMMENT ON FUNCTION dirsync.comment(id bigint, text text) IS 'Adds a comment to the story of a case, also of a resolved one. Returns its number.';
CREATE FUNCTION dirsync.count_ended_runs() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
  insert into dirsync.run_count as c (kind, state, ended, seconds)
  select a.kind, a.state, count(*), sum(extract(epoch from a.finished_at - a.requested_at))
  from added a join removed r using (id)
  -- A run ends once: finished_at is written then.
  where a.finished_at is not null and r.finished_at is null
  group by 1, 2 order by 1, 2
  on conflict (kind, state) do update
  set ended = c.ended + excluded.ended, seconds = c.seconds + excluded.seconds;
  return null;
end $$;
COMMENT ON FUNCTION dirsync.count_ended_runs() IS 'Counts runs that end.';
CREATE FUNCTION dirsync.decide(run bigint, approve boolean, reason text) RETURNS bigint
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
  was  dirsync.sync_run;
  said text := dirsync.text_of(reason, 'reason', 2000);
begin
  select * into was from dirsync.sync_run r where r.id = run for no key update;
  if was.state is distinct from 'held' then
    perform dirsync.refuse_decided(was);
    perform dirsync.refuse('P0002', 'said.no_held_run', jsonb_build_object('run', run),
      hint => 'select id, kind, dirsync.in_language(''en'', message) from dirsync.sync_run '
              'where state = ''held''');
  end if;
  perform dirsync.note_command(case when approve then 'approve' else 'reject' end, run,
                               jsonb_build_object('run', run, 'reason', said));
  if not approve then
    -- No one has seen what HR has changed since the plan was stored: the next plan checks it.
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
  set state = case when approve then 'requested' else 'rejected' end, approved = approve, recheck_at = null,
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
COMMENT ON FUNCTION dirsync.decide(run bigint, approve boolean, reason text) IS 'Approves or rejects a held run.';
CREATE FUNCTION dirsync.end_lost_retries() RETURNS bigint
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
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
  set state = case d.entity when 'mirror' then 'retry_scheduled' else 'open' end,
      next_retry_at = now() + case d.entity when 'mirror' then interval '1 hour' else interval '7 days' end,
      version = d.version + 1
  where d.id = any (ids);
  get diagnostics ended = row_count;
  return ended;
end $$;
COMMENT ON FUNCTION dirsync.end_lost_retries() IS 'Lets the cases wait for their next turn that are being retried although their work is gone: it was taken back, or ended before it came to them. Returns how many there were.';
CREATE FUNCTION dirsync.expect_version(id bigint, version integer) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
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
COMMENT ON FUNCTION dirsync.expect_version(id bigint, version integer) IS 'Locks a case for the rest of the transaction; refuses if it has been changed since it had this version.';
CREATE FUNCTION dirsync.fold_tally() RETURNS bigint
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
  _rows bigint;
  _kinds bigint;
begin
  if not pg_try_advisory_xact_lock(1952541804) then -- 'tall'
    return 0;
  end if;
  select sum(rows), count(*) into _rows, _kinds
  from (select count(*) as rows from dirsync.tally
        group by source, operation, enterprise_code, run_id, priority, enqueued, since, category,
                 platform_code, state) kinds;
  if _rows is null or _rows < 200 + 2 * _kinds then
    return 0;
  end if;
  with taken as (
    delete from dirsync.tally returning *
  )
  insert into dirsync.tally (source, operation, enterprise_code, run_id, priority, enqueued, since,
                             category, platform_code, state, n, failures)
  select source, operation, enterprise_code, run_id, priority, enqueued, since, category, platform_code,
         state, sum(n), sum(failures)
  from taken
  group by source, operation, enterprise_code, run_id, priority, enqueued, since, category, platform_code,
           state
  having sum(n) <> 0 or sum(failures) <> 0;
  return _rows;
end $$;
COMMENT ON FUNCTION dirsync.fold_tally() IS 'Sums up the rows of the tally that are alike, once there are many. Returns how many rows it summed up; 0 if it was not worth it, or another process is doing it.';
CREATE FUNCTION dirsync.forgive_sign_in(address_key text, name text, succeeded boolean) RETURNS void
    LANGUAGE sql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
  update dirsync.sign_in_failure f
  set failures = greatest(f.failures - 1, 0),
      blocked_until = f.last_at + dirsync.sign_in_pause(f.kind, greatest(f.failures - 1, 0))
  where f.kind = 'address' and f.key = address_key;
  update dirsync.sign_in_failure f
  set failures = case when succeeded then 0 else greatest(f.failures - 1, 0) end,
      blocked_until = case when succeeded then f.last_at
                           else f.last_at + dirsync.sign_in_pause(f.kind, greatest(f.failures - 1, 0)) end
  where f.kind = 'name' and f.key = encode(sha256(convert_to(forgive_sign_in.name, 'UTF8')), 'hex');
$$;
COMMENT ON FUNCTION dirsync.forgive_sign_in(address_key text, name text, succeeded boolean) IS 'Takes an admitted attempt off the failures again: it succeeded, which also forgives its name, or its password was not looked at.';
CREATE FUNCTION dirsync.hr_owners() RETURNS jsonb
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
  select coalesce(jsonb_object_agg(code, s.name), '{}')
  from dirsync.hr_source s cross join unnest(s.enterprise_codes) code
$$;
COMMENT ON FUNCTION dirsync.hr_owners() IS 'The HR source of each enterprise, as the process that was started last knows them; empty where there is one HR system.';
CREATE FUNCTION dirsync.ignore(id bigint, reason text) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
  said text := dirsync.text_of(reason, 'reason', 2000);
begin
  if said is null then
    perform dirsync.refuse('22023', 'said.needs_reason', jsonb_build_object('name', 'ignore'),
      hint => 'select dirsync.ignore(17, ''shared phone, agreed with the works council'')');
  end if;
  perform dirsync.note_command('ignore', null, jsonb_build_object('id', id, 'reason', said), id);
  perform dirsync.set_ignored(id, said);
  return id;
end $$;
COMMENT ON FUNCTION dirsync.ignore(id bigint, reason text) IS 'Closes a case as accepted, with a reason. It reopens when the HR row changes. Returns its number.';
CREATE FUNCTION dirsync.in_language(language text, said jsonb) RETURNS text
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
  return dirsync.worded(language, said);
end $$;
COMMENT ON FUNCTION dirsync.in_language(language text, said jsonb) IS 'A message as dirsync stores it, in words: in_language(''en'', message). It is the key of a text and its values, or a list of such. src/texts/message.ts does the same for console and shell, held to this by a test.';
CREATE FUNCTION dirsync.is_quiet(at timestamp with time zone) RETURNS boolean
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
  select coalesce(
    (select case when q.starts < q.ends then l.clock >= q.starts and l.clock < q.ends
                 else l.clock >= q.starts or l.clock < q.ends end
     from dirsync.quiet_hours q
     cross join lateral (select (at at time zone q.time_zone)::time as clock) l),
    false)
$$;
COMMENT ON FUNCTION dirsync.is_quiet(at timestamp with time zone) IS 'Whether a moment falls into the quiet hours, by the clocks of their time zone.';
CREATE FUNCTION dirsync.keep_commands() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
  -- As long as jobs/prune.ts keeps them.
  if tg_op = 'DELETE' then
    if old.requested_at < now() - interval '180 days' then
      return old;
    end if;
  end if;
  raise exception 'dirsync.command is append-only: % is refused', lower(tg_op) using errcode = '42501',
    hint = 'Rows older than 180 days may be deleted; dirsync does so every night.';
end $$;
COMMENT ON FUNCTION dirsync.keep_commands() IS 'Refuses to change the record of what people asked for, or to delete any of it before its time.';
CREATE FUNCTION dirsync.last_change(id bigint) RETURNS jsonb
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
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
COMMENT ON FUNCTION dirsync.last_change(id bigint) IS 'Who changed a case last, how and when, as a message.';
CREATE TABLE dirsync.learnt_rate (
    gate text NOT NULL,
    version bigint NOT NULL,
    rate_per_second double precision NOT NULL,
    ceiling double precision,
    lowered_at timestamp with time zone,
    changed_at timestamp with time zone NOT NULL,
    leased_at_change bigint NOT NULL
);
COMMENT ON TABLE dirsync.learnt_rate IS 'What was learnt of a limit that no setting gives, or that was set too high. Kept over restarts; a deleted row is learnt anew.';
COMMENT ON COLUMN dirsync.learnt_rate.gate IS 'Name of the gate: platform; platform@200 where PLATFORM_RATE_LIMIT is 200 and calls were refused at that rate.';
COMMENT ON COLUMN dirsync.learnt_rate.version IS 'Counts the changes. Of two processes that learn at the same moment one gives way.';
COMMENT ON COLUMN dirsync.learnt_rate.rate_per_second IS 'Calls per second that may leave, of all processes together.';
COMMENT ON COLUMN dirsync.learnt_rate.ceiling IS 'The rate at which calls were last refused; null before the first refusal, and when a set rate is reached again.';
COMMENT ON COLUMN dirsync.learnt_rate.lowered_at IS 'When it was last lowered; null if never.';
COMMENT ON COLUMN dirsync.learnt_rate.changed_at IS 'When it was last changed.';
COMMENT ON COLUMN dirsync.learnt_rate.leased_at_change IS 'pacer.leased at that time.';
CREATE FUNCTION dirsync.lease_slots(_gate text, _holder text, _count integer, _spacing_ms double precision, _budget text, _budget_spacing_ms double precision, OUT start_ms double precision, OUT now_ms double precision, OUT paused_until_ms double precision, OUT shared boolean, OUT spacing_ms double precision, OUT count integer, OUT leased bigint, OUT learnt dirsync.learnt_rate, OUT own_spacing_ms double precision, OUT cap_per_second double precision, OUT cap_until_ms double precision) RETURNS record
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
  _slots dirsync.pacer;
  _now timestamptz;
  _start timestamptz;
  _budget_next timestamptz;
  _budget_reserved timestamptz;
  _back interval;
begin
  select * into learnt from dirsync.learnt_rate where gate = _gate;
  own_spacing_ms := coalesce(_spacing_ms, 1000 / learnt.rate_per_second, 0);

  if _budget is not null then
    loop
      select next_at, reserved_at into _budget_next, _budget_reserved
      from dirsync.pacer where gate = _budget for update;
      exit when found;
      insert into dirsync.pacer (gate, next_at) values (_budget, '-infinity') on conflict do nothing;
    end loop;
  end if;
  loop
    select * into _slots from dirsync.pacer where gate = _gate for update;
    exit when found;
    insert into dirsync.pacer (gate, next_at, leased)
    values (_gate, '-infinity', coalesce(learnt.leased_at_change, 0))
    on conflict do nothing;
  end loop;

  -- Slots and pauses go back with a clock that is put back: else no call would leave until it has caught up.
  _now := clock_timestamp();
  _budget_next := _budget_next - greatest(_budget_reserved - _now, interval '0');
  _back := _slots.reserved_at - _now;
  if _back > interval '0' then
    _slots.next_at := _slots.next_at - _back;
    _slots.paused_until := _slots.paused_until - _back;
    update dirsync.pacer p
    set next_at = _slots.next_at, paused_until = _slots.paused_until, reserved_at = _now
    where p.gate = _gate;
  end if;

  select per_second, extract(epoch from until) * 1000 into cap_per_second, cap_until_ms
  from dirsync.rate_cap where until > _now;
  -- A cap above the rate has no effect; nor is there a rate to lower before one was learnt.
  spacing_ms := case when own_spacing_ms > 0 then greatest(own_spacing_ms, 1000 / cap_per_second) else 0 end;
  -- Once a cap is over, or is another one, the next slot lies as far from the last one as it now should.
  if _slots.spread_ms is not null then
    _slots.next_at := _slots.next_at
      - greatest(_slots.spread_ms - (spacing_ms - own_spacing_ms), 0) * interval '1 ms';
  end if;

  _start := greatest(_slots.next_at, _now, _slots.paused_until);
  count := case when spacing_ms > 0 then _count else 0 end;
  if _budget_next > _start + interval '10 ms' then
    count := 0;
    _start := _budget_next;
  elsif spacing_ms > own_spacing_ms and _slots.next_at > _now + interval '500 ms' then
    -- Do not reserve a moment that is far away only because of the cap: it may be lifted before.
    count := 0;
  elsif count > 0 then
    if spacing_ms > own_spacing_ms then
      count := least(count, greatest(1, floor(500 / spacing_ms)::int));
    end if;
    _start := greatest(_start, _budget_next);
    update dirsync.pacer p
    set next_at = _start + count * spacing_ms * interval '1 ms',
        spread_ms = nullif(spacing_ms - own_spacing_ms, 0),
        leased = p.leased + count, holder = _holder, reserved_at = _now
    where p.gate = _gate;
    update dirsync.pacer p
    set next_at = _start + _budget_spacing_ms * interval '1 ms',
        leased = p.leased + 1, holder = _holder, reserved_at = _now
    where p.gate = _budget;
  end if;

  start_ms := extract(epoch from _start) * 1000;
  now_ms := extract(epoch from _now) * 1000;
  paused_until_ms := extract(epoch from _slots.paused_until) * 1000;
  shared := coalesce(_slots.holder <> _holder, false);
  leased := _slots.leased + count;
end $$;
COMMENT ON FUNCTION dirsync.lease_slots(_gate text, _holder text, _count integer, _spacing_ms double precision, _budget text, _budget_spacing_ms double precision, OUT start_ms double precision, OUT now_ms double precision, OUT paused_until_ms double precision, OUT shared boolean, OUT spacing_ms double precision, OUT count integer, OUT leased bigint, OUT learnt dirsync.learnt_rate, OUT own_spacing_ms double precision, OUT cap_per_second double precision, OUT cap_until_ms double precision) IS 'Reserves the next free slots of a gate, never in the past or within its pause, spaced as given or as learnt, wider while a person has lowered the rate. With a budget: one slot that is free in both gates, or none and the moment when the budget has one. own_spacing_ms is the spacing without a cap. Times in milliseconds since 1970.';
CREATE FUNCTION dirsync.lower_rate(per_second double precision, until timestamp with time zone, reason text) RETURNS double precision
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
  if per_second is null or not per_second between 0.01 and 100000 then
    perform dirsync.refuse('22023', 'said.lower_rate_needs_rate',
      hint => 'select dirsync.pause(''reason'') stops all calls');
  end if;
  if until is null or until <= now() or until > now() + interval '30 days' then
    perform dirsync.refuse('22023', 'said.lower_rate_needs_time',
      hint => 'PLATFORM_RATE_LIMIT sets a rate for good');
  end if;
  if coalesce(btrim(reason), '') = '' then
    perform dirsync.refuse('22023', 'said.needs_reason', jsonb_build_object('name', 'lower_rate'),
      hint => 'select dirsync.lower_rate(5, now() + interval ''2 hours'', ''the vendor asked for it'')');
  end if;
  perform dirsync.note_command('lower_rate', null, jsonb_build_object(
    'per_second', per_second, 'until', until, 'reason', btrim(reason)));
  insert into dirsync.rate_cap as c (per_second, until, reason, set_by)
  values (lower_rate.per_second, lower_rate.until, btrim(lower_rate.reason), dirsync.actor())
  on conflict (only_row) do update
  set (per_second, until, reason, set_by, since)
    = (excluded.per_second, excluded.until, excluded.reason, excluded.set_by,
       case when c.until > now() then c.since else now() end);
  return per_second;
end $$;
COMMENT ON FUNCTION dirsync.lower_rate(per_second double precision, until timestamp with time zone, reason text) IS 'Lowers the rate of calls to the platform, of all processes together, until a time; then it comes back by itself. Holds within a second. Returns the rate.';
CREATE FUNCTION dirsync.moment(at timestamp with time zone) RETURNS text
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
  select to_char(at at time zone 'UTC', 'YYYY-MM-DD HH24:MI:SS "UTC"')
$$;
COMMENT ON FUNCTION dirsync.moment(at timestamp with time zone) IS 'A moment as messages name it.';
CREATE FUNCTION dirsync.mute_alert(rule text, until timestamp with time zone, reason text, subject text DEFAULT NULL::text) RETURNS timestamp with time zone
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
  if coalesce(btrim(rule), '') = '' then
    perform dirsync.refuse('22023', 'said.mute_needs_rule');
  end if;
  if coalesce(btrim(reason), '') = '' then
    perform dirsync.refuse('22023', 'said.needs_reason', jsonb_build_object('name', 'mute_alert'),
      hint => 'select dirsync.mute_alert(''held_run'', now() + interval ''4 hours'', ''we are on it'')');
  end if;
  if until is null or until <= now() or until > now() + interval '30 days' then
    perform dirsync.refuse('22023', 'said.mute_needs_time');
  end if;
  perform dirsync.note_command('mute_alert', null, jsonb_strip_nulls(
    jsonb_build_object('rule', btrim(rule), 'subject', subject, 'until', until, 'reason', btrim(reason))));
  delete from dirsync.alert_mute m
  where m.rule = btrim(mute_alert.rule) and m.subject is not distinct from mute_alert.subject;
  insert into dirsync.alert_mute (rule, subject, until, reason)
  values (btrim(rule), subject, until, btrim(reason));
  return until;
end $$;
COMMENT ON FUNCTION dirsync.mute_alert(rule text, until timestamp with time zone, reason text, subject text) IS 'Keeps a rule''s alerts from all channels until a time within 30 days, or those about one subject alone. Returns the time.';
CREATE FUNCTION dirsync.name_of(language text, list text, value text) RETURNS text
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
  select coalesce((select t.text from dirsync.text t
                   where t.language = name_of.language and t.key = list || '.' || value), value)
$$;
COMMENT ON FUNCTION dirsync.name_of(language text, list text, value text) IS 'The name of a value in a language, such as name_of(''zh-CN'', ''state'', ''open''); the value itself where the catalogue has no name for it.';
CREATE FUNCTION dirsync.note_accepted() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
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
COMMENT ON FUNCTION dirsync.note_accepted() IS 'Keeps employee.accepted as cases are written.';
CREATE FUNCTION dirsync.note_command(name text, run bigint, arguments jsonb, dead_letter bigint DEFAULT NULL::bigint) RETURNS void
    LANGUAGE sql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
  insert into dirsync.command (name, arguments, requested_by, run_id, dead_letter_id, reason)
  values (note_command.name, jsonb_strip_nulls(arguments), dirsync.actor(), run, dead_letter,
          arguments ->> 'reason')
$$;
COMMENT ON FUNCTION dirsync.note_command(name text, run bigint, arguments jsonb, dead_letter bigint) IS 'Writes down what a person asks for, before it takes effect.';
CREATE FUNCTION dirsync.note_statuses() RETURNS timestamp with time zone
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
  _at timestamptz := to_timestamp(floor(extract(epoch from now()) / 300) * 300);
begin
  insert into dirsync.status_history
    (at, in_sync, awaiting_activation, dead_lettered, halted, waiting, held, rejected, accepted, open_cases,
     cases, pending, oldest_pending_seconds, is_halted)
  with employees as (
    select case when state = 'waiting'
                     and exists (select from dirsync.halt h where h.scope in ('*', t.enterprise_code))
                then 'halted' else state end as status, sum(n) as n
    from dirsync.tally t where source = 'employee' group by 1
  ), outbox as (
    select since, sum(n) as n
    from dirsync.tally where source = 'pending' group by operation, since having sum(n) > 0
  ), cases as (
    select category, sum(n) as n
    from dirsync.tally where source = 'dead_letter' and state <> 'ignored' group by 1 having sum(n) > 0
  )
  select _at,
         coalesce(sum(n) filter (where status = 'in_sync'), 0),
         coalesce(sum(n) filter (where status = 'awaiting_activation'), 0),
         coalesce(sum(n) filter (where status = 'dead_lettered'), 0),
         coalesce(sum(n) filter (where status = 'halted'), 0),
         coalesce(sum(n) filter (where status = 'waiting'), 0),
         coalesce(sum(n) filter (where status = 'held'), 0),
         coalesce(sum(n) filter (where status = 'rejected'), 0),
         coalesce(sum(n) filter (where status = 'accepted'), 0),
         (select coalesce(jsonb_object_agg(category, n), '{}') from cases),
         (select coalesce(sum(n), 0) from cases),
         (select coalesce(sum(n), 0) from outbox),
         (select coalesce(greatest(extract(epoch from now() - min(since)), 0), 0)::int from outbox),
         exists (select from dirsync.halt where scope = '*')
  from employees
  on conflict (at) do nothing;

  -- Hours may have been missed, and the last one went on after it was summed up.
  insert into dirsync.call_hour as h (hour, operation, calls, rate_limited)
  select date_trunc('hour', minute), operation, sum(calls), sum(rate_limited)
  from dirsync.call_minute
  where minute >= coalesce((select max(hour) from dirsync.call_hour), '-infinity')
  group by 1, 2 order by 1, 2
  on conflict (hour, operation) do update set calls = excluded.calls, rate_limited = excluded.rate_limited;
  return _at;
end $$;
COMMENT ON FUNCTION dirsync.note_statuses() IS 'Writes down how everything stands, once per five minutes, and sums up the calls by hour. Returns the moment that it stands for.';
CREATE FUNCTION dirsync.own_word(setting text) RETURNS text
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
  select nullif(current_setting(own_word.setting, true), '')
  from pg_namespace n
  where n.nspname = 'dirsync' and pg_has_role(session_user, n.nspowner, 'member')
$$;
COMMENT ON FUNCTION dirsync.own_word(setting text) IS 'What a session of dirsync''s own database user says about itself in a setting; null for any other session.';
CREATE FUNCTION dirsync.pause(reason text) RETURNS text
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
  said text := dirsync.text_of(reason, 'reason', 2000);
begin
  if said is null then
    perform dirsync.refuse('22023', 'said.needs_reason', jsonb_build_object('name', 'pause'),
      hint => 'select dirsync.pause(''platform maintenance until 18:00'')');
  end if;
  perform dirsync.note_command('pause', null, jsonb_build_object('reason', said));
  insert into dirsync.halt as h (scope, category, message, remedy, next_probe_at, raised_by)
  values ('*', 'paused',
          jsonb_build_object('key', 'said.paused_by',
                             'values', jsonb_build_object('name', dirsync.actor(), 'words', said)),
          '{"key": "said.resume_remedy"}', 'infinity', dirsync.actor())
  on conflict (scope) do update
  set (category, platform_code, message, remedy, next_probe_at, raised_by, since, probes)
    = (excluded.category, null, excluded.message, excluded.remedy, excluded.next_probe_at, excluded.raised_by,
       case when h.category = 'paused' then h.since else now() end, 0);
  perform pg_notify('dirsync', 'feed');
  return said;
end $$;
COMMENT ON FUNCTION dirsync.pause(reason text) IS 'Stops all calls of this deployment to the platform within a second, until resume(). Returns the reason.';
CREATE FUNCTION dirsync.pause_effect(job text) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
  select case
    -- The queue may lose what it was given at any time; nothing else would notice.
    when job = 'sweep' then 'refused'
    when job in ('sync-changes', 'full-resync', 'retry-due') then 'stalls'
    else 'none'
  end
$$;
COMMENT ON FUNCTION dirsync.pause_effect(job text) IS 'What pausing a cron job means for the directory: none; stalls: employees stay out of sync until it is resumed; refused: it may not be paused.';
CREATE FUNCTION dirsync.pause_schedule(job text, reason text) RETURNS text
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
  _warning text;
begin
  if coalesce(btrim(reason), '') = '' then
    perform dirsync.refuse('22023', 'said.needs_reason', jsonb_build_object('name', 'pause_schedule'),
      hint => 'select dirsync.pause_schedule(''full-resync'', ''the vendor works on it tonight'')');
  end if;
  if dirsync.pause_effect(job) = 'refused' then
    perform dirsync.refuse('22023', 'said.never_paused', jsonb_build_object('job', job),
      hint => 'select dirsync.pause(''reason'') stops all calls');
  end if;
  if not exists (select from dirsync.job_schedule s where s.job = pause_schedule.job) then
    perform dirsync.refuse('P0002', 'said.no_cron_job', jsonb_build_object('job', job));
  end if;
  perform dirsync.note_command('pause_schedule', null,
                               jsonb_build_object('job', job, 'reason', btrim(reason)));
  update dirsync.job_schedule s
  set paused_at = coalesce(s.paused_at, now()), paused_by = dirsync.actor(), pause_reason = btrim(reason)
  where s.job = pause_schedule.job;
  _warning := case job
    when 'sync-changes' then 'what HR changes is sent by full-resync only, until sync-changes is resumed'
    when 'full-resync' then
      'what was changed on the platform itself is not noticed until full-resync is resumed'
    when 'retry-due' then
      'cases that are due or whose snooze is over are not tried again until retry-due is resumed'
  end;
  if _warning is not null then
    raise warning '%', _warning;
  end if;
  return _warning;
end $$;
COMMENT ON FUNCTION dirsync.pause_schedule(job text, reason text) IS 'Leaves out the ticks of a cron job until resume_schedule(), over restarts too. Returns what that means for the directory, or null where it means nothing to it. The sweep cannot be paused.';
CREATE FUNCTION dirsync.probe_now(scope text) RETURNS text
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
  _category text;
begin
  select h.category into _category from dirsync.halt h where h.scope = probe_now.scope for update;
  if not found then
    perform dirsync.refuse('P0002', 'said.nothing_halted_for', jsonb_build_object('scope', scope));
  end if;
  if _category = 'paused' then
    perform dirsync.refuse('22023', 'said.no_probe_ends_pause', hint => 'select dirsync.resume()');
  end if;
  perform dirsync.note_command('probe_now', null, jsonb_build_object('scope', scope));
  update dirsync.halt h set next_probe_at = now() where h.scope = probe_now.scope;
  perform pg_notify('dirsync', 'feed');
  return scope;
end $$;
COMMENT ON FUNCTION dirsync.probe_now(scope text) IS 'Lets the next job of a halt through at once, to see whether work can go on. Returns the scope.';
CREATE FUNCTION dirsync.record_failure(failure jsonb) RETURNS bigint
    LANGUAGE plpgsql
    AS $$
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
COMMENT ON FUNCTION dirsync.record_failure(failure jsonb) IS 'Opens a case, or counts up the open one of the same entity, operation and field.';
CREATE FUNCTION dirsync.refuse(errcode text, key text, given jsonb DEFAULT '{}'::jsonb, hint text DEFAULT NULL::text) RETURNS void
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
  -- What was not given is called null.
  named jsonb := (select coalesce(jsonb_object_agg(v.key, coalesce(nullif(v.value, 'null'), '"null"')), '{}')
                  from jsonb_each(given) v);
  words text := dirsync.in_language('en', jsonb_build_object('key', key, 'values', named));
begin
  -- No texts are stored yet.
  if words = key then
    words := key || ' ' || named;
  end if;
  if hint is null then
    raise exception using errcode = errcode, message = words, constraint = key, datatype = named::text;
  end if;
  raise exception using errcode = errcode, message = words, constraint = key, datatype = named::text,
    hint = hint;
end $$;
COMMENT ON FUNCTION dirsync.refuse(errcode text, key text, given jsonb, hint text) IS 'Refuses what a person asks for. The error says why in English words; for programs, its constraint is the key of the message, and its data type the values.';
CREATE TABLE dirsync.sync_run (
    id bigint NOT NULL,
    kind text NOT NULL,
    keys text[] DEFAULT '{}'::text[] NOT NULL,
    max_age interval,
    state text DEFAULT 'requested'::text NOT NULL,
    requested_by text DEFAULT SESSION_USER NOT NULL,
    requested_at timestamp with time zone DEFAULT now() NOT NULL,
    started_at timestamp with time zone,
    planned_at timestamp with time zone,
    finished_at timestamp with time zone,
    recheck_at timestamp with time zone,
    checked_at timestamp with time zone,
    approved boolean DEFAULT false NOT NULL,
    decided_by text,
    decided_at timestamp with time zone,
    decision_reason text,
    cancelled_at timestamp with time zone,
    read_all boolean DEFAULT true NOT NULL,
    mapping text,
    in_scope integer,
    planned integer,
    plan jsonb,
    source jsonb,
    result jsonb,
    message jsonb,
    hr_source text DEFAULT ''::text NOT NULL,
    wants_all boolean DEFAULT false NOT NULL,
    CONSTRAINT sync_run_kind_check CHECK ((kind = ANY (ARRAY['changes'::text, 'full'::text, 'employees'::text, 'departments'::text, 'openids'::text, 'retry'::text, 'orders'::text, 'accounts'::text, 'taxpayers'::text]))),
    CONSTRAINT sync_run_state_check CHECK ((state = ANY (ARRAY['requested'::text, 'planning'::text, 'held'::text, 'running'::text, 'done'::text, 'failed'::text, 'source_suspect'::text, 'rejected'::text, 'superseded'::text, 'cancelled'::text])))
);
COMMENT ON TABLE dirsync.sync_run IS 'One row per run. A run compares HR with what the platform last confirmed, and has the differences sent.';
COMMENT ON COLUMN dirsync.sync_run.id IS 'Number of the run, as commands and logs name it.';
COMMENT ON COLUMN dirsync.sync_run.kind IS 'changes: HR rows that differ from what was acknowledged; full: every employee is looked up on the platform; employees: the named ones; departments: deletions; openids: missing bindings; retry: dead letters; orders, accounts, taxpayers: the mirror of that name is read anew.';
COMMENT ON COLUMN dirsync.sync_run.keys IS 'employees: the user ids that were asked for; changes: the user ids that HR''s trigger named, empty for all; retry: the dead letters to try again; otherwise empty.';
COMMENT ON COLUMN dirsync.sync_run.max_age IS 'full: leaves out employees in sync whom the platform confirmed within this time; null: leaves out none.';
COMMENT ON COLUMN dirsync.sync_run.state IS 'requested → planning → running → done; held waits for approve or reject; superseded: held until a later run took its place; source_suspect: HR looked wrong and nothing was enqueued; cancelled: its waiting work was taken back; failed: see message.';
COMMENT ON COLUMN dirsync.sync_run.requested_by IS 'Who asked for it: cron, start, cli, or the database user of a function call.';
COMMENT ON COLUMN dirsync.sync_run.requested_at IS 'When it was asked for.';
COMMENT ON COLUMN dirsync.sync_run.started_at IS 'When planning began.';
COMMENT ON COLUMN dirsync.sync_run.planned_at IS 'When planning ended.';
COMMENT ON COLUMN dirsync.sync_run.finished_at IS 'When nothing of the run was left to do; null while it goes on or is held.';
COMMENT ON COLUMN dirsync.sync_run.recheck_at IS 'held: when to check HR again; null: no one has asked for it.';
COMMENT ON COLUMN dirsync.sync_run.checked_at IS 'held: when HR was last checked again.';
COMMENT ON COLUMN dirsync.sync_run.approved IS 'True once a person approved the held run: exactly its stored plan is carried out.';
COMMENT ON COLUMN dirsync.sync_run.decided_by IS 'Database user or command that approved, rejected or cancelled.';
COMMENT ON COLUMN dirsync.sync_run.decided_at IS 'When it was approved, rejected or cancelled.';
COMMENT ON COLUMN dirsync.sync_run.decision_reason IS 'Reason given with reject or cancel.';
COMMENT ON COLUMN dirsync.sync_run.cancelled_at IS 'When its waiting work was taken back. The run ends with the work that was in hand.';
COMMENT ON COLUMN dirsync.sync_run.read_all IS 'True when every HR row was hashed; false when only rows newer than the watermark were read.';
COMMENT ON COLUMN dirsync.sync_run.mapping IS 'Fingerprint of the employee mapping (its SELECT and the columns it returns) that the plan was made with; of several sources "name=fingerprint" each; null: the run did not read employees from HR. Workers read HR with the mapping of the latest plan that passed.';
COMMENT ON COLUMN dirsync.sync_run.in_scope IS 'How many active employees (or departments) the plan looked at.';
COMMENT ON COLUMN dirsync.sync_run.planned IS 'How many entities the plan wants to work on; of a mirror: how many parts to read.';
COMMENT ON COLUMN dirsync.sync_run.plan IS 'The plan in figures: counts by reason and a sample of keys; skipped: employees left out by max_age; changed_since: rows of a held plan that HR has changed since.';
COMMENT ON COLUMN dirsync.sync_run.source IS 'What HR looked like: rows, share of empty values per column, newest updated_at. The next run''s sanity gate compares with it.';
COMMENT ON COLUMN dirsync.sync_run.result IS 'What came of it, counted from the attempts when the run ended; of a mirror also the rows read and changed, counted while it runs.';
COMMENT ON COLUMN dirsync.sync_run.message IS 'One sentence for a person: why the run is held, suspect or failed, and what to do.';
COMMENT ON COLUMN dirsync.sync_run.hr_source IS 'The HR source that the run is about; empty where there is only one, and for runs that look through all of them (employees, retry, openids, mirrors).';
COMMENT ON COLUMN dirsync.sync_run.wants_all IS 'True where every HR row is to be read, whatever updated_at says: HR told that a row may be gone.';
CREATE FUNCTION dirsync.refuse_decided(run dirsync.sync_run) RETURNS void
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
  if run.decided_by is null then
    return;
  end if;
  perform dirsync.refuse('DS409',
    case when run.state = 'rejected' then 'said.run_was_rejected'
         when run.cancelled_at is not null or run.state = 'cancelled' then 'said.run_was_cancelled'
         else 'said.run_was_approved' end,
    jsonb_build_object('run', run.id,
                       'name', run.decided_by || coalesce(' (' || run.decision_reason || ')', ''),
                       'time', dirsync.moment(run.decided_at)),
    hint => 'Look at it again before you decide.');
end $$;
COMMENT ON FUNCTION dirsync.refuse_decided(run dirsync.sync_run) IS 'Fails if another person has decided about a run, and says what; else does nothing.';
CREATE FUNCTION dirsync.reject(run bigint, reason text DEFAULT NULL::text) RETURNS bigint
    LANGUAGE sql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
  select dirsync.decide(run, false, reason)
$$;
COMMENT ON FUNCTION dirsync.reject(run bigint, reason text) IS 'Ends a held run without writing anything. Returns its number.';
CREATE FUNCTION dirsync.request_run(kind text, keys text[], command text, arguments jsonb, max_age interval DEFAULT NULL::interval, source text DEFAULT ''::text) RETURNS bigint
    LANGUAGE plpgsql
    AS $$
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
COMMENT ON FUNCTION dirsync.request_run(kind text, keys text[], command text, arguments jsonb, max_age interval, source text) IS 'Requests a run, or returns the same one that is still waiting to begin.';
CREATE FUNCTION dirsync.restore_rate() RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
  if not exists (select from dirsync.rate_cap where until > now()) then
    return false;
  end if;
  perform dirsync.note_command('restore_rate', null, '{}');
  delete from dirsync.rate_cap;
  return true;
end $$;
COMMENT ON FUNCTION dirsync.restore_rate() IS 'Ends lower_rate() before its time. Returns whether the rate was lowered.';
CREATE FUNCTION dirsync.resume() RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
  perform from dirsync.halt h where h.scope = '*' and h.category = 'paused' for update;
  if not found then
    return false;
  end if;
  perform dirsync.note_command('resume', null, '{}');
  delete from dirsync.halt h where h.scope = '*' and h.category = 'paused';
  perform pg_notify('dirsync', 'feed');
  return true;
end $$;
COMMENT ON FUNCTION dirsync.resume() IS 'Lets calls go on after pause(). Returns whether they were paused.';
CREATE FUNCTION dirsync.resume_schedule(job text) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
  _paused_at timestamptz;
begin
  select s.paused_at into _paused_at
  from dirsync.job_schedule s where s.job = resume_schedule.job for update;
  if not found then
    perform dirsync.refuse('P0002', 'said.no_cron_job', jsonb_build_object('job', job));
  end if;
  if _paused_at is null then
    return false;
  end if;
  perform dirsync.note_command('resume_schedule', null, jsonb_build_object('job', job));
  -- Runs that were left out meanwhile are not overdue.
  update dirsync.job_schedule s
  set paused_at = null, paused_by = null, pause_reason = null, in_force_since = now()
  where s.job = resume_schedule.job;
  return true;
end $$;
COMMENT ON FUNCTION dirsync.resume_schedule(job text) IS 'Lets a cron job run again from its next tick on. Returns whether it was paused.';
CREATE FUNCTION dirsync.resync(kind text DEFAULT 'changes'::text, key text DEFAULT NULL::text, max_age interval DEFAULT NULL::interval, source text DEFAULT NULL::text) RETURNS SETOF bigint
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
  wanted text := case kind when 'employee' then 'employees' else kind end;
begin
  if wanted is null
     or wanted not in ('changes', 'full', 'employees', 'departments', 'openids',
                       'orders', 'accounts', 'taxpayers') then
    perform dirsync.refuse('22023', 'said.no_such_kind', jsonb_build_object('text', quote_literal(kind)),
      hint => 'changes, full, employees, departments, openids, orders, accounts or taxpayers');
  end if;
  if wanted = 'employees' and coalesce(btrim(key), '') = '' then
    perform dirsync.refuse('22023', 'said.kind_needs_key',
      hint => 'select dirsync.resync(''employees'', ''e10001'')');
  end if;
  if wanted <> 'employees' and key is not null then
    perform dirsync.refuse('22023', 'said.kind_takes_no_key', jsonb_build_object('kind', wanted));
  end if;
  if wanted <> 'full' and max_age is not null then
    perform dirsync.refuse('22023', 'said.kind_takes_no_max_age', jsonb_build_object('kind', wanted),
      hint => 'select dirsync.resync(''full'', max_age => ''6 hours'')');
  end if;
  if max_age <= interval '0' then
    perform dirsync.refuse('22023', 'said.max_age_too_short', jsonb_build_object('period', max_age),
      hint => 'select dirsync.resync(''full'', max_age => ''6 hours'')');
  end if;
  return query
    select dirsync.request_run(
      wanted, case when wanted = 'employees' then array[btrim(key)] else '{}' end, 'resync',
      jsonb_strip_nulls(jsonb_build_object(
        'kind', wanted, 'key', key, 'max_age', max_age, 'source', nullif(s.name, ''))),
      max_age, s.name)
    from dirsync.sources_for(wanted, resync.source) s (name);
end $$;
COMMENT ON FUNCTION dirsync.resync(kind text, key text, max_age interval, source text) IS 'Starts a run now and returns its number: resync(), resync(''full''), resync(''full'', max_age => ''6 hours''), resync(''employees'', ''e10001''), resync(''departments''), resync(''openids''), resync(''orders''), resync(''accounts''), resync(''taxpayers''). Where HR has several sources, runs of changes, full and departments are one for each, or resync(source => ''shanghai'').';
CREATE FUNCTION dirsync.retry(id bigint) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
  perform from dirsync.dead_letter d where d.id = retry.id and d.state <> 'resolved';
  if not found then
    perform dirsync.refuse('P0002', 'said.no_unresolved_case', jsonb_build_object('ids', retry.id));
  end if;
  return dirsync.request_run('retry', array[retry.id::text], 'retry', jsonb_build_object('id', retry.id));
end $$;
COMMENT ON FUNCTION dirsync.retry(id bigint) IS 'Tries a dead letter again now; returns the number of the run that does it.';
CREATE FUNCTION dirsync.retry_category(category text) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
  ids text[];
begin
  select array_agg(d.id::text order by d.id) into ids from dirsync.dead_letter d
  where d.category = retry_category.category and d.state not in ('resolved', 'ignored');
  if ids is null then
    perform dirsync.refuse('P0002', 'said.no_open_case_of',
      jsonb_build_object('text', quote_literal(category)),
      hint => 'select distinct category from dirsync.failed_syncs');
  end if;
  return dirsync.request_run('retry', ids, 'retry_category', jsonb_build_object('category', category));
end $$;
COMMENT ON FUNCTION dirsync.retry_category(category text) IS 'Tries every open dead letter of a category again now; returns the number of the run that does it.';
CREATE FUNCTION dirsync.run_result(run bigint) RETURNS jsonb
    LANGUAGE sql STABLE
    AS $$
  with last_attempt as (
    select distinct on (operation, enterprise_code, entity_key, detail) outcome
    from dirsync.attempt where run_id = run
    order by operation, enterprise_code, entity_key, detail, id desc
  ), outcomes as (
    select outcome, count(*) as n from last_attempt group by outcome
  ), calls as (
    select c.key as operation, sum(c.value::int) as n, sum((a.waited_ms ->> c.key)::bigint) as waited_ms,
           sum((a.rate_limited ->> c.key)::int) as rate_limited
    from dirsync.attempt a, jsonb_each_text(a.calls) c where a.run_id = run group by c.key
  ), cases as (
    select category, count(*) as n from dirsync.dead_letter
    where last_run_id = run and state not in ('resolved', 'ignored') group by category
  )
  select jsonb_build_object(
    'outcomes', coalesce((select jsonb_object_agg(outcome, n) from outcomes), '{}'),
    'calls', coalesce((select jsonb_object_agg(operation, n) from calls), '{}'),
    'waitedMs', coalesce((select jsonb_object_agg(operation, waited_ms) from calls
                          where waited_ms is not null), '{}'),
    'rateLimited', coalesce((select jsonb_object_agg(operation, rate_limited) from calls
                             where rate_limited > 0), '{}'),
    'deadLetters', coalesce((select jsonb_object_agg(category, n) from cases), '{}'))
$$;
COMMENT ON FUNCTION dirsync.run_result(run bigint) IS 'What came of a run: last outcome per entity; calls, their waiting time in milliseconds and those rejected as too fast, by operation; dead letters by category.';
CREATE FUNCTION dirsync.run_schedule(job text) RETURNS timestamp with time zone
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
  _at timestamptz;
begin
  select s.run_requested_at into _at from dirsync.job_schedule s where s.job = run_schedule.job for update;
  if not found then
    perform dirsync.refuse('P0002', 'said.no_cron_job', jsonb_build_object('job', job));
  end if;
  perform dirsync.note_command('run_schedule', null, jsonb_build_object('job', job));
  if _at is null then
    -- Ticks by the schedule are due at whole seconds: this one is never taken for one of them.
    _at := date_trunc('milliseconds', clock_timestamp());
    if _at = date_trunc('second', _at) then
      _at := _at + interval '1 ms';
    end if;
    update dirsync.job_schedule s set run_requested_at = _at, run_requested_by = dirsync.actor()
    where s.job = run_schedule.job;
  end if;
  perform pg_notify('dirsync', 'schedule');
  return _at;
end $$;
COMMENT ON FUNCTION dirsync.run_schedule(job text) IS 'Runs a cron job once, at once, also while it is paused. Returns when that was asked for; while an earlier request waits for a scheduler, the same.';
CREATE FUNCTION dirsync.set_assigned(id bigint, assignee text) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
  update dirsync.dead_letter d set assignee = set_assigned.assignee, version = d.version + 1
  where d.id = set_assigned.id;
  if not found then
    perform dirsync.refuse('P0002', 'said.no_case', jsonb_build_object('case', id));
  end if;
  insert into dirsync.dead_letter_event (dead_letter_id, actor, event, note)
  values (id, dirsync.actor(), 'assigned', assignee);
end $$;
COMMENT ON FUNCTION dirsync.set_assigned(id bigint, assignee text) IS 'Assigns a case to a person, or to no one.';
CREATE FUNCTION dirsync.set_ignored(id bigint, reason text) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
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
COMMENT ON FUNCTION dirsync.set_ignored(id bigint, reason text) IS 'Closes a case as accepted.';
CREATE FUNCTION dirsync.set_quiet_hours(starts time without time zone, ends time without time zone, time_zone text) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
  if starts is null or ends is null or starts = ends then
    perform dirsync.refuse('22023', 'said.quiet_hours_need_times',
      hint => 'select dirsync.set_quiet_hours(''22:00'', ''07:00'', ''Asia/Shanghai'')');
  end if;
  if not exists (select from pg_timezone_names z where z.name = time_zone) then
    perform dirsync.refuse('22023', 'said.no_such_time_zone', jsonb_build_object('name', time_zone));
  end if;
  perform dirsync.note_command('set_quiet_hours', null,
    jsonb_build_object('starts', starts, 'ends', ends, 'time_zone', time_zone));
  insert into dirsync.quiet_hours as q (starts, ends, time_zone) values (starts, ends, time_zone)
  on conflict on constraint quiet_hours_pkey do update
  set (starts, ends, time_zone, set_by, set_at)
    = (excluded.starts, excluded.ends, excluded.time_zone, excluded.set_by, now());
end $$;
COMMENT ON FUNCTION dirsync.set_quiet_hours(starts time without time zone, ends time without time zone, time_zone text) IS 'Sends only critical alerts in these hours of each day. What still holds at their end is told then.';
CREATE FUNCTION dirsync.set_snoozed(id bigint, until timestamp with time zone, reason text) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
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
COMMENT ON FUNCTION dirsync.set_snoozed(id bigint, until timestamp with time zone, reason text) IS 'Snoozes a case until a time.';
CREATE FUNCTION dirsync.sign_in_pause(kind text, failures integer) RETURNS interval
    LANGUAGE sql IMMUTABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
  -- Many people may share an address. A name is slowed for less long: a stranger may be trying it.
  select case when failures <= free then interval '0'
              else least(2 ^ least(failures - free, 20), longest) * interval '1 second' end
  from (values ('address', 20, 300), ('name', 5, 60)) as rule (kind, free, longest)
  where rule.kind = sign_in_pause.kind
$$;
COMMENT ON FUNCTION dirsync.sign_in_pause(kind text, failures integer) IS 'How long the next sign-in has to wait after so many failures: not at all for the first ones, then twice as long each time, 5 minutes at most for an address and one minute for a name.';
CREATE FUNCTION dirsync.snooze(id bigint, until timestamp with time zone, reason text DEFAULT NULL::text) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
  said text := dirsync.text_of(reason, 'reason', 2000);
begin
  perform dirsync.note_command(
    'snooze', null, jsonb_build_object('id', id, 'until', until, 'reason', said), id);
  perform dirsync.set_snoozed(id, until, said);
  return id;
end $$;
COMMENT ON FUNCTION dirsync.snooze(id bigint, until timestamp with time zone, reason text) IS 'Snoozes a case until a time; then it is retried. Returns its number.';
CREATE FUNCTION dirsync.sources_for(kind text, source text DEFAULT NULL::text) RETURNS SETOF text
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
  if sources_for.source is not null and not exists (
    select from dirsync.hr_source s where s.name = sources_for.source
  ) then
    perform dirsync.refuse('22023', 'said.no_such_source',
      jsonb_build_object('name', quote_literal(sources_for.source)),
      hint => 'select name, enterprise_codes from dirsync.hr_source order by position');
  end if;
  if sources_for.kind not in ('changes', 'full', 'departments') then
    if sources_for.source is not null then
      perform dirsync.refuse('22023', 'said.kind_of_all_sources',
        jsonb_build_object('kind', sources_for.kind));
    end if;
    return next '';
    return;
  end if;
  return query
    select s.name from dirsync.hr_source s
    where sources_for.source is null or s.name = sources_for.source order by s.position;
  -- One HR system has no name.
  if not found then
    return next '';
  end if;
end $$;
COMMENT ON FUNCTION dirsync.sources_for(kind text, source text) IS 'The sources of HR that a run of this kind is asked for, one run each; of those the named one.';
CREATE FUNCTION dirsync.take_back(run bigint) RETURNS void
    LANGUAGE sql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
  with waiting as materialized (
    select p.operation, p.enterprise_code, p.entity_key, p.detail from dirsync.pending p
    where p.run_id = run and p.starts = 0
    order by p.operation, p.enterprise_code, p.entity_key, p.detail for update
  ), taken_back as (
    -- Found by key: a row that was changed meanwhile is in another place.
    delete from dirsync.pending p using waiting w
    where p.operation = w.operation and p.enterprise_code = w.enterprise_code and p.entity_key = w.entity_key
      and p.detail = w.detail and p.starts = 0
    returning p.operation, p.enterprise_code, p.entity_key, p.sent_unknown
  )
  -- No plan covers what HR has changed any more: the next one plans it anew, breakers included, and until then
  -- it is not in sync, as no row has this hash. Where the platform may have been changed unnoticed nothing is
  -- acknowledged any more, so that the next plan has it asked.
  update dirsync.employee e
  set source_hash = case when e.source_hash in (e.acknowledged_hash, e.parked_hash) and not t.sent_unknown
                           then e.source_hash
                         when coalesce(e.acknowledged_hash, e.parked_hash) is not null
                           then uuid '00000000-0000-0000-0000-000000000000' end,
      vanished_at = null,
      acknowledged_hash = case when not t.sent_unknown then e.acknowledged_hash end,
      parked_hash = case when not t.sent_unknown then e.parked_hash end
  from taken_back t
  where t.operation = 'update-employee' and e.enterprise_code = t.enterprise_code and e.userid = t.entity_key
$$;
COMMENT ON FUNCTION dirsync.take_back(run bigint) IS 'Takes the waiting work of a cancelled run out of the outbox. Work in hand is not touched.';
CREATE FUNCTION dirsync.tally_dead_letter() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
  case tg_op
  when 'INSERT' then
    insert into dirsync.tally (source, category, platform_code, state, n, failures)
    select 'dead_letter', category, platform_code, state, count(*), sum(occurrences) from added where state <> 'resolved' group by category, platform_code, state;
  when 'DELETE' then
    insert into dirsync.tally (source, category, platform_code, state, n, failures)
    select 'dead_letter', category, platform_code, state, -count(*), -sum(occurrences) from removed where state <> 'resolved' group by category, platform_code, state;
  else
    insert into dirsync.tally (source, category, platform_code, state, n, failures)
    select 'dead_letter', category, platform_code, state, sum(n), sum(failures)
    from (select category, platform_code, state, 1, occurrences from added where state <> 'resolved'
          union all
          select category, platform_code, state, -1, -occurrences from removed where state <> 'resolved') as changed (category, platform_code, state, n, failures)
    group by category, platform_code, state having sum(n) <> 0 or sum(failures) <> 0;
  end case;
  return null;
end $$;
COMMENT ON FUNCTION dirsync.tally_dead_letter() IS 'Keeps the tally of table dead_letter.';
CREATE FUNCTION dirsync.tally_employee() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
  case tg_op
  when 'INSERT' then
    insert into dirsync.tally (source, enterprise_code, state, n, failures)
    select 'employee', enterprise_code, status, count(*), sum(0) from added where true group by enterprise_code, status;
  when 'DELETE' then
    insert into dirsync.tally (source, enterprise_code, state, n, failures)
    select 'employee', enterprise_code, status, -count(*), -sum(0) from removed where true group by enterprise_code, status;
  else
    insert into dirsync.tally (source, enterprise_code, state, n, failures)
    select 'employee', enterprise_code, state, sum(n), sum(failures)
    from (select enterprise_code, status, 1, 0 from added where true
          union all
          select enterprise_code, status, -1, -0 from removed where true) as changed (enterprise_code, state, n, failures)
    group by enterprise_code, state having sum(n) <> 0 or sum(failures) <> 0;
  end case;
  return null;
end $$;
COMMENT ON FUNCTION dirsync.tally_employee() IS 'Keeps the tally of table employee.';
CREATE FUNCTION dirsync.tally_pending() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
  case tg_op
  when 'INSERT' then
    insert into dirsync.tally (source, operation, enterprise_code, run_id, priority, enqueued, since, n, failures)
    select 'pending', operation, enterprise_code, run_id, priority, enqueued_at is not null,
        date_trunc('second', created_at), count(*), sum(0) from added where true group by operation, enterprise_code, run_id, priority, enqueued_at is not null,
        date_trunc('second', created_at);
  when 'DELETE' then
    insert into dirsync.tally (source, operation, enterprise_code, run_id, priority, enqueued, since, n, failures)
    select 'pending', operation, enterprise_code, run_id, priority, enqueued_at is not null,
        date_trunc('second', created_at), -count(*), -sum(0) from removed where true group by operation, enterprise_code, run_id, priority, enqueued_at is not null,
        date_trunc('second', created_at);
  else
    insert into dirsync.tally (source, operation, enterprise_code, run_id, priority, enqueued, since, n, failures)
    select 'pending', operation, enterprise_code, run_id, priority, enqueued, since, sum(n), sum(failures)
    from (select operation, enterprise_code, run_id, priority, enqueued_at is not null,
        date_trunc('second', created_at), 1, 0 from added where true
          union all
          select operation, enterprise_code, run_id, priority, enqueued_at is not null,
        date_trunc('second', created_at), -1, -0 from removed where true) as changed (operation, enterprise_code, run_id, priority, enqueued, since, n, failures)
    group by operation, enterprise_code, run_id, priority, enqueued, since having sum(n) <> 0 or sum(failures) <> 0;
  end case;
  return null;
end $$;
COMMENT ON FUNCTION dirsync.tally_pending() IS 'Keeps the tally of table pending.';
CREATE FUNCTION dirsync.tally_sync_run() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
  case tg_op
  when 'INSERT' then
    insert into dirsync.tally (source, state, n, failures)
    select 'sync_run', state, count(*), sum(0) from added where true group by state;
  when 'DELETE' then
    insert into dirsync.tally (source, state, n, failures)
    select 'sync_run', state, -count(*), -sum(0) from removed where true group by state;
  else
    insert into dirsync.tally (source, state, n, failures)
    select 'sync_run', state, sum(n), sum(failures)
    from (select state, 1, 0 from added where true
          union all
          select state, -1, -0 from removed where true) as changed (state, n, failures)
    group by state having sum(n) <> 0 or sum(failures) <> 0;
  end case;
  return null;
end $$;
COMMENT ON FUNCTION dirsync.tally_sync_run() IS 'Keeps the tally of table sync_run.';
CREATE FUNCTION dirsync.tally_truncated() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
  -- Rows that are being summed up elsewhere would come back.
  perform pg_advisory_xact_lock(1952541804); -- 'tall'
  delete from dirsync.tally where source = tg_table_name;
  return null;
end $$;
COMMENT ON FUNCTION dirsync.tally_truncated() IS 'Forgets the tally of a table that was emptied.';
CREATE FUNCTION dirsync.text_of(given text, name text, most integer) RETURNS text
    LANGUAGE plpgsql IMMUTABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
  if length(given) > most then
    perform dirsync.refuse('22023', 'said.too_many_characters',
      jsonb_build_object('what', jsonb_build_object('key', 'said.the_' || name),
                         'count', length(given), 'limit', most),
      hint => 'Shorten it.');
  end if;
  return nullif(btrim(given), '');
end $$;
COMMENT ON FUNCTION dirsync.text_of(given text, name text, most integer) IS 'What a person wrote, without blanks around it; null when that is nothing. Refuses what is too long.';
CREATE FUNCTION dirsync.unmute_alert(rule text, subject text DEFAULT NULL::text) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
  if not exists (select from dirsync.alert_mute m
                 where m.rule = unmute_alert.rule and m.subject is not distinct from unmute_alert.subject
                   and m.until > now()) then
    return false;
  end if;
  perform dirsync.note_command('unmute_alert', null,
                               jsonb_strip_nulls(jsonb_build_object('rule', rule, 'subject', subject)));
  delete from dirsync.alert_mute m
  where m.rule = unmute_alert.rule and m.subject is not distinct from unmute_alert.subject;
  return true;
end $$;
COMMENT ON FUNCTION dirsync.unmute_alert(rule text, subject text) IS 'Ends a mute before its time: of a rule, or of one subject of it. Returns whether there was one.';
CREATE FUNCTION dirsync.value_text(language text, list text, value jsonb) RETURNS text
    LANGUAGE plpgsql STABLE
    AS $$
declare
  words text;
begin
  if jsonb_typeof(value) = 'array' then
    for i in 0 .. jsonb_array_length(value) - 1 loop
      words := coalesce(words || case when jsonb_typeof(value -> i) = 'string'
                                      then case when language = 'en' then ', ' else '、' end
                                      else case when language = 'en' then '; ' else '；' end end, '')
               || case when jsonb_typeof(value -> i) = 'array' then dirsync.worded(language, value -> i)
                       else dirsync.value_text(language, list, value -> i) end;
    end loop;
    return coalesce(words, '');
  elsif jsonb_typeof(value) = 'object' then
    return dirsync.worded(language, value);
  elsif list <> '' then
    return coalesce(dirsync.name_of(language, list, value #>> '{}'), '');
  end if;
  return coalesce(value #>> '{}', '');
end $$;
COMMENT ON FUNCTION dirsync.value_text(language text, list text, value jsonb) IS 'A value of a message in words: of a list, names are set apart by commas and messages by semicolons.';
CREATE FUNCTION dirsync.worded(language text, said jsonb) RETURNS text
    LANGUAGE plpgsql STABLE
    AS $$
declare
  sentence dirsync.text;
  words text;
begin
  if jsonb_typeof(said) = 'array' then
    for i in 0 .. jsonb_array_length(said) - 1 loop
      continue when said -> i = '[]';
      words := coalesce(words || case when language = 'en' then ' ' else '' end, '')
               || dirsync.worded(language, said -> i);
    end loop;
    return coalesce(words, '');
  end if;
  select * into sentence from dirsync.text t where t.language = worded.language and t.key = said ->> 'key';
  if not found then
    return coalesce(said #>> '{values,words}', said ->> 'key');
  elsif sentence.parts is null then
    return sentence.text;
  end if;
  words := sentence.parts[1];
  for i in 2 .. array_length(sentence.parts, 1) by 3 loop
    words := words || dirsync.value_text(language, sentence.parts[i + 1],
                                         said -> 'values' -> sentence.parts[i]) || sentence.parts[i + 2];
  end loop;
  return words;
end $$;
COMMENT ON FUNCTION dirsync.worded(language text, said jsonb) IS 'in_language, for one who may read dirsync.text.';
CREATE TABLE dirsync.alert (
    id bigint NOT NULL,
    rule text NOT NULL,
    subject text DEFAULT ''::text NOT NULL,
    severity text NOT NULL,
    state text DEFAULT 'pending'::text NOT NULL,
    facts jsonb DEFAULT '{}'::jsonb NOT NULL,
    since timestamp with time zone NOT NULL,
    raised_at timestamp with time zone,
    gone_at timestamp with time zone,
    ended_at timestamp with time zone,
    acknowledged_by text,
    acknowledged_at timestamp with time zone,
    acknowledged_reason text,
    returns integer DEFAULT 0 NOT NULL,
    CONSTRAINT alert_check CHECK (((state = 'pending'::text) = (raised_at IS NULL))),
    CONSTRAINT alert_check1 CHECK (((state = 'ended'::text) = (ended_at IS NOT NULL))),
    CONSTRAINT alert_check2 CHECK (((acknowledged_by IS NULL) = (acknowledged_at IS NULL))),
    CONSTRAINT alert_returns_check CHECK ((returns >= 0)),
    CONSTRAINT alert_severity_check CHECK ((severity = ANY (ARRAY['info'::text, 'warning'::text, 'critical'::text]))),
    CONSTRAINT alert_state_check CHECK ((state = ANY (ARRAY['pending'::text, 'firing'::text, 'ended'::text])))
);
COMMENT ON TABLE dirsync.alert IS 'What a rule found wrong: one row per rule and subject from the moment it holds until it is over. One that is gone before it was raised leaves no row. Kept for 180 days.';
COMMENT ON COLUMN dirsync.alert.id IS 'Number of the alert.';
COMMENT ON COLUMN dirsync.alert.rule IS 'Name of the rule, such as halt.';
COMMENT ON COLUMN dirsync.alert.subject IS 'What it is about, where a rule may find several things: scope of a halt, number or kind of a run, category, role, channel. Names no person.';
COMMENT ON COLUMN dirsync.alert.severity IS 'info, warning or critical.';
COMMENT ON COLUMN dirsync.alert.state IS 'pending: not yet for as long as its rule wants; firing: raised; ended: over.';
COMMENT ON COLUMN dirsync.alert.facts IS 'Figures and names for its text, as the latest check saw them.';
COMMENT ON COLUMN dirsync.alert.since IS 'Since when it holds.';
COMMENT ON COLUMN dirsync.alert.raised_at IS 'When it was raised; null: it is pending.';
COMMENT ON COLUMN dirsync.alert.gone_at IS 'When a check first found that it holds no more; null: it holds. It is over once it has been gone for a minute, so that one that comes and goes is one alert.';
COMMENT ON COLUMN dirsync.alert.ended_at IS 'When it was over, which is when it was gone.';
COMMENT ON COLUMN dirsync.alert.acknowledged_by IS 'Who takes care of it, so that channels are not told of it again while it goes on; null: no one has said so.';
COMMENT ON COLUMN dirsync.alert.acknowledged_at IS 'When they said so.';
COMMENT ON COLUMN dirsync.alert.acknowledged_reason IS 'What they said; null: nothing.';
COMMENT ON COLUMN dirsync.alert.returns IS 'How often it came back within 15 minutes of being gone; more than 0: it is over only once it has been gone for as long.';
CREATE TABLE dirsync.alert_channel (
    name text NOT NULL,
    kind text NOT NULL,
    target text NOT NULL,
    "least" text NOT NULL,
    language text NOT NULL,
    seen_at timestamp with time zone NOT NULL,
    last_sent_at timestamp with time zone,
    failing_since timestamp with time zone,
    last_answer text,
    CONSTRAINT alert_channel_least_check CHECK (("least" = ANY (ARRAY['info'::text, 'warning'::text, 'critical'::text])))
);
COMMENT ON TABLE dirsync.alert_channel IS 'The channels that the settings name, as the latest check knew them, and whether they work.';
COMMENT ON COLUMN dirsync.alert_channel.name IS 'Name, from ALERT_CHANNEL_<NAME>, in lower case.';
COMMENT ON COLUMN dirsync.alert_channel.kind IS 'mail, dingtalk, wecom, feishu, slack or webhook.';
COMMENT ON COLUMN dirsync.alert_channel.target IS 'Where messages go, without secrets: host, or mail addresses.';
COMMENT ON COLUMN dirsync.alert_channel."least" IS 'Alerts of a lesser severity are not sent there.';
COMMENT ON COLUMN dirsync.alert_channel.language IS 'Language of its messages.';
COMMENT ON COLUMN dirsync.alert_channel.seen_at IS 'When a process last had it among its settings.';
COMMENT ON COLUMN dirsync.alert_channel.last_sent_at IS 'When it last took a message.';
COMMENT ON COLUMN dirsync.alert_channel.failing_since IS 'Since when every message fails; null: none does.';
COMMENT ON COLUMN dirsync.alert_channel.last_answer IS 'What its server answered last, without secrets.';
CREATE TABLE dirsync.alert_check (
    only_row boolean DEFAULT true NOT NULL,
    checked_at timestamp with time zone NOT NULL,
    checked_by uuid NOT NULL,
    watched_since timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT alert_check_only_row_check CHECK (only_row)
);
COMMENT ON TABLE dirsync.alert_check IS 'When the rules were last checked. The process that updates it does the check: one at a time.';
COMMENT ON COLUMN dirsync.alert_check.only_row IS 'There is one row at most.';
COMMENT ON COLUMN dirsync.alert_check.checked_at IS 'When.';
COMMENT ON COLUMN dirsync.alert_check.checked_by IS 'The process (dirsync.process) that did.';
COMMENT ON COLUMN dirsync.alert_check.watched_since IS 'Since when rules have been checked without a break: the first check after three minutes without one.';
ALTER TABLE dirsync.alert ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME dirsync.alert_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE dirsync.alert_message (
    id bigint NOT NULL,
    channel text NOT NULL,
    kind text NOT NULL,
    content jsonb NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    state text DEFAULT 'waiting'::text NOT NULL,
    attempts integer DEFAULT 0 NOT NULL,
    not_before timestamp with time zone DEFAULT now() NOT NULL,
    leased_until timestamp with time zone,
    sent_at timestamp with time zone,
    answer text,
    CONSTRAINT alert_message_check CHECK (((state = 'sent'::text) = (sent_at IS NOT NULL))),
    CONSTRAINT alert_message_kind_check CHECK ((kind = ANY (ARRAY['alerts'::text, 'summary'::text]))),
    CONSTRAINT alert_message_state_check CHECK ((state = ANY (ARRAY['waiting'::text, 'sent'::text, 'given_up'::text])))
);
COMMENT ON TABLE dirsync.alert_message IS 'Messages to channels, written before they are sent: if a process dies, another one sends its messages. At most one per channel waits; unless it is being sent, it is kept up to date. Kept for 30 days.';
COMMENT ON COLUMN dirsync.alert_message.id IS 'Number of the message; receivers may know a repeated one by it.';
COMMENT ON COLUMN dirsync.alert_message.channel IS 'Name of the channel.';
COMMENT ON COLUMN dirsync.alert_message.kind IS 'alerts: what was raised, goes on or is over; summary: the channel has had its messages for this hour.';
COMMENT ON COLUMN dirsync.alert_message.content IS 'What it says, in the channel''s language.';
COMMENT ON COLUMN dirsync.alert_message.created_at IS 'When it was decided upon.';
COMMENT ON COLUMN dirsync.alert_message.state IS 'waiting, sent, or given_up after a day of failures.';
COMMENT ON COLUMN dirsync.alert_message.attempts IS 'How often it was tried.';
COMMENT ON COLUMN dirsync.alert_message.not_before IS 'When to try (again).';
COMMENT ON COLUMN dirsync.alert_message.leased_until IS 'Until when a process may be sending it; null: none is.';
COMMENT ON COLUMN dirsync.alert_message.sent_at IS 'When the channel took it.';
COMMENT ON COLUMN dirsync.alert_message.answer IS 'What the channel''s server answered last, cut short and without secrets.';
ALTER TABLE dirsync.alert_message ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME dirsync.alert_message_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE dirsync.alert_mute (
    rule text NOT NULL,
    until timestamp with time zone NOT NULL,
    reason text NOT NULL,
    muted_by text DEFAULT dirsync.actor() NOT NULL,
    muted_at timestamp with time zone DEFAULT now() NOT NULL,
    subject text
);
COMMENT ON TABLE dirsync.alert_mute IS 'Rules whose alerts are sent to no channel for a time; they are still checked.';
COMMENT ON COLUMN dirsync.alert_mute.rule IS 'Name of the rule.';
COMMENT ON COLUMN dirsync.alert_mute.until IS 'When it may be heard again.';
COMMENT ON COLUMN dirsync.alert_mute.reason IS 'Why.';
COMMENT ON COLUMN dirsync.alert_mute.muted_by IS 'Who.';
COMMENT ON COLUMN dirsync.alert_mute.muted_at IS 'When.';
COMMENT ON COLUMN dirsync.alert_mute.subject IS 'The subject of the alerts that it keeps back, such as the scope of a halt; null: all of the rule.';
CREATE TABLE dirsync.alert_notice (
    alert_id bigint NOT NULL,
    channel text NOT NULL,
    event text NOT NULL,
    at timestamp with time zone DEFAULT now() NOT NULL,
    message_id bigint,
    CONSTRAINT alert_notice_event_check CHECK ((event = ANY (ARRAY['raised'::text, 'repeated'::text, 'acknowledged'::text, 'recovered'::text, 'withheld'::text])))
);
COMMENT ON TABLE dirsync.alert_notice IS 'Which channel was told what about an alert, and when.';
COMMENT ON COLUMN dirsync.alert_notice.alert_id IS 'The alert.';
COMMENT ON COLUMN dirsync.alert_notice.channel IS 'Name of the channel.';
COMMENT ON COLUMN dirsync.alert_notice.event IS 'raised, repeated, acknowledged, recovered; withheld: quiet hours or a mute kept it from the channel.';
COMMENT ON COLUMN dirsync.alert_notice.at IS 'When that was decided.';
COMMENT ON COLUMN dirsync.alert_notice.message_id IS 'The message that says it; null where it was withheld, or the message is older than 30 days.';
CREATE TABLE dirsync.api_token (
    id bigint NOT NULL,
    name text NOT NULL,
    hash bytea NOT NULL,
    role text NOT NULL,
    created_by text DEFAULT dirsync.actor() NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    last_used_at timestamp with time zone,
    revoked_at timestamp with time zone,
    CONSTRAINT api_token_role_check CHECK ((role = ANY (ARRAY['viewer'::text, 'reviewer'::text, 'operator'::text, 'admin'::text])))
);
COMMENT ON TABLE dirsync.api_token IS 'Bearer tokens of the API. dirsync tokens adds and revokes them.';
COMMENT ON COLUMN dirsync.api_token.id IS 'Number of the token.';
COMMENT ON COLUMN dirsync.api_token.name IS 'What it is for. The audit shows token:NAME. One token of a name is good at a time.';
COMMENT ON COLUMN dirsync.api_token.hash IS 'SHA-256 of the token, which was shown once.';
COMMENT ON COLUMN dirsync.api_token.role IS 'What its holder may do.';
COMMENT ON COLUMN dirsync.api_token.created_by IS 'Who added it.';
COMMENT ON COLUMN dirsync.api_token.created_at IS 'When it was added.';
COMMENT ON COLUMN dirsync.api_token.expires_at IS 'Until when it is good.';
COMMENT ON COLUMN dirsync.api_token.last_used_at IS 'Its last use, to the minute.';
COMMENT ON COLUMN dirsync.api_token.revoked_at IS 'When it was revoked, or replaced by another of its name.';
ALTER TABLE dirsync.api_token ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME dirsync.api_token_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE dirsync.attempt (
    id bigint NOT NULL,
    run_id bigint,
    operation text NOT NULL,
    enterprise_code text DEFAULT ''::text NOT NULL,
    entity_key text NOT NULL,
    detail text DEFAULT ''::text NOT NULL,
    execution bigint,
    started_at timestamp with time zone NOT NULL,
    duration_ms integer NOT NULL,
    outcome text NOT NULL,
    calls jsonb DEFAULT '{}'::jsonb NOT NULL,
    waited_ms jsonb DEFAULT '{}'::jsonb NOT NULL,
    rate_limited jsonb DEFAULT '{}'::jsonb NOT NULL,
    fields text[] DEFAULT '{}'::text[] NOT NULL,
    platform_code bigint,
    trace_id text,
    error jsonb,
    CONSTRAINT attempt_outcome_check CHECK ((outcome = ANY (ARRAY['in_sync'::text, 'updated'::text, 'partly_updated'::text, 'deleted'::text, 'bound'::text, 'awaiting_activation'::text, 'left'::text, 'parked'::text, 'retry'::text, 'wait'::text, 'halted'::text, 'obsolete'::text, 'replan'::text])))
);
COMMENT ON TABLE dirsync.attempt IS 'Every execution of a job, append-only; kept for 30 days.';
COMMENT ON COLUMN dirsync.attempt.id IS 'Number of the attempt.';
COMMENT ON COLUMN dirsync.attempt.run_id IS 'The run it belonged to.';
COMMENT ON COLUMN dirsync.attempt.operation IS 'update-employee, delete-department, bind-openid, mirror-orders, mirror-accounts or mirror-taxpayers.';
COMMENT ON COLUMN dirsync.attempt.enterprise_code IS 'Enterprise; empty for a single enterprise.';
COMMENT ON COLUMN dirsync.attempt.entity_key IS 'User id, department code, or the part of a mirror: a day, an order, an identification number.';
COMMENT ON COLUMN dirsync.attempt.detail IS 'bind-openid: the merchant application id; mirror-taxpayers: the nature; else empty.';
COMMENT ON COLUMN dirsync.attempt.execution IS 'The execution of the job (see pending.execution) that had this outcome; null where there was none.';
COMMENT ON COLUMN dirsync.attempt.started_at IS 'When it began.';
COMMENT ON COLUMN dirsync.attempt.duration_ms IS 'How long it took, in milliseconds, waiting for the pacer included.';
COMMENT ON COLUMN dirsync.attempt.outcome IS 'in_sync: nothing to send, or nothing new in a mirror; updated: fields sent, or rows of a mirror written; partly_updated: some fields held back; left: gone from HR and from the platform; retry, wait, halted: to be repeated; replan: HR has another row than the plan saw, so nothing was sent; obsolete: nothing to do any more.';
COMMENT ON COLUMN dirsync.attempt.calls IS 'Calls to the platform by operation.';
COMMENT ON COLUMN dirsync.attempt.waited_ms IS 'How long its calls waited for the pacer, in milliseconds by operation; empty where that is not known (mirrors).';
COMMENT ON COLUMN dirsync.attempt.rate_limited IS 'Calls that the platform rejected because there were too many, by operation.';
COMMENT ON COLUMN dirsync.attempt.fields IS 'Names of the fields the platform accepted.';
COMMENT ON COLUMN dirsync.attempt.platform_code IS 'Error code of the platform (section 7).';
COMMENT ON COLUMN dirsync.attempt.trace_id IS 'x-trace-id of the failed call, for the vendor''s support.';
COMMENT ON COLUMN dirsync.attempt.error IS 'What failed, without personal data, for dirsync.in_language.';
ALTER TABLE dirsync.attempt ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME dirsync.attempt_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
ALTER TABLE dirsync.bulk_action ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME dirsync.bulk_action_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE dirsync.call_hour (
    hour timestamp with time zone NOT NULL,
    operation text NOT NULL,
    calls integer NOT NULL,
    rate_limited integer NOT NULL
);
COMMENT ON TABLE dirsync.call_hour IS 'call_minute summed up by hour, so that a month is read in milliseconds; kept for 35 days.';
COMMENT ON COLUMN dirsync.call_hour.hour IS 'Beginning of the hour.';
COMMENT ON COLUMN dirsync.call_hour.operation IS 'Operation of the platform.';
COMMENT ON COLUMN dirsync.call_hour.calls IS 'Exchanges with the platform, whatever came of them.';
COMMENT ON COLUMN dirsync.call_hour.rate_limited IS 'How many of them the platform rejected because there were too many.';
CREATE TABLE dirsync.call_minute (
    minute timestamp with time zone NOT NULL,
    operation text NOT NULL,
    calls integer NOT NULL,
    rate_limited integer NOT NULL,
    failed integer NOT NULL,
    waited_ms bigint NOT NULL,
    longest_wait_ms integer NOT NULL,
    duration_ms bigint NOT NULL
);
COMMENT ON TABLE dirsync.call_minute IS 'Calls to the platform of all processes by minute and operation; kept for 30 days.';
COMMENT ON COLUMN dirsync.call_minute.minute IS 'Beginning of the minute in which they were written down, a few seconds after they ended.';
COMMENT ON COLUMN dirsync.call_minute.operation IS 'Operation of the platform, for example employee/get.';
COMMENT ON COLUMN dirsync.call_minute.calls IS 'Exchanges with the platform, whatever came of them.';
COMMENT ON COLUMN dirsync.call_minute.rate_limited IS 'How many of them the platform rejected because there were too many.';
COMMENT ON COLUMN dirsync.call_minute.failed IS 'How many of them failed, including those that were too fast.';
COMMENT ON COLUMN dirsync.call_minute.waited_ms IS 'Time that they waited for the pacer, all together, in milliseconds.';
COMMENT ON COLUMN dirsync.call_minute.longest_wait_ms IS 'Longest time that one of them waited for the pacer, in milliseconds.';
COMMENT ON COLUMN dirsync.call_minute.duration_ms IS 'Time that the exchanges took, all together, in milliseconds.';
CREATE TABLE dirsync.command (
    id bigint NOT NULL,
    name text NOT NULL,
    arguments jsonb DEFAULT '{}'::jsonb NOT NULL,
    requested_by text NOT NULL,
    requested_at timestamp with time zone DEFAULT now() NOT NULL,
    run_id bigint,
    dead_letter_id bigint,
    address text DEFAULT dirsync.address(),
    reason text
);
COMMENT ON TABLE dirsync.command IS 'What people asked for, through SQL, the shell or the console; append-only.';
COMMENT ON COLUMN dirsync.command.id IS 'Number of the command.';
COMMENT ON COLUMN dirsync.command.name IS 'What was asked for, named as the function or command that does it.';
COMMENT ON COLUMN dirsync.command.arguments IS 'Arguments of the command.';
COMMENT ON COLUMN dirsync.command.requested_by IS 'Database user, and the shell user where the command line was used.';
COMMENT ON COLUMN dirsync.command.requested_at IS 'When it was asked for.';
COMMENT ON COLUMN dirsync.command.run_id IS 'The run that it started or decided about.';
COMMENT ON COLUMN dirsync.command.dead_letter_id IS 'The case that it decided about.';
COMMENT ON COLUMN dirsync.command.address IS 'From where it was asked for: address of the browser, or of the database client.';
COMMENT ON COLUMN dirsync.command.reason IS 'Why, where a reason was given.';
ALTER TABLE dirsync.command ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME dirsync.command_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE dirsync.console_session (
    id_hash bytea NOT NULL,
    user_name text NOT NULL,
    via text NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    last_seen_at timestamp with time zone DEFAULT now() NOT NULL,
    address text NOT NULL,
    user_agent text NOT NULL,
    revoked_at timestamp with time zone,
    id_token text,
    CONSTRAINT console_session_via_check CHECK ((via = ANY (ARRAY['password'::text, 'oidc'::text, 'key'::text])))
);
COMMENT ON TABLE dirsync.console_session IS 'Who is signed in. A session is worth something while it is neither expired nor revoked and its user is not disabled.';
COMMENT ON COLUMN dirsync.console_session.id_hash IS 'SHA-256 of the cookie. The cookie itself is kept nowhere.';
COMMENT ON COLUMN dirsync.console_session.user_name IS 'Whose session it is; the role is read from there.';
COMMENT ON COLUMN dirsync.console_session.via IS 'How they signed in.';
COMMENT ON COLUMN dirsync.console_session.created_at IS 'When they signed in.';
COMMENT ON COLUMN dirsync.console_session.expires_at IS 'When it ends by itself: after 12 hours, through OIDC after one, so that a role taken away there is gone.';
COMMENT ON COLUMN dirsync.console_session.last_seen_at IS 'Their last request, to the minute.';
COMMENT ON COLUMN dirsync.console_session.address IS 'The address that they signed in from.';
COMMENT ON COLUMN dirsync.console_session.user_agent IS 'Their browser, as it called itself, shortened.';
COMMENT ON COLUMN dirsync.console_session.revoked_at IS 'When it was ended: signed out, signed in anew, disabled, or the password changed.';
COMMENT ON COLUMN dirsync.console_session.id_token IS 'oidc: the token that the identity provider wants to see at sign-out; null once it is signed out.';
CREATE TABLE dirsync.console_user (
    name text NOT NULL,
    source text NOT NULL,
    role text NOT NULL,
    password_hash text,
    issuer text,
    subject text,
    language text,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    created_by text DEFAULT dirsync.actor() NOT NULL,
    disabled_at timestamp with time zone,
    last_sign_in_at timestamp with time zone,
    CONSTRAINT console_user_check CHECK (((password_hash IS NOT NULL) = (source = 'password'::text))),
    CONSTRAINT console_user_check1 CHECK (((source = 'oidc'::text) = ((issuer IS NOT NULL) AND (subject IS NOT NULL)))),
    CONSTRAINT console_user_role_check CHECK ((role = ANY (ARRAY['viewer'::text, 'reviewer'::text, 'operator'::text, 'admin'::text]))),
    CONSTRAINT console_user_source_check CHECK ((source = ANY (ARRAY['password'::text, 'oidc'::text, 'key'::text])))
);
COMMENT ON TABLE dirsync.console_user IS 'People who may use the console, or have used it. dirsync users adds and disables them; those who sign in through OIDC are added by it.';
COMMENT ON COLUMN dirsync.console_user.name IS 'Name, in lower case; the audit shows it.';
COMMENT ON COLUMN dirsync.console_user.source IS 'How they sign in. password: with the one kept here. oidc: at the identity provider. key: with one-time keys; there is one such user, local.';
COMMENT ON COLUMN dirsync.console_user.role IS 'What they may do: viewer, reviewer, operator or admin. oidc: as their claims said at the last sign-in.';
COMMENT ON COLUMN dirsync.console_user.password_hash IS 'scrypt of the password, with its parameters and salt: $scrypt$ln=…,r=…,p=…$salt$hash.';
COMMENT ON COLUMN dirsync.console_user.issuer IS 'oidc: the identity provider that knows them.';
COMMENT ON COLUMN dirsync.console_user.subject IS 'oidc: their permanent id there (the claim sub). A name may pass to another person, this may not.';
COMMENT ON COLUMN dirsync.console_user.language IS 'The language that they chose: en or zh-CN; null: as their browser asks.';
COMMENT ON COLUMN dirsync.console_user.created_at IS 'When they were added.';
COMMENT ON COLUMN dirsync.console_user.created_by IS 'Who added them.';
COMMENT ON COLUMN dirsync.console_user.disabled_at IS 'Since when they may not sign in; null: they may. Their sessions have ended.';
COMMENT ON COLUMN dirsync.console_user.last_sign_in_at IS 'Their last sign-in.';
CREATE TABLE dirsync.dead_letter_event (
    id bigint NOT NULL,
    dead_letter_id bigint NOT NULL,
    at timestamp with time zone DEFAULT now() NOT NULL,
    actor text DEFAULT 'dirsync'::text NOT NULL,
    event text NOT NULL,
    run_id bigint,
    note text,
    said jsonb,
    CONSTRAINT dead_letter_event_event_check CHECK ((event = ANY (ARRAY['opened'::text, 'changed'::text, 'retried'::text, 'resolved'::text, 'ignored'::text, 'snoozed'::text, 'reopened'::text, 'assigned'::text, 'commented'::text])))
);
COMMENT ON TABLE dirsync.dead_letter_event IS 'The story of a case: every change of state, by whom and why.';
COMMENT ON COLUMN dirsync.dead_letter_event.id IS 'Number of the event.';
COMMENT ON COLUMN dirsync.dead_letter_event.dead_letter_id IS 'The case.';
COMMENT ON COLUMN dirsync.dead_letter_event.at IS 'When.';
COMMENT ON COLUMN dirsync.dead_letter_event.actor IS 'dirsync, or who decided.';
COMMENT ON COLUMN dirsync.dead_letter_event.event IS 'What happened; changed: it failed again for another reason; assigned: the note says to whom, null for no one.';
COMMENT ON COLUMN dirsync.dead_letter_event.run_id IS 'Run in which it happened.';
COMMENT ON COLUMN dirsync.dead_letter_event.note IS 'Category, the reason that a person gave, whom the case was assigned to, or the comment.';
COMMENT ON COLUMN dirsync.dead_letter_event.said IS 'What dirsync itself says about it, for dirsync.in_language; null: the note says it.';
ALTER TABLE dirsync.dead_letter_event ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME dirsync.dead_letter_event_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
ALTER TABLE dirsync.dead_letter ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME dirsync.dead_letter_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE dirsync.department (
    enterprise_code text DEFAULT ''::text NOT NULL,
    dept_code text NOT NULL,
    parent_code text,
    active boolean NOT NULL,
    closed_at timestamp with time zone,
    first_missing_at timestamp with time zone,
    deleted_at timestamp with time zone,
    parked_at timestamp with time zone,
    rejected_run bigint
);
COMMENT ON TABLE dirsync.department IS 'Departments that HR has or once had, and which of them were deleted on the platform.';
COMMENT ON COLUMN dirsync.department.enterprise_code IS 'Enterprise the department belongs to; empty for a single enterprise.';
COMMENT ON COLUMN dirsync.department.dept_code IS 'Department code.';
COMMENT ON COLUMN dirsync.department.parent_code IS 'Code of the department above, as HR last said.';
COMMENT ON COLUMN dirsync.department.active IS 'False when HR marks the department closed.';
COMMENT ON COLUMN dirsync.department.closed_at IS 'When HR closed it, if the mapping has closed_at; else when the closing was first noticed.';
COMMENT ON COLUMN dirsync.department.first_missing_at IS 'When HR first lacked a department it once had.';
COMMENT ON COLUMN dirsync.department.deleted_at IS 'When the platform confirmed the deletion, or that there is no such department.';
COMMENT ON COLUMN dirsync.department.parked_at IS 'When the deletion ended in a dead letter; it is not planned again until HR changes or the case is retried.';
COMMENT ON COLUMN dirsync.department.rejected_run IS 'The run with which a person rejected its deletion; null: none, or HR has changed it since.';
CREATE TABLE dirsync.deployment (
    id uuid DEFAULT gen_random_uuid() NOT NULL,
    name text,
    base_url text NOT NULL,
    app_id text NOT NULL,
    enterprise_code text NOT NULL,
    since timestamp with time zone DEFAULT now() NOT NULL,
    only_row boolean DEFAULT true NOT NULL,
    CONSTRAINT deployment_only_row_check CHECK (only_row)
);
COMMENT ON TABLE dirsync.deployment IS 'One row: the platform account that this database remembers. The first start writes it; dirsync switch-account changes it.';
COMMENT ON COLUMN dirsync.deployment.id IS 'Made by the first start, and made anew when the account is switched. It is part of the queue''s name.';
COMMENT ON COLUMN dirsync.deployment.name IS 'What people call the deployment, as DEPLOYMENT_NAME says; null: it has no name. Each start writes it.';
COMMENT ON COLUMN dirsync.deployment.base_url IS 'Address of the platform, as new URL() writes it, without a slash at its end; embedded: the emulator of the trial, at whatever port.';
COMMENT ON COLUMN dirsync.deployment.app_id IS 'Application id. Together with the address it is the account that all of this was learnt from.';
COMMENT ON COLUMN dirsync.deployment.enterprise_code IS 'PLATFORM_ENTERPRISE_CODE at the last start. Another one does not mean another account.';
COMMENT ON COLUMN dirsync.deployment.since IS 'Since when this database has remembered that account. What HR changed before is read in full once more.';
COMMENT ON COLUMN dirsync.deployment.only_row IS 'Always true: there is one row.';
CREATE TABLE dirsync.dry_run (
    id bigint NOT NULL,
    requested_by text DEFAULT dirsync.actor() NOT NULL,
    requested_at timestamp with time zone DEFAULT now() NOT NULL,
    address text,
    mapping text NOT NULL,
    state text DEFAULT 'requested'::text NOT NULL,
    starts smallint DEFAULT 0 NOT NULL,
    phase text,
    rows_read integer DEFAULT 0 NOT NULL,
    started_at timestamp with time zone,
    finished_at timestamp with time zone,
    message jsonb,
    error_line integer,
    error_column integer,
    summary jsonb,
    hr_source text DEFAULT ''::text NOT NULL,
    CONSTRAINT dry_run_finished_check CHECK (((state = ANY (ARRAY['done'::text, 'failed'::text, 'cancelled'::text])) = (finished_at IS NOT NULL))),
    CONSTRAINT dry_run_phase_check CHECK ((phase = ANY (ARRAY['plan'::text, 'new'::text, 'today'::text, 'compare'::text]))),
    CONSTRAINT dry_run_state_check CHECK ((state = ANY (ARRAY['requested'::text, 'running'::text, 'done'::text, 'failed'::text, 'cancelled'::text])))
);
COMMENT ON TABLE dirsync.dry_run IS 'What another SELECT of employees would change, found out without writing anything; kept for 30 days.';
COMMENT ON COLUMN dirsync.dry_run.id IS 'Number of the dry run.';
COMMENT ON COLUMN dirsync.dry_run.requested_by IS 'Database user, and who asked.';
COMMENT ON COLUMN dirsync.dry_run.requested_at IS 'When it was asked for.';
COMMENT ON COLUMN dirsync.dry_run.address IS 'Where the person who asked was; null: at a shell, or not known.';
COMMENT ON COLUMN dirsync.dry_run.mapping IS 'The SELECT that is tried out.';
COMMENT ON COLUMN dirsync.dry_run.state IS 'requested; running; done; failed: the SELECT is wrong, or HR could not be read, see message; cancelled.';
COMMENT ON COLUMN dirsync.dry_run.starts IS 'How often it was begun: one whose process has ended three times has failed.';
COMMENT ON COLUMN dirsync.dry_run.phase IS 'What it does: plan as a run would, read the new rows, read those of today''s mapping, compare them.';
COMMENT ON COLUMN dirsync.dry_run.rows_read IS 'Rows read from HR so far, over all phases.';
COMMENT ON COLUMN dirsync.dry_run.started_at IS 'When it began.';
COMMENT ON COLUMN dirsync.dry_run.finished_at IS 'When it ended.';
COMMENT ON COLUMN dirsync.dry_run.message IS 'failed: why, for dirsync.in_language.';
COMMENT ON COLUMN dirsync.dry_run.error_line IS 'Line of the SELECT that is wrong, from 1; null: not known.';
COMMENT ON COLUMN dirsync.dry_run.error_column IS 'Column of that line, from 1.';
COMMENT ON COLUMN dirsync.dry_run.summary IS 'done: what a run would plan and whether it would be held; employees by what becomes of them, changed fields, departments and rule breaks, counted over all of them.';
COMMENT ON COLUMN dirsync.dry_run.hr_source IS 'The HR source that it reads; empty where there is only one.';
CREATE TABLE dirsync.dry_run_entity (
    dry_run_id bigint NOT NULL,
    enterprise_code text NOT NULL,
    entity_key text NOT NULL,
    reason text NOT NULL,
    department text,
    changed jsonb DEFAULT '[]'::jsonb NOT NULL,
    CONSTRAINT dry_run_entity_reason_check CHECK ((reason = ANY (ARRAY['appears'::text, 'disappears'::text, 'changes'::text, 'breaks'::text, 'mends'::text])))
);
COMMENT ON TABLE dirsync.dry_run_entity IS 'Employees for whom the SELECT of a dry run makes a difference, 10,000 at most, of each kind its share.';
COMMENT ON COLUMN dirsync.dry_run_entity.dry_run_id IS 'The dry run.';
COMMENT ON COLUMN dirsync.dry_run_entity.enterprise_code IS 'Enterprise; empty for a single enterprise.';
COMMENT ON COLUMN dirsync.dry_run_entity.entity_key IS 'User id.';
COMMENT ON COLUMN dirsync.dry_run_entity.reason IS 'Against today''s mapping: appears or disappears among the active employees; changes; breaks a rule that it does not break today; mends: breaks none any more.';
COMMENT ON COLUMN dirsync.dry_run_entity.department IS 'Department that the SELECT has, else that of today.';
COMMENT ON COLUMN dirsync.dry_run_entity.changed IS 'The fields concerned: [{field, from, to}], values masked; of one that breaks a rule hidden.';
ALTER TABLE dirsync.dry_run ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME dirsync.dry_run_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE dirsync.employee (
    enterprise_code text DEFAULT ''::text NOT NULL,
    userid text NOT NULL,
    active boolean DEFAULT true NOT NULL,
    source_hash uuid,
    acknowledged_hash uuid,
    parked_hash uuid,
    acknowledged jsonb DEFAULT '{}'::jsonb NOT NULL,
    overwritten jsonb DEFAULT '{}'::jsonb NOT NULL,
    withheld text[] DEFAULT '{}'::text[] NOT NULL,
    platform_state text DEFAULT 'unknown'::text NOT NULL,
    dept_code text,
    vanished_at timestamp with time zone,
    acknowledged_at timestamp with time zone,
    queried_at timestamp with time zone,
    held_run bigint,
    held_hash uuid,
    rejected boolean DEFAULT false NOT NULL,
    accepted boolean DEFAULT false NOT NULL,
    status text GENERATED ALWAYS AS (
CASE
    WHEN ((held_run IS NOT NULL) AND rejected) THEN 'rejected'::text
    WHEN (held_run IS NOT NULL) THEN 'held'::text
    WHEN (vanished_at IS NOT NULL) THEN 'vanished'::text
    WHEN (NOT active) THEN 'left'::text
    WHEN (acknowledged_hash = source_hash) THEN 'in_sync'::text
    WHEN ((parked_hash = source_hash) AND (platform_state = 'absent'::text)) THEN 'awaiting_activation'::text
    WHEN ((parked_hash = source_hash) AND accepted) THEN 'accepted'::text
    WHEN (parked_hash = source_hash) THEN 'dead_lettered'::text
    ELSE 'waiting'::text
END) STORED NOT NULL,
    CONSTRAINT employee_platform_state_check CHECK ((platform_state = ANY (ARRAY['unknown'::text, 'in_service'::text, 'absent'::text])))
);
COMMENT ON TABLE dirsync.employee IS 'What the platform last confirmed of each employee, as hashes: no personal data is kept here.';
COMMENT ON COLUMN dirsync.employee.enterprise_code IS 'Enterprise the employee belongs to; empty for a single enterprise.';
COMMENT ON COLUMN dirsync.employee.userid IS 'The employee''s unique id in HR and on the platform. It never changes.';
COMMENT ON COLUMN dirsync.employee.active IS 'False for a leaver, as HR last said.';
COMMENT ON COLUMN dirsync.employee.source_hash IS 'Hash of the HR row as the last plan that passed saw it. Only this row is sent. Zeros: the work of that plan was taken back, and the next one checks whatever HR has.';
COMMENT ON COLUMN dirsync.employee.acknowledged_hash IS 'Hash of the HR row of which the platform confirmed every field. Equal to source_hash: the employee is in sync.';
COMMENT ON COLUMN dirsync.employee.parked_hash IS 'Hash of the HR row that ended in a dead letter, wholly or in part. It is not tried again while HR gives the same row.';
COMMENT ON COLUMN dirsync.employee.acknowledged IS 'For each field, the hash of the value that the platform last confirmed.';
COMMENT ON COLUMN dirsync.employee.overwritten IS 'For each field that was sent, the hash of the value that the platform showed before; removed once the platform shows what was sent. If the old value shows again beside an acknowledged one, the field is not_applied.';
COMMENT ON COLUMN dirsync.employee.withheld IS 'Fields not sent because their feature is switched off for the enterprise (see field_block).';
COMMENT ON COLUMN dirsync.employee.platform_state IS 'in_service: the platform answered for the employee; absent: it said there is none; unknown: not asked yet.';
COMMENT ON COLUMN dirsync.employee.dept_code IS 'Department the platform last showed; a department with employees is never deleted.';
COMMENT ON COLUMN dirsync.employee.vanished_at IS 'When the employee was first missing from HR; null while HR has a row.';
COMMENT ON COLUMN dirsync.employee.acknowledged_at IS 'When the platform last confirmed anything.';
COMMENT ON COLUMN dirsync.employee.queried_at IS 'When the platform was last asked about the employee.';
COMMENT ON COLUMN dirsync.employee.held_run IS 'The held run that waits for a decision about another HR row, or that was rejected; null: there is none.';
COMMENT ON COLUMN dirsync.employee.held_hash IS 'Hash of that HR row; null where HR has no row any more, or held_run is null.';
COMMENT ON COLUMN dirsync.employee.rejected IS 'True once a person has rejected held_run: nothing is planned until HR has yet another row.';
COMMENT ON COLUMN dirsync.employee.accepted IS 'True while a person has ignored cases of the employee, and no other case is unresolved.';
COMMENT ON COLUMN dirsync.employee.status IS 'How the employee stands, for every screen, list and figure. held: HR has another row, which waits for a decision about held_run; rejected: a person rejected it; vanished, left: as HR says; in_sync: the platform confirmed every field; awaiting_activation: not yet on the platform; accepted: it differs, and a person ignored that; dead_lettered: a field or the whole is in review; waiting: to be sent.';
CREATE SEQUENCE dirsync.execution
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
COMMENT ON SEQUENCE dirsync.execution IS 'Numbers the executions of jobs (see pending.execution).';
CREATE TABLE dirsync.refund (
    outer_refund_no text NOT NULL,
    outer_trade_no text NOT NULL,
    enterprise_code text DEFAULT ''::text NOT NULL,
    refund_amount numeric(10,2) NOT NULL,
    refunded_before numeric(10,2),
    state text DEFAULT 'requested'::text NOT NULL,
    requested_by text NOT NULL,
    sent_at timestamp with time zone DEFAULT now() NOT NULL,
    settled_at timestamp with time zone,
    notified_at timestamp with time zone,
    trade_no text,
    platform_code bigint,
    trace_id text,
    message jsonb,
    settle_attempts integer DEFAULT 0 NOT NULL,
    next_settle_at timestamp with time zone,
    left_to_person_at timestamp with time zone,
    resolved_by text,
    resolution text,
    CONSTRAINT refund_check CHECK (((state = ANY (ARRAY['requested'::text, 'unknown'::text])) = (settled_at IS NULL))),
    CONSTRAINT refund_check1 CHECK (((state = 'notified'::text) = (notified_at IS NOT NULL))),
    CONSTRAINT refund_check2 CHECK (((resolved_by IS NULL) = (resolution IS NULL))),
    CONSTRAINT refund_refund_amount_check CHECK ((refund_amount > (0)::numeric)),
    CONSTRAINT refund_refunded_before_check CHECK ((refunded_before >= (0)::numeric)),
    CONSTRAINT refund_state_check CHECK ((state = ANY (ARRAY['requested'::text, 'unknown'::text, 'accepted'::text, 'rejected'::text, 'notified'::text])))
);
COMMENT ON TABLE dirsync.refund IS 'Refunds that dirsync has sent: one row per external refund number, written before it is sent and never deleted.';
COMMENT ON COLUMN dirsync.refund.outer_refund_no IS 'External refund number; never sent a second time.';
COMMENT ON COLUMN dirsync.refund.outer_trade_no IS 'External trade number of the refunded order.';
COMMENT ON COLUMN dirsync.refund.enterprise_code IS 'Enterprise; empty for a single enterprise.';
COMMENT ON COLUMN dirsync.refund.refund_amount IS 'Amount of this refund.';
COMMENT ON COLUMN dirsync.refund.refunded_before IS 'What the order record said had been refunded of the order before this refund; null: it did not say.';
COMMENT ON COLUMN dirsync.refund.state IS 'requested: being sent; unknown: sent, perhaps carried out; accepted; rejected: not carried out; notified: the platform has sent its notification.';
COMMENT ON COLUMN dirsync.refund.requested_by IS 'Database user, and who asked.';
COMMENT ON COLUMN dirsync.refund.sent_at IS 'When it was written down. It was sent within half a minute of that, or not at all.';
COMMENT ON COLUMN dirsync.refund.settled_at IS 'When its outcome became known.';
COMMENT ON COLUMN dirsync.refund.notified_at IS 'When the platform''s notification was stored.';
COMMENT ON COLUMN dirsync.refund.trade_no IS 'Trade number of the platform.';
COMMENT ON COLUMN dirsync.refund.platform_code IS 'Error code that the platform answered with. The refund is unknown where the code is not listed as a refusal of refunds.';
COMMENT ON COLUMN dirsync.refund.trace_id IS 'x-trace-id of the failed call: name it to the vendor''s support.';
COMMENT ON COLUMN dirsync.refund.message IS 'What is known about the outcome, without personal data, for dirsync.in_language.';
COMMENT ON COLUMN dirsync.refund.settle_attempts IS 'How often dirsync has asked the order record about it.';
COMMENT ON COLUMN dirsync.refund.next_settle_at IS 'When to ask the order record again; null: it cannot help, or the outcome is known.';
COMMENT ON COLUMN dirsync.refund.left_to_person_at IS 'Since when an unknown refund waits for a person, because asking again will not tell; null: the order record may still tell.';
COMMENT ON COLUMN dirsync.refund.resolved_by IS 'Who decided about an unknown outcome; null: no decision.';
COMMENT ON COLUMN dirsync.refund.resolution IS 'The reason given with that decision.';
CREATE TABLE dirsync.topup (
    external_code text NOT NULL,
    account_openid text NOT NULL,
    enterprise_code text DEFAULT ''::text NOT NULL,
    amount numeric(20,2) NOT NULL,
    although_open text[] DEFAULT '{}'::text[] NOT NULL,
    state text DEFAULT 'requested'::text NOT NULL,
    requested_by text NOT NULL,
    sent_at timestamp with time zone DEFAULT now() NOT NULL,
    settled_at timestamp with time zone,
    apply_charge_openid text,
    platform_code bigint,
    trace_id text,
    message jsonb,
    resolved_by text,
    resolution text,
    CONSTRAINT topup_amount_check CHECK ((amount > (0)::numeric)),
    CONSTRAINT topup_check CHECK (((state = ANY (ARRAY['requested'::text, 'unknown'::text])) = (settled_at IS NULL))),
    CONSTRAINT topup_check1 CHECK (((resolved_by IS NULL) = (resolution IS NULL))),
    CONSTRAINT topup_state_check CHECK ((state = ANY (ARRAY['requested'::text, 'unknown'::text, 'accepted'::text, 'rejected'::text])))
);
COMMENT ON TABLE dirsync.topup IS 'Top-up applications that dirsync has sent: one row per external business number, written before it is sent and never deleted.';
COMMENT ON COLUMN dirsync.topup.external_code IS 'External business number; never sent a second time.';
COMMENT ON COLUMN dirsync.topup.account_openid IS 'Points account.';
COMMENT ON COLUMN dirsync.topup.enterprise_code IS 'Enterprise; empty for a single enterprise.';
COMMENT ON COLUMN dirsync.topup.amount IS 'Amount applied for.';
COMMENT ON COLUMN dirsync.topup.although_open IS 'External business numbers of open top-ups of the same account that the requester named: this one was sent all the same.';
COMMENT ON COLUMN dirsync.topup.state IS 'requested: being sent; unknown: sent, perhaps carried out, a person has to find out; accepted; rejected: not carried out.';
COMMENT ON COLUMN dirsync.topup.requested_by IS 'Database user, and who asked.';
COMMENT ON COLUMN dirsync.topup.sent_at IS 'When it was written down, just before it was sent.';
COMMENT ON COLUMN dirsync.topup.settled_at IS 'When its outcome became known.';
COMMENT ON COLUMN dirsync.topup.apply_charge_openid IS 'The platform''s open id of the application.';
COMMENT ON COLUMN dirsync.topup.platform_code IS 'Error code that the platform answered with. The top-up is unknown where the code is not listed as a refusal of top-ups.';
COMMENT ON COLUMN dirsync.topup.trace_id IS 'x-trace-id of the failed call: name it to the vendor''s support.';
COMMENT ON COLUMN dirsync.topup.message IS 'What is known about the outcome, without personal data, for dirsync.in_language.';
COMMENT ON COLUMN dirsync.topup.resolved_by IS 'Who decided about an unknown outcome; null: no decision.';
COMMENT ON COLUMN dirsync.topup.resolution IS 'The reason given with that decision.';
CREATE VIEW dirsync.failure AS
 SELECT failed.id,
    failed.enterprise_code,
    failed.entity,
    failed.entity_key,
    failed.operation,
    failed.field,
    failed.category,
    failed.platform_code,
    failed.message,
    failed.remedy,
    failed.blocked_by,
    failed.occurrences,
    failed.first_failed_at,
    failed.last_failed_at,
    failed.state,
    failed.next_retry_at,
    failed.swap_id
   FROM ( SELECT dead_letter.id,
            dead_letter.enterprise_code,
            dead_letter.entity,
            dead_letter.entity_key,
            dead_letter.operation,
            NULLIF(dead_letter.field, ''::text) AS field,
            dead_letter.category,
            dead_letter.platform_code,
            dead_letter.message,
            dead_letter.remedy,
            dead_letter.blocked_by,
            dead_letter.occurrences,
            dead_letter.first_failed_at,
            dead_letter.last_failed_at,
            dead_letter.state,
            dead_letter.next_retry_at,
            dead_letter.swap_id
           FROM dirsync.dead_letter
          WHERE (dead_letter.state <> ALL (ARRAY['resolved'::text, 'ignored'::text]))
        UNION ALL
         SELECT NULL::bigint,
            refund.enterprise_code,
            'refund'::text,
            refund.outer_refund_no,
            'send-refund'::text,
            NULL::text,
            'outcome_unknown'::text,
            refund.platform_code,
            COALESCE(refund.message, '{"key": "said.carried_out_unknown"}'::jsonb) AS "coalesce",
            jsonb_build_object('key',
                CASE
                    WHEN person.waits THEN 'said.refund_resolve'::text
                    ELSE 'said.refund_by_itself'::text
                END, 'values', jsonb_build_object('number', refund.outer_refund_no)) AS jsonb_build_object,
            NULL::text,
            1,
            refund.sent_at,
            refund.sent_at,
                CASE
                    WHEN person.waits THEN 'open'::text
                    ELSE 'retry_scheduled'::text
                END AS "case",
            refund.next_settle_at,
            NULL::bigint AS int8
           FROM dirsync.refund,
            LATERAL ( SELECT ((refund.next_settle_at IS NULL) OR (refund.left_to_person_at IS NOT NULL)) AS waits) person
          WHERE (refund.state = 'unknown'::text)
        UNION ALL
         SELECT NULL::bigint,
            topup.enterprise_code,
            'topup'::text,
            topup.external_code,
            'send-topup'::text,
            NULL::text,
            'outcome_unknown'::text,
            topup.platform_code,
            COALESCE(topup.message, '{"key": "said.carried_out_unknown"}'::jsonb) AS "coalesce",
            jsonb_build_object('key', 'said.topup_resolve', 'values', jsonb_build_object('number', topup.external_code)) AS jsonb_build_object,
            NULL::text,
            1,
            topup.sent_at,
            topup.sent_at,
            'open'::text,
            NULL::timestamp with time zone,
            NULL::bigint
           FROM dirsync.topup
          WHERE (topup.state = 'unknown'::text)) failed
  ORDER BY (failed.state <> 'open'::text), failed.last_failed_at DESC, failed.id DESC;
COMMENT ON VIEW dirsync.failure IS 'The rows of failed_syncs, with messages as they are stored.';
COMMENT ON COLUMN dirsync.failure.id IS 'Number of the case, for retry, ignore and snooze.';
COMMENT ON COLUMN dirsync.failure.enterprise_code IS 'Enterprise; empty for a single enterprise.';
COMMENT ON COLUMN dirsync.failure.entity IS 'employee, department, mirror, or enterprise: a field that is withheld from all employees of an enterprise.';
COMMENT ON COLUMN dirsync.failure.entity_key IS 'User id, department code, the mirror (orders, accounts, taxpayers), or the enterprise code, (single enterprise) where there is none.';
COMMENT ON COLUMN dirsync.failure.operation IS 'The job that failed: update-employee, delete-department, bind-openid, mirror-orders, mirror-accounts, mirror-taxpayers.';
COMMENT ON COLUMN dirsync.failure.field IS 'The field that is held back (bind-openid: the merchant application id; mirror-taxpayers: the identification number; mirror-orders: older_orders for those asked for one by one); empty: the whole entity.';
COMMENT ON COLUMN dirsync.failure.category IS 'Kind of failure: duplicate_mobile, missing_department, invalid_hr_row, not_on_platform, not_applied, left_hr, unknown_payer …';
COMMENT ON COLUMN dirsync.failure.platform_code IS 'Error code of the platform (section 7); null when dirsync found the problem itself.';
COMMENT ON COLUMN dirsync.failure.message IS 'What failed, without personal data, for dirsync.in_language: failed_syncs has it in words.';
COMMENT ON COLUMN dirsync.failure.remedy IS 'What to do about it, for dirsync.in_language.';
COMMENT ON COLUMN dirsync.failure.blocked_by IS 'What has to change first: for a duplicate mobile or e-mail address the user id of its holder. The case is retried as soon as that changes.';
COMMENT ON COLUMN dirsync.failure.occurrences IS 'How often it failed.';
COMMENT ON COLUMN dirsync.failure.first_failed_at IS 'First failure of the case.';
COMMENT ON COLUMN dirsync.failure.last_failed_at IS 'Latest failure of the case.';
COMMENT ON COLUMN dirsync.failure.state IS 'open: waits for a person (and a weekly probe); retry_scheduled, blocked, awaiting_activation: dirsync tries again by itself; retrying: a run is trying it again; snoozed: until snooze_until; resolved; ignored: until the HR row changes, or it fails for another reason than that the platform was away.';
COMMENT ON COLUMN dirsync.failure.next_retry_at IS 'When dirsync tries again by itself.';
COMMENT ON COLUMN dirsync.failure.swap_id IS 'Groups the cases of employees who want each other''s mobile number or e-mail address: the number of the oldest of them. None can go first; see the remedy. Retrying one retries all.';
CREATE VIEW dirsync.failed_syncs AS
 SELECT failure.id,
    failure.enterprise_code,
    failure.entity,
    failure.entity_key,
    failure.operation,
    failure.field,
    failure.category,
    failure.platform_code,
    dirsync.in_language('en'::text, failure.message) AS message,
    dirsync.in_language('en'::text, failure.remedy) AS remedy,
    failure.blocked_by,
    failure.occurrences,
    failure.first_failed_at,
    failure.last_failed_at,
    failure.state,
    failure.next_retry_at,
    failure.swap_id
   FROM dirsync.failure;
COMMENT ON VIEW dirsync.failed_syncs IS 'What a reviewer reads first: every case that is neither resolved nor ignored, and every refund and top-up of unknown outcome, open ones first, the latest on top. Act with dirsync.retry(id), ignore(id, reason), snooze(id, until, reason). A refund or top-up has no id, for none of these may send money again or hide that it is missing: its remedy says what to do.';
COMMENT ON COLUMN dirsync.failed_syncs.id IS 'Number of the case, for retry, ignore and snooze; null for a refund or top-up, see its remedy.';
COMMENT ON COLUMN dirsync.failed_syncs.enterprise_code IS 'Enterprise; empty for a single enterprise.';
COMMENT ON COLUMN dirsync.failed_syncs.entity IS 'employee, department, mirror, refund, topup, or enterprise: a field that is withheld from all employees of an enterprise.';
COMMENT ON COLUMN dirsync.failed_syncs.entity_key IS 'User id, department code, the mirror (orders, accounts, taxpayers), the number of a refund or top-up, or the enterprise code, (single enterprise) where there is none.';
COMMENT ON COLUMN dirsync.failed_syncs.operation IS 'The job that failed: update-employee, delete-department, bind-openid, mirror-orders, mirror-accounts, mirror-taxpayers; or send-refund, send-topup.';
COMMENT ON COLUMN dirsync.failed_syncs.field IS 'The field that is held back (bind-openid: the merchant application id; mirror-taxpayers: the identification number; mirror-orders: older_orders for those asked for one by one); empty: the whole entity.';
COMMENT ON COLUMN dirsync.failed_syncs.category IS 'Kind of failure: duplicate_mobile, missing_department, invalid_hr_row, not_on_platform, not_applied, left_hr, unknown_payer …';
COMMENT ON COLUMN dirsync.failed_syncs.platform_code IS 'Error code of the platform (section 7); null when dirsync found the problem itself.';
COMMENT ON COLUMN dirsync.failed_syncs.message IS 'What failed, without personal data.';
COMMENT ON COLUMN dirsync.failed_syncs.remedy IS 'What to do about it.';
COMMENT ON COLUMN dirsync.failed_syncs.blocked_by IS 'What has to change first: for a duplicate mobile or e-mail address the user id of its holder. The case is retried as soon as that changes.';
COMMENT ON COLUMN dirsync.failed_syncs.occurrences IS 'How often it failed.';
COMMENT ON COLUMN dirsync.failed_syncs.first_failed_at IS 'First failure of the case.';
COMMENT ON COLUMN dirsync.failed_syncs.last_failed_at IS 'Latest failure of the case.';
COMMENT ON COLUMN dirsync.failed_syncs.state IS 'open: waits for a person (and a weekly probe); retry_scheduled, blocked, awaiting_activation: dirsync tries again by itself; retrying: a run is trying it again; snoozed: until snooze_until; resolved; ignored: until the HR row changes, or it fails for another reason than that the platform was away.';
COMMENT ON COLUMN dirsync.failed_syncs.next_retry_at IS 'When dirsync tries again by itself.';
COMMENT ON COLUMN dirsync.failed_syncs.swap_id IS 'Groups the cases of employees who want each other''s mobile number or e-mail address: the number of the oldest of them. None can go first; see the remedy. Retrying one retries all.';
CREATE VIEW dirsync.failed_syncs_zh AS
 SELECT failure.id,
    failure.enterprise_code,
    failure.entity,
    dirsync.name_of('zh-CN'::text, 'entity'::text, failure.entity) AS entity_name,
    failure.entity_key,
    failure.operation,
    dirsync.name_of('zh-CN'::text, 'operation'::text, failure.operation) AS operation_name,
    failure.field,
    dirsync.name_of('zh-CN'::text, 'field'::text, failure.field) AS field_name,
    failure.category,
    dirsync.name_of('zh-CN'::text, 'category'::text, failure.category) AS category_name,
    failure.platform_code,
    dirsync.in_language('zh-CN'::text, failure.message) AS message,
    dirsync.in_language('zh-CN'::text, failure.remedy) AS remedy,
    failure.blocked_by,
    failure.occurrences,
    failure.first_failed_at,
    failure.last_failed_at,
    failure.state,
    dirsync.name_of('zh-CN'::text, 'state'::text, failure.state) AS state_name,
    failure.next_retry_at,
    failure.swap_id
   FROM dirsync.failure;
COMMENT ON VIEW dirsync.failed_syncs_zh IS '待处理的同步失败：与 failed_syncs 相同，名称、说明和处理建议为中文。处理用 dirsync.retry(id)、ignore(id, reason)、snooze(id, until, reason)。退款和充值没有 id，请按处理建议操作。';
COMMENT ON COLUMN dirsync.failed_syncs_zh.id IS 'Number of the case, for retry, ignore and snooze; null for a refund or top-up, see its remedy.';
COMMENT ON COLUMN dirsync.failed_syncs_zh.enterprise_code IS 'Enterprise; empty for a single enterprise.';
COMMENT ON COLUMN dirsync.failed_syncs_zh.entity IS 'employee, department, mirror, refund, topup, or enterprise: a field that is withheld from all employees of an enterprise.';
COMMENT ON COLUMN dirsync.failed_syncs_zh.entity_name IS '对象：entity 的中文名称。';
COMMENT ON COLUMN dirsync.failed_syncs_zh.entity_key IS 'User id, department code, the mirror (orders, accounts, taxpayers), the number of a refund or top-up, or the enterprise code, (single enterprise) where there is none.';
COMMENT ON COLUMN dirsync.failed_syncs_zh.operation IS 'The job that failed: update-employee, delete-department, bind-openid, mirror-orders, mirror-accounts, mirror-taxpayers; or send-refund, send-topup.';
COMMENT ON COLUMN dirsync.failed_syncs_zh.operation_name IS '操作：operation 的中文名称。';
COMMENT ON COLUMN dirsync.failed_syncs_zh.field IS 'The field that is held back (bind-openid: the merchant application id; mirror-taxpayers: the identification number; mirror-orders: older_orders for those asked for one by one); empty: the whole entity.';
COMMENT ON COLUMN dirsync.failed_syncs_zh.field_name IS '字段：field 的中文名称。';
COMMENT ON COLUMN dirsync.failed_syncs_zh.category IS 'Kind of failure: duplicate_mobile, missing_department, invalid_hr_row, not_on_platform, not_applied, left_hr, unknown_payer …';
COMMENT ON COLUMN dirsync.failed_syncs_zh.category_name IS '类别：category 的中文名称。';
COMMENT ON COLUMN dirsync.failed_syncs_zh.platform_code IS 'Error code of the platform (section 7); null when dirsync found the problem itself.';
COMMENT ON COLUMN dirsync.failed_syncs_zh.message IS '发生了什么。';
COMMENT ON COLUMN dirsync.failed_syncs_zh.remedy IS '处理建议。';
COMMENT ON COLUMN dirsync.failed_syncs_zh.blocked_by IS 'What has to change first: for a duplicate mobile or e-mail address the user id of its holder. The case is retried as soon as that changes.';
COMMENT ON COLUMN dirsync.failed_syncs_zh.occurrences IS 'How often it failed.';
COMMENT ON COLUMN dirsync.failed_syncs_zh.first_failed_at IS 'First failure of the case.';
COMMENT ON COLUMN dirsync.failed_syncs_zh.last_failed_at IS 'Latest failure of the case.';
COMMENT ON COLUMN dirsync.failed_syncs_zh.state IS 'open: waits for a person (and a weekly probe); retry_scheduled, blocked, awaiting_activation: dirsync tries again by itself; retrying: a run is trying it again; snoozed: until snooze_until; resolved; ignored: until the HR row changes, or it fails for another reason than that the platform was away.';
COMMENT ON COLUMN dirsync.failed_syncs_zh.state_name IS '状态：state 的中文名称。';
COMMENT ON COLUMN dirsync.failed_syncs_zh.next_retry_at IS 'When dirsync tries again by itself.';
COMMENT ON COLUMN dirsync.failed_syncs_zh.swap_id IS 'Groups the cases of employees who want each other''s mobile number or e-mail address: the number of the oldest of them. None can go first; see the remedy. Retrying one retries all.';
CREATE TABLE dirsync.field_block (
    enterprise_code text DEFAULT ''::text NOT NULL,
    field text NOT NULL,
    codes jsonb,
    platform_code bigint,
    message jsonb DEFAULT '[]'::jsonb NOT NULL,
    since timestamp with time zone DEFAULT now() NOT NULL,
    probe_userid text,
    probing boolean DEFAULT false NOT NULL,
    probes integer DEFAULT 0 NOT NULL,
    next_probe_at timestamp with time zone DEFAULT now() NOT NULL
);
COMMENT ON TABLE dirsync.field_block IS 'Fields that are withheld from an enterprise''s employees because the platform says that they are switched off. One dead letter of entity enterprise stands for each. The block goes when any employee gets the field through.';
COMMENT ON COLUMN dirsync.field_block.enterprise_code IS 'Enterprise; empty for a single enterprise.';
COMMENT ON COLUMN dirsync.field_block.field IS 'Field that is not sent.';
COMMENT ON COLUMN dirsync.field_block.codes IS 'employee_attribute: lists of attributeCodes; values that have all of one list are withheld. Null: the field as a whole.';
COMMENT ON COLUMN dirsync.field_block.platform_code IS 'Error code of the platform.';
COMMENT ON COLUMN dirsync.field_block.message IS 'What the platform said, for dirsync.in_language.';
COMMENT ON COLUMN dirsync.field_block.since IS 'Since when the field has been withheld.';
COMMENT ON COLUMN dirsync.field_block.probe_userid IS 'The employee who tries whether the field gets through, or tried last; the next one in order follows.';
COMMENT ON COLUMN dirsync.field_block.probing IS 'True while that employee is to try.';
COMMENT ON COLUMN dirsync.field_block.probes IS 'Probes that failed.';
COMMENT ON COLUMN dirsync.field_block.next_probe_at IS 'When to try again, whatever a person decided about the dead letter.';
CREATE TABLE dirsync.field_refusal (
    enterprise_code text DEFAULT ''::text NOT NULL,
    field text NOT NULL,
    userid text NOT NULL,
    value_hash text NOT NULL,
    codes text[],
    run_id bigint,
    refused_at timestamp with time zone DEFAULT now() NOT NULL
);
COMMENT ON TABLE dirsync.field_refusal IS 'Refusals that may mean that a field is switched off for all: the latest one per field and employee.';
COMMENT ON COLUMN dirsync.field_refusal.enterprise_code IS 'Enterprise; empty for a single enterprise.';
COMMENT ON COLUMN dirsync.field_refusal.field IS 'The field that the platform refused.';
COMMENT ON COLUMN dirsync.field_refusal.userid IS 'The employee whose value it was.';
COMMENT ON COLUMN dirsync.field_refusal.value_hash IS 'Hash of the value. Refusals of different values speak against the field, not the value.';
COMMENT ON COLUMN dirsync.field_refusal.codes IS 'employee_attribute: the attributeCodes that the value had; else null.';
COMMENT ON COLUMN dirsync.field_refusal.run_id IS 'Run in which it was refused.';
COMMENT ON COLUMN dirsync.field_refusal.refused_at IS 'When.';
CREATE TABLE dirsync.halt (
    scope text NOT NULL,
    category text NOT NULL,
    platform_code bigint,
    message jsonb NOT NULL,
    remedy jsonb NOT NULL,
    raised_by text DEFAULT 'dirsync'::text NOT NULL,
    since timestamp with time zone DEFAULT now() NOT NULL,
    probes integer DEFAULT 0 NOT NULL,
    next_probe_at timestamp with time zone DEFAULT now() NOT NULL
);
COMMENT ON TABLE dirsync.halt IS 'Why work stands still: one row for everything (*) or for one enterprise. A halt ends by itself when a probe succeeds.';
COMMENT ON COLUMN dirsync.halt.scope IS '* for everything, else the enterprise code.';
COMMENT ON COLUMN dirsync.halt.category IS 'clock_skew, credentials, enterprise_code, platform_unavailable …; paused: a person stopped all calls.';
COMMENT ON COLUMN dirsync.halt.platform_code IS 'Error code of the platform, if it gave one.';
COMMENT ON COLUMN dirsync.halt.message IS 'What is wrong, for dirsync.in_language.';
COMMENT ON COLUMN dirsync.halt.remedy IS 'What to do about it, for dirsync.in_language.';
COMMENT ON COLUMN dirsync.halt.raised_by IS 'dirsync, or the person who paused all calls.';
COMMENT ON COLUMN dirsync.halt.since IS 'Since when work has stood still.';
COMMENT ON COLUMN dirsync.halt.probes IS 'How many probes have failed.';
COMMENT ON COLUMN dirsync.halt.next_probe_at IS 'When to let the next job through, to see whether it works again; infinity: not before resume().';
CREATE TABLE dirsync.heartbeat_call (
    only_row boolean DEFAULT true NOT NULL,
    run_id bigint NOT NULL,
    called_at timestamp with time zone,
    attempts integer DEFAULT 0 NOT NULL,
    not_before timestamp with time zone DEFAULT now() NOT NULL,
    leased_until timestamp with time zone,
    answer text,
    CONSTRAINT heartbeat_call_only_row_check CHECK (only_row)
);
COMMENT ON TABLE dirsync.heartbeat_call IS 'The latest good run that HEARTBEAT_URL was told of: a monitor elsewhere that misses the call raises its alarm.';
COMMENT ON COLUMN dirsync.heartbeat_call.only_row IS 'There is one row at most.';
COMMENT ON COLUMN dirsync.heartbeat_call.run_id IS 'The run.';
COMMENT ON COLUMN dirsync.heartbeat_call.called_at IS 'When the monitor took it; null: not yet.';
COMMENT ON COLUMN dirsync.heartbeat_call.attempts IS 'How often it was tried.';
COMMENT ON COLUMN dirsync.heartbeat_call.not_before IS 'When to try (again).';
COMMENT ON COLUMN dirsync.heartbeat_call.leased_until IS 'Until when a process may be calling it; null: none is.';
COMMENT ON COLUMN dirsync.heartbeat_call.answer IS 'What the monitor answered last.';
CREATE TABLE dirsync.hr_source (
    name text NOT NULL,
    "position" smallint NOT NULL,
    kind text NOT NULL,
    address text NOT NULL,
    enterprise_codes text[] NOT NULL,
    seen_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT hr_source_enterprise_codes_check CHECK ((cardinality(enterprise_codes) > 0))
);
COMMENT ON TABLE dirsync.hr_source IS 'The HR systems that HR_SOURCES names, as the process that was started last has read them. Empty where there is one HR system, of HR_DATABASE_URL.';
COMMENT ON COLUMN dirsync.hr_source.name IS 'Name of the source, as sync_run.hr_source has it.';
COMMENT ON COLUMN dirsync.hr_source."position" IS 'Its place in the file.';
COMMENT ON COLUMN dirsync.hr_source.kind IS 'Kind of its server: postgres, mysql or files.';
COMMENT ON COLUMN dirsync.hr_source.address IS 'Where it is, without user and password.';
COMMENT ON COLUMN dirsync.hr_source.enterprise_codes IS 'The enterprises that are its own. No two sources share one.';
COMMENT ON COLUMN dirsync.hr_source.seen_at IS 'When a process last started with it.';
CREATE TABLE dirsync.idempotency_key (
    owner text NOT NULL,
    key text NOT NULL,
    request text NOT NULL,
    answer text,
    at timestamp with time zone DEFAULT now() NOT NULL
);
COMMENT ON TABLE dirsync.idempotency_key IS 'Answers of /api/v1 to requests with an Idempotency-Key, so that a repeated request starts nothing twice. Kept for a day.';
COMMENT ON COLUMN dirsync.idempotency_key.owner IS 'Who sent the request.';
COMMENT ON COLUMN dirsync.idempotency_key.key IS 'The key, as the caller made it.';
COMMENT ON COLUMN dirsync.idempotency_key.request IS 'Digest of route and input: another request needs another key.';
COMMENT ON COLUMN dirsync.idempotency_key.answer IS 'The first answer, a JSON text; null while the work is under way.';
COMMENT ON COLUMN dirsync.idempotency_key.at IS 'When the first request came.';
CREATE TABLE dirsync.job_schedule (
    job text NOT NULL,
    expression text NOT NULL,
    next_due_at timestamp with time zone NOT NULL,
    paused_at timestamp with time zone,
    paused_by text,
    pause_reason text,
    run_requested_at timestamp with time zone,
    run_requested_by text,
    interval_seconds double precision,
    in_force_since timestamp with time zone DEFAULT now() NOT NULL,
    time_zone text
);
COMMENT ON TABLE dirsync.job_schedule IS 'Next tick of each cron job, as the latest scheduler saw it: a tick that was missed while everything was down is noticed at the start.';
COMMENT ON COLUMN dirsync.job_schedule.job IS 'Name of the cron job.';
COMMENT ON COLUMN dirsync.job_schedule.expression IS 'Its cron expression. Another expression makes next_due_at void.';
COMMENT ON COLUMN dirsync.job_schedule.next_due_at IS 'When it is due next. If that is in the past at a start, the tick was missed.';
COMMENT ON COLUMN dirsync.job_schedule.paused_at IS 'Since when its ticks are left out; null: it is not paused.';
COMMENT ON COLUMN dirsync.job_schedule.paused_by IS 'Who paused it.';
COMMENT ON COLUMN dirsync.job_schedule.pause_reason IS 'Why it was paused.';
COMMENT ON COLUMN dirsync.job_schedule.run_requested_at IS 'When a person asked to run it at once, until a scheduler begins it; due_at of that tick.';
COMMENT ON COLUMN dirsync.job_schedule.run_requested_by IS 'Who asked for that.';
COMMENT ON COLUMN dirsync.job_schedule.interval_seconds IS 'Longest time between two of its ticks; null: it is switched off.';
COMMENT ON COLUMN dirsync.job_schedule.in_force_since IS 'Since when it has had this expression without having been off or paused.';
COMMENT ON COLUMN dirsync.job_schedule.time_zone IS 'Time zone of the expression, such as Asia/Shanghai.';
CREATE TABLE dirsync.job_tick (
    job text NOT NULL,
    due_at timestamp with time zone NOT NULL,
    claimed_by uuid NOT NULL,
    claimed_at timestamp with time zone DEFAULT now() NOT NULL,
    finished_at timestamp with time zone,
    error text,
    skipped text,
    requested_by text
);
COMMENT ON TABLE dirsync.job_tick IS 'Ticks of the cron jobs. The unique row decides which process runs a tick.';
COMMENT ON COLUMN dirsync.job_tick.job IS 'Name of the cron job.';
COMMENT ON COLUMN dirsync.job_tick.due_at IS 'When the tick was due.';
COMMENT ON COLUMN dirsync.job_tick.claimed_by IS 'The process that ran it.';
COMMENT ON COLUMN dirsync.job_tick.claimed_at IS 'When it was claimed.';
COMMENT ON COLUMN dirsync.job_tick.finished_at IS 'When it ended.';
COMMENT ON COLUMN dirsync.job_tick.error IS 'Why it failed.';
COMMENT ON COLUMN dirsync.job_tick.skipped IS 'Why the tick was left out: the job was paused. Null: it ran.';
COMMENT ON COLUMN dirsync.job_tick.requested_by IS 'Who asked for a run outside the schedule; null: it was due.';
CREATE TABLE dirsync.limit_account (
    enterprise_code text DEFAULT ''::text NOT NULL,
    account_openid text NOT NULL,
    name text,
    product_category integer,
    balance numeric,
    status integer,
    first_seen_at timestamp with time zone DEFAULT now() NOT NULL,
    changed_at timestamp with time zone DEFAULT now() NOT NULL,
    gone_at timestamp with time zone
);
COMMENT ON TABLE dirsync.limit_account IS 'The enterprise''s limit accounts (section 2.7) as the platform last showed them.';
COMMENT ON COLUMN dirsync.limit_account.enterprise_code IS 'Enterprise; empty for a single enterprise.';
COMMENT ON COLUMN dirsync.limit_account.account_openid IS 'Account open id.';
COMMENT ON COLUMN dirsync.limit_account.name IS 'Account name.';
COMMENT ON COLUMN dirsync.limit_account.product_category IS 'Product type: 1 welfare quota; 2 staff lunch; 3 staff car use; 4 staff communication; 12 care quota; others occur.';
COMMENT ON COLUMN dirsync.limit_account.balance IS 'Balance.';
COMMENT ON COLUMN dirsync.limit_account.status IS '1 valid; 2 invalid.';
COMMENT ON COLUMN dirsync.limit_account.first_seen_at IS 'When dirsync first saw it.';
COMMENT ON COLUMN dirsync.limit_account.changed_at IS 'When dirsync last saw it change.';
COMMENT ON COLUMN dirsync.limit_account.gone_at IS 'Since when the platform has not shown it any more; null while it does.';
CREATE TABLE dirsync.limit_sub_account (
    enterprise_code text DEFAULT ''::text NOT NULL,
    account_openid text NOT NULL,
    id text NOT NULL,
    name text,
    status integer,
    first_seen_at timestamp with time zone DEFAULT now() NOT NULL,
    changed_at timestamp with time zone DEFAULT now() NOT NULL,
    gone_at timestamp with time zone
);
COMMENT ON TABLE dirsync.limit_sub_account IS 'Sub-accounts of the limit accounts, from which employees are granted.';
COMMENT ON COLUMN dirsync.limit_sub_account.enterprise_code IS 'Enterprise; empty for a single enterprise.';
COMMENT ON COLUMN dirsync.limit_sub_account.account_openid IS 'The account it belongs to.';
COMMENT ON COLUMN dirsync.limit_sub_account.id IS 'Sub-account id.';
COMMENT ON COLUMN dirsync.limit_sub_account.name IS 'Sub-account name.';
COMMENT ON COLUMN dirsync.limit_sub_account.status IS '1 valid; 2 invalid. Only valid ones can be granted from.';
COMMENT ON COLUMN dirsync.limit_sub_account.first_seen_at IS 'When dirsync first saw it.';
COMMENT ON COLUMN dirsync.limit_sub_account.changed_at IS 'When dirsync last saw it change.';
COMMENT ON COLUMN dirsync.limit_sub_account.gone_at IS 'Since when the platform has not shown it any more; null while it does.';
CREATE TABLE dirsync.migration (
    name text NOT NULL,
    applied_at timestamp with time zone DEFAULT now() NOT NULL
);
COMMENT ON TABLE dirsync.migration IS 'Which migrations this database has had.';
COMMENT ON COLUMN dirsync.migration.name IS 'Name of the migration file.';
COMMENT ON COLUMN dirsync.migration.applied_at IS 'When it was applied.';
CREATE TABLE dirsync.mirror_day (
    enterprise_code text DEFAULT ''::text NOT NULL,
    day date NOT NULL,
    read_at timestamp with time zone NOT NULL
);
COMMENT ON TABLE dirsync.mirror_day IS 'Days of payment orders that were read to the end.';
COMMENT ON COLUMN dirsync.mirror_day.enterprise_code IS 'Enterprise; empty for a single enterprise.';
COMMENT ON COLUMN dirsync.mirror_day.day IS 'The day, in GMT+8.';
COMMENT ON COLUMN dirsync.mirror_day.read_at IS 'When it was last read to the end.';
CREATE TABLE dirsync.mirror_task (
    run_id bigint NOT NULL,
    "position" integer NOT NULL,
    enterprise_code text DEFAULT ''::text NOT NULL,
    part text DEFAULT ''::text NOT NULL,
    entity_key text DEFAULT ''::text NOT NULL,
    detail text DEFAULT ''::text NOT NULL,
    next_page integer DEFAULT 1 NOT NULL,
    pass integer DEFAULT 1 NOT NULL,
    most integer DEFAULT 0 NOT NULL,
    calls integer DEFAULT 0 NOT NULL,
    changed integer DEFAULT 0 NOT NULL,
    attempts smallint DEFAULT 0 NOT NULL,
    not_before timestamp with time zone DEFAULT now() NOT NULL
);
COMMENT ON TABLE dirsync.mirror_task IS 'What a run of a mirror still has to read, in this order, and how far it has come. A worker that takes it up after a crash continues from here.';
COMMENT ON COLUMN dirsync.mirror_task.run_id IS 'The run.';
COMMENT ON COLUMN dirsync.mirror_task."position" IS 'Order within the run.';
COMMENT ON COLUMN dirsync.mirror_task.enterprise_code IS 'Enterprise to ask for; empty for a single enterprise.';
COMMENT ON COLUMN dirsync.mirror_task.part IS 'What fails and heals together, as the field of its dead letter: an identification number; older_orders for orders asked for one by one; otherwise empty.';
COMMENT ON COLUMN dirsync.mirror_task.entity_key IS 'orders: a day (yyyy-MM-dd, GMT+8) or the number of one order; taxpayers: the identification number; accounts: empty.';
COMMENT ON COLUMN dirsync.mirror_task.detail IS 'orders: day or order; taxpayers: the nature that is asked for; otherwise empty.';
COMMENT ON COLUMN dirsync.mirror_task.next_page IS 'The page to read next; those before it are stored.';
COMMENT ON COLUMN dirsync.mirror_task.pass IS 'Counts the passes over the pages. Rows that moved between pages make another one necessary.';
COMMENT ON COLUMN dirsync.mirror_task.most IS 'The most rows that the platform counted during the pass. If it counts fewer at the end, some may have slipped through.';
COMMENT ON COLUMN dirsync.mirror_task.calls IS 'Calls to the platform so far.';
COMMENT ON COLUMN dirsync.mirror_task.changed IS 'Rows written so far because they were new or different.';
COMMENT ON COLUMN dirsync.mirror_task.attempts IS 'Failed attempts in a row that count.';
COMMENT ON COLUMN dirsync.mirror_task.not_before IS 'Earliest moment of the next attempt.';
CREATE TABLE dirsync.openid_binding (
    enterprise_code text DEFAULT ''::text NOT NULL,
    userid text NOT NULL,
    seller_appid text NOT NULL,
    open_userid text NOT NULL,
    bound_at timestamp with time zone DEFAULT now() NOT NULL
);
COMMENT ON TABLE dirsync.openid_binding IS 'Open id of an employee for a merchant application (section 4.5). It is removed when the platform says that the account is absent; an account that comes back is bound again.';
COMMENT ON COLUMN dirsync.openid_binding.enterprise_code IS 'Enterprise the employee belongs to; empty for a single enterprise.';
COMMENT ON COLUMN dirsync.openid_binding.userid IS 'The employee.';
COMMENT ON COLUMN dirsync.openid_binding.seller_appid IS 'Merchant application id.';
COMMENT ON COLUMN dirsync.openid_binding.open_userid IS 'Externally visible open id; the buyer_open_id of the merchant''s interfaces.';
COMMENT ON COLUMN dirsync.openid_binding.bound_at IS 'When dirsync learnt of it.';
CREATE UNLOGGED TABLE dirsync.pacer (
    gate text NOT NULL,
    next_at timestamp with time zone NOT NULL,
    reserved_at timestamp with time zone,
    leased bigint DEFAULT 0 NOT NULL,
    holder text,
    paused_until timestamp with time zone,
    pause_reason text,
    spread_ms double precision
);
COMMENT ON TABLE dirsync.pacer IS 'The gates for calls to the platform. Processes reserve evenly spaced slots by moving next_at. Unlogged: it is written many times a second and says nothing worth keeping over a crash of the server.';
COMMENT ON COLUMN dirsync.pacer.gate IS 'Name of the gate: platform, or operation: and the operation that has a budget of its own.';
COMMENT ON COLUMN dirsync.pacer.next_at IS 'The first slot that is not reserved yet; in the past if there is less to do than the rate permits.';
COMMENT ON COLUMN dirsync.pacer.reserved_at IS 'When a slot was last reserved. A clock that shows an earlier time was put back.';
COMMENT ON COLUMN dirsync.pacer.leased IS 'How many slots have ever been reserved.';
COMMENT ON COLUMN dirsync.pacer.holder IS 'The process that reserved last.';
COMMENT ON COLUMN dirsync.pacer.paused_until IS 'No call before this moment, because the platform asked for it.';
COMMENT ON COLUMN dirsync.pacer.pause_reason IS 'What the platform answered that made us pause.';
COMMENT ON COLUMN dirsync.pacer.spread_ms IS 'By how much further apart than without rate_cap the last slots lie; null where no cap was in the way.';
CREATE TABLE dirsync.payment_order (
    enterprise_code text DEFAULT ''::text NOT NULL,
    trade_no text NOT NULL,
    out_trade_no text,
    userid text,
    subject text,
    total_amount numeric,
    pay_amount numeric,
    refund_amount numeric,
    status integer,
    asset_code text,
    created_at timestamp with time zone,
    paid_at timestamp with time zone,
    refunded_at timestamp with time zone,
    listed_on date,
    asked_at timestamp with time zone,
    first_seen_at timestamp with time zone DEFAULT now() NOT NULL,
    changed_at timestamp with time zone DEFAULT now() NOT NULL
);
COMMENT ON TABLE dirsync.payment_order IS 'Payment orders (section 2.6) as the platform last showed them. The payer''s name and the e-commerce detail are not kept.';
COMMENT ON COLUMN dirsync.payment_order.enterprise_code IS 'Enterprise; empty for a single enterprise.';
COMMENT ON COLUMN dirsync.payment_order.trade_no IS 'Payment order number.';
COMMENT ON COLUMN dirsync.payment_order.out_trade_no IS 'Business order number.';
COMMENT ON COLUMN dirsync.payment_order.userid IS 'Who paid: the employee''s user id, as in dirsync.employee.';
COMMENT ON COLUMN dirsync.payment_order.subject IS 'What was paid for.';
COMMENT ON COLUMN dirsync.payment_order.total_amount IS 'Total amount.';
COMMENT ON COLUMN dirsync.payment_order.pay_amount IS 'Amount actually paid.';
COMMENT ON COLUMN dirsync.payment_order.refund_amount IS 'Refunded amount.';
COMMENT ON COLUMN dirsync.payment_order.status IS '1 pending payment; 2 paying; 3 completed; 4 pending refund; 5 refunding; 6 refunded; 7 reversed.';
COMMENT ON COLUMN dirsync.payment_order.asset_code IS 'What was paid with: POINT points; QUOTA quota; CASH cash; THIRD third-party asset.';
COMMENT ON COLUMN dirsync.payment_order.created_at IS 'When the order was made (create_time).';
COMMENT ON COLUMN dirsync.payment_order.paid_at IS 'When it was paid (pay_time).';
COMMENT ON COLUMN dirsync.payment_order.refunded_at IS 'When it was refunded (refund_time).';
COMMENT ON COLUMN dirsync.payment_order.listed_on IS 'The day, in GMT+8, under which the platform lists the order.';
COMMENT ON COLUMN dirsync.payment_order.asked_at IS 'When dirsync last asked for this order alone: its day has left the window, and something was under way, or dirsync has refunded it.';
COMMENT ON COLUMN dirsync.payment_order.first_seen_at IS 'When dirsync first saw it.';
COMMENT ON COLUMN dirsync.payment_order.changed_at IS 'When dirsync last saw it change.';
CREATE TABLE dirsync.pending (
    operation text NOT NULL,
    enterprise_code text DEFAULT ''::text NOT NULL,
    entity_key text NOT NULL,
    detail text DEFAULT ''::text NOT NULL,
    run_id bigint,
    named boolean DEFAULT false NOT NULL,
    priority smallint NOT NULL,
    wave smallint DEFAULT 0 NOT NULL,
    version integer DEFAULT 1 NOT NULL,
    execution bigint,
    attempts smallint DEFAULT 0 NOT NULL,
    starts smallint DEFAULT 0 NOT NULL,
    sent_unknown boolean DEFAULT false NOT NULL,
    not_before timestamp with time zone DEFAULT now() NOT NULL,
    replan_at timestamp with time zone,
    enqueued_at timestamp with time zone,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT pending_operation_check CHECK ((operation = ANY (ARRAY['update-employee'::text, 'delete-department'::text, 'bind-openid'::text])))
);
COMMENT ON TABLE dirsync.pending IS 'The outbox: entities whose desired state the platform has not acknowledged. The queue is fed from here and may be wiped at any moment.';
COMMENT ON COLUMN dirsync.pending.operation IS 'Which job does the work.';
COMMENT ON COLUMN dirsync.pending.enterprise_code IS 'Enterprise; empty for a single enterprise.';
COMMENT ON COLUMN dirsync.pending.entity_key IS 'User id or department code.';
COMMENT ON COLUMN dirsync.pending.detail IS 'bind-openid: the merchant application id; else empty.';
COMMENT ON COLUMN dirsync.pending.run_id IS 'The run that asked last. A run is done when none of its rows is left here.';
COMMENT ON COLUMN dirsync.pending.named IS 'True where a person named the entity: it is sent as HR has it now, whatever a plan saw.';
COMMENT ON COLUMN dirsync.pending.priority IS '1 named and retried entities, 3 changes, 5 departments and open ids, 7 full runs. The lowest goes first.';
COMMENT ON COLUMN dirsync.pending.wave IS 'Rows of a later wave wait until the run has no row of an earlier one: children before parents.';
COMMENT ON COLUMN dirsync.pending.version IS 'Raised whenever the work is asked for again. An outcome removes only the version that it saw.';
COMMENT ON COLUMN dirsync.pending.execution IS 'The execution that began last. The outcome of an earlier one changes nothing.';
COMMENT ON COLUMN dirsync.pending.attempts IS 'Failed attempts in a row that count (transient failures).';
COMMENT ON COLUMN dirsync.pending.starts IS 'Executions begun without an outcome. A job that kills its process again and again is parked.';
COMMENT ON COLUMN dirsync.pending.sent_unknown IS 'True while an earlier execution may have changed the platform unnoticed: it died, or its answer was lost. The outcome that ends the work releases the cases that wait for this employee.';
COMMENT ON COLUMN dirsync.pending.not_before IS 'Earliest moment of the next attempt; infinity: it waits for a plan (replan_at).';
COMMENT ON COLUMN dirsync.pending.replan_at IS 'When a worker found another HR row than the plan saw. The row then waits (not_before is infinity) until a plan has checked it.';
COMMENT ON COLUMN dirsync.pending.enqueued_at IS 'When it was put into the queue; null: it is not there.';
COMMENT ON COLUMN dirsync.pending.created_at IS 'Since when the entity has been out of sync.';
CREATE TABLE dirsync.plan_reading (
    run_id bigint NOT NULL,
    state text NOT NULL,
    started_at timestamp with time zone DEFAULT now() NOT NULL,
    finished_at timestamp with time zone,
    retry_at timestamp with time zone,
    after_key text DEFAULT ''::text NOT NULL,
    after_code text DEFAULT ''::text NOT NULL,
    looked_at integer DEFAULT 0 NOT NULL,
    changed_since integer DEFAULT 0 NOT NULL,
    fields jsonb DEFAULT '[]'::jsonb NOT NULL,
    departments jsonb DEFAULT '[]'::jsonb NOT NULL,
    message jsonb,
    CONSTRAINT plan_reading_state_check CHECK ((state = ANY (ARRAY['running'::text, 'done'::text, 'failed'::text, 'stopped'::text])))
);
COMMENT ON TABLE dirsync.plan_reading IS 'The plan of a held run in figures that only HR can tell, counted once in the background after it is held.';
COMMENT ON COLUMN dirsync.plan_reading.run_id IS 'The held run.';
COMMENT ON COLUMN dirsync.plan_reading.state IS 'running; done; failed: HR could not be read, it is tried again at retry_at; stopped: a person decided about the run first.';
COMMENT ON COLUMN dirsync.plan_reading.started_at IS 'When it began.';
COMMENT ON COLUMN dirsync.plan_reading.finished_at IS 'When it ended; null while it goes on.';
COMMENT ON COLUMN dirsync.plan_reading.retry_at IS 'failed: when to go on.';
COMMENT ON COLUMN dirsync.plan_reading.after_key IS 'Key of the entity that was read last.';
COMMENT ON COLUMN dirsync.plan_reading.after_code IS 'Enterprise of the entity that was read last.';
COMMENT ON COLUMN dirsync.plan_reading.looked_at IS 'Entities read so far.';
COMMENT ON COLUMN dirsync.plan_reading.changed_since IS 'How many of them had another row in HR by then than the plan saw.';
COMMENT ON COLUMN dirsync.plan_reading.fields IS 'Entities by changed field: [{field, n}], highest first; once it is done.';
COMMENT ON COLUMN dirsync.plan_reading.departments IS 'Entities by department: [{department, n}], the 50 highest; once it is done.';
COMMENT ON COLUMN dirsync.plan_reading.message IS 'failed: why HR could not be read, for dirsync.in_language.';
CREATE TABLE dirsync.planned_work (
    run_id bigint NOT NULL,
    operation text NOT NULL,
    enterprise_code text DEFAULT ''::text NOT NULL,
    entity_key text NOT NULL,
    reason text,
    active boolean,
    source_hash uuid,
    previous_hash uuid,
    wave smallint DEFAULT 0 NOT NULL,
    department text,
    fields text[],
    acknowledged jsonb,
    CONSTRAINT planned_work_operation_check CHECK ((operation = ANY (ARRAY['update-employee'::text, 'delete-department'::text])))
);
COMMENT ON TABLE dirsync.planned_work IS 'The plans of held runs, entity by entity: what approve carries out, and nothing else. Kept for 30 days after the run has ended.';
COMMENT ON COLUMN dirsync.planned_work.run_id IS 'The held run.';
COMMENT ON COLUMN dirsync.planned_work.operation IS 'Which job would do the work.';
COMMENT ON COLUMN dirsync.planned_work.enterprise_code IS 'Enterprise; empty for a single enterprise.';
COMMENT ON COLUMN dirsync.planned_work.entity_key IS 'User id or department code.';
COMMENT ON COLUMN dirsync.planned_work.reason IS 'Why there is work: new, changed, asked, left, vanished, delete; null: there is none, the row is only remembered.';
COMMENT ON COLUMN dirsync.planned_work.active IS 'Whether HR has the employee as active; null for a department, or where HR has no row.';
COMMENT ON COLUMN dirsync.planned_work.source_hash IS 'Hash of the HR row as the plan saw it; null where HR has no row.';
COMMENT ON COLUMN dirsync.planned_work.previous_hash IS 'employee.source_hash when the plan was made. Where it has changed since, a later plan has passed and takes precedence.';
COMMENT ON COLUMN dirsync.planned_work.wave IS 'Departments: children before parents.';
COMMENT ON COLUMN dirsync.planned_work.department IS 'Department that HR has for the employee, else the one that the platform last showed; null: not known, or not read yet (see plan_reading).';
COMMENT ON COLUMN dirsync.planned_work.fields IS 'Of a changed employee the fields that differ from what the platform last confirmed, of a row that breaks rules the broken ones; null: not read yet (see plan_reading).';
COMMENT ON COLUMN dirsync.planned_work.acknowledged IS 'For a row whose fields had not been read when the plan was carried out: per field the hash of the value that the platform had confirmed by then. It shows afterwards what was approved.';
CREATE TABLE dirsync.platform_token (
    base_url text NOT NULL,
    app_id text NOT NULL,
    sealed_token bytea NOT NULL,
    created_at timestamp with time zone NOT NULL,
    expires_at timestamp with time zone NOT NULL
);
COMMENT ON TABLE dirsync.platform_token IS 'The platform''s access token, shared by all processes. It may be removed at any time: the next call creates a new one.';
COMMENT ON COLUMN dirsync.platform_token.base_url IS 'Base address of the platform that issued it.';
COMMENT ON COLUMN dirsync.platform_token.app_id IS 'Application id it was issued to.';
COMMENT ON COLUMN dirsync.platform_token.sealed_token IS 'The token, encrypted (AES-256-GCM: nonce, tag, text) with a key derived from the application secret; unreadable once the secret changes.';
COMMENT ON COLUMN dirsync.platform_token.created_at IS 'When it was asked for; it is renewed after 80 % of its life.';
COMMENT ON COLUMN dirsync.platform_token.expires_at IS 'When it expires, as the platform said.';
CREATE TABLE dirsync.process (
    id uuid NOT NULL,
    host text NOT NULL,
    pid integer NOT NULL,
    roles text[] NOT NULL,
    version text NOT NULL,
    started_at timestamp with time zone DEFAULT now() NOT NULL,
    heartbeat_at timestamp with time zone DEFAULT now() NOT NULL,
    pacer jsonb,
    queue_away_since timestamp with time zone,
    hr_owners jsonb,
    queue_error text,
    hr_addresses jsonb
);
COMMENT ON TABLE dirsync.process IS 'Processes of dirsync that are alive: each renews its row every few seconds.';
COMMENT ON COLUMN dirsync.process.id IS 'Made at the start of the process.';
COMMENT ON COLUMN dirsync.process.host IS 'Host name.';
COMMENT ON COLUMN dirsync.process.pid IS 'Process id on that host.';
COMMENT ON COLUMN dirsync.process.roles IS 'scheduler, worker, console, notifications.';
COMMENT ON COLUMN dirsync.process.version IS 'Version of dirsync.';
COMMENT ON COLUMN dirsync.process.started_at IS 'Start of the process.';
COMMENT ON COLUMN dirsync.process.heartbeat_at IS 'Last sign of life. Older than 15 seconds counts as dead.';
COMMENT ON COLUMN dirsync.process.pacer IS 'State of a worker''s pacer at its last sign of life: ratePerSecond (without rate_cap), set, learnt, ceiling, cap, waiting, pausedForMs, callsPerSecond, concurrency; clockOffsetMs: how far the platform''s clock is ahead, null before its first answer. Null for a process without a pacer.';
COMMENT ON COLUMN dirsync.process.queue_away_since IS 'Since when the process has not reached the queue, as of its last sign of life; null: it does, or has not asked yet.';
COMMENT ON COLUMN dirsync.process.hr_owners IS 'The HR source of each enterprise as this process knows them. While they differ from hr_owners(), another process was started later with other sources: this one plans and claims nothing for those that differ.';
COMMENT ON COLUMN dirsync.process.queue_error IS 'What the latest operation on the queue failed with, while queue_away_since is set; null: nothing.';
COMMENT ON COLUMN dirsync.process.hr_addresses IS 'Where the process reads each HR source, without user and password; the name is empty where there is one HR system.';
CREATE TABLE dirsync.quiet_hours (
    only_row boolean DEFAULT true NOT NULL,
    starts time without time zone NOT NULL,
    ends time without time zone NOT NULL,
    time_zone text NOT NULL,
    set_by text DEFAULT dirsync.actor() NOT NULL,
    set_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT quiet_hours_check CHECK ((ends <> starts)),
    CONSTRAINT quiet_hours_only_row_check CHECK (only_row)
);
COMMENT ON TABLE dirsync.quiet_hours IS 'The hours of each day in which only critical alerts are sent; no row: there are none.';
COMMENT ON COLUMN dirsync.quiet_hours.only_row IS 'There is one row at most.';
COMMENT ON COLUMN dirsync.quiet_hours.starts IS 'First minute, in time_zone.';
COMMENT ON COLUMN dirsync.quiet_hours.ends IS 'The minute in which they are over; before starts: on the next day.';
COMMENT ON COLUMN dirsync.quiet_hours.time_zone IS 'IANA name of a time zone, such as Asia/Shanghai.';
COMMENT ON COLUMN dirsync.quiet_hours.set_by IS 'Who.';
COMMENT ON COLUMN dirsync.quiet_hours.set_at IS 'When.';
CREATE TABLE dirsync.rate_cap (
    per_second double precision NOT NULL,
    until timestamp with time zone NOT NULL,
    reason text NOT NULL,
    set_by text NOT NULL,
    since timestamp with time zone DEFAULT now() NOT NULL,
    only_row boolean DEFAULT true NOT NULL,
    CONSTRAINT rate_cap_only_row_check CHECK (only_row),
    CONSTRAINT rate_cap_per_second_check CHECK ((per_second > (0)::double precision))
);
COMMENT ON TABLE dirsync.rate_cap IS 'At most one row: a rate that a person has set for a time, below what settings or learning permit. It ends by itself; a row whose time is over means nothing.';
COMMENT ON COLUMN dirsync.rate_cap.per_second IS 'Calls per second that may leave while it holds, of all processes together.';
COMMENT ON COLUMN dirsync.rate_cap.until IS 'When it ends.';
COMMENT ON COLUMN dirsync.rate_cap.reason IS 'Why it was set.';
COMMENT ON COLUMN dirsync.rate_cap.set_by IS 'Who set it.';
COMMENT ON COLUMN dirsync.rate_cap.since IS 'Since when a lower rate has held without a break.';
COMMENT ON COLUMN dirsync.rate_cap.only_row IS 'Always true: there is at most one row.';
CREATE TABLE dirsync.refused_notification (
    outer_refund_no text NOT NULL,
    reason text NOT NULL,
    first_at timestamp with time zone DEFAULT now() NOT NULL,
    last_at timestamp with time zone DEFAULT now() NOT NULL,
    times integer DEFAULT 1 NOT NULL,
    CONSTRAINT refused_notification_reason_check CHECK ((reason = ANY (ARRAY['unknown'::text, 'mismatch'::text])))
);
COMMENT ON TABLE dirsync.refused_notification IS 'Signed refund notifications that fit no refund that dirsync sent, one row per refund number. A row goes when its notification fits after all, or 30 days after the last one.';
COMMENT ON COLUMN dirsync.refused_notification.outer_refund_no IS 'External refund number that it names.';
COMMENT ON COLUMN dirsync.refused_notification.reason IS 'unknown: dirsync never sent such a refund; mismatch: it is of another order or amount.';
COMMENT ON COLUMN dirsync.refused_notification.first_at IS 'When it first came.';
COMMENT ON COLUMN dirsync.refused_notification.last_at IS 'When it last came: the platform repeats what is refused.';
COMMENT ON COLUMN dirsync.refused_notification.times IS 'How often it came.';
CREATE TABLE dirsync.run_count (
    kind text NOT NULL,
    state text NOT NULL,
    ended bigint NOT NULL,
    seconds double precision NOT NULL
);
COMMENT ON TABLE dirsync.run_count IS 'How many runs ended and how long they took, by kind and state. For metrics it only grows: the runs themselves are deleted after a time.';
COMMENT ON COLUMN dirsync.run_count.kind IS 'Kind of the runs: changes, full, …';
COMMENT ON COLUMN dirsync.run_count.state IS 'How they ended: done, failed, source_suspect, cancelled, …';
COMMENT ON COLUMN dirsync.run_count.ended IS 'How many.';
COMMENT ON COLUMN dirsync.run_count.seconds IS 'Sum of the times from their request to their end.';
CREATE TABLE dirsync.sign_in_failure (
    kind text NOT NULL,
    key text NOT NULL,
    failures integer NOT NULL,
    last_at timestamp with time zone NOT NULL,
    blocked_until timestamp with time zone NOT NULL,
    CONSTRAINT sign_in_failure_kind_check CHECK ((kind = ANY (ARRAY['address'::text, 'name'::text])))
);
COMMENT ON TABLE dirsync.sign_in_failure IS 'Failed sign-ins by address and by name, which slow the next ones. A row counts for 15 minutes after its last failure.';
COMMENT ON COLUMN dirsync.sign_in_failure.kind IS 'address or name.';
COMMENT ON COLUMN dirsync.sign_in_failure.key IS 'The address (of IPv6 its network), or SHA-256 of the name: people type passwords into the wrong field.';
COMMENT ON COLUMN dirsync.sign_in_failure.failures IS 'Attempts that failed or are under way: each is counted before its password is looked at.';
COMMENT ON COLUMN dirsync.sign_in_failure.last_at IS 'The last of them.';
COMMENT ON COLUMN dirsync.sign_in_failure.blocked_until IS 'No other attempt before.';
CREATE TABLE dirsync.sign_in_flow (
    hash bytea NOT NULL,
    state text NOT NULL,
    nonce text NOT NULL,
    code_verifier text NOT NULL,
    return_to text NOT NULL,
    expires_at timestamp with time zone NOT NULL
);
COMMENT ON TABLE dirsync.sign_in_flow IS 'Sign-ins that are under way at the identity provider. The way back takes the row, once.';
COMMENT ON COLUMN dirsync.sign_in_flow.hash IS 'SHA-256 of a cookie: only the browser that went there can come back.';
COMMENT ON COLUMN dirsync.sign_in_flow.state IS 'Has to come back in the address.';
COMMENT ON COLUMN dirsync.sign_in_flow.nonce IS 'Has to come back in the ID token.';
COMMENT ON COLUMN dirsync.sign_in_flow.code_verifier IS 'Proves to the provider that the code is ours (PKCE).';
COMMENT ON COLUMN dirsync.sign_in_flow.return_to IS 'The page that was asked for.';
COMMENT ON COLUMN dirsync.sign_in_flow.expires_at IS 'Until when they may come back.';
CREATE TABLE dirsync.sign_in_key (
    hash bytea NOT NULL,
    created_by text NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    used_at timestamp with time zone
);
COMMENT ON TABLE dirsync.sign_in_key IS 'One-time keys: the address that an embedded start or dirsync users link prints signs in as local, an admin, once.';
COMMENT ON COLUMN dirsync.sign_in_key.hash IS 'SHA-256 of the key.';
COMMENT ON COLUMN dirsync.sign_in_key.created_by IS 'Who asked for it. start: the embedded default.';
COMMENT ON COLUMN dirsync.sign_in_key.created_at IS 'When it was made.';
COMMENT ON COLUMN dirsync.sign_in_key.expires_at IS 'Until when it is good.';
COMMENT ON COLUMN dirsync.sign_in_key.used_at IS 'When it was used. It is good for nothing since then.';
CREATE TABLE dirsync.status_history (
    at timestamp with time zone NOT NULL,
    in_sync integer NOT NULL,
    awaiting_activation integer NOT NULL,
    dead_lettered integer NOT NULL,
    halted integer NOT NULL,
    waiting integer NOT NULL,
    open_cases jsonb NOT NULL,
    cases integer NOT NULL,
    pending integer NOT NULL,
    oldest_pending_seconds integer NOT NULL,
    is_halted boolean NOT NULL,
    held integer DEFAULT 0 NOT NULL,
    rejected integer DEFAULT 0 NOT NULL,
    accepted integer DEFAULT 0 NOT NULL
);
COMMENT ON TABLE dirsync.status_history IS 'How everything stood, every five minutes; kept for 35 days.';
COMMENT ON COLUMN dirsync.status_history.at IS 'The five minutes that had begun.';
COMMENT ON COLUMN dirsync.status_history.in_sync IS 'Employees whose every field the platform confirmed.';
COMMENT ON COLUMN dirsync.status_history.awaiting_activation IS 'Employees not yet on the platform.';
COMMENT ON COLUMN dirsync.status_history.dead_lettered IS 'Employees of whom a field or the whole is in review.';
COMMENT ON COLUMN dirsync.status_history.halted IS 'Employees to be sent while work stands still.';
COMMENT ON COLUMN dirsync.status_history.waiting IS 'Employees to be sent.';
COMMENT ON COLUMN dirsync.status_history.open_cases IS 'Cases neither resolved nor ignored, by category.';
COMMENT ON COLUMN dirsync.status_history.cases IS 'The sum of them.';
COMMENT ON COLUMN dirsync.status_history.pending IS 'Rows in the outbox.';
COMMENT ON COLUMN dirsync.status_history.oldest_pending_seconds IS 'Age of the oldest of them; 0 where there is none.';
COMMENT ON COLUMN dirsync.status_history.is_halted IS 'Whether everything stood still, or was paused.';
COMMENT ON COLUMN dirsync.status_history.held IS 'Employees whose change in HR waits for a decision.';
COMMENT ON COLUMN dirsync.status_history.rejected IS 'Employees whose change in HR a person rejected.';
COMMENT ON COLUMN dirsync.status_history.accepted IS 'Employees whose difference a person accepted.';
ALTER TABLE dirsync.sync_run ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME dirsync.sync_run_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE dirsync.tally (
    source text NOT NULL,
    operation text,
    enterprise_code text,
    run_id bigint,
    priority smallint,
    enqueued boolean,
    since timestamp with time zone,
    category text,
    state text,
    n bigint NOT NULL,
    platform_code bigint,
    failures bigint DEFAULT 0 NOT NULL,
    CONSTRAINT tally_source_check CHECK ((source = ANY (ARRAY['pending'::text, 'employee'::text, 'dead_letter'::text, 'sync_run'::text])))
)
WITH (autovacuum_vacuum_scale_factor='0', autovacuum_vacuum_threshold='2000', autovacuum_analyze_scale_factor='1');
COMMENT ON TABLE dirsync.tally IS 'Row counts of some tables, by the columns that figures are shown for: the sum of n over rows that are otherwise alike. Triggers add a row per change; the scheduler sums rows up. The tables are never counted themselves.';
COMMENT ON COLUMN dirsync.tally.source IS 'The table whose rows are counted: pending, employee, dead_letter (without resolved ones) or sync_run.';
COMMENT ON COLUMN dirsync.tally.operation IS 'pending: its operation.';
COMMENT ON COLUMN dirsync.tally.enterprise_code IS 'pending, employee: the enterprise.';
COMMENT ON COLUMN dirsync.tally.run_id IS 'pending: the run that asked last.';
COMMENT ON COLUMN dirsync.tally.priority IS 'pending: its priority.';
COMMENT ON COLUMN dirsync.tally.enqueued IS 'pending: whether it is in the queue.';
COMMENT ON COLUMN dirsync.tally.since IS 'pending: since when the entities have been out of sync, to the second.';
COMMENT ON COLUMN dirsync.tally.category IS 'dead_letter: its category.';
COMMENT ON COLUMN dirsync.tally.state IS 'dead_letter, sync_run: the state; employee: its status.';
COMMENT ON COLUMN dirsync.tally.n IS 'Rows gained less rows lost.';
COMMENT ON COLUMN dirsync.tally.platform_code IS 'dead_letter: its error code of the platform.';
COMMENT ON COLUMN dirsync.tally.failures IS 'dead_letter: how often the cases have failed in all: occurrences gained less occurrences lost.';
CREATE TABLE dirsync.taxpayer (
    enterprise_code text DEFAULT ''::text NOT NULL,
    identifier text NOT NULL,
    taxpayer_nature integer NOT NULL,
    taxpayer_name text NOT NULL,
    status integer,
    first_seen_at timestamp with time zone DEFAULT now() NOT NULL,
    changed_at timestamp with time zone DEFAULT now() NOT NULL,
    gone_at timestamp with time zone
);
COMMENT ON TABLE dirsync.taxpayer IS 'The enterprise''s taxpayers (section 2.11) with the configured identification numbers, as the platform last showed them.';
COMMENT ON COLUMN dirsync.taxpayer.enterprise_code IS 'Enterprise; empty for a single enterprise.';
COMMENT ON COLUMN dirsync.taxpayer.identifier IS 'Identification number.';
COMMENT ON COLUMN dirsync.taxpayer.taxpayer_nature IS '1 general taxpayer; 2 small-scale taxpayer.';
COMMENT ON COLUMN dirsync.taxpayer.taxpayer_name IS 'Name (title).';
COMMENT ON COLUMN dirsync.taxpayer.status IS '1 normal; 2 disabled.';
COMMENT ON COLUMN dirsync.taxpayer.first_seen_at IS 'When dirsync first saw it.';
COMMENT ON COLUMN dirsync.taxpayer.changed_at IS 'When dirsync last saw it change.';
COMMENT ON COLUMN dirsync.taxpayer.gone_at IS 'Since when the platform has not shown it any more; null while it does.';
CREATE TABLE dirsync.text (
    language text NOT NULL,
    key text NOT NULL,
    text text NOT NULL,
    parts text[]
);
COMMENT ON TABLE dirsync.text IS 'The texts that operators read, by language: written anew at each migrate and start, from the catalogue of the version that ran it. Changing a row changes nothing for long.';
COMMENT ON COLUMN dirsync.text.language IS 'en or zh-CN.';
COMMENT ON COLUMN dirsync.text.key IS 'Name of the text: what it is a name of, a dot, and the value, such as category.duplicate_mobile.';
COMMENT ON COLUMN dirsync.text.text IS 'The text, with parameters in braces.';
COMMENT ON COLUMN dirsync.text.parts IS 'Of a text that takes values: what stands before them; then for each its name, the list that names it (empty: it is said as it is) and what stands after it.';
CREATE TABLE dirsync.token_creation (
    id bigint NOT NULL,
    base_url text NOT NULL,
    app_id text NOT NULL,
    created_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL
);
COMMENT ON TABLE dirsync.token_creation IS 'Token creations of the last hour, each noted before it was tried. After 50 of them no further token is asked for (the platform permits 60).';
COMMENT ON COLUMN dirsync.token_creation.id IS 'Number of the creation.';
COMMENT ON COLUMN dirsync.token_creation.base_url IS 'Base address of the platform.';
COMMENT ON COLUMN dirsync.token_creation.app_id IS 'Application id.';
COMMENT ON COLUMN dirsync.token_creation.created_at IS 'When it was about to be tried.';
ALTER TABLE dirsync.token_creation ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME dirsync.token_creation_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
INSERT INTO dirsync.alert OVERRIDING SYSTEM VALUE VALUES (1, 'held_run', '7', 'warning', 'firing', '{"run": "7", "kind": "changes", "planned": 70}', '2026-11-23 14:31:35.744928+00', '2026-11-23 14:31:35.744928+00', NULL, NULL, NULL, NULL, NULL, 0);
INSERT INTO dirsync.alert OVERRIDING SYSTEM VALUE VALUES (2, 'halt', 'E900', 'critical', 'firing', '{"scope": "E900", "remedy": "Bind it.", "message": "The enterprise code is not bound to the application.", "category": "enterprise_code"}', '2026-11-23 14:31:35.746432+00', '2026-11-23 14:31:35.746432+00', NULL, NULL, NULL, NULL, NULL, 0);
INSERT INTO dirsync.alert_channel VALUES ('ops', 'dingtalk', 'oapi.dingtalk.com', 'warning', 'en', '2026-11-23 14:41:35.747249+00', '2026-11-23 14:31:35.747249+00', NULL, NULL);
INSERT INTO dirsync.alert_check VALUES (true, '2026-11-23 14:41:34.357502+00', '443bd6af-3064-4118-b0ca-4763e8855006', '2026-11-23 14:41:34.357502+00');
INSERT INTO dirsync.alert_message OVERRIDING SYSTEM VALUE VALUES (1, 'ops', 'alerts', '{}', '2026-11-23 14:41:35.747841+00', 'sent', 0, '2026-11-23 14:41:35.747841+00', NULL, '2026-11-23 14:41:35.747841+00', NULL);
INSERT INTO dirsync.alert_mute VALUES ('out_of_sync', '2026-11-24 14:41:35.749184+00', 'migration of HR', 'postgres', '2026-11-23 14:41:35.749184+00', NULL);
INSERT INTO dirsync.alert_notice VALUES (1, 'ops', 'raised', '2026-11-23 14:31:35.747841+00', 1);
INSERT INTO dirsync.api_token OVERRIDING SYSTEM VALUE VALUES (1, 'sample', '\x02', 'viewer', 'sample', '2026-11-20 09:00:00+00', '2026-12-20 09:00:00+00', NULL, NULL);
INSERT INTO dirsync.attempt OVERRIDING SYSTEM VALUE VALUES (16, 2, 'bind-openid', '', 'e0003', 'mall0001', 16, '2026-11-23 14:41:34.818+00', 14, 'bound', '{"employee/openid": 1}', '{"employee/openid": 2}', '{}', '{}', NULL, NULL, NULL);
INSERT INTO dirsync.attempt OVERRIDING SYSTEM VALUE VALUES (30, 6, 'update-employee', '', 'e0003', '', 30, '2026-11-23 14:41:35.413+00', 14, 'retry', '{"employee/get": 1, "employee/update": 1}', '{"employee/get": 1, "employee/update": 0}', '{}', '{}', NULL, NULL, '{"key": "said.words", "values": {"words": "The platform could not be reached, did not answer in time, or answered with something unusable."}}');
INSERT INTO dirsync.attempt OVERRIDING SYSTEM VALUE VALUES (4, 1, 'update-employee', '', 'e0003', '', 4, '2026-11-23 14:41:34.559+00', 74, 'in_sync', '{"employee/get": 1}', '{"employee/get": 5}', '{}', '{}', NULL, NULL, NULL);
INSERT INTO dirsync.bulk_action OVERRIDING SYSTEM VALUE VALUES (1, 'comment', NULL, '{"text": "asked the office"}', 'requested', 1, false, '{"not_on_platform": 1}', '{"awaiting_activation": 1}', 0, 0, 0, 'console:sample', 'sample', '127.0.0.1', NULL, '2026-11-23 14:41:00+00', '2026-11-23 14:41:10+00', NULL, NULL, NULL, 1);
INSERT INTO dirsync.bulk_item VALUES (1, 3, 1, NULL, NULL, NULL, NULL, NULL);
INSERT INTO dirsync.call_hour VALUES ('2026-11-23 13:00:00+00', 'employee/get', 800, 2);
INSERT INTO dirsync.call_minute VALUES ('2026-11-23 14:40:00+00', 'employee/get', 20, 1, 1, 400, 40, 900);
INSERT INTO dirsync.command OVERRIDING SYSTEM VALUE VALUES (1, 'resync', '{"kind": "full"}', 'postgres', '2026-11-23 14:41:34.399842+00', 1, NULL, '127.0.0.1', NULL);
INSERT INTO dirsync.command OVERRIDING SYSTEM VALUE VALUES (10, 'mute_alert', '{"rule": "out_of_sync", "until": "2026-11-24T14:41:35.749184+00:00", "reason": "migration of HR"}', 'postgres', '2026-11-23 14:41:35.749184+00', NULL, NULL, '127.0.0.1', 'migration of HR');
INSERT INTO dirsync.command OVERRIDING SYSTEM VALUE VALUES (11, 'resync', '{"kind": "full"}', 'postgres', '2026-11-23 14:41:35.750745+00', 9, NULL, '127.0.0.1', NULL);
INSERT INTO dirsync.command OVERRIDING SYSTEM VALUE VALUES (2, 'resync', '{"kind": "openids"}', 'postgres', '2026-11-23 14:41:34.754096+00', 2, NULL, '127.0.0.1', NULL);
INSERT INTO dirsync.command OVERRIDING SYSTEM VALUE VALUES (3, 'resync', '{"kind": "changes"}', 'postgres', '2026-11-23 14:41:34.898056+00', 3, NULL, '127.0.0.1', NULL);
INSERT INTO dirsync.command OVERRIDING SYSTEM VALUE VALUES (4, 'ignore', '{"id": 2, "reason": "the branch closes in spring"}', 'postgres', '2026-11-23 14:41:35.0329+00', NULL, 2, '127.0.0.1', 'the branch closes in spring');
INSERT INTO dirsync.command OVERRIDING SYSTEM VALUE VALUES (5, 'resync', '{"kind": "changes"}', 'postgres', '2026-11-23 14:41:35.03663+00', 4, NULL, '127.0.0.1', NULL);
INSERT INTO dirsync.command OVERRIDING SYSTEM VALUE VALUES (6, 'resync', '{"kind": "changes"}', 'postgres', '2026-11-23 14:41:35.175976+00', 5, NULL, '127.0.0.1', NULL);
INSERT INTO dirsync.command OVERRIDING SYSTEM VALUE VALUES (7, 'resync', '{"kind": "changes"}', 'postgres', '2026-11-23 14:41:35.336254+00', 6, NULL, '127.0.0.1', NULL);
INSERT INTO dirsync.command OVERRIDING SYSTEM VALUE VALUES (8, 'resync', '{"kind": "changes"}', 'postgres', '2026-11-23 14:41:35.436408+00', 7, NULL, '127.0.0.1', NULL);
INSERT INTO dirsync.command OVERRIDING SYSTEM VALUE VALUES (9, 'retry', '{"id": 1}', 'postgres', '2026-11-23 14:41:35.547532+00', 8, 1, '127.0.0.1', NULL);
INSERT INTO dirsync.console_session VALUES ('\x01', 'sample', 'password', '2026-11-23 09:00:00+00', '2026-11-23 21:00:00+00', '2026-11-23 14:40:00+00', '192.0.2.1', 'sample', NULL, NULL);
INSERT INTO dirsync.console_user VALUES ('sample', 'password', 'operator', '$scrypt$ln=1,r=1,p=1$c2FsdA$aGFzaA', NULL, NULL, 'en', '2026-11-20 09:00:00+00', 'sample', NULL, '2026-11-23 09:00:00+00');
INSERT INTO dirsync.dead_letter OVERRIDING SYSTEM VALUE VALUES (1, '', 'employee', 'e0001', 'update-employee', 'dept_code', 'missing_department', 1000220010, '435f1c0e02440000001b', '{"key": "said.words", "values": {"words": "The platform has no department with this code. The platform says: dept_code not exists !"}}', '{"key": "said.words", "values": {"words": "Create the department on the platform, or correct the department code in HR; the other fields were sent."}}', '[{"field": "dept_code", "value": "NOWHERE"}]', NULL, '35b833c4-a2ea-05b7-c961-38ad64e17e87', 'retrying', '2026-11-23 14:41:34.979973+00', '2026-11-23 14:41:34.979973+00', 1, NULL, NULL, 3, 3, NULL, NULL, NULL, NULL, 2, NULL, NULL);
INSERT INTO dirsync.dead_letter OVERRIDING SYSTEM VALUE VALUES (2, '', 'employee', 'e0002', 'update-employee', 'dept_code', 'missing_department', 1000220010, '435f1c0e02440000001d', '{"key": "said.words", "values": {"words": "The platform has no department with this code. The platform says: dept_code not exists !"}}', '{"key": "said.words", "values": {"words": "Create the department on the platform, or correct the department code in HR; the other fields were sent."}}', '[{"field": "dept_code", "value": "NOWHERE"}]', NULL, '30450112-24ef-edd9-330b-f6072201c26a', 'ignored', '2026-11-23 14:41:34.994296+00', '2026-11-23 14:41:34.994296+00', 1, NULL, NULL, 3, 3, NULL, NULL, NULL, 'the branch closes in spring', 2, NULL, NULL);
INSERT INTO dirsync.dead_letter OVERRIDING SYSTEM VALUE VALUES (3, '', 'employee', 'e0100', 'update-employee', '', 'not_on_platform', 1000220096, '435f1c0e02440000001e', '{"key": "said.words", "values": {"words": "The platform has no employee in service with this userid. The platform says: employee for this user id does not exist"}}', '{"key": "said.words", "values": {"words": "Add the employee on the platform; dirsync asks again by itself and goes on as soon as it finds them."}}', '[]', NULL, '26fd7b1d-529b-a58c-c169-df91f4ebe0b6', 'awaiting_activation', '2026-11-23 14:41:35.110228+00', '2026-11-23 14:41:35.110228+00', 1, '2026-11-23 15:29:40.401228+00', NULL, 4, 4, NULL, NULL, NULL, NULL, 1, NULL, NULL);
INSERT INTO dirsync.dead_letter_event OVERRIDING SYSTEM VALUE VALUES (1, 1, '2026-11-23 14:41:34.979973+00', 'dirsync', 'opened', 3, 'missing_department', NULL);
INSERT INTO dirsync.dead_letter_event OVERRIDING SYSTEM VALUE VALUES (2, 2, '2026-11-23 14:41:34.994296+00', 'dirsync', 'opened', 3, 'missing_department', NULL);
INSERT INTO dirsync.dead_letter_event OVERRIDING SYSTEM VALUE VALUES (3, 2, '2026-11-23 14:41:35.0329+00', 'postgres', 'ignored', NULL, 'the branch closes in spring', NULL);
INSERT INTO dirsync.dead_letter_event OVERRIDING SYSTEM VALUE VALUES (4, 3, '2026-11-23 14:41:35.110228+00', 'dirsync', 'opened', 4, 'not_on_platform', NULL);
INSERT INTO dirsync.dead_letter_event OVERRIDING SYSTEM VALUE VALUES (5, 1, '2026-11-23 14:41:35.616813+00', 'dirsync', 'retried', 8, NULL, NULL);
INSERT INTO dirsync.department VALUES ('', 'D0', NULL, true, NULL, NULL, NULL, NULL, NULL);
INSERT INTO dirsync.department VALUES ('', 'D9', 'D0', false, '2026-11-23 14:00:00+00', NULL, NULL, NULL, NULL);
INSERT INTO dirsync.deployment VALUES ('0b2f6d0e-1111-4111-8111-000000000001', 'sample', 'https://platform.example', 'sample', '', '2026-11-23 14:30:00+00', true);
INSERT INTO dirsync.dry_run OVERRIDING SYSTEM VALUE VALUES (1, 'sample', '2026-11-22 09:00:00+00', NULL, 'select 1 as userid', 'done', 1, NULL, 24, '2026-11-22 09:00:01+00', '2026-11-22 09:00:02+00', NULL, NULL, NULL, '{}', '');
INSERT INTO dirsync.dry_run_entity VALUES (1, '', 'e0005', 'changes', 'D0', '[{"to": "Q*", "from": "P*", "field": "name"}]');
INSERT INTO dirsync.employee VALUES ('', 'e0000', true, 'd542d6a9-38fa-0f96-0b9b-9631cbdd2f50', 'd542d6a9-38fa-0f96-0b9b-9631cbdd2f50', NULL, '{"name": "BT8NyYoGpefbulPb", "email": "9pUilR4qEkRjm0kg", "level": "ZxbjgxxniVZAIy9h", "mobile": "-EYzSSD2GTjAyLLE", "dept_code": "73DxhF3y945W87f7", "entry_day": "z63YTBV88_OHqUAr", "mobile_area": "ZCi5c8H6jyb1sKDk", "cost_center_id": "dKlsfuk_rHYrIyq_"}', '{}', '{}', 'in_service', 'D0', NULL, '2026-11-23 14:41:34.628741+00', '2026-11-23 14:41:34.628741+00', NULL, NULL, false, false, DEFAULT);
INSERT INTO dirsync.employee VALUES ('', 'e0001', true, '35b833c4-a2ea-05b7-c961-38ad64e17e87', NULL, '35b833c4-a2ea-05b7-c961-38ad64e17e87', '{"name": "IN_WbQcYs0fhMNQ8", "email": "B07ZYEINeqMMS75J", "level": "ZxbjgxxniVZAIy9h", "mobile": "nhIGqavWGGbLH2k3", "dept_code": "Cm5ud5XEMs_udSOR", "entry_day": "jD95A2HYYAuKw6ch", "mobile_area": "ZCi5c8H6jyb1sKDk", "cost_center_id": "dKlsfuk_rHYrIyq_"}', '{}', '{}', 'in_service', 'D1', NULL, '2026-11-23 14:41:34.979973+00', '2026-11-23 14:41:34.979973+00', NULL, NULL, false, false, DEFAULT);
INSERT INTO dirsync.employee VALUES ('', 'e0002', true, '30450112-24ef-edd9-330b-f6072201c26a', NULL, '30450112-24ef-edd9-330b-f6072201c26a', '{"name": "_9UDvimBYViNT4Fy", "email": "A7R0lNR4JgIea08E", "level": "ZxbjgxxniVZAIy9h", "mobile": "KxPW3Yzxux8DlumB", "dept_code": "INJXwjqd2qNELgkc", "entry_day": "rHooPUMsnNcI5vFZ", "mobile_area": "ZCi5c8H6jyb1sKDk", "cost_center_id": "dKlsfuk_rHYrIyq_"}', '{}', '{}', 'in_service', 'D2', NULL, '2026-11-23 14:41:34.994296+00', '2026-11-23 14:41:34.994296+00', NULL, NULL, false, true, DEFAULT);
INSERT INTO dirsync.employee VALUES ('', 'e0003', true, 'ce64c437-54ab-3085-29bd-5bb6e74a2619', 'a5fc0bbd-c5c0-4119-5c48-462eded78452', NULL, '{"name": "filk0IXpGAfTmQ_h", "email": "4fEY5W4muciF62mJ", "level": "ZxbjgxxniVZAIy9h", "mobile": "yvCUVZj0o7rFfShu", "dept_code": "bfzB8_iqQZiuJ26Y", "entry_day": "BVMn4au0BdK3QjZQ", "mobile_area": "ZCi5c8H6jyb1sKDk", "cost_center_id": "dKlsfuk_rHYrIyq_"}', '{}', '{}', 'in_service', 'D3', NULL, '2026-11-23 14:41:34.666344+00', '2026-11-23 14:41:34.666344+00', NULL, NULL, false, false, DEFAULT);
INSERT INTO dirsync.employee VALUES ('', 'e0004', true, '67c31112-1015-ee3c-7ed5-bf1311205af4', '67c31112-1015-ee3c-7ed5-bf1311205af4', NULL, '{"name": "ms3BrRuZ9MdQY7BO", "email": "qpLA0bb7J8DKG13Q", "level": "ZxbjgxxniVZAIy9h", "mobile": "CU5ERJHnY0uC0GU6", "dept_code": "73DxhF3y945W87f7", "entry_day": "phwNRSzPJe1KU31r", "mobile_area": "ZCi5c8H6jyb1sKDk", "cost_center_id": "dKlsfuk_rHYrIyq_"}', '{"dept_code": "QilSmXQGdH-tmEZt"}', '{}', 'in_service', 'D0', NULL, '2026-11-23 14:41:35.239485+00', '2026-11-23 14:41:35.239485+00', NULL, NULL, false, false, DEFAULT);
INSERT INTO dirsync.employee VALUES ('', 'e0005', true, '9b83167e-29d2-06e3-74c4-2637c224db87', '9b83167e-29d2-06e3-74c4-2637c224db87', NULL, '{"name": "5foSv7-O0YqNnduQ", "email": "0jdyMkT82pGRbFz8", "level": "ZxbjgxxniVZAIy9h", "mobile": "ZDDAy0VXpYMtHbxK", "dept_code": "73DxhF3y945W87f7", "entry_day": "905w6GJTMc5Y1rKo", "mobile_area": "ZCi5c8H6jyb1sKDk", "cost_center_id": "dKlsfuk_rHYrIyq_"}', '{}', '{}', 'in_service', 'D0', NULL, '2026-11-23 14:41:34.666344+00', '2026-11-23 14:41:34.666344+00', NULL, NULL, false, false, DEFAULT);
INSERT INTO dirsync.employee VALUES ('', 'e0006', true, '4a54267d-cec8-7e83-5279-7fb9663e328c', '4a54267d-cec8-7e83-5279-7fb9663e328c', NULL, '{"name": "zTXKyL72Heu0q_nY", "email": "KvlkD2dtrwekql68", "level": "ZxbjgxxniVZAIy9h", "mobile": "P3lOWEkLfOq8OQOL", "dept_code": "Cm5ud5XEMs_udSOR", "entry_day": "Atp3aJHW_BMK4Q29", "mobile_area": "ZCi5c8H6jyb1sKDk", "cost_center_id": "dKlsfuk_rHYrIyq_"}', '{}', '{}', 'in_service', 'D1', NULL, '2026-11-23 14:41:34.666344+00', '2026-11-23 14:41:34.666344+00', 7, '0924b768-8146-cd3e-211c-d13eeecee2c6', false, false, DEFAULT);
INSERT INTO dirsync.employee VALUES ('', 'e0007', true, 'fb85b1d5-f05a-1762-f1b3-6a9a75fc376f', 'fb85b1d5-f05a-1762-f1b3-6a9a75fc376f', NULL, '{"name": "dnmOyMjnZe11q5Eb", "email": "W7R6z0ye1fu3cjQU", "level": "ZxbjgxxniVZAIy9h", "mobile": "tfqJ9vtSLLHmo95k", "dept_code": "INJXwjqd2qNELgkc", "entry_day": "wnqg2LulKxXa5j-j", "mobile_area": "ZCi5c8H6jyb1sKDk", "cost_center_id": "dKlsfuk_rHYrIyq_"}', '{}', '{}', 'in_service', 'D2', NULL, '2026-11-23 14:41:34.666344+00', '2026-11-23 14:41:34.666344+00', 7, '3ffc4330-0bc7-9007-68a2-5d4d34d1ebae', false, false, DEFAULT);
INSERT INTO dirsync.employee VALUES ('', 'e0008', true, '7f8a2bd3-c3f8-ae6e-95eb-b0a9a1647b0a', '7f8a2bd3-c3f8-ae6e-95eb-b0a9a1647b0a', NULL, '{"name": "C76Pdrw-oNXaeaPb", "email": "-IVOS8lTxQeCSFRV", "level": "ZxbjgxxniVZAIy9h", "mobile": "UsscvZWkp88DHGYy", "dept_code": "bfzB8_iqQZiuJ26Y", "entry_day": "b_tnAAZHU0msm-lk", "mobile_area": "ZCi5c8H6jyb1sKDk", "cost_center_id": "dKlsfuk_rHYrIyq_"}', '{}', '{}', 'in_service', 'D3', NULL, '2026-11-23 14:41:34.666344+00', '2026-11-23 14:41:34.666344+00', 7, '40cb09e1-f562-a2a6-00dc-59aaf63e9bc0', false, false, DEFAULT);
INSERT INTO dirsync.employee VALUES ('', 'e0009', true, 'ffa6e986-b663-105c-9952-0b07c8947160', 'ffa6e986-b663-105c-9952-0b07c8947160', NULL, '{"name": "fgOdZLsGxkpUZqp3", "email": "CZCFpnegaa9HIrl-", "level": "ZxbjgxxniVZAIy9h", "mobile": "Kv-eAQ5ccVp17wNv", "dept_code": "73DxhF3y945W87f7", "entry_day": "eOBWYUrLg_-2VdzX", "mobile_area": "ZCi5c8H6jyb1sKDk", "cost_center_id": "dKlsfuk_rHYrIyq_"}', '{"dept_code": "QilSmXQGdH-tmEZt"}', '{}', 'in_service', 'D0', NULL, '2026-11-23 14:41:35.24735+00', '2026-11-23 14:41:35.24735+00', 7, '5274494a-c896-94d1-4a82-621f99125586', false, false, DEFAULT);
INSERT INTO dirsync.employee VALUES ('', 'e0010', true, '50321d01-76cb-b2b9-44b5-d908157250ce', '50321d01-76cb-b2b9-44b5-d908157250ce', NULL, '{"name": "4LX-Pytl-bjVhpiS", "email": "pXSY1IqNLpc7oe3_", "level": "ZxbjgxxniVZAIy9h", "mobile": "KNWLdZg-4a5Pv0L_", "dept_code": "73DxhF3y945W87f7", "entry_day": "s2e1ld4dnLX0FuT5", "mobile_area": "ZCi5c8H6jyb1sKDk", "cost_center_id": "dKlsfuk_rHYrIyq_"}', '{}', '{}', 'in_service', 'D0', NULL, '2026-11-23 14:41:34.666344+00', '2026-11-23 14:41:34.666344+00', 7, 'ba4efda7-5bd4-1515-7dfa-7b9193e11855', false, false, DEFAULT);
INSERT INTO dirsync.employee VALUES ('', 'e0011', true, '35c8c66f-7842-1e93-b4ea-15f6f4fadfc3', '35c8c66f-7842-1e93-b4ea-15f6f4fadfc3', NULL, '{"name": "qhUThdtoRqAD8MJ9", "email": "HMNeTMYNEJfiPNXk", "level": "ZxbjgxxniVZAIy9h", "mobile": "Hj2BZP94f0W4vEt1", "dept_code": "Cm5ud5XEMs_udSOR", "entry_day": "lq2zUikJ3twr05Ik", "mobile_area": "ZCi5c8H6jyb1sKDk", "cost_center_id": "dKlsfuk_rHYrIyq_"}', '{}', '{}', 'in_service', 'D1', NULL, '2026-11-23 14:41:34.666344+00', '2026-11-23 14:41:34.666344+00', NULL, NULL, false, false, DEFAULT);
INSERT INTO dirsync.employee VALUES ('', 'e0100', true, '26fd7b1d-529b-a58c-c169-df91f4ebe0b6', NULL, '26fd7b1d-529b-a58c-c169-df91f4ebe0b6', '{}', '{}', '{}', 'absent', NULL, NULL, NULL, '2026-11-23 14:41:35.110228+00', NULL, NULL, false, false, DEFAULT);
INSERT INTO dirsync.employee VALUES ('', 'e0101', true, NULL, NULL, NULL, '{}', '{}', '{}', 'unknown', NULL, NULL, NULL, NULL, 7, '47317c47-e8cf-df55-ed84-90eb84f474fd', false, false, DEFAULT);
INSERT INTO dirsync.field_block VALUES ('E911', 'level', NULL, 1000220030, '{"key": "said.words", "values": {"words": "grades are switched off"}}', '2026-11-23 13:00:00+00', 'e9110', false, 0, '2026-12-23 13:00:00+00');
INSERT INTO dirsync.field_refusal VALUES ('E911', 'level', 'e9110', 'ZxbjgxxniVZAIy9h', NULL, NULL, '2026-11-23 13:00:00+00');
INSERT INTO dirsync.halt VALUES ('E911', 'enterprise_code', 1000240002, '{"key": "code.1000240002.meaning"}', '{"key": "code.1000240002.remedy"}', 'dirsync', '2026-11-23 14:00:00+00', 2, '2026-11-23 15:41:00+00');
INSERT INTO dirsync.heartbeat_call VALUES (true, 5, '2026-11-23 14:41:36+00', 1, '2026-11-23 14:41:35+00', NULL, NULL);
INSERT INTO dirsync.hr_source VALUES ('north', 1, 'postgres', 'postgres://hr.example/north', '{E910}', '2026-11-20 09:00:00+00');
INSERT INTO dirsync.idempotency_key VALUES ('token:sample', 'k1', 'digest', '{"run": 9}', '2026-11-23 14:41:00+00');
INSERT INTO dirsync.job_schedule VALUES ('prune', '0 3 * * *', '2026-11-24 03:00:00+00', NULL, NULL, NULL, NULL, NULL, 86400, '2026-11-20 09:00:00+00', 'UTC');
INSERT INTO dirsync.job_tick VALUES ('prune', '2026-11-23 03:00:00+00', '0b2f6d0e-2222-4222-8222-000000000001', '2026-11-23 03:00:00+00', '2026-11-23 03:00:01+00', NULL, NULL, NULL);
INSERT INTO dirsync.learnt_rate VALUES ('platform@900', 3, 61.5, 70, '2026-11-23 13:00:00+00', '2026-11-23 13:30:00+00', 40);
INSERT INTO dirsync.limit_account VALUES ('', 'limit-old', 'lunch', 2, 900, 1, '2026-11-01 01:00:00+00', '2026-11-22 01:00:00+00', NULL);
INSERT INTO dirsync.limit_sub_account VALUES ('', 'limit-old', 's-1', 'office', 1, '2026-11-01 01:00:00+00', '2026-11-22 01:00:00+00', NULL);
INSERT INTO dirsync.migration VALUES ('0001_record.sql', '2026-11-24 00:34:58.252776+00');
INSERT INTO dirsync.migration VALUES ('0002_service.sql', '2026-11-24 00:34:58.262599+00');
INSERT INTO dirsync.migration VALUES ('0003_runs.sql', '2026-11-24 00:34:58.277604+00');
INSERT INTO dirsync.migration VALUES ('0004_employees.sql', '2026-11-24 00:34:58.299103+00');
INSERT INTO dirsync.migration VALUES ('0005_outbox.sql', '2026-11-24 00:34:58.312726+00');
INSERT INTO dirsync.migration VALUES ('0006_cases.sql', '2026-11-24 00:34:58.325965+00');
INSERT INTO dirsync.migration VALUES ('0007_pacing.sql', '2026-11-24 00:34:58.351247+00');
INSERT INTO dirsync.migration VALUES ('0008_money.sql', '2026-11-24 00:34:58.368701+00');
INSERT INTO dirsync.migration VALUES ('0009_mirrors.sql', '2026-11-24 00:34:58.383458+00');
INSERT INTO dirsync.migration VALUES ('0010_figures.sql', '2026-11-24 00:34:58.400378+00');
INSERT INTO dirsync.migration VALUES ('0011_decisions.sql', '2026-11-24 00:34:58.407459+00');
INSERT INTO dirsync.migration VALUES ('0012_bulk_actions.sql', '2026-11-24 00:34:58.409769+00');
INSERT INTO dirsync.migration VALUES ('0013_dry_runs.sql', '2026-11-24 00:34:58.418874+00');
INSERT INTO dirsync.migration VALUES ('0014_access.sql', '2026-11-24 00:34:58.426807+00');
INSERT INTO dirsync.migration VALUES ('0015_alerts.sql', '2026-11-24 00:34:58.446817+00');
INSERT INTO dirsync.migration VALUES ('0016_texts.sql', '2026-11-24 00:34:58.47061+00');
INSERT INTO dirsync.mirror_day VALUES ('', '2026-11-21', '2026-11-22 01:00:00+00');
INSERT INTO dirsync.mirror_task VALUES (10, 1, '', '', '', '', 1, 1, 0, 0, 0, 0, '2026-11-23 14:41:31+00');
INSERT INTO dirsync.openid_binding VALUES ('', 'e0000', 'mall0001', '3e6467e8ae70ac366f6ae3afdde854b9', '2026-11-23 14:41:34.802641+00');
INSERT INTO dirsync.openid_binding VALUES ('', 'e0001', 'mall0001', '354d7f186d71e5dc555b1b5a4f22068f', '2026-11-23 14:41:34.831616+00');
INSERT INTO dirsync.openid_binding VALUES ('', 'e0002', 'mall0001', 'f369cdff6f5694adddfb87b6dff34f6a', '2026-11-23 14:41:34.831616+00');
INSERT INTO dirsync.openid_binding VALUES ('', 'e0003', 'mall0001', '4ffafe8f1cad92da84d5cf507a32d276', '2026-11-23 14:41:34.831616+00');
INSERT INTO dirsync.openid_binding VALUES ('', 'e0004', 'mall0001', 'eda8c5bb26a26ed048958740bd0a6b1a', '2026-11-23 14:41:34.831616+00');
INSERT INTO dirsync.openid_binding VALUES ('', 'e0005', 'mall0001', '54121ddbbde73c2a7e2ec3b7b5263a42', '2026-11-23 14:41:34.842907+00');
INSERT INTO dirsync.openid_binding VALUES ('', 'e0006', 'mall0001', '7516d29fe6b5346f0b8fc321b8794a02', '2026-11-23 14:41:34.842907+00');
INSERT INTO dirsync.openid_binding VALUES ('', 'e0007', 'mall0001', 'd0f1b3e70af37929a506142638d5e458', '2026-11-23 14:41:34.842907+00');
INSERT INTO dirsync.openid_binding VALUES ('', 'e0008', 'mall0001', 'a0a0f7cf30fe5a55cc5b591068c4464e', '2026-11-23 14:41:34.842907+00');
INSERT INTO dirsync.openid_binding VALUES ('', 'e0009', 'mall0001', 'd028295785c710900eeec0c365d31e53', '2026-11-23 14:41:34.842907+00');
INSERT INTO dirsync.openid_binding VALUES ('', 'e0010', 'mall0001', '8c4ac0524fa0bdf2e9249cbbd684f409', '2026-11-23 14:41:34.842907+00');
INSERT INTO dirsync.openid_binding VALUES ('', 'e0011', 'mall0001', 'c22bef1402124354be95e96f876b3b53', '2026-11-23 14:41:34.842907+00');
INSERT INTO dirsync.pacer VALUES ('platform', '2026-11-23 14:41:00+00', '2026-11-23 14:41:00+00', 51, '0b2f6d0e-2222-4222-8222-000000000001', NULL, NULL, NULL);
INSERT INTO dirsync.payment_order VALUES ('', 'P-1', 'T-1', 'e0004', 'lunch', 20, 20, 12.50, 3, 'POINT', '2026-11-21 04:00:00+00', '2026-11-21 04:01:00+00', NULL, '2026-11-21', NULL, '2026-11-22 01:00:00+00', '2026-11-22 10:05:00+00');
INSERT INTO dirsync.pending VALUES ('update-employee', '', 'e0001', '', 8, true, 1, 0, 1, NULL, 0, 0, false, '2026-11-23 14:41:35.616813+00', NULL, '2026-11-23 14:41:35.707209+00', '2026-11-23 14:41:35.616813+00');
INSERT INTO dirsync.pending VALUES ('update-employee', '', 'e0003', '', 6, false, 3, 0, 1, 31, 1, 0, true, '2026-11-23 15:41:35.434431+00', NULL, NULL, '2026-11-23 14:41:35.352083+00');
INSERT INTO dirsync.plan_reading VALUES (7, 'done', '2026-11-23 14:41:35.626069+00', '2026-11-23 14:41:35.690615+00', NULL, 'e0101', '', 6, 0, '[{"n": 5, "field": "name"}]', '[{"n": 2, "department": "D0"}, {"n": 2, "department": "D1"}, {"n": 1, "department": "D2"}, {"n": 1, "department": "D3"}]', NULL);
INSERT INTO dirsync.planned_work VALUES (7, 'update-employee', '', 'e0006', 'changed', true, '0924b768-8146-cd3e-211c-d13eeecee2c6', '4a54267d-cec8-7e83-5279-7fb9663e328c', 0, 'D1', '{name}', NULL);
INSERT INTO dirsync.planned_work VALUES (7, 'update-employee', '', 'e0007', 'changed', true, '3ffc4330-0bc7-9007-68a2-5d4d34d1ebae', 'fb85b1d5-f05a-1762-f1b3-6a9a75fc376f', 0, 'D2', '{name}', NULL);
INSERT INTO dirsync.planned_work VALUES (7, 'update-employee', '', 'e0008', 'changed', true, '40cb09e1-f562-a2a6-00dc-59aaf63e9bc0', '7f8a2bd3-c3f8-ae6e-95eb-b0a9a1647b0a', 0, 'D3', '{name}', NULL);
INSERT INTO dirsync.planned_work VALUES (7, 'update-employee', '', 'e0009', 'changed', true, '5274494a-c896-94d1-4a82-621f99125586', 'ffa6e986-b663-105c-9952-0b07c8947160', 0, 'D0', '{name}', NULL);
INSERT INTO dirsync.planned_work VALUES (7, 'update-employee', '', 'e0010', 'changed', true, 'ba4efda7-5bd4-1515-7dfa-7b9193e11855', '50321d01-76cb-b2b9-44b5-d908157250ce', 0, 'D0', '{name}', NULL);
INSERT INTO dirsync.planned_work VALUES (7, 'update-employee', '', 'e0101', 'new', true, '47317c47-e8cf-df55-ed84-90eb84f474fd', NULL, 0, 'D1', '{}', NULL);
INSERT INTO dirsync.platform_token VALUES ('https://platform.example', 'sample', '\x00112233445566778899', '2026-11-23 14:00:00+00', '2026-11-23 16:00:00+00');
INSERT INTO dirsync.process VALUES ('0b2f6d0e-2222-4222-8222-000000000001', 'sample-host', 41, '{scheduler,worker}', '1.0.0', '2026-11-20 09:00:00+00', '2026-11-20 10:00:00+00', '{"set": 50, "learnt": null, "ceiling": null, "waiting": 0, "ratePerSecond": 50, "callsPerSecond": 0}', NULL, NULL, NULL, NULL);
INSERT INTO dirsync.quiet_hours VALUES (true, '22:00:00', '22:01:00', 'UTC', 'sample', '2026-11-20 09:00:00+00');
INSERT INTO dirsync.rate_cap VALUES (5, '2026-11-23 14:00:00+00', 'the vendor asked for it', 'sample', '2026-11-23 12:00:00+00', true);
INSERT INTO dirsync.refund VALUES ('R-1', 'T-1', '', 12.50, 0.00, 'notified', 'sample', '2026-11-22 10:00:00+00', '2026-11-22 10:00:01+00', '2026-11-22 10:05:00+00', 'P-1', NULL, NULL, NULL, 0, NULL, NULL, NULL, NULL);
INSERT INTO dirsync.refund VALUES ('R-2', 'T-2', '', 3.00, 0.00, 'unknown', 'sample', '2026-11-22 11:00:00+00', NULL, NULL, 'P-2', NULL, NULL, NULL, 4, NULL, '2026-11-22 12:00:00+00', NULL, NULL);
INSERT INTO dirsync.refused_notification VALUES ('R-9', 'unknown', '2026-11-20 10:00:00+00', '2026-11-20 11:00:00+00', 2);
INSERT INTO dirsync.run_count VALUES ('changes', 'done', 40, 12.5);
INSERT INTO dirsync.run_count VALUES ('full', 'done', 4, 31);
INSERT INTO dirsync.sign_in_failure VALUES ('address', '192.0.2.7', 3, '2026-11-23 14:40:00+00', '2026-11-23 14:40:00+00');
INSERT INTO dirsync.sign_in_flow VALUES ('\x04', 'state', 'nonce', 'verifier', '/overview', '2026-11-23 14:50:00+00');
INSERT INTO dirsync.sign_in_key VALUES ('\x03', 'sample', '2026-11-23 09:00:00+00', '2026-11-24 09:00:00+00', NULL);
INSERT INTO dirsync.status_history VALUES ('2026-11-23 14:40:00+00', 4, 1, 1, 0, 1, '{"not_on_platform": 1, "missing_department": 1}', 2, 2, 60, false, 5, 0, 1);
INSERT INTO dirsync.sync_run OVERRIDING SYSTEM VALUE VALUES (1, 'full', '{}', NULL, 'done', 'postgres', '2026-11-23 14:41:34.399842+00', '2026-11-23 14:41:34.422792+00', '2026-11-23 14:41:34.426926+00', '2026-11-23 14:41:34.742175+00', NULL, NULL, false, NULL, NULL, NULL, NULL, true, 'ntxJHZb1r6cPAqO3', 12, 12, '{"sample": ["e0000", "e0001", "e0002", "e0003", "e0004", "e0005", "e0006", "e0007", "e0008", "e0009", "e0010", "e0011"], "reasons": {"new": 12}}', '{"rows": 12, "empty": {"name": 0, "email": 0, "level": 12, "mobile": 0, "dept_code": 0, "entry_day": 0, "cost_center_id": 12}, "newest": null, "keyless": 0}', '{"calls": {"employee/get": 12}, "outcomes": {"in_sync": 12}, "waitedMs": {"employee/get": 280}, "deadLetters": {}, "rateLimited": {}}', NULL, '', false);
INSERT INTO dirsync.sync_run OVERRIDING SYSTEM VALUE VALUES (2, 'openids', '{}', NULL, 'done', 'postgres', '2026-11-23 14:41:34.754096+00', '2026-11-23 14:41:34.759617+00', '2026-11-23 14:41:34.761227+00', '2026-11-23 14:41:34.873235+00', NULL, NULL, false, NULL, NULL, NULL, NULL, true, NULL, 12, 12, '{"sample": [], "reasons": {"bind": 12}}', NULL, '{"calls": {"employee/openid": 12}, "outcomes": {"bound": 12}, "waitedMs": {"employee/openid": 40}, "deadLetters": {}, "rateLimited": {}}', NULL, '', false);
INSERT INTO dirsync.sync_run OVERRIDING SYSTEM VALUE VALUES (3, 'changes', '{}', NULL, 'done', 'postgres', '2026-11-23 14:41:34.898056+00', '2026-11-23 14:41:34.90369+00', '2026-11-23 14:41:34.906622+00', '2026-11-23 14:41:35.024803+00', NULL, NULL, false, NULL, NULL, NULL, NULL, true, 'ntxJHZb1r6cPAqO3', 12, 2, '{"sample": ["e0001", "e0002"], "reasons": {"changed": 2}}', '{"rows": 12, "empty": {"name": 0, "email": 0, "level": 12, "mobile": 0, "dept_code": 0, "entry_day": 0, "cost_center_id": 12}, "newest": null, "keyless": 0}', '{"calls": {"employee/get": 2, "employee/update": 2}, "outcomes": {"parked": 2}, "waitedMs": {"employee/get": 1, "employee/update": 0}, "deadLetters": {"missing_department": 2}, "rateLimited": {}}', NULL, '', false);
INSERT INTO dirsync.sync_run OVERRIDING SYSTEM VALUE VALUES (4, 'changes', '{}', NULL, 'done', 'postgres', '2026-11-23 14:41:35.03663+00', '2026-11-23 14:41:35.039884+00', '2026-11-23 14:41:35.042194+00', '2026-11-23 14:41:35.163393+00', NULL, NULL, false, NULL, NULL, NULL, NULL, true, 'ntxJHZb1r6cPAqO3', 13, 1, '{"sample": ["e0100"], "reasons": {"new": 1}}', '{"rows": 13, "empty": {"name": 0, "email": 0, "level": 13, "mobile": 0, "dept_code": 0, "entry_day": 0, "cost_center_id": 13}, "newest": null, "keyless": 0}', '{"calls": {"employee/get": 1}, "outcomes": {"awaiting_activation": 1}, "waitedMs": {"employee/get": 2}, "deadLetters": {"not_on_platform": 1}, "rateLimited": {}}', NULL, '', false);
INSERT INTO dirsync.sync_run OVERRIDING SYSTEM VALUE VALUES (5, 'changes', '{}', NULL, 'done', 'postgres', '2026-11-23 14:41:35.175976+00', '2026-11-23 14:41:35.181659+00', '2026-11-23 14:41:35.182963+00', '2026-11-23 14:41:35.283619+00', NULL, NULL, false, NULL, NULL, NULL, NULL, true, 'ntxJHZb1r6cPAqO3', 13, 2, '{"sample": ["e0004", "e0009"], "reasons": {"changed": 2}}', '{"rows": 13, "empty": {"name": 0, "email": 0, "level": 13, "mobile": 0, "dept_code": 0, "entry_day": 0, "cost_center_id": 13}, "newest": null, "keyless": 0}', '{"calls": {"employee/get": 2, "employee/update": 2}, "outcomes": {"updated": 2}, "waitedMs": {"employee/get": 0, "employee/update": 0}, "deadLetters": {}, "rateLimited": {}}', NULL, '', false);
INSERT INTO dirsync.sync_run OVERRIDING SYSTEM VALUE VALUES (6, 'changes', '{}', NULL, 'running', 'postgres', '2026-11-23 14:41:35.336254+00', '2026-11-23 14:41:35.350157+00', '2026-11-23 14:41:35.352083+00', NULL, NULL, NULL, false, NULL, NULL, NULL, NULL, true, 'ntxJHZb1r6cPAqO3', 13, 1, '{"sample": ["e0003"], "reasons": {"changed": 1}}', '{"rows": 13, "empty": {"name": 0, "email": 0, "level": 13, "mobile": 0, "dept_code": 0, "entry_day": 0, "cost_center_id": 13}, "newest": null, "keyless": 0}', NULL, NULL, '', false);
INSERT INTO dirsync.sync_run OVERRIDING SYSTEM VALUE VALUES (7, 'changes', '{}', NULL, 'held', 'postgres', '2026-11-23 14:41:35.436408+00', '2026-11-23 14:41:35.441556+00', '2026-11-23 14:41:35.443111+00', NULL, NULL, NULL, false, NULL, NULL, NULL, NULL, true, 'ntxJHZb1r6cPAqO3', 14, 6, '{"sample": ["e0006", "e0007", "e0008", "e0009", "e0010", "e0101"], "reasons": {"new": 1, "changed": 5}}', '{"rows": 14, "empty": {"name": 0, "email": 0, "level": 14, "mobile": 0, "dept_code": 0, "entry_day": 0, "cost_center_id": 14}, "newest": null, "keyless": 0}', NULL, '{"key": "said.words", "values": {"words": "6 of 14 employees would change, more than 3 and 10 %: look at the plan, then approve or reject the run."}}', '', false);
INSERT INTO dirsync.sync_run OVERRIDING SYSTEM VALUE VALUES (8, 'retry', '{1}', NULL, 'running', 'postgres', '2026-11-23 14:41:35.547532+00', '2026-11-23 14:41:35.597472+00', '2026-11-23 14:41:35.616813+00', NULL, NULL, NULL, false, NULL, NULL, NULL, NULL, true, 'ntxJHZb1r6cPAqO3', 1, 1, '{"sample": ["e0001"], "reasons": {"retry": 1}}', NULL, NULL, NULL, '', false);
INSERT INTO dirsync.sync_run OVERRIDING SYSTEM VALUE VALUES (9, 'full', '{}', NULL, 'requested', 'postgres', '2026-11-23 14:41:35.750745+00', NULL, NULL, NULL, NULL, NULL, false, NULL, NULL, NULL, NULL, true, NULL, NULL, NULL, NULL, NULL, NULL, NULL, '', false);
INSERT INTO dirsync.sync_run OVERRIDING SYSTEM VALUE VALUES (10, 'accounts', '{}', NULL, 'running', 'sample', '2026-11-23 14:41:30+00', '2026-11-23 14:41:31+00', '2026-11-23 14:41:31+00', NULL, NULL, NULL, false, NULL, NULL, NULL, NULL, true, NULL, NULL, 1, NULL, NULL, NULL, NULL, '', false);
INSERT INTO dirsync.tally VALUES ('sync_run', NULL, NULL, NULL, NULL, NULL, NULL, NULL, 'done', 1, NULL, 0);
INSERT INTO dirsync.tally VALUES ('sync_run', NULL, NULL, NULL, NULL, NULL, NULL, NULL, 'done', 1, NULL, 0);
INSERT INTO dirsync.tally VALUES ('sync_run', NULL, NULL, NULL, NULL, NULL, NULL, NULL, 'done', 1, NULL, 0);
INSERT INTO dirsync.tally VALUES ('sync_run', NULL, NULL, NULL, NULL, NULL, NULL, NULL, 'done', 1, NULL, 0);
INSERT INTO dirsync.tally VALUES ('sync_run', NULL, NULL, NULL, NULL, NULL, NULL, NULL, 'done', 1, NULL, 0);
INSERT INTO dirsync.tally VALUES ('sync_run', NULL, NULL, NULL, NULL, NULL, NULL, NULL, 'running', 1, NULL, 0);
INSERT INTO dirsync.tally VALUES ('sync_run', NULL, NULL, NULL, NULL, NULL, NULL, NULL, 'held', 1, NULL, 0);
INSERT INTO dirsync.tally VALUES ('sync_run', NULL, NULL, NULL, NULL, NULL, NULL, NULL, 'running', 1, NULL, 0);
INSERT INTO dirsync.tally VALUES ('sync_run', NULL, NULL, NULL, NULL, NULL, NULL, NULL, 'requested', 1, NULL, 0);
INSERT INTO dirsync.tally VALUES ('dead_letter', NULL, NULL, NULL, NULL, NULL, NULL, 'missing_department', 'retrying', 1, 1000220010, 1);
INSERT INTO dirsync.tally VALUES ('dead_letter', NULL, NULL, NULL, NULL, NULL, NULL, 'missing_department', 'ignored', 1, 1000220010, 1);
INSERT INTO dirsync.tally VALUES ('dead_letter', NULL, NULL, NULL, NULL, NULL, NULL, 'not_on_platform', 'awaiting_activation', 1, 1000220096, 1);
INSERT INTO dirsync.tally VALUES ('employee', NULL, '', NULL, NULL, NULL, NULL, NULL, 'in_sync', 1, NULL, 0);
INSERT INTO dirsync.tally VALUES ('employee', NULL, '', NULL, NULL, NULL, NULL, NULL, 'dead_lettered', 1, NULL, 0);
INSERT INTO dirsync.tally VALUES ('employee', NULL, '', NULL, NULL, NULL, NULL, NULL, 'accepted', 1, NULL, 0);
INSERT INTO dirsync.tally VALUES ('employee', NULL, '', NULL, NULL, NULL, NULL, NULL, 'waiting', 1, NULL, 0);
INSERT INTO dirsync.tally VALUES ('employee', NULL, '', NULL, NULL, NULL, NULL, NULL, 'in_sync', 1, NULL, 0);
INSERT INTO dirsync.tally VALUES ('employee', NULL, '', NULL, NULL, NULL, NULL, NULL, 'in_sync', 1, NULL, 0);
INSERT INTO dirsync.tally VALUES ('employee', NULL, '', NULL, NULL, NULL, NULL, NULL, 'held', 1, NULL, 0);
INSERT INTO dirsync.tally VALUES ('employee', NULL, '', NULL, NULL, NULL, NULL, NULL, 'held', 1, NULL, 0);
INSERT INTO dirsync.tally VALUES ('employee', NULL, '', NULL, NULL, NULL, NULL, NULL, 'held', 1, NULL, 0);
INSERT INTO dirsync.tally VALUES ('employee', NULL, '', NULL, NULL, NULL, NULL, NULL, 'held', 1, NULL, 0);
INSERT INTO dirsync.tally VALUES ('employee', NULL, '', NULL, NULL, NULL, NULL, NULL, 'held', 1, NULL, 0);
INSERT INTO dirsync.tally VALUES ('employee', NULL, '', NULL, NULL, NULL, NULL, NULL, 'in_sync', 1, NULL, 0);
INSERT INTO dirsync.tally VALUES ('employee', NULL, '', NULL, NULL, NULL, NULL, NULL, 'awaiting_activation', 1, NULL, 0);
INSERT INTO dirsync.tally VALUES ('employee', NULL, '', NULL, NULL, NULL, NULL, NULL, 'held', 1, NULL, 0);
INSERT INTO dirsync.tally VALUES ('pending', 'update-employee', '', 8, 1, true, '2026-11-23 14:41:35+00', NULL, NULL, 1, NULL, 0);
INSERT INTO dirsync.tally VALUES ('pending', 'update-employee', '', 6, 3, false, '2026-11-23 14:41:35+00', NULL, NULL, 1, NULL, 0);
INSERT INTO dirsync.tally VALUES ('sync_run', NULL, NULL, NULL, NULL, NULL, NULL, NULL, 'running', 1, NULL, 0);
INSERT INTO dirsync.taxpayer VALUES ('', '91000000000000000X', 1, 'Sample Ltd', 1, '2026-11-01 01:00:00+00', '2026-11-22 01:00:00+00', NULL);
INSERT INTO dirsync.text VALUES ('en', 'state.open', 'open', NULL);
INSERT INTO dirsync.text VALUES ('zh-CN', 'state.open', '待处理', NULL);
INSERT INTO dirsync.token_creation OVERRIDING SYSTEM VALUE VALUES (1, 'https://platform.example', 'sample', '2026-11-23 14:00:00+00');
INSERT INTO dirsync.topup VALUES ('U-1', 'acc-1', '', 1000.00, '{}', 'accepted', 'sample', '2026-11-22 10:00:00+00', '2026-11-22 10:00:01+00', 'apply-1', NULL, NULL, NULL, NULL, NULL);
SELECT pg_catalog.setval('dirsync.alert_id_seq', 100, true);
SELECT pg_catalog.setval('dirsync.alert_message_id_seq', 100, true);
SELECT pg_catalog.setval('dirsync.api_token_id_seq', 1, true);
SELECT pg_catalog.setval('dirsync.attempt_id_seq', 100, true);
SELECT pg_catalog.setval('dirsync.bulk_action_id_seq', 1, true);
SELECT pg_catalog.setval('dirsync.command_id_seq', 100, true);
SELECT pg_catalog.setval('dirsync.dead_letter_event_id_seq', 100, true);
SELECT pg_catalog.setval('dirsync.dead_letter_id_seq', 100, true);
SELECT pg_catalog.setval('dirsync.dry_run_id_seq', 1, true);
SELECT pg_catalog.setval('dirsync.execution', 100, true);
SELECT pg_catalog.setval('dirsync.sync_run_id_seq', 100, true);
SELECT pg_catalog.setval('dirsync.token_creation_id_seq', 1, true);
ALTER TABLE ONLY dirsync.alert_channel
    ADD CONSTRAINT alert_channel_pkey PRIMARY KEY (name);
ALTER TABLE ONLY dirsync.alert_check
    ADD CONSTRAINT alert_check_pkey PRIMARY KEY (only_row);
ALTER TABLE ONLY dirsync.alert_message
    ADD CONSTRAINT alert_message_pkey PRIMARY KEY (id);
ALTER TABLE ONLY dirsync.alert
    ADD CONSTRAINT alert_pkey PRIMARY KEY (id);
ALTER TABLE ONLY dirsync.api_token
    ADD CONSTRAINT api_token_hash_key UNIQUE (hash);
ALTER TABLE ONLY dirsync.api_token
    ADD CONSTRAINT api_token_pkey PRIMARY KEY (id);
ALTER TABLE ONLY dirsync.attempt
    ADD CONSTRAINT attempt_pkey PRIMARY KEY (id);
ALTER TABLE ONLY dirsync.bulk_action
    ADD CONSTRAINT bulk_action_pkey PRIMARY KEY (id);
ALTER TABLE ONLY dirsync.bulk_item
    ADD CONSTRAINT bulk_item_pkey PRIMARY KEY (bulk_id, dead_letter_id);
ALTER TABLE ONLY dirsync.call_hour
    ADD CONSTRAINT call_hour_pkey PRIMARY KEY (hour, operation);
ALTER TABLE ONLY dirsync.call_minute
    ADD CONSTRAINT call_minute_pkey PRIMARY KEY (minute, operation);
ALTER TABLE ONLY dirsync.command
    ADD CONSTRAINT command_pkey PRIMARY KEY (id);
ALTER TABLE ONLY dirsync.console_session
    ADD CONSTRAINT console_session_pkey PRIMARY KEY (id_hash);
ALTER TABLE ONLY dirsync.console_user
    ADD CONSTRAINT console_user_pkey PRIMARY KEY (name);
ALTER TABLE ONLY dirsync.dead_letter_event
    ADD CONSTRAINT dead_letter_event_pkey PRIMARY KEY (id);
ALTER TABLE ONLY dirsync.dead_letter
    ADD CONSTRAINT dead_letter_pkey PRIMARY KEY (id);
ALTER TABLE ONLY dirsync.department
    ADD CONSTRAINT department_pkey PRIMARY KEY (enterprise_code, dept_code);
ALTER TABLE ONLY dirsync.deployment
    ADD CONSTRAINT deployment_pkey PRIMARY KEY (only_row);
ALTER TABLE ONLY dirsync.dry_run
    ADD CONSTRAINT dry_run_pkey PRIMARY KEY (id);
ALTER TABLE ONLY dirsync.employee
    ADD CONSTRAINT employee_pkey PRIMARY KEY (enterprise_code, userid);
ALTER TABLE ONLY dirsync.field_block
    ADD CONSTRAINT field_block_pkey PRIMARY KEY (enterprise_code, field);
ALTER TABLE ONLY dirsync.field_refusal
    ADD CONSTRAINT field_refusal_pkey PRIMARY KEY (enterprise_code, field, userid);
ALTER TABLE ONLY dirsync.halt
    ADD CONSTRAINT halt_pkey PRIMARY KEY (scope);
ALTER TABLE ONLY dirsync.heartbeat_call
    ADD CONSTRAINT heartbeat_call_pkey PRIMARY KEY (only_row);
ALTER TABLE ONLY dirsync.hr_source
    ADD CONSTRAINT hr_source_pkey PRIMARY KEY (name);
ALTER TABLE ONLY dirsync.idempotency_key
    ADD CONSTRAINT idempotency_key_pkey PRIMARY KEY (owner, key);
ALTER TABLE ONLY dirsync.job_schedule
    ADD CONSTRAINT job_schedule_pkey PRIMARY KEY (job);
ALTER TABLE ONLY dirsync.job_tick
    ADD CONSTRAINT job_tick_pkey PRIMARY KEY (job, due_at);
ALTER TABLE ONLY dirsync.learnt_rate
    ADD CONSTRAINT learnt_rate_pkey PRIMARY KEY (gate);
ALTER TABLE ONLY dirsync.limit_account
    ADD CONSTRAINT limit_account_pkey PRIMARY KEY (enterprise_code, account_openid);
ALTER TABLE ONLY dirsync.limit_sub_account
    ADD CONSTRAINT limit_sub_account_pkey PRIMARY KEY (enterprise_code, account_openid, id);
ALTER TABLE ONLY dirsync.migration
    ADD CONSTRAINT migration_pkey PRIMARY KEY (name);
ALTER TABLE ONLY dirsync.mirror_day
    ADD CONSTRAINT mirror_day_pkey PRIMARY KEY (enterprise_code, day);
ALTER TABLE ONLY dirsync.mirror_task
    ADD CONSTRAINT mirror_task_pkey PRIMARY KEY (run_id, "position");
ALTER TABLE ONLY dirsync.openid_binding
    ADD CONSTRAINT openid_binding_pkey PRIMARY KEY (enterprise_code, userid, seller_appid);
ALTER TABLE ONLY dirsync.pacer
    ADD CONSTRAINT pacer_pkey PRIMARY KEY (gate);
ALTER TABLE ONLY dirsync.payment_order
    ADD CONSTRAINT payment_order_pkey PRIMARY KEY (enterprise_code, trade_no);
ALTER TABLE ONLY dirsync.pending
    ADD CONSTRAINT pending_pkey PRIMARY KEY (operation, enterprise_code, entity_key, detail);
ALTER TABLE ONLY dirsync.plan_reading
    ADD CONSTRAINT plan_reading_pkey PRIMARY KEY (run_id);
ALTER TABLE ONLY dirsync.planned_work
    ADD CONSTRAINT planned_work_pkey PRIMARY KEY (run_id, operation, enterprise_code, entity_key);
ALTER TABLE ONLY dirsync.platform_token
    ADD CONSTRAINT platform_token_pkey PRIMARY KEY (base_url, app_id);
ALTER TABLE ONLY dirsync.process
    ADD CONSTRAINT process_pkey PRIMARY KEY (id);
ALTER TABLE ONLY dirsync.quiet_hours
    ADD CONSTRAINT quiet_hours_pkey PRIMARY KEY (only_row);
ALTER TABLE ONLY dirsync.rate_cap
    ADD CONSTRAINT rate_cap_pkey PRIMARY KEY (only_row);
ALTER TABLE ONLY dirsync.refund
    ADD CONSTRAINT refund_pkey PRIMARY KEY (outer_refund_no);
ALTER TABLE ONLY dirsync.refused_notification
    ADD CONSTRAINT refused_notification_pkey PRIMARY KEY (outer_refund_no);
ALTER TABLE ONLY dirsync.run_count
    ADD CONSTRAINT run_count_pkey PRIMARY KEY (kind, state);
ALTER TABLE ONLY dirsync.sign_in_failure
    ADD CONSTRAINT sign_in_failure_pkey PRIMARY KEY (kind, key);
ALTER TABLE ONLY dirsync.sign_in_flow
    ADD CONSTRAINT sign_in_flow_pkey PRIMARY KEY (hash);
ALTER TABLE ONLY dirsync.sign_in_key
    ADD CONSTRAINT sign_in_key_pkey PRIMARY KEY (hash);
ALTER TABLE ONLY dirsync.status_history
    ADD CONSTRAINT status_history_pkey PRIMARY KEY (at);
ALTER TABLE ONLY dirsync.sync_run
    ADD CONSTRAINT sync_run_pkey PRIMARY KEY (id);
ALTER TABLE ONLY dirsync.taxpayer
    ADD CONSTRAINT taxpayer_pkey PRIMARY KEY (enterprise_code, identifier, taxpayer_nature, taxpayer_name);
ALTER TABLE ONLY dirsync.text
    ADD CONSTRAINT text_pkey PRIMARY KEY (language, key);
ALTER TABLE ONLY dirsync.token_creation
    ADD CONSTRAINT token_creation_pkey PRIMARY KEY (id);
ALTER TABLE ONLY dirsync.topup
    ADD CONSTRAINT topup_pkey PRIMARY KEY (external_code);
CREATE INDEX alert_ended_at ON dirsync.alert USING btree (ended_at DESC, id DESC) WHERE (state = 'ended'::text);
CREATE INDEX alert_message_created_at ON dirsync.alert_message USING btree (created_at);
CREATE INDEX alert_message_sent_at ON dirsync.alert_message USING btree (channel, sent_at) WHERE (state = 'sent'::text);
CREATE UNIQUE INDEX alert_message_waiting ON dirsync.alert_message USING btree (channel) WHERE (state = 'waiting'::text);
CREATE UNIQUE INDEX alert_mute_all ON dirsync.alert_mute USING btree (rule) WHERE (subject IS NULL);
CREATE UNIQUE INDEX alert_mute_one ON dirsync.alert_mute USING btree (rule, subject) WHERE (subject IS NOT NULL);
CREATE INDEX alert_notice_alert ON dirsync.alert_notice USING btree (alert_id, channel, at);
CREATE INDEX alert_notice_message ON dirsync.alert_notice USING btree (message_id) WHERE (message_id IS NOT NULL);
CREATE UNIQUE INDEX alert_status ON dirsync.alert USING btree (rule, subject) WHERE (state <> 'ended'::text);
CREATE UNIQUE INDEX api_token_name ON dirsync.api_token USING btree (name) WHERE (revoked_at IS NULL);
CREATE INDEX attempt_entity ON dirsync.attempt USING btree (enterprise_code, entity_key, id DESC);
CREATE UNIQUE INDEX attempt_execution ON dirsync.attempt USING btree (execution);
CREATE INDEX attempt_run ON dirsync.attempt USING btree (run_id);
CREATE INDEX attempt_started_at ON dirsync.attempt USING brin (started_at);
CREATE INDEX bulk_action_created_at ON dirsync.bulk_action USING btree (created_at);
CREATE INDEX bulk_action_waiting ON dirsync.bulk_action USING btree (worked_at NULLS FIRST, id) WHERE (state = ANY (ARRAY['requested'::text, 'running'::text]));
CREATE INDEX bulk_item_outcome ON dirsync.bulk_item USING btree (bulk_id, outcome, dead_letter_id);
CREATE INDEX command_dead_letter ON dirsync.command USING btree (dead_letter_id) WHERE (dead_letter_id IS NOT NULL);
CREATE INDEX command_name ON dirsync.command USING btree (name, requested_at DESC, id DESC);
CREATE INDEX command_requested_at ON dirsync.command USING btree (requested_at DESC, id DESC);
CREATE INDEX command_requested_by ON dirsync.command USING btree (requested_by, requested_at DESC, id DESC);
CREATE INDEX command_run ON dirsync.command USING btree (run_id) WHERE (run_id IS NOT NULL);
CREATE INDEX console_session_user ON dirsync.console_session USING btree (user_name, address);
CREATE UNIQUE INDEX console_user_subject ON dirsync.console_user USING btree (issuer, subject) WHERE (source = 'oidc'::text);
CREATE INDEX dead_letter_assignee ON dirsync.dead_letter USING btree (assignee) WHERE (assignee IS NOT NULL);
CREATE INDEX dead_letter_blocked_by ON dirsync.dead_letter USING btree (enterprise_code, blocked_by) WHERE ((blocked_by IS NOT NULL) AND (state <> ALL (ARRAY['resolved'::text, 'ignored'::text])));
CREATE INDEX dead_letter_blocker ON dirsync.dead_letter USING btree (blocked_by) WHERE (blocked_by IS NOT NULL);
CREATE INDEX dead_letter_broken_rule ON dirsync.dead_letter USING btree (field) WHERE ((category = 'invalid_hr_row'::text) AND (state <> ALL (ARRAY['resolved'::text, 'ignored'::text])));
CREATE UNIQUE INDEX dead_letter_case ON dirsync.dead_letter USING btree (enterprise_code, entity, entity_key, operation, field) WHERE (state <> ALL (ARRAY['resolved'::text, 'ignored'::text]));
CREATE INDEX dead_letter_cause ON dirsync.dead_letter USING btree (category, COALESCE(platform_code, (0)::bigint), last_failed_at DESC, id DESC) WHERE (state <> ALL (ARRAY['resolved'::text, 'ignored'::text]));
CREATE INDEX dead_letter_closed ON dirsync.dead_letter USING btree (category, state, last_failed_at DESC, id DESC) WHERE (state = ANY (ARRAY['resolved'::text, 'ignored'::text]));
CREATE INDEX dead_letter_due ON dirsync.dead_letter USING btree (next_retry_at) WHERE (state <> ALL (ARRAY['resolved'::text, 'ignored'::text, 'retrying'::text]));
CREATE INDEX dead_letter_enterprise ON dirsync.dead_letter USING btree (enterprise_code, field) WHERE (entity = 'enterprise'::text);
CREATE INDEX dead_letter_entity ON dirsync.dead_letter USING btree (enterprise_code, entity_key);
CREATE INDEX dead_letter_event_case ON dirsync.dead_letter_event USING btree (dead_letter_id, id);
CREATE INDEX dead_letter_first_failed ON dirsync.dead_letter USING btree (first_failed_at, id) WHERE (state <> ALL (ARRAY['resolved'::text, 'ignored'::text]));
CREATE INDEX dead_letter_first_run ON dirsync.dead_letter USING btree (first_run_id);
CREATE INDEX dead_letter_key ON dirsync.dead_letter USING btree (lower((entity_key COLLATE "C")) text_pattern_ops);
CREATE INDEX dead_letter_last_run ON dirsync.dead_letter USING btree (last_run_id);
CREATE INDEX dead_letter_oldest ON dirsync.dead_letter USING btree (category, COALESCE(platform_code, (0)::bigint), first_failed_at, id) WHERE (state <> ALL (ARRAY['resolved'::text, 'ignored'::text]));
CREATE INDEX dead_letter_read_hr ON dirsync.dead_letter USING btree (field) WHERE ((operation = 'read-hr'::text) AND (state <> 'resolved'::text));
CREATE INDEX dead_letter_resolved_at ON dirsync.dead_letter USING btree (resolved_at) WHERE (state = 'resolved'::text);
CREATE INDEX dead_letter_state ON dirsync.dead_letter USING btree (state, last_failed_at DESC, id DESC);
CREATE INDEX dead_letter_swap_id ON dirsync.dead_letter USING btree (swap_id) WHERE (swap_id IS NOT NULL);
CREATE INDEX department_below ON dirsync.department USING btree (enterprise_code, parent_code, dept_code);
CREATE INDEX department_closing ON dirsync.department USING btree (enterprise_code, dept_code) WHERE ((deleted_at IS NULL) AND ((NOT active) OR (first_missing_at IS NOT NULL)));
CREATE INDEX department_code ON dirsync.department USING btree (dept_code text_pattern_ops, enterprise_code);
CREATE UNIQUE INDEX dry_run_entity_key ON dirsync.dry_run_entity USING btree (dry_run_id, entity_key COLLATE "C", enterprise_code);
CREATE INDEX dry_run_unfinished ON dirsync.dry_run USING btree (id) WHERE (state = ANY (ARRAY['requested'::text, 'running'::text]));
CREATE INDEX employee_department ON dirsync.employee USING btree (enterprise_code, dept_code, userid) WHERE (platform_state = 'in_service'::text);
CREATE INDEX employee_held ON dirsync.employee USING btree (held_run) WHERE (held_run IS NOT NULL);
CREATE INDEX employee_status ON dirsync.employee USING btree (status, enterprise_code, userid) WHERE (status <> 'in_sync'::text);
CREATE INDEX employee_userid ON dirsync.employee USING btree (userid COLLATE "C", enterprise_code);
CREATE INDEX employee_vanished ON dirsync.employee USING btree (vanished_at) WHERE (vanished_at IS NOT NULL);
CREATE INDEX employee_withheld ON dirsync.employee USING btree (enterprise_code) WHERE (withheld <> '{}'::text[]);
CREATE INDEX field_block_due ON dirsync.field_block USING btree (next_probe_at);
CREATE INDEX idempotency_key_at ON dirsync.idempotency_key USING btree (at);
CREATE INDEX openid_binding_open_userid ON dirsync.openid_binding USING btree (open_userid);
CREATE INDEX payment_order_latest ON dirsync.payment_order USING btree (COALESCE(created_at, first_seen_at), enterprise_code, trade_no);
CREATE INDEX payment_order_listed_on ON dirsync.payment_order USING btree (listed_on, enterprise_code);
CREATE INDEX payment_order_out_trade_no ON dirsync.payment_order USING btree (out_trade_no);
CREATE INDEX payment_order_status ON dirsync.payment_order USING btree (status, COALESCE(created_at, first_seen_at), enterprise_code, trade_no);
CREATE INDEX payment_order_trade_no ON dirsync.payment_order USING btree (trade_no COLLATE "C");
CREATE INDEX payment_order_userid ON dirsync.payment_order USING btree (enterprise_code, userid, created_at DESC);
CREATE INDEX pending_due ON dirsync.pending USING btree (priority, not_before) WHERE (enqueued_at IS NULL);
CREATE INDEX pending_due_of_enterprise ON dirsync.pending USING btree (enterprise_code, priority, not_before) WHERE (enqueued_at IS NULL);
CREATE INDEX pending_enqueued ON dirsync.pending USING btree (enqueued_at) WHERE (enqueued_at IS NOT NULL);
CREATE INDEX pending_replan ON dirsync.pending USING btree (replan_at) WHERE (replan_at IS NOT NULL);
CREATE INDEX pending_run ON dirsync.pending USING btree (run_id, enterprise_code, entity_key);
CREATE INDEX pending_wave ON dirsync.pending USING btree (enterprise_code, wave) WHERE (operation = 'delete-department'::text);
CREATE INDEX planned_work_department ON dirsync.planned_work USING btree (run_id, department, entity_key COLLATE "C", enterprise_code) WHERE ((reason IS NOT NULL) AND (department IS NOT NULL));
CREATE INDEX planned_work_key ON dirsync.planned_work USING btree (run_id, entity_key COLLATE "C", enterprise_code) WHERE (reason IS NOT NULL);
CREATE INDEX planned_work_reason ON dirsync.planned_work USING btree (run_id, reason, entity_key COLLATE "C", enterprise_code) WHERE (reason IS NOT NULL);
CREATE UNIQUE INDEX refund_open ON dirsync.refund USING btree (outer_trade_no) WHERE (state = ANY (ARRAY['requested'::text, 'unknown'::text]));
CREATE INDEX refund_sent_at ON dirsync.refund USING btree (sent_at);
CREATE INDEX refund_shown ON dirsync.refund USING btree (((state = ANY (ARRAY['requested'::text, 'unknown'::text]))), sent_at, outer_refund_no);
CREATE INDEX refund_state ON dirsync.refund USING btree (state, sent_at, outer_refund_no);
CREATE INDEX refused_notification_last_at ON dirsync.refused_notification USING btree (last_at);
CREATE INDEX sign_in_failure_last ON dirsync.sign_in_failure USING btree (last_at);
CREATE INDEX sign_in_flow_end ON dirsync.sign_in_flow USING btree (expires_at);
CREATE INDEX sync_run_by_people ON dirsync.sync_run USING btree (id DESC) WHERE (requested_by <> ALL (ARRAY['cron'::text, 'start'::text, 'trigger'::text, 'replan'::text]));
CREATE INDEX sync_run_cancelled ON dirsync.sync_run USING btree (cancelled_at) WHERE (cancelled_at IS NOT NULL);
CREATE INDEX sync_run_kind ON dirsync.sync_run USING btree (kind, id DESC);
CREATE INDEX sync_run_mapping ON dirsync.sync_run USING btree (planned_at DESC) WHERE ((mapping IS NOT NULL) AND (state = ANY (ARRAY['running'::text, 'done'::text])));
CREATE INDEX sync_run_mapping_used ON dirsync.sync_run USING btree (hr_source, mapping, planned_at) WHERE ((mapping IS NOT NULL) AND (state = ANY (ARRAY['running'::text, 'done'::text])));
CREATE INDEX sync_run_of_everybody ON dirsync.sync_run USING btree (id) WHERE ((kind = ANY (ARRAY['changes'::text, 'full'::text])) AND (keys = '{}'::text[]));
CREATE INDEX sync_run_requested_at ON dirsync.sync_run USING btree (requested_at);
CREATE INDEX sync_run_source ON dirsync.sync_run USING btree (hr_source, id) WHERE ((kind = ANY (ARRAY['changes'::text, 'full'::text])) AND (keys = '{}'::text[]));
CREATE INDEX sync_run_state ON dirsync.sync_run USING btree (state, id DESC);
CREATE INDEX sync_run_success ON dirsync.sync_run USING btree (kind, finished_at) WHERE (state = 'done'::text);
CREATE INDEX sync_run_to_show ON dirsync.sync_run USING btree (finished_at) WHERE ((kind = 'full'::text) OR (state = ANY (ARRAY['failed'::text, 'source_suspect'::text, 'rejected'::text, 'cancelled'::text])));
CREATE INDEX sync_run_unfinished ON dirsync.sync_run USING btree (state) WHERE (finished_at IS NULL);
CREATE INDEX token_creation_app ON dirsync.token_creation USING btree (base_url, app_id, created_at);
CREATE INDEX topup_open ON dirsync.topup USING btree (account_openid) WHERE (state = ANY (ARRAY['requested'::text, 'unknown'::text]));
CREATE INDEX topup_sent_at ON dirsync.topup USING btree (sent_at);
CREATE INDEX topup_shown ON dirsync.topup USING btree (((state = ANY (ARRAY['requested'::text, 'unknown'::text]))), sent_at, external_code);
CREATE INDEX topup_state ON dirsync.topup USING btree (state, sent_at, external_code);
CREATE TRIGGER accepted_by_insert AFTER INSERT ON dirsync.dead_letter REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION dirsync.note_accepted();
CREATE TRIGGER accepted_by_update AFTER UPDATE ON dirsync.dead_letter REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION dirsync.note_accepted();
CREATE TRIGGER append_only BEFORE DELETE OR UPDATE ON dirsync.command FOR EACH ROW EXECUTE FUNCTION dirsync.keep_commands();
CREATE TRIGGER count_ended AFTER UPDATE ON dirsync.sync_run REFERENCING OLD TABLE AS removed NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION dirsync.count_ended_runs();
CREATE TRIGGER not_emptied BEFORE TRUNCATE ON dirsync.command FOR EACH STATEMENT EXECUTE FUNCTION dirsync.keep_commands();
CREATE TRIGGER tally_added AFTER INSERT ON dirsync.dead_letter REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION dirsync.tally_dead_letter();
CREATE TRIGGER tally_added AFTER INSERT ON dirsync.employee REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION dirsync.tally_employee();
CREATE TRIGGER tally_added AFTER INSERT ON dirsync.pending REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION dirsync.tally_pending();
CREATE TRIGGER tally_added AFTER INSERT ON dirsync.sync_run REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION dirsync.tally_sync_run();
CREATE TRIGGER tally_changed AFTER UPDATE ON dirsync.dead_letter REFERENCING OLD TABLE AS removed NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION dirsync.tally_dead_letter();
CREATE TRIGGER tally_changed AFTER UPDATE ON dirsync.employee REFERENCING OLD TABLE AS removed NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION dirsync.tally_employee();
CREATE TRIGGER tally_changed AFTER UPDATE ON dirsync.pending REFERENCING OLD TABLE AS removed NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION dirsync.tally_pending();
CREATE TRIGGER tally_changed AFTER UPDATE ON dirsync.sync_run REFERENCING OLD TABLE AS removed NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION dirsync.tally_sync_run();
CREATE TRIGGER tally_removed AFTER DELETE ON dirsync.dead_letter REFERENCING OLD TABLE AS removed FOR EACH STATEMENT EXECUTE FUNCTION dirsync.tally_dead_letter();
CREATE TRIGGER tally_removed AFTER DELETE ON dirsync.employee REFERENCING OLD TABLE AS removed FOR EACH STATEMENT EXECUTE FUNCTION dirsync.tally_employee();
CREATE TRIGGER tally_removed AFTER DELETE ON dirsync.pending REFERENCING OLD TABLE AS removed FOR EACH STATEMENT EXECUTE FUNCTION dirsync.tally_pending();
CREATE TRIGGER tally_removed AFTER DELETE ON dirsync.sync_run REFERENCING OLD TABLE AS removed FOR EACH STATEMENT EXECUTE FUNCTION dirsync.tally_sync_run();
CREATE TRIGGER tally_truncated AFTER TRUNCATE ON dirsync.dead_letter FOR EACH STATEMENT EXECUTE FUNCTION dirsync.tally_truncated();
CREATE TRIGGER tally_truncated AFTER TRUNCATE ON dirsync.employee FOR EACH STATEMENT EXECUTE FUNCTION dirsync.tally_truncated();
CREATE TRIGGER tally_truncated AFTER TRUNCATE ON dirsync.pending FOR EACH STATEMENT EXECUTE FUNCTION dirsync.tally_truncated();
CREATE TRIGGER tally_truncated AFTER TRUNCATE ON dirsync.sync_run FOR EACH STATEMENT EXECUTE FUNCTION dirsync.tally_truncated();
ALTER TABLE ONLY dirsync.alert_notice
    ADD CONSTRAINT alert_notice_alert_id_fkey FOREIGN KEY (alert_id) REFERENCES dirsync.alert(id) ON DELETE CASCADE;
ALTER TABLE ONLY dirsync.alert_notice
    ADD CONSTRAINT alert_notice_message_id_fkey FOREIGN KEY (message_id) REFERENCES dirsync.alert_message(id) ON DELETE SET NULL;
ALTER TABLE ONLY dirsync.bulk_item
    ADD CONSTRAINT bulk_item_bulk_id_fkey FOREIGN KEY (bulk_id) REFERENCES dirsync.bulk_action(id) ON DELETE CASCADE;
ALTER TABLE ONLY dirsync.console_session
    ADD CONSTRAINT console_session_user_name_fkey FOREIGN KEY (user_name) REFERENCES dirsync.console_user(name) ON DELETE CASCADE;
ALTER TABLE ONLY dirsync.dead_letter_event
    ADD CONSTRAINT dead_letter_event_dead_letter_id_fkey FOREIGN KEY (dead_letter_id) REFERENCES dirsync.dead_letter(id) ON DELETE CASCADE;
ALTER TABLE ONLY dirsync.dry_run_entity
    ADD CONSTRAINT dry_run_entity_dry_run_id_fkey FOREIGN KEY (dry_run_id) REFERENCES dirsync.dry_run(id) ON DELETE CASCADE;
ALTER TABLE ONLY dirsync.mirror_task
    ADD CONSTRAINT mirror_task_run_id_fkey FOREIGN KEY (run_id) REFERENCES dirsync.sync_run(id) ON DELETE CASCADE;
ALTER TABLE ONLY dirsync.pending
    ADD CONSTRAINT pending_run_id_fkey FOREIGN KEY (run_id) REFERENCES dirsync.sync_run(id) ON DELETE SET NULL;
ALTER TABLE ONLY dirsync.plan_reading
    ADD CONSTRAINT plan_reading_run_id_fkey FOREIGN KEY (run_id) REFERENCES dirsync.sync_run(id) ON DELETE CASCADE;
ALTER TABLE ONLY dirsync.planned_work
    ADD CONSTRAINT planned_work_run_id_fkey FOREIGN KEY (run_id) REFERENCES dirsync.sync_run(id) ON DELETE CASCADE;
GRANT USAGE ON SCHEMA dirsync TO dirsync_reviewer;
REVOKE ALL ON FUNCTION dirsync.acknowledge_alert(id bigint, reason text) FROM PUBLIC;
REVOKE ALL ON FUNCTION dirsync.actor() FROM PUBLIC;
REVOKE ALL ON FUNCTION dirsync.add_comment(id bigint, text text) FROM PUBLIC;
REVOKE ALL ON FUNCTION dirsync.address() FROM PUBLIC;
REVOKE ALL ON FUNCTION dirsync.admit_sign_in(address_key text, address text, name text) FROM PUBLIC;
REVOKE ALL ON FUNCTION dirsync.approve(run bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION dirsync.approve(run bigint) TO dirsync_reviewer;
REVOKE ALL ON FUNCTION dirsync.assign(id bigint, assignee text) FROM PUBLIC;
GRANT ALL ON FUNCTION dirsync.assign(id bigint, assignee text) TO dirsync_reviewer;
REVOKE ALL ON FUNCTION dirsync.bulk_act(bulk dirsync.bulk_action, item dirsync.bulk_item) FROM PUBLIC;
REVOKE ALL ON FUNCTION dirsync.bulk_begin(action text, filter jsonb, arguments jsonb, actor text) FROM PUBLIC;
REVOKE ALL ON FUNCTION dirsync.bulk_locked(id bigint) FROM PUBLIC;
REVOKE ALL ON FUNCTION dirsync.bulk_retry(bulk dirsync.bulk_action, most integer, OUT done integer, OUT skipped integer) FROM PUBLIC;
REVOKE ALL ON FUNCTION dirsync.bulk_skip(item dirsync.bulk_item, why text) FROM PUBLIC;
REVOKE ALL ON FUNCTION dirsync.bulk_skip_reason(item dirsync.bulk_item, d dirsync.dead_letter, action text) FROM PUBLIC;
REVOKE ALL ON FUNCTION dirsync.bulk_start(id bigint, actor text) FROM PUBLIC;
REVOKE ALL ON FUNCTION dirsync.bulk_step(most integer, most_retried integer) FROM PUBLIC;
REVOKE ALL ON FUNCTION dirsync.bulk_stop(id bigint) FROM PUBLIC;
REVOKE ALL ON FUNCTION dirsync.cancel(run bigint, reason text) FROM PUBLIC;
GRANT ALL ON FUNCTION dirsync.cancel(run bigint, reason text) TO dirsync_reviewer;
REVOKE ALL ON FUNCTION dirsync.cancel_dry_run(dry_run bigint) FROM PUBLIC;
REVOKE ALL ON FUNCTION dirsync.clear_quiet_hours() FROM PUBLIC;
REVOKE ALL ON FUNCTION dirsync.comment(id bigint, text text) FROM PUBLIC;
GRANT ALL ON FUNCTION dirsync.comment(id bigint, text text) TO dirsync_reviewer;
REVOKE ALL ON FUNCTION dirsync.count_ended_runs() FROM PUBLIC;
REVOKE ALL ON FUNCTION dirsync.decide(run bigint, approve boolean, reason text) FROM PUBLIC;
REVOKE ALL ON FUNCTION dirsync.end_lost_retries() FROM PUBLIC;
REVOKE ALL ON FUNCTION dirsync.expect_version(id bigint, version integer) FROM PUBLIC;
REVOKE ALL ON FUNCTION dirsync.fold_tally() FROM PUBLIC;
REVOKE ALL ON FUNCTION dirsync.forgive_sign_in(address_key text, name text, succeeded boolean) FROM PUBLIC;
REVOKE ALL ON FUNCTION dirsync.hr_owners() FROM PUBLIC;
REVOKE ALL ON FUNCTION dirsync.ignore(id bigint, reason text) FROM PUBLIC;
GRANT ALL ON FUNCTION dirsync.ignore(id bigint, reason text) TO dirsync_reviewer;
REVOKE ALL ON FUNCTION dirsync.in_language(language text, said jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION dirsync.in_language(language text, said jsonb) TO dirsync_reviewer;
REVOKE ALL ON FUNCTION dirsync.is_quiet(at timestamp with time zone) FROM PUBLIC;
REVOKE ALL ON FUNCTION dirsync.keep_commands() FROM PUBLIC;
REVOKE ALL ON FUNCTION dirsync.last_change(id bigint) FROM PUBLIC;
REVOKE ALL ON FUNCTION dirsync.lease_slots(_gate text, _holder text, _count integer, _spacing_ms double precision, _budget text, _budget_spacing_ms double precision, OUT start_ms double precision, OUT now_ms double precision, OUT paused_until_ms double precision, OUT shared boolean, OUT spacing_ms double precision, OUT count integer, OUT leased bigint, OUT learnt dirsync.learnt_rate, OUT own_spacing_ms double precision, OUT cap_per_second double precision, OUT cap_until_ms double precision) FROM PUBLIC;
REVOKE ALL ON FUNCTION dirsync.lower_rate(per_second double precision, until timestamp with time zone, reason text) FROM PUBLIC;
GRANT ALL ON FUNCTION dirsync.lower_rate(per_second double precision, until timestamp with time zone, reason text) TO dirsync_reviewer;
REVOKE ALL ON FUNCTION dirsync.moment(at timestamp with time zone) FROM PUBLIC;
REVOKE ALL ON FUNCTION dirsync.mute_alert(rule text, until timestamp with time zone, reason text, subject text) FROM PUBLIC;
REVOKE ALL ON FUNCTION dirsync.name_of(language text, list text, value text) FROM PUBLIC;
GRANT ALL ON FUNCTION dirsync.name_of(language text, list text, value text) TO dirsync_reviewer;
REVOKE ALL ON FUNCTION dirsync.note_accepted() FROM PUBLIC;
REVOKE ALL ON FUNCTION dirsync.note_command(name text, run bigint, arguments jsonb, dead_letter bigint) FROM PUBLIC;
REVOKE ALL ON FUNCTION dirsync.note_statuses() FROM PUBLIC;
REVOKE ALL ON FUNCTION dirsync.own_word(setting text) FROM PUBLIC;
REVOKE ALL ON FUNCTION dirsync.pause(reason text) FROM PUBLIC;
GRANT ALL ON FUNCTION dirsync.pause(reason text) TO dirsync_reviewer;
REVOKE ALL ON FUNCTION dirsync.pause_effect(job text) FROM PUBLIC;
REVOKE ALL ON FUNCTION dirsync.pause_schedule(job text, reason text) FROM PUBLIC;
REVOKE ALL ON FUNCTION dirsync.probe_now(scope text) FROM PUBLIC;
GRANT ALL ON FUNCTION dirsync.probe_now(scope text) TO dirsync_reviewer;
REVOKE ALL ON FUNCTION dirsync.record_failure(failure jsonb) FROM PUBLIC;
REVOKE ALL ON FUNCTION dirsync.refuse(errcode text, key text, given jsonb, hint text) FROM PUBLIC;
REVOKE ALL ON FUNCTION dirsync.refuse_decided(run dirsync.sync_run) FROM PUBLIC;
REVOKE ALL ON FUNCTION dirsync.reject(run bigint, reason text) FROM PUBLIC;
GRANT ALL ON FUNCTION dirsync.reject(run bigint, reason text) TO dirsync_reviewer;
REVOKE ALL ON FUNCTION dirsync.request_run(kind text, keys text[], command text, arguments jsonb, max_age interval, source text) FROM PUBLIC;
REVOKE ALL ON FUNCTION dirsync.restore_rate() FROM PUBLIC;
GRANT ALL ON FUNCTION dirsync.restore_rate() TO dirsync_reviewer;
REVOKE ALL ON FUNCTION dirsync.resume() FROM PUBLIC;
GRANT ALL ON FUNCTION dirsync.resume() TO dirsync_reviewer;
REVOKE ALL ON FUNCTION dirsync.resume_schedule(job text) FROM PUBLIC;
REVOKE ALL ON FUNCTION dirsync.resync(kind text, key text, max_age interval, source text) FROM PUBLIC;
GRANT ALL ON FUNCTION dirsync.resync(kind text, key text, max_age interval, source text) TO dirsync_reviewer;
REVOKE ALL ON FUNCTION dirsync.retry(id bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION dirsync.retry(id bigint) TO dirsync_reviewer;
REVOKE ALL ON FUNCTION dirsync.retry_category(category text) FROM PUBLIC;
GRANT ALL ON FUNCTION dirsync.retry_category(category text) TO dirsync_reviewer;
REVOKE ALL ON FUNCTION dirsync.run_result(run bigint) FROM PUBLIC;
REVOKE ALL ON FUNCTION dirsync.run_schedule(job text) FROM PUBLIC;
REVOKE ALL ON FUNCTION dirsync.set_assigned(id bigint, assignee text) FROM PUBLIC;
REVOKE ALL ON FUNCTION dirsync.set_ignored(id bigint, reason text) FROM PUBLIC;
REVOKE ALL ON FUNCTION dirsync.set_quiet_hours(starts time without time zone, ends time without time zone, time_zone text) FROM PUBLIC;
REVOKE ALL ON FUNCTION dirsync.set_snoozed(id bigint, until timestamp with time zone, reason text) FROM PUBLIC;
REVOKE ALL ON FUNCTION dirsync.sign_in_pause(kind text, failures integer) FROM PUBLIC;
REVOKE ALL ON FUNCTION dirsync.snooze(id bigint, until timestamp with time zone, reason text) FROM PUBLIC;
GRANT ALL ON FUNCTION dirsync.snooze(id bigint, until timestamp with time zone, reason text) TO dirsync_reviewer;
REVOKE ALL ON FUNCTION dirsync.sources_for(kind text, source text) FROM PUBLIC;
REVOKE ALL ON FUNCTION dirsync.take_back(run bigint) FROM PUBLIC;
REVOKE ALL ON FUNCTION dirsync.tally_dead_letter() FROM PUBLIC;
REVOKE ALL ON FUNCTION dirsync.tally_employee() FROM PUBLIC;
REVOKE ALL ON FUNCTION dirsync.tally_pending() FROM PUBLIC;
REVOKE ALL ON FUNCTION dirsync.tally_sync_run() FROM PUBLIC;
REVOKE ALL ON FUNCTION dirsync.tally_truncated() FROM PUBLIC;
REVOKE ALL ON FUNCTION dirsync.text_of(given text, name text, most integer) FROM PUBLIC;
REVOKE ALL ON FUNCTION dirsync.unmute_alert(rule text, subject text) FROM PUBLIC;
REVOKE ALL ON FUNCTION dirsync.value_text(language text, list text, value jsonb) FROM PUBLIC;
REVOKE ALL ON FUNCTION dirsync.worded(language text, said jsonb) FROM PUBLIC;
GRANT SELECT ON TABLE dirsync.refund TO dirsync_reviewer;
GRANT SELECT ON TABLE dirsync.topup TO dirsync_reviewer;
GRANT SELECT ON TABLE dirsync.failed_syncs TO dirsync_reviewer;
GRANT SELECT ON TABLE dirsync.failed_syncs_zh TO dirsync_reviewer;
GRANT SELECT ON TABLE dirsync.limit_account TO dirsync_reviewer;
GRANT SELECT ON TABLE dirsync.limit_sub_account TO dirsync_reviewer;
GRANT SELECT ON TABLE dirsync.payment_order TO dirsync_reviewer;
GRANT SELECT ON TABLE dirsync.taxpayer TO dirsync_reviewer;
