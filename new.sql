--
-- PostgreSQL database dump
--

\restrict NcCd73wIbDeWef3oA3Tj0WBVezw4cLhvLwDcfg7VEwQI1x8SDfzrHMq8hTv5T59

-- Dumped from database version 15.20 (Debian 15.20-0+deb12u1)
-- Dumped by pg_dump version 15.20 (Debian 15.20-0+deb12u1)

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

--
-- Name: dirsync; Type: SCHEMA; Schema: -; Owner: root
--

CREATE SCHEMA dirsync;


ALTER SCHEMA dirsync OWNER TO root;

--
-- Name: actor(); Type: FUNCTION; Schema: dirsync; Owner: root
--

CREATE FUNCTION dirsync.actor() RETURNS text
    LANGUAGE sql STABLE
    AS $$
  select session_user || coalesce(' (' || nullif(current_setting('dirsync.actor', true), '') || ')', '')
$$;


ALTER FUNCTION dirsync.actor() OWNER TO root;

--
-- Name: FUNCTION actor(); Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON FUNCTION dirsync.actor() IS 'Who is asking: the database user, and the shell user where the command line says so.';


--
-- Name: approve(bigint); Type: FUNCTION; Schema: dirsync; Owner: root
--

CREATE FUNCTION dirsync.approve(run bigint) RETURNS bigint
    LANGUAGE sql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$ select dirsync.decide(run, true, null) $$;


ALTER FUNCTION dirsync.approve(run bigint) OWNER TO root;

--
-- Name: FUNCTION approve(run bigint); Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON FUNCTION dirsync.approve(run bigint) IS 'Lets a held run go on: exactly the plan that was stored is carried out. Returns its number.';


--
-- Name: cancel(bigint, text); Type: FUNCTION; Schema: dirsync; Owner: root
--

CREATE FUNCTION dirsync.cancel(run bigint, reason text DEFAULT NULL::text) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
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


ALTER FUNCTION dirsync.cancel(run bigint, reason text) OWNER TO root;

--
-- Name: FUNCTION cancel(run bigint, reason text); Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON FUNCTION dirsync.cancel(run bigint, reason text) IS 'Takes the waiting work of a run back; what is in hand ends. The next run judges anew what was taken back. Returns its number.';


--
-- Name: decide(bigint, boolean, text); Type: FUNCTION; Schema: dirsync; Owner: root
--

CREATE FUNCTION dirsync.decide(run bigint, approve boolean, reason text) RETURNS bigint
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
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


ALTER FUNCTION dirsync.decide(run bigint, approve boolean, reason text) OWNER TO root;

--
-- Name: FUNCTION decide(run bigint, approve boolean, reason text); Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON FUNCTION dirsync.decide(run bigint, approve boolean, reason text) IS 'Approves or rejects a held run.';


--
-- Name: fold_tally(); Type: FUNCTION; Schema: dirsync; Owner: root
--

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
        group by source, operation, enterprise_code, run_id, priority, enqueued, since, category, state) kinds;
  if _rows is null or _rows < 200 + 2 * _kinds then
    return 0;
  end if;
  with taken as (
    delete from dirsync.tally returning *
  )
  insert into dirsync.tally (source, operation, enterprise_code, run_id, priority, enqueued, since, category, state, n)
  select source, operation, enterprise_code, run_id, priority, enqueued, since, category, state, sum(n)
  from taken
  group by source, operation, enterprise_code, run_id, priority, enqueued, since, category, state having sum(n) <> 0;
  return _rows;
end $$;


ALTER FUNCTION dirsync.fold_tally() OWNER TO root;

--
-- Name: FUNCTION fold_tally(); Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON FUNCTION dirsync.fold_tally() IS 'Sums up the rows of the tally that are alike, once they are many. Returns how many rows it took up; 0 when it was not worth it, or somebody else is at it.';


--
-- Name: ignore(bigint, text); Type: FUNCTION; Schema: dirsync; Owner: root
--

CREATE FUNCTION dirsync.ignore(id bigint, reason text) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
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


ALTER FUNCTION dirsync.ignore(id bigint, reason text) OWNER TO root;

--
-- Name: FUNCTION ignore(id bigint, reason text); Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON FUNCTION dirsync.ignore(id bigint, reason text) IS 'Closes a case as accepted, with a reason; it reopens when the HR row changes. Returns its number.';


SET default_tablespace = '';

SET default_table_access_method = heap;

--
-- Name: learnt_rate; Type: TABLE; Schema: dirsync; Owner: root
--

CREATE TABLE dirsync.learnt_rate (
    gate text NOT NULL,
    version bigint NOT NULL,
    rate_per_second double precision NOT NULL,
    ceiling double precision,
    lowered_at timestamp with time zone,
    changed_at timestamp with time zone NOT NULL,
    leased_at_change bigint NOT NULL
);


ALTER TABLE dirsync.learnt_rate OWNER TO root;

--
-- Name: TABLE learnt_rate; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON TABLE dirsync.learnt_rate IS 'What was learnt of a limit that no setting tells, or that was set too high. Kept over restarts; a deleted row is learnt anew.';


--
-- Name: COLUMN learnt_rate.gate; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.learnt_rate.gate IS 'Name of the gate, platform, wherever the slots are kept; platform@200 where PLATFORM_RATE_LIMIT is 200 and was refused.';


--
-- Name: COLUMN learnt_rate.version; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.learnt_rate.version IS 'Counts the changes, so that of two processes that learn at the same moment one gives way.';


--
-- Name: COLUMN learnt_rate.rate_per_second; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.learnt_rate.rate_per_second IS 'Calls per second that are let go, of all processes together.';


--
-- Name: COLUMN learnt_rate.ceiling; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.learnt_rate.ceiling IS 'The rate at which calls were last refused; null before the first refusal, and when a set rate is reached again.';


--
-- Name: COLUMN learnt_rate.lowered_at; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.learnt_rate.lowered_at IS 'When it was last lowered; null if never.';


--
-- Name: COLUMN learnt_rate.changed_at; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.learnt_rate.changed_at IS 'When it was last changed.';


--
-- Name: COLUMN learnt_rate.leased_at_change; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.learnt_rate.leased_at_change IS 'Slots that had ever been reserved by then.';


--
-- Name: lease_slots(text, text, integer, double precision, text, double precision); Type: FUNCTION; Schema: dirsync; Owner: root
--

CREATE FUNCTION dirsync.lease_slots(_gate text, _holder text, _count integer, _spacing_ms double precision, _budget text, _budget_spacing_ms double precision, OUT start_ms double precision, OUT now_ms double precision, OUT paused_until_ms double precision, OUT shared boolean, OUT spacing_ms double precision, OUT count integer, OUT leased bigint, OUT learnt dirsync.learnt_rate) RETURNS record
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
  spacing_ms := coalesce(_spacing_ms, 1000 / learnt.rate_per_second, 0);

  if _budget is not null then
    loop
      select next_at, reserved_at into _budget_next, _budget_reserved from dirsync.pacer where gate = _budget for update;
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
  _budget_next := _budget_next - greatest(_budget_reserved - _now, interval '0');
  _back := _slots.reserved_at - _now;
  if _back > interval '0' then
    _slots.next_at := _slots.next_at - _back;
    _slots.paused_until := _slots.paused_until - _back;
    update dirsync.pacer p set next_at = _slots.next_at, paused_until = _slots.paused_until, reserved_at = _now where p.gate = _gate;
  end if;
  _start := greatest(_slots.next_at, _now, _slots.paused_until);
  count := case when spacing_ms > 0 then _count else 0 end;
  if _budget_next > _start + interval '10 ms' then
    count := 0;
    _start := _budget_next;
  elsif count > 0 then
    _start := greatest(_start, _budget_next);
    update dirsync.pacer p
    set next_at = _start + count * spacing_ms * interval '1 ms',
        leased = p.leased + count, previous_holder = p.holder, holder = _holder, reserved_at = _now
    where p.gate = _gate;
    update dirsync.pacer p
    set next_at = _start + _budget_spacing_ms * interval '1 ms', leased = p.leased + 1, previous_holder = p.holder, holder = _holder,
        reserved_at = _now
    where p.gate = _budget;
  end if;

  start_ms := extract(epoch from _start) * 1000;
  now_ms := extract(epoch from _now) * 1000;
  paused_until_ms := extract(epoch from _slots.paused_until) * 1000;
  shared := coalesce(_slots.holder <> _holder, false);
  leased := _slots.leased + count;
end $$;


ALTER FUNCTION dirsync.lease_slots(_gate text, _holder text, _count integer, _spacing_ms double precision, _budget text, _budget_spacing_ms double precision, OUT start_ms double precision, OUT now_ms double precision, OUT paused_until_ms double precision, OUT shared boolean, OUT spacing_ms double precision, OUT count integer, OUT leased bigint, OUT learnt dirsync.learnt_rate) OWNER TO root;

--
-- Name: FUNCTION lease_slots(_gate text, _holder text, _count integer, _spacing_ms double precision, _budget text, _budget_spacing_ms double precision, OUT start_ms double precision, OUT now_ms double precision, OUT paused_until_ms double precision, OUT shared boolean, OUT spacing_ms double precision, OUT count integer, OUT leased bigint, OUT learnt dirsync.learnt_rate); Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON FUNCTION dirsync.lease_slots(_gate text, _holder text, _count integer, _spacing_ms double precision, _budget text, _budget_spacing_ms double precision, OUT start_ms double precision, OUT now_ms double precision, OUT paused_until_ms double precision, OUT shared boolean, OUT spacing_ms double precision, OUT count integer, OUT leased bigint, OUT learnt dirsync.learnt_rate) IS 'Reserves the next free slots of a gate, never in the past or within its pause, spaced as given or as learnt. With a budget: one slot that both gates have free, or none and the moment from which the budget has one. Times in milliseconds since 1970.';


--
-- Name: note_command(text, bigint, jsonb); Type: FUNCTION; Schema: dirsync; Owner: root
--

CREATE FUNCTION dirsync.note_command(name text, run bigint, arguments jsonb) RETURNS void
    LANGUAGE sql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
  insert into dirsync.command (name, arguments, requested_by, run_id)
  values (note_command.name, jsonb_strip_nulls(arguments), dirsync.actor(), run)
$$;


ALTER FUNCTION dirsync.note_command(name text, run bigint, arguments jsonb) OWNER TO root;

--
-- Name: FUNCTION note_command(name text, run bigint, arguments jsonb); Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON FUNCTION dirsync.note_command(name text, run bigint, arguments jsonb) IS 'Writes down what a person asked for.';


--
-- Name: pause(text); Type: FUNCTION; Schema: dirsync; Owner: root
--

CREATE FUNCTION dirsync.pause(reason text) RETURNS text
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
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


ALTER FUNCTION dirsync.pause(reason text) OWNER TO root;

--
-- Name: FUNCTION pause(reason text); Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON FUNCTION dirsync.pause(reason text) IS 'Stops all calls of this deployment to the platform within a second, until resume(). Returns the reason.';


--
-- Name: record_failure(jsonb); Type: FUNCTION; Schema: dirsync; Owner: root
--

CREATE FUNCTION dirsync.record_failure(failure jsonb) RETURNS bigint
    LANGUAGE plpgsql
    AS $$
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


ALTER FUNCTION dirsync.record_failure(failure jsonb) OWNER TO root;

--
-- Name: FUNCTION record_failure(failure jsonb); Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON FUNCTION dirsync.record_failure(failure jsonb) IS 'Opens a case, or counts up the open one of the same entity, operation and field.';


--
-- Name: reject(bigint, text); Type: FUNCTION; Schema: dirsync; Owner: root
--

CREATE FUNCTION dirsync.reject(run bigint, reason text DEFAULT NULL::text) RETURNS bigint
    LANGUAGE sql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$ select dirsync.decide(run, false, reason) $$;


ALTER FUNCTION dirsync.reject(run bigint, reason text) OWNER TO root;

--
-- Name: FUNCTION reject(run bigint, reason text); Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON FUNCTION dirsync.reject(run bigint, reason text) IS 'Ends a held run without writing anything. Returns its number.';


--
-- Name: request_run(text, text[], text, jsonb, interval); Type: FUNCTION; Schema: dirsync; Owner: root
--

CREATE FUNCTION dirsync.request_run(kind text, keys text[], command text, arguments jsonb, max_age interval DEFAULT NULL::interval) RETURNS bigint
    LANGUAGE plpgsql
    AS $$
declare
  run bigint;
begin
  select r.id into run from dirsync.sync_run r
  where r.kind = request_run.kind and r.keys = request_run.keys and r.max_age is not distinct from request_run.max_age
    and r.state = 'requested' and not r.approved
  order by r.id limit 1;
  if run is null then
    insert into dirsync.sync_run (kind, keys, max_age, requested_by)
    values (request_run.kind, request_run.keys, request_run.max_age, dirsync.actor())
    returning id into run;
  end if;
  insert into dirsync.command (name, arguments, requested_by, run_id) values (command, arguments, dirsync.actor(), run);
  perform pg_notify('dirsync', 'run');
  return run;
end $$;


ALTER FUNCTION dirsync.request_run(kind text, keys text[], command text, arguments jsonb, max_age interval) OWNER TO root;

--
-- Name: FUNCTION request_run(kind text, keys text[], command text, arguments jsonb, max_age interval); Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON FUNCTION dirsync.request_run(kind text, keys text[], command text, arguments jsonb, max_age interval) IS 'Requests a run, or returns the same one that is still waiting to begin.';


--
-- Name: resume(); Type: FUNCTION; Schema: dirsync; Owner: root
--

CREATE FUNCTION dirsync.resume() RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
  delete from dirsync.halt h where h.scope = '*' and h.category = 'paused';
  if not found then
    return false;
  end if;
  perform dirsync.note_command('resume', null, '{}');
  perform pg_notify('dirsync', 'feed');
  return true;
end $$;


ALTER FUNCTION dirsync.resume() OWNER TO root;

--
-- Name: FUNCTION resume(); Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON FUNCTION dirsync.resume() IS 'Lets calls go on after pause(). Returns whether they were paused.';


--
-- Name: resync(text, text, interval); Type: FUNCTION; Schema: dirsync; Owner: root
--

CREATE FUNCTION dirsync.resync(kind text DEFAULT 'changes'::text, key text DEFAULT NULL::text, max_age interval DEFAULT NULL::interval) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
  wanted text := case kind when 'employee' then 'employees' else kind end;
begin
  if wanted is null
     or wanted not in ('changes', 'full', 'employees', 'departments', 'openids', 'orders', 'accounts', 'taxpayers') then
    raise exception 'there is no run of kind %', coalesce(quote_literal(kind), 'null')
      using errcode = '22023', hint = 'changes, full, employees, departments, openids, orders, accounts or taxpayers';
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
    raise exception 'max_age is %: it should be longer than nothing', max_age using errcode = '22023',
      hint = 'select dirsync.resync(''full'', max_age => ''6 hours'')';
  end if;
  return dirsync.request_run(wanted, case when wanted = 'employees' then array[btrim(key)] else '{}' end, 'resync',
                             jsonb_strip_nulls(jsonb_build_object('kind', wanted, 'key', key, 'max_age', max_age)), max_age);
end $$;


ALTER FUNCTION dirsync.resync(kind text, key text, max_age interval) OWNER TO root;

--
-- Name: FUNCTION resync(kind text, key text, max_age interval); Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON FUNCTION dirsync.resync(kind text, key text, max_age interval) IS 'Starts a run now and returns its number: resync(), resync(''full''), resync(''full'', max_age => ''6 hours''), resync(''employees'', ''e10001''), resync(''departments''), resync(''openids''), resync(''orders''), resync(''accounts''), resync(''taxpayers'').';


--
-- Name: retry(bigint); Type: FUNCTION; Schema: dirsync; Owner: root
--

CREATE FUNCTION dirsync.retry(id bigint) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
  perform from dirsync.dead_letter d where d.id = retry.id and d.state <> 'resolved';
  if not found then
    raise exception 'there is no unresolved dead letter %', coalesce(retry.id::text, 'null') using errcode = 'P0002';
  end if;
  return dirsync.request_run('retry', array[retry.id::text], 'retry', jsonb_build_object('id', retry.id));
end $$;


ALTER FUNCTION dirsync.retry(id bigint) OWNER TO root;

--
-- Name: FUNCTION retry(id bigint); Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON FUNCTION dirsync.retry(id bigint) IS 'Tries a dead letter again now; returns the number of the run that does it.';


--
-- Name: retry_category(text); Type: FUNCTION; Schema: dirsync; Owner: root
--

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
    raise exception 'there is no open dead letter of category %', coalesce(quote_literal(category), 'null') using errcode = 'P0002',
      hint = 'select distinct category from dirsync.failed_syncs';
  end if;
  return dirsync.request_run('retry', ids, 'retry_category', jsonb_build_object('category', category));
end $$;


ALTER FUNCTION dirsync.retry_category(category text) OWNER TO root;

--
-- Name: FUNCTION retry_category(category text); Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON FUNCTION dirsync.retry_category(category text) IS 'Tries every open dead letter of a category again now; returns the number of the run that does it.';


--
-- Name: run_result(bigint); Type: FUNCTION; Schema: dirsync; Owner: root
--

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
           sum((a.too_fast ->> c.key)::int) as too_fast
    from dirsync.attempt a, jsonb_each_text(a.calls) c where a.run_id = run group by c.key
  ), cases as (
    select category, count(*) as n from dirsync.dead_letter
    where last_run_id = run and state not in ('resolved', 'ignored') group by category
  )
  select jsonb_build_object(
    'outcomes', coalesce((select jsonb_object_agg(outcome, n) from outcomes), '{}'),
    'calls', coalesce((select jsonb_object_agg(operation, n) from calls), '{}'),
    'waitedMs', coalesce((select jsonb_object_agg(operation, waited_ms) from calls where waited_ms is not null), '{}'),
    'tooFast', coalesce((select jsonb_object_agg(operation, too_fast) from calls where too_fast > 0), '{}'),
    'deadLetters', coalesce((select jsonb_object_agg(category, n) from cases), '{}'))
$$;


ALTER FUNCTION dirsync.run_result(run bigint) OWNER TO root;

--
-- Name: FUNCTION run_result(run bigint); Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON FUNCTION dirsync.run_result(run bigint) IS 'What came of a run: last outcome per entity; calls, their waiting time in milliseconds and those rejected as too fast, by operation; dead letters by category.';


--
-- Name: snooze(bigint, timestamp with time zone, text); Type: FUNCTION; Schema: dirsync; Owner: root
--

CREATE FUNCTION dirsync.snooze(id bigint, until timestamp with time zone, reason text DEFAULT NULL::text) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
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


ALTER FUNCTION dirsync.snooze(id bigint, until timestamp with time zone, reason text) OWNER TO root;

--
-- Name: FUNCTION snooze(id bigint, until timestamp with time zone, reason text); Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON FUNCTION dirsync.snooze(id bigint, until timestamp with time zone, reason text) IS 'Lets a case rest until a time; then it is tried again. Returns its number.';


--
-- Name: take_back(bigint); Type: FUNCTION; Schema: dirsync; Owner: root
--

CREATE FUNCTION dirsync.take_back(run bigint) RETURNS void
    LANGUAGE sql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
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


ALTER FUNCTION dirsync.take_back(run bigint) OWNER TO root;

--
-- Name: FUNCTION take_back(run bigint); Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON FUNCTION dirsync.take_back(run bigint) IS 'Takes the waiting work of a cancelled run out of the outbox; what is in hand is not touched.';


--
-- Name: tally_dead_letter(); Type: FUNCTION; Schema: dirsync; Owner: root
--

CREATE FUNCTION dirsync.tally_dead_letter() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
  case tg_op
  when 'INSERT' then
    insert into dirsync.tally (source, category, state, n)
    select 'dead_letter', category, state, count(*) from added where state <> 'resolved' group by 2, 3;
  when 'DELETE' then
    insert into dirsync.tally (source, category, state, n)
    select 'dead_letter', category, state, -count(*) from removed where state <> 'resolved' group by 2, 3;
  else
    insert into dirsync.tally (source, category, state, n)
    select 'dead_letter', category, state, sum(n)
    from (select category, state, 1 as n from added union all select category, state, -1 from removed) changed
    where state <> 'resolved' group by 2, 3 having sum(n) <> 0;
  end case;
  return null;
end $$;


ALTER FUNCTION dirsync.tally_dead_letter() OWNER TO root;

--
-- Name: FUNCTION tally_dead_letter(); Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON FUNCTION dirsync.tally_dead_letter() IS 'Keeps the tally of cases that are not resolved.';


--
-- Name: tally_employee(); Type: FUNCTION; Schema: dirsync; Owner: root
--

CREATE FUNCTION dirsync.tally_employee() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
  -- How an employee stands is said three times: a function of its own would not be inlined, and takes seconds for a million rows.
  case tg_op
  when 'INSERT' then
    insert into dirsync.tally (source, enterprise_code, state, n)
    select 'employee', enterprise_code,
           case when vanished_at is not null then 'vanished'
                when not active then 'left'
                when acknowledged_hash = source_hash then 'in_step'
                when parked_hash = source_hash and platform_state = 'absent' then 'awaiting_activation'
                when parked_hash = source_hash then 'dead_lettered'
                else 'waiting' end, count(*)
    from added group by 2, 3;
  when 'DELETE' then
    insert into dirsync.tally (source, enterprise_code, state, n)
    select 'employee', enterprise_code,
           case when vanished_at is not null then 'vanished'
                when not active then 'left'
                when acknowledged_hash = source_hash then 'in_step'
                when parked_hash = source_hash and platform_state = 'absent' then 'awaiting_activation'
                when parked_hash = source_hash then 'dead_lettered'
                else 'waiting' end, -count(*)
    from removed group by 2, 3;
  else
    insert into dirsync.tally (source, enterprise_code, state, n)
    select 'employee', enterprise_code,
           case when vanished_at is not null then 'vanished'
                when not active then 'left'
                when acknowledged_hash = source_hash then 'in_step'
                when parked_hash = source_hash and platform_state = 'absent' then 'awaiting_activation'
                when parked_hash = source_hash then 'dead_lettered'
                else 'waiting' end, sum(n)
    from (select enterprise_code, vanished_at, active, acknowledged_hash, source_hash, parked_hash, platform_state, 1 as n
          from added
          union all
          select enterprise_code, vanished_at, active, acknowledged_hash, source_hash, parked_hash, platform_state, -1
          from removed) changed
    group by 2, 3 having sum(n) <> 0;
  end case;
  return null;
end $$;


ALTER FUNCTION dirsync.tally_employee() OWNER TO root;

--
-- Name: FUNCTION tally_employee(); Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON FUNCTION dirsync.tally_employee() IS 'Keeps the tally of employees.';


--
-- Name: tally_pending(); Type: FUNCTION; Schema: dirsync; Owner: root
--

CREATE FUNCTION dirsync.tally_pending() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
  case tg_op
  when 'INSERT' then
    insert into dirsync.tally (source, operation, enterprise_code, run_id, priority, enqueued, since, n)
    select 'pending', operation, enterprise_code, run_id, priority, enqueued_at is not null,
           date_trunc('second', created_at), count(*)
    from added group by 2, 3, 4, 5, 6, 7;
  when 'DELETE' then
    insert into dirsync.tally (source, operation, enterprise_code, run_id, priority, enqueued, since, n)
    select 'pending', operation, enterprise_code, run_id, priority, enqueued_at is not null,
           date_trunc('second', created_at), -count(*)
    from removed group by 2, 3, 4, 5, 6, 7;
  else
    insert into dirsync.tally (source, operation, enterprise_code, run_id, priority, enqueued, since, n)
    select 'pending', operation, enterprise_code, run_id, priority, enqueued_at is not null,
           date_trunc('second', created_at), sum(n)
    from (select operation, enterprise_code, run_id, priority, enqueued_at, created_at, 1 as n from added
          union all
          select operation, enterprise_code, run_id, priority, enqueued_at, created_at, -1 from removed) changed
    group by 2, 3, 4, 5, 6, 7 having sum(n) <> 0;
  end case;
  return null;
end $$;


ALTER FUNCTION dirsync.tally_pending() OWNER TO root;

--
-- Name: FUNCTION tally_pending(); Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON FUNCTION dirsync.tally_pending() IS 'Keeps the tally of the outbox.';


--
-- Name: tally_sync_run(); Type: FUNCTION; Schema: dirsync; Owner: root
--

CREATE FUNCTION dirsync.tally_sync_run() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
  case tg_op
  when 'INSERT' then
    insert into dirsync.tally (source, state, n) select 'sync_run', state, count(*) from added group by 2;
  when 'DELETE' then
    insert into dirsync.tally (source, state, n) select 'sync_run', state, -count(*) from removed group by 2;
  else
    insert into dirsync.tally (source, state, n)
    select 'sync_run', state, sum(n)
    from (select state, 1 as n from added union all select state, -1 from removed) changed
    group by 2 having sum(n) <> 0;
  end case;
  return null;
end $$;


ALTER FUNCTION dirsync.tally_sync_run() OWNER TO root;

--
-- Name: FUNCTION tally_sync_run(); Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON FUNCTION dirsync.tally_sync_run() IS 'Keeps the tally of runs.';


--
-- Name: tally_truncated(); Type: FUNCTION; Schema: dirsync; Owner: root
--

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


ALTER FUNCTION dirsync.tally_truncated() OWNER TO root;

--
-- Name: FUNCTION tally_truncated(); Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON FUNCTION dirsync.tally_truncated() IS 'Forgets the tally of a table that was emptied.';


--
-- Name: attempt; Type: TABLE; Schema: dirsync; Owner: root
--

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
    too_fast jsonb DEFAULT '{}'::jsonb NOT NULL,
    fields text[] DEFAULT '{}'::text[] NOT NULL,
    platform_code bigint,
    trace_id text,
    error text,
    CONSTRAINT attempt_outcome_check CHECK ((outcome = ANY (ARRAY['in_step'::text, 'updated'::text, 'partly_updated'::text, 'deleted'::text, 'bound'::text, 'awaiting_activation'::text, 'left'::text, 'parked'::text, 'retry'::text, 'wait'::text, 'halted'::text, 'obsolete'::text, 'replan'::text])))
);


ALTER TABLE dirsync.attempt OWNER TO root;

--
-- Name: TABLE attempt; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON TABLE dirsync.attempt IS 'Every execution of a job, append-only; kept 30 days.';


--
-- Name: COLUMN attempt.id; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.attempt.id IS 'Number of the attempt.';


--
-- Name: COLUMN attempt.run_id; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.attempt.run_id IS 'The run it belonged to.';


--
-- Name: COLUMN attempt.operation; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.attempt.operation IS 'update-employee, delete-department, bind-openid, mirror-orders, mirror-accounts or mirror-taxpayers.';


--
-- Name: COLUMN attempt.enterprise_code; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.attempt.enterprise_code IS 'Enterprise; empty for a single enterprise.';


--
-- Name: COLUMN attempt.entity_key; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.attempt.entity_key IS 'User id, department code, or the part of a mirror: a day, an order, an identification number.';


--
-- Name: COLUMN attempt.detail; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.attempt.detail IS 'bind-openid: the merchant application id; mirror-taxpayers: the nature; else empty.';


--
-- Name: COLUMN attempt.execution; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.attempt.execution IS 'The execution of the job (see pending.execution) whose outcome this is; null for what is no execution, and before that was noted.';


--
-- Name: COLUMN attempt.started_at; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.attempt.started_at IS 'When it began.';


--
-- Name: COLUMN attempt.duration_ms; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.attempt.duration_ms IS 'How long it took, in milliseconds, waiting for the pacer included.';


--
-- Name: COLUMN attempt.outcome; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.attempt.outcome IS 'in_step: nothing to send, or nothing new in a mirror; updated: fields sent, or rows of a mirror written; partly_updated: some fields held back; left: gone from HR and from the platform; retry, wait, halted: to be repeated; replan: HR has another row than the plan saw, so nothing was sent; obsolete: nothing to do any more.';


--
-- Name: COLUMN attempt.calls; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.attempt.calls IS 'Calls to the platform by operation.';


--
-- Name: COLUMN attempt.waited_ms; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.attempt.waited_ms IS 'How long its calls waited for the pacer, in milliseconds by operation; empty where that is not known (mirrors).';


--
-- Name: COLUMN attempt.too_fast; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.attempt.too_fast IS 'Calls that the platform rejected because there were too many, by operation.';


--
-- Name: COLUMN attempt.fields; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.attempt.fields IS 'Names of the fields the platform accepted.';


--
-- Name: COLUMN attempt.platform_code; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.attempt.platform_code IS 'Error code of the platform (specification section 7).';


--
-- Name: COLUMN attempt.trace_id; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.attempt.trace_id IS 'x-trace-id of the failed call, for the vendor''s support.';


--
-- Name: COLUMN attempt.error; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.attempt.error IS 'What failed, without personal data.';


--
-- Name: attempt_id_seq; Type: SEQUENCE; Schema: dirsync; Owner: root
--

ALTER TABLE dirsync.attempt ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME dirsync.attempt_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);


--
-- Name: call_minute; Type: TABLE; Schema: dirsync; Owner: root
--

CREATE TABLE dirsync.call_minute (
    minute timestamp with time zone NOT NULL,
    operation text NOT NULL,
    calls integer NOT NULL,
    too_fast integer NOT NULL,
    failed integer NOT NULL,
    waited_ms bigint NOT NULL,
    longest_wait_ms integer NOT NULL,
    duration_ms bigint NOT NULL
);


ALTER TABLE dirsync.call_minute OWNER TO root;

--
-- Name: TABLE call_minute; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON TABLE dirsync.call_minute IS 'Calls to the platform of all processes by minute and operation; kept 30 days.';


--
-- Name: COLUMN call_minute.minute; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.call_minute.minute IS 'Beginning of the minute in which they were written down, a few seconds after they ended.';


--
-- Name: COLUMN call_minute.operation; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.call_minute.operation IS 'Operation of the platform, for example employee/get.';


--
-- Name: COLUMN call_minute.calls; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.call_minute.calls IS 'Exchanges with the platform, whatever came of them.';


--
-- Name: COLUMN call_minute.too_fast; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.call_minute.too_fast IS 'How many of them the platform rejected because there were too many.';


--
-- Name: COLUMN call_minute.failed; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.call_minute.failed IS 'How many of them ended otherwise than with success, those that were too fast included.';


--
-- Name: COLUMN call_minute.waited_ms; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.call_minute.waited_ms IS 'How long they waited for the pacer, all together, in milliseconds.';


--
-- Name: COLUMN call_minute.longest_wait_ms; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.call_minute.longest_wait_ms IS 'How long the one waited that waited longest, in milliseconds.';


--
-- Name: COLUMN call_minute.duration_ms; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.call_minute.duration_ms IS 'How long the exchanges took, all together, in milliseconds.';


--
-- Name: command; Type: TABLE; Schema: dirsync; Owner: root
--

CREATE TABLE dirsync.command (
    id bigint NOT NULL,
    name text NOT NULL,
    arguments jsonb DEFAULT '{}'::jsonb NOT NULL,
    requested_by text NOT NULL,
    requested_at timestamp with time zone DEFAULT now() NOT NULL,
    run_id bigint,
    dead_letter_id bigint
);


ALTER TABLE dirsync.command OWNER TO root;

--
-- Name: TABLE command; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON TABLE dirsync.command IS 'What people asked for, through SQL, the shell or the console; append-only.';


--
-- Name: COLUMN command.id; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.command.id IS 'Number of the command.';


--
-- Name: COLUMN command.name; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.command.name IS 'What was asked for, named as the function or command that does it.';


--
-- Name: COLUMN command.arguments; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.command.arguments IS 'Its arguments.';


--
-- Name: COLUMN command.requested_by; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.command.requested_by IS 'Database user, and the shell user where the command line was used.';


--
-- Name: COLUMN command.requested_at; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.command.requested_at IS 'When.';


--
-- Name: COLUMN command.run_id; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.command.run_id IS 'The run that it started or decided about.';


--
-- Name: COLUMN command.dead_letter_id; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.command.dead_letter_id IS 'The case that it decided about.';


--
-- Name: command_id_seq; Type: SEQUENCE; Schema: dirsync; Owner: root
--

ALTER TABLE dirsync.command ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME dirsync.command_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);


--
-- Name: dead_letter; Type: TABLE; Schema: dirsync; Owner: root
--

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
    message text NOT NULL,
    remedy text NOT NULL,
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
    CONSTRAINT dead_letter_check CHECK (((state = 'resolved'::text) = (resolved_at IS NOT NULL))),
    CONSTRAINT dead_letter_check1 CHECK (((state <> 'ignored'::text) OR (note IS NOT NULL))),
    CONSTRAINT dead_letter_entity_check CHECK ((entity = ANY (ARRAY['employee'::text, 'department'::text, 'mirror'::text, 'enterprise'::text]))),
    CONSTRAINT dead_letter_operation_check CHECK ((operation = ANY (ARRAY['update-employee'::text, 'delete-department'::text, 'bind-openid'::text, 'mirror-orders'::text, 'mirror-accounts'::text, 'mirror-taxpayers'::text]))),
    CONSTRAINT dead_letter_state_check CHECK ((state = ANY (ARRAY['open'::text, 'retry_scheduled'::text, 'blocked'::text, 'awaiting_activation'::text, 'retrying'::text, 'snoozed'::text, 'resolved'::text, 'ignored'::text])))
);


ALTER TABLE dirsync.dead_letter OWNER TO root;

--
-- Name: TABLE dead_letter; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON TABLE dirsync.dead_letter IS 'Cases for review: one per entity, operation and field, however often it fails. The first success resolves it. Read dirsync.failed_syncs first.';


--
-- Name: COLUMN dead_letter.id; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.dead_letter.id IS 'Number of the case, for retry, ignore and snooze.';


--
-- Name: COLUMN dead_letter.enterprise_code; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.dead_letter.enterprise_code IS 'Enterprise; empty for a single enterprise.';


--
-- Name: COLUMN dead_letter.entity; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.dead_letter.entity IS 'employee, department, mirror, or enterprise: a field that is withheld from all of its employees.';


--
-- Name: COLUMN dead_letter.entity_key; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.dead_letter.entity_key IS 'User id, department code, the mirror (orders, accounts, taxpayers), or the enterprise code, (single enterprise) where there is none.';


--
-- Name: COLUMN dead_letter.operation; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.dead_letter.operation IS 'The job that failed: update-employee, delete-department, bind-openid, mirror-orders, mirror-accounts, mirror-taxpayers.';


--
-- Name: COLUMN dead_letter.field; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.dead_letter.field IS 'The field that is held back (bind-openid: the merchant application id; mirror-taxpayers: the identification number; mirror-orders: older_orders for those asked for one by one); empty: the whole entity.';


--
-- Name: COLUMN dead_letter.category; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.dead_letter.category IS 'Kind of failure: duplicate_mobile, missing_department, invalid_hr_row, not_on_platform, not_applied, left_hr, unknown_payer …';


--
-- Name: COLUMN dead_letter.platform_code; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.dead_letter.platform_code IS 'Error code of the platform (specification section 7); null when dirsync found it itself.';


--
-- Name: COLUMN dead_letter.trace_id; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.dead_letter.trace_id IS 'x-trace-id of the failed call: name it to the vendor''s support.';


--
-- Name: COLUMN dead_letter.message; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.dead_letter.message IS 'What failed, without personal data.';


--
-- Name: COLUMN dead_letter.remedy; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.dead_letter.remedy IS 'What to do about it.';


--
-- Name: COLUMN dead_letter.changed_fields; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.dead_letter.changed_fields IS 'The fields concerned: [{field, value}], values masked.';


--
-- Name: COLUMN dead_letter.blocked_by; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.dead_letter.blocked_by IS 'What has to change first: for a duplicate mobile or e-mail address the user id of its holder. The case is retried as soon as that changes.';


--
-- Name: COLUMN dead_letter.source_hash; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.dead_letter.source_hash IS 'Hash of the HR row that failed.';


--
-- Name: COLUMN dead_letter.state; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.dead_letter.state IS 'open: waits for a person (and a weekly probe); retry_scheduled, blocked, awaiting_activation: dirsync tries again by itself; retrying; snoozed; resolved; ignored until the HR row changes.';


--
-- Name: COLUMN dead_letter.first_failed_at; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.dead_letter.first_failed_at IS 'First failure of the case.';


--
-- Name: COLUMN dead_letter.last_failed_at; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.dead_letter.last_failed_at IS 'Latest failure of the case.';


--
-- Name: COLUMN dead_letter.occurrences; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.dead_letter.occurrences IS 'How often it failed.';


--
-- Name: COLUMN dead_letter.next_retry_at; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.dead_letter.next_retry_at IS 'When dirsync tries again by itself.';


--
-- Name: COLUMN dead_letter.snooze_until; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.dead_letter.snooze_until IS 'Snoozed until then.';


--
-- Name: COLUMN dead_letter.first_run_id; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.dead_letter.first_run_id IS 'Run of the first failure.';


--
-- Name: COLUMN dead_letter.last_run_id; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.dead_letter.last_run_id IS 'Run of the latest failure.';


--
-- Name: COLUMN dead_letter.resolution; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.dead_letter.resolution IS 'succeeded: a later attempt went through; obsolete: nothing is left to be done; merged: the enterprise''s dead letter about the field stands for it.';


--
-- Name: COLUMN dead_letter.resolved_by; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.dead_letter.resolved_by IS 'Who resolved it: dirsync, or a person.';


--
-- Name: COLUMN dead_letter.resolved_at; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.dead_letter.resolved_at IS 'When it was resolved.';


--
-- Name: COLUMN dead_letter.note; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.dead_letter.note IS 'Reason given with ignore or snooze.';


--
-- Name: COLUMN dead_letter.version; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.dead_letter.version IS 'Raised at every change.';


--
-- Name: COLUMN dead_letter.swap_id; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.dead_letter.swap_id IS 'Of employees who want each other''s mobile number or e-mail address: the group of their cases, named by the oldest of them. None can go first; see the remedy. A retry of one retries all.';


--
-- Name: dead_letter_event; Type: TABLE; Schema: dirsync; Owner: root
--

CREATE TABLE dirsync.dead_letter_event (
    id bigint NOT NULL,
    dead_letter_id bigint NOT NULL,
    at timestamp with time zone DEFAULT now() NOT NULL,
    actor text DEFAULT 'dirsync'::text NOT NULL,
    event text NOT NULL,
    run_id bigint,
    note text,
    CONSTRAINT dead_letter_event_event_check CHECK ((event = ANY (ARRAY['opened'::text, 'changed'::text, 'retried'::text, 'resolved'::text, 'ignored'::text, 'snoozed'::text, 'reopened'::text])))
);


ALTER TABLE dirsync.dead_letter_event OWNER TO root;

--
-- Name: TABLE dead_letter_event; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON TABLE dirsync.dead_letter_event IS 'The story of a case: every change of state, by whom and why.';


--
-- Name: COLUMN dead_letter_event.id; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.dead_letter_event.id IS 'Number of the event.';


--
-- Name: COLUMN dead_letter_event.dead_letter_id; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.dead_letter_event.dead_letter_id IS 'The case.';


--
-- Name: COLUMN dead_letter_event.at; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.dead_letter_event.at IS 'When.';


--
-- Name: COLUMN dead_letter_event.actor; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.dead_letter_event.actor IS 'dirsync, or who decided.';


--
-- Name: COLUMN dead_letter_event.event; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.dead_letter_event.event IS 'What happened; changed: it failed again for another reason.';


--
-- Name: COLUMN dead_letter_event.run_id; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.dead_letter_event.run_id IS 'Run in which it happened.';


--
-- Name: COLUMN dead_letter_event.note; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.dead_letter_event.note IS 'Category, or the reason that a person gave.';


--
-- Name: dead_letter_event_id_seq; Type: SEQUENCE; Schema: dirsync; Owner: root
--

ALTER TABLE dirsync.dead_letter_event ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME dirsync.dead_letter_event_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);


--
-- Name: dead_letter_id_seq; Type: SEQUENCE; Schema: dirsync; Owner: root
--

ALTER TABLE dirsync.dead_letter ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME dirsync.dead_letter_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);


--
-- Name: department; Type: TABLE; Schema: dirsync; Owner: root
--

CREATE TABLE dirsync.department (
    enterprise_code text DEFAULT ''::text NOT NULL,
    dept_code text NOT NULL,
    parent_code text,
    active boolean NOT NULL,
    closed_at timestamp with time zone,
    first_missing_at timestamp with time zone,
    deleted_at timestamp with time zone,
    parked_at timestamp with time zone
);


ALTER TABLE dirsync.department OWNER TO root;

--
-- Name: TABLE department; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON TABLE dirsync.department IS 'Departments that HR has or once had, and which of them were deleted on the platform.';


--
-- Name: COLUMN department.enterprise_code; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.department.enterprise_code IS 'Enterprise the department belongs to; empty for a single enterprise.';


--
-- Name: COLUMN department.dept_code; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.department.dept_code IS 'Department code.';


--
-- Name: COLUMN department.parent_code; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.department.parent_code IS 'Code of the department above, as HR last said.';


--
-- Name: COLUMN department.active; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.department.active IS 'False when HR marks the department closed.';


--
-- Name: COLUMN department.closed_at; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.department.closed_at IS 'When HR closed it, if the mapping has closed_at; else when the closing was first noticed.';


--
-- Name: COLUMN department.first_missing_at; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.department.first_missing_at IS 'When HR first lacked a department it once had.';


--
-- Name: COLUMN department.deleted_at; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.department.deleted_at IS 'When the platform confirmed the deletion, or that there is no such department.';


--
-- Name: COLUMN department.parked_at; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.department.parked_at IS 'When the deletion ended in a dead letter; it is not planned again until HR changes or the case is retried.';


--
-- Name: deployment; Type: TABLE; Schema: dirsync; Owner: root
--

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


ALTER TABLE dirsync.deployment OWNER TO root;

--
-- Name: TABLE deployment; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON TABLE dirsync.deployment IS 'One row: whose memory this database is. Written by the first start; dirsync switch-account changes it.';


--
-- Name: COLUMN deployment.id; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.deployment.id IS 'Made by the first start, and anew when the account is switched. The queue''s name carries it.';


--
-- Name: COLUMN deployment.name; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.deployment.name IS 'What people call the deployment; null: nothing. dirsync doctor shows it.';


--
-- Name: COLUMN deployment.base_url; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.deployment.base_url IS 'Address of the platform, as new URL() writes it, without a slash at its end; embedded: the emulator of the trial, at whatever port.';


--
-- Name: COLUMN deployment.app_id; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.deployment.app_id IS 'Application id. Together with the address it is the account that everything here was learnt of.';


--
-- Name: COLUMN deployment.enterprise_code; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.deployment.enterprise_code IS 'PLATFORM_ENTERPRISE_CODE as the last start had it; another one is no other account.';


--
-- Name: COLUMN deployment.since; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.deployment.since IS 'Since when that account is remembered here: what HR changed before is read in full once more.';


--
-- Name: COLUMN deployment.only_row; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.deployment.only_row IS 'Always true: there is one row.';


--
-- Name: employee; Type: TABLE; Schema: dirsync; Owner: root
--

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
    CONSTRAINT employee_platform_state_check CHECK ((platform_state = ANY (ARRAY['unknown'::text, 'in_service'::text, 'absent'::text])))
);


ALTER TABLE dirsync.employee OWNER TO root;

--
-- Name: TABLE employee; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON TABLE dirsync.employee IS 'What the platform last confirmed of each employee, as hashes: no personal data is kept here.';


--
-- Name: COLUMN employee.enterprise_code; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.employee.enterprise_code IS 'Enterprise the employee belongs to; empty for a single enterprise.';


--
-- Name: COLUMN employee.userid; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.employee.userid IS 'The employee''s unique id in HR and on the platform; never changes.';


--
-- Name: COLUMN employee.active; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.employee.active IS 'False for a leaver, as HR last said.';


--
-- Name: COLUMN employee.source_hash; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.employee.source_hash IS 'Hash of the HR row as the last plan that passed saw it. Only plans write it, and only this row is sent.';


--
-- Name: COLUMN employee.acknowledged_hash; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.employee.acknowledged_hash IS 'Hash of the HR row of which the platform confirmed every field. Equal to source_hash: in step.';


--
-- Name: COLUMN employee.parked_hash; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.employee.parked_hash IS 'Hash of the HR row that ended in a dead letter, wholly or in part. It is not tried again while HR gives the same row.';


--
-- Name: COLUMN employee.acknowledged; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.employee.acknowledged IS 'Per field the hash of the value the platform last confirmed.';


--
-- Name: COLUMN employee.overwritten; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.employee.overwritten IS 'Per field that was sent, the hash of what the platform showed before; gone once it is seen to hold what was sent. Shown again beside an acknowledged value: not_applied.';


--
-- Name: COLUMN employee.withheld; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.employee.withheld IS 'Fields not sent because their feature is switched off for the enterprise (see field_block).';


--
-- Name: COLUMN employee.platform_state; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.employee.platform_state IS 'in_service: the platform answered for the employee; absent: it said there is none; unknown: not asked yet.';


--
-- Name: COLUMN employee.dept_code; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.employee.dept_code IS 'Department the platform last showed; a department with employees is never deleted.';


--
-- Name: COLUMN employee.vanished_at; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.employee.vanished_at IS 'When the employee was first missing from HR; null while HR has a row.';


--
-- Name: COLUMN employee.acknowledged_at; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.employee.acknowledged_at IS 'When the platform last confirmed anything.';


--
-- Name: COLUMN employee.queried_at; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.employee.queried_at IS 'When the platform was last asked about the employee.';


--
-- Name: execution; Type: SEQUENCE; Schema: dirsync; Owner: root
--

CREATE SEQUENCE dirsync.execution
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;


ALTER TABLE dirsync.execution OWNER TO root;

--
-- Name: SEQUENCE execution; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON SEQUENCE dirsync.execution IS 'Numbers the executions of jobs (see pending.execution).';


--
-- Name: refund; Type: TABLE; Schema: dirsync; Owner: root
--

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
    message text,
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


ALTER TABLE dirsync.refund OWNER TO root;

--
-- Name: TABLE refund; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON TABLE dirsync.refund IS 'Refunds that dirsync has sent: one row per external refund number, written before it is sent and never deleted.';


--
-- Name: COLUMN refund.outer_refund_no; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.refund.outer_refund_no IS 'External refund number; never sent a second time.';


--
-- Name: COLUMN refund.outer_trade_no; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.refund.outer_trade_no IS 'External trade number of the refunded order.';


--
-- Name: COLUMN refund.enterprise_code; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.refund.enterprise_code IS 'Enterprise; empty for a single enterprise.';


--
-- Name: COLUMN refund.refund_amount; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.refund.refund_amount IS 'Amount of this refund.';


--
-- Name: COLUMN refund.refunded_before; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.refund.refunded_before IS 'What the order record said to be refunded of the order before this refund; null: it did not say.';


--
-- Name: COLUMN refund.state; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.refund.state IS 'requested: being sent; unknown: sent, perhaps carried out; accepted; rejected: not carried out; notified: the platform has sent its notification.';


--
-- Name: COLUMN refund.requested_by; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.refund.requested_by IS 'Database user, and who asked.';


--
-- Name: COLUMN refund.sent_at; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.refund.sent_at IS 'When it was written down; it was sent within half a minute of that, or not at all.';


--
-- Name: COLUMN refund.settled_at; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.refund.settled_at IS 'When its outcome became known.';


--
-- Name: COLUMN refund.notified_at; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.refund.notified_at IS 'When the platform''s notification was stored.';


--
-- Name: COLUMN refund.trade_no; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.refund.trade_no IS 'Trade number of the platform.';


--
-- Name: COLUMN refund.platform_code; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.refund.platform_code IS 'Error code that the platform answered with. The refund is unknown where the code is not listed as a refusal of refunds.';


--
-- Name: COLUMN refund.trace_id; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.refund.trace_id IS 'x-trace-id of the failed call: name it to the vendor''s support.';


--
-- Name: COLUMN refund.message; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.refund.message IS 'What is known about the outcome, without personal data.';


--
-- Name: COLUMN refund.settle_attempts; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.refund.settle_attempts IS 'How often the order record was asked about it.';


--
-- Name: COLUMN refund.next_settle_at; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.refund.next_settle_at IS 'When the order record is asked next; null: it cannot help, or the outcome is known.';


--
-- Name: COLUMN refund.left_to_person_at; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.refund.left_to_person_at IS 'Since when an unknown refund waits for a person, because asking again will not tell; null: the order record may still tell.';


--
-- Name: COLUMN refund.resolved_by; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.refund.resolved_by IS 'Who decided about an unknown outcome; null: nobody had to.';


--
-- Name: COLUMN refund.resolution; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.refund.resolution IS 'The reason given with that decision.';


--
-- Name: topup; Type: TABLE; Schema: dirsync; Owner: root
--

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
    message text,
    resolved_by text,
    resolution text,
    CONSTRAINT topup_amount_check CHECK ((amount > (0)::numeric)),
    CONSTRAINT topup_check CHECK (((state = ANY (ARRAY['requested'::text, 'unknown'::text])) = (settled_at IS NULL))),
    CONSTRAINT topup_check1 CHECK (((resolved_by IS NULL) = (resolution IS NULL))),
    CONSTRAINT topup_state_check CHECK ((state = ANY (ARRAY['requested'::text, 'unknown'::text, 'accepted'::text, 'rejected'::text])))
);


ALTER TABLE dirsync.topup OWNER TO root;

--
-- Name: TABLE topup; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON TABLE dirsync.topup IS 'Top-up applications that dirsync has sent: one row per external business number, written before it is sent and never deleted.';


--
-- Name: COLUMN topup.external_code; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.topup.external_code IS 'External business number; never sent a second time.';


--
-- Name: COLUMN topup.account_openid; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.topup.account_openid IS 'Points account.';


--
-- Name: COLUMN topup.enterprise_code; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.topup.enterprise_code IS 'Enterprise; empty for a single enterprise.';


--
-- Name: COLUMN topup.amount; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.topup.amount IS 'Amount applied for.';


--
-- Name: COLUMN topup.although_open; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.topup.although_open IS 'External business numbers of open top-ups of the same account, beside which it was wanted all the same.';


--
-- Name: COLUMN topup.state; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.topup.state IS 'requested: being sent; unknown: sent, perhaps carried out, a person has to find out; accepted; rejected: not carried out.';


--
-- Name: COLUMN topup.requested_by; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.topup.requested_by IS 'Database user, and who asked.';


--
-- Name: COLUMN topup.sent_at; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.topup.sent_at IS 'When it was written down, just before it was sent.';


--
-- Name: COLUMN topup.settled_at; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.topup.settled_at IS 'When its outcome became known.';


--
-- Name: COLUMN topup.apply_charge_openid; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.topup.apply_charge_openid IS 'The platform''s open id of the application.';


--
-- Name: COLUMN topup.platform_code; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.topup.platform_code IS 'Error code that the platform answered with. The top-up is unknown where the code is not listed as a refusal of top-ups.';


--
-- Name: COLUMN topup.trace_id; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.topup.trace_id IS 'x-trace-id of the failed call: name it to the vendor''s support.';


--
-- Name: COLUMN topup.message; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.topup.message IS 'What is known about the outcome, without personal data.';


--
-- Name: COLUMN topup.resolved_by; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.topup.resolved_by IS 'Who decided about an unknown outcome; null: nobody had to.';


--
-- Name: COLUMN topup.resolution; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.topup.resolution IS 'The reason given with that decision.';


--
-- Name: failed_syncs; Type: VIEW; Schema: dirsync; Owner: root
--

CREATE VIEW dirsync.failed_syncs AS
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
            COALESCE(refund.message, 'whether it was carried out is unknown'::text) AS "coalesce",
                CASE
                    WHEN person.waits THEN (('Find out from the vendor whether it was carried out, then: dirsync refund resolve '::text || refund.outer_refund_no) || ' --as accepted (or rejected) --reason "…"'::text)
                    ELSE ('Nothing yet: the service asks the order record by itself. Now: dirsync refund settle '::text || refund.outer_refund_no)
                END AS "case",
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
            COALESCE(topup.message, 'whether it was carried out is unknown'::text) AS "coalesce",
            (('See in the platform''s back office whether it is there, then: dirsync topup resolve '::text || topup.external_code) || ' --as accepted (or rejected) --reason "…"'::text),
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


ALTER TABLE dirsync.failed_syncs OWNER TO root;

--
-- Name: VIEW failed_syncs; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON VIEW dirsync.failed_syncs IS 'What a reviewer reads first: every case that is neither resolved nor ignored, and every refund and top-up of unknown outcome, open ones first, the latest on top. Act with dirsync.retry(id), ignore(id, reason), snooze(id, until, reason). A refund or top-up has no id, for none of these may send money again or hide that it is missing: its remedy says what to do.';


--
-- Name: COLUMN failed_syncs.id; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.failed_syncs.id IS 'Number of the case, for retry, ignore and snooze; null for a refund or top-up, see its remedy.';


--
-- Name: COLUMN failed_syncs.enterprise_code; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.failed_syncs.enterprise_code IS 'Enterprise; empty for a single enterprise.';


--
-- Name: COLUMN failed_syncs.entity; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.failed_syncs.entity IS 'employee, department, mirror, refund, topup, or enterprise: a field that is withheld from all of its employees.';


--
-- Name: COLUMN failed_syncs.entity_key; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.failed_syncs.entity_key IS 'User id, department code, the mirror (orders, accounts, taxpayers), the number of a refund or top-up, or the enterprise code, (single enterprise) where there is none.';


--
-- Name: COLUMN failed_syncs.operation; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.failed_syncs.operation IS 'The job that failed: update-employee, delete-department, bind-openid, mirror-orders, mirror-accounts, mirror-taxpayers; or send-refund, send-topup.';


--
-- Name: COLUMN failed_syncs.field; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.failed_syncs.field IS 'The field that is held back (bind-openid: the merchant application id; mirror-taxpayers: the identification number; mirror-orders: older_orders for those asked for one by one); empty: the whole entity.';


--
-- Name: COLUMN failed_syncs.category; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.failed_syncs.category IS 'Kind of failure: duplicate_mobile, missing_department, invalid_hr_row, not_on_platform, not_applied, left_hr, unknown_payer …';


--
-- Name: COLUMN failed_syncs.platform_code; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.failed_syncs.platform_code IS 'Error code of the platform (specification section 7); null when dirsync found it itself.';


--
-- Name: COLUMN failed_syncs.message; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.failed_syncs.message IS 'What failed, without personal data.';


--
-- Name: COLUMN failed_syncs.remedy; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.failed_syncs.remedy IS 'What to do about it.';


--
-- Name: COLUMN failed_syncs.blocked_by; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.failed_syncs.blocked_by IS 'What has to change first: for a duplicate mobile or e-mail address the user id of its holder. The case is retried as soon as that changes.';


--
-- Name: COLUMN failed_syncs.occurrences; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.failed_syncs.occurrences IS 'How often it failed.';


--
-- Name: COLUMN failed_syncs.first_failed_at; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.failed_syncs.first_failed_at IS 'First failure of the case.';


--
-- Name: COLUMN failed_syncs.last_failed_at; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.failed_syncs.last_failed_at IS 'Latest failure of the case.';


--
-- Name: COLUMN failed_syncs.state; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.failed_syncs.state IS 'open: waits for a person (and a weekly probe); retry_scheduled, blocked, awaiting_activation: dirsync tries again by itself; retrying; snoozed; resolved; ignored until the HR row changes.';


--
-- Name: COLUMN failed_syncs.next_retry_at; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.failed_syncs.next_retry_at IS 'When dirsync tries again by itself.';


--
-- Name: COLUMN failed_syncs.swap_id; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.failed_syncs.swap_id IS 'Of employees who want each other''s mobile number or e-mail address: the group of their cases, named by the oldest of them. None can go first; see the remedy. A retry of one retries all.';


--
-- Name: field_block; Type: TABLE; Schema: dirsync; Owner: root
--

CREATE TABLE dirsync.field_block (
    enterprise_code text DEFAULT ''::text NOT NULL,
    field text NOT NULL,
    codes jsonb,
    platform_code bigint,
    message text DEFAULT ''::text NOT NULL,
    since timestamp with time zone DEFAULT now() NOT NULL,
    probe_userid text,
    probing boolean DEFAULT false NOT NULL,
    probes integer DEFAULT 0 NOT NULL,
    next_probe_at timestamp with time zone DEFAULT now() NOT NULL
);


ALTER TABLE dirsync.field_block OWNER TO root;

--
-- Name: TABLE field_block; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON TABLE dirsync.field_block IS 'Fields that are withheld from an enterprise''s employees because the platform says that they are switched off. One dead letter of entity enterprise stands for each; the block goes when any employee gets the field through.';


--
-- Name: COLUMN field_block.enterprise_code; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.field_block.enterprise_code IS 'Enterprise; empty for a single enterprise.';


--
-- Name: COLUMN field_block.field; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.field_block.field IS 'Field that is not sent.';


--
-- Name: COLUMN field_block.codes; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.field_block.codes IS 'employee_attribute: lists of attributeCodes; values that have all of one list are withheld. Null: the field as a whole.';


--
-- Name: COLUMN field_block.platform_code; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.field_block.platform_code IS 'Error code of the platform.';


--
-- Name: COLUMN field_block.message; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.field_block.message IS 'What the platform said.';


--
-- Name: COLUMN field_block.since; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.field_block.since IS 'Since when.';


--
-- Name: COLUMN field_block.probe_userid; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.field_block.probe_userid IS 'Who tries, or tried last, whether the field gets through; the next one in order follows.';


--
-- Name: COLUMN field_block.probing; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.field_block.probing IS 'That employee has been asked to try.';


--
-- Name: COLUMN field_block.probes; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.field_block.probes IS 'Probes that failed.';


--
-- Name: COLUMN field_block.next_probe_at; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.field_block.next_probe_at IS 'When it is tried again, whatever a person decided about the dead letter.';


--
-- Name: field_refusal; Type: TABLE; Schema: dirsync; Owner: root
--

CREATE TABLE dirsync.field_refusal (
    enterprise_code text DEFAULT ''::text NOT NULL,
    field text NOT NULL,
    userid text NOT NULL,
    value_hash text NOT NULL,
    codes text[],
    run_id bigint,
    refused_at timestamp with time zone DEFAULT now() NOT NULL
);


ALTER TABLE dirsync.field_refusal OWNER TO root;

--
-- Name: TABLE field_refusal; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON TABLE dirsync.field_refusal IS 'Refusals that may mean that a field is switched off for everybody: the latest one per field and employee.';


--
-- Name: COLUMN field_refusal.enterprise_code; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.field_refusal.enterprise_code IS 'Enterprise; empty for a single enterprise.';


--
-- Name: COLUMN field_refusal.field; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.field_refusal.field IS 'The field that the platform refused.';


--
-- Name: COLUMN field_refusal.userid; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.field_refusal.userid IS 'Whose value it was.';


--
-- Name: COLUMN field_refusal.value_hash; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.field_refusal.value_hash IS 'Hash of the value: refusals of different values are about the field.';


--
-- Name: COLUMN field_refusal.codes; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.field_refusal.codes IS 'employee_attribute: the attributeCodes that the value had; else null.';


--
-- Name: COLUMN field_refusal.run_id; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.field_refusal.run_id IS 'Run in which it was refused.';


--
-- Name: COLUMN field_refusal.refused_at; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.field_refusal.refused_at IS 'When.';


--
-- Name: halt; Type: TABLE; Schema: dirsync; Owner: root
--

CREATE TABLE dirsync.halt (
    scope text NOT NULL,
    category text NOT NULL,
    platform_code bigint,
    message text NOT NULL,
    remedy text NOT NULL,
    raised_by text DEFAULT 'dirsync'::text NOT NULL,
    since timestamp with time zone DEFAULT now() NOT NULL,
    probes integer DEFAULT 0 NOT NULL,
    next_probe_at timestamp with time zone DEFAULT now() NOT NULL
);


ALTER TABLE dirsync.halt OWNER TO root;

--
-- Name: TABLE halt; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON TABLE dirsync.halt IS 'Why work stands still: one row for everything (*) or for one enterprise. It heals by itself when a probe succeeds.';


--
-- Name: COLUMN halt.scope; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.halt.scope IS '* for everything, else the enterprise code.';


--
-- Name: COLUMN halt.category; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.halt.category IS 'clock_skew, credentials, enterprise_code, platform_unavailable …; paused: a person stopped all calls.';


--
-- Name: COLUMN halt.platform_code; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.halt.platform_code IS 'Error code of the platform, if it gave one.';


--
-- Name: COLUMN halt.message; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.halt.message IS 'What is wrong.';


--
-- Name: COLUMN halt.remedy; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.halt.remedy IS 'What to do about it.';


--
-- Name: COLUMN halt.raised_by; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.halt.raised_by IS 'dirsync, or the person who paused all calls.';


--
-- Name: COLUMN halt.since; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.halt.since IS 'Since when.';


--
-- Name: COLUMN halt.probes; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.halt.probes IS 'Probes that failed.';


--
-- Name: COLUMN halt.next_probe_at; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.halt.next_probe_at IS 'When the next job is let through to see whether it works again; infinity: not before resume().';


--
-- Name: job_schedule; Type: TABLE; Schema: dirsync; Owner: root
--

CREATE TABLE dirsync.job_schedule (
    job text NOT NULL,
    expression text NOT NULL,
    next_due_at timestamp with time zone NOT NULL
);


ALTER TABLE dirsync.job_schedule OWNER TO root;

--
-- Name: TABLE job_schedule; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON TABLE dirsync.job_schedule IS 'Next tick of each cron job, as the latest scheduler saw it.';


--
-- Name: COLUMN job_schedule.job; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.job_schedule.job IS 'Name of the cron job.';


--
-- Name: COLUMN job_schedule.expression; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.job_schedule.expression IS 'Its cron expression; another one makes next_due_at void.';


--
-- Name: COLUMN job_schedule.next_due_at; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.job_schedule.next_due_at IS 'When it is due next; in the past at a start: the tick was missed.';


--
-- Name: job_tick; Type: TABLE; Schema: dirsync; Owner: root
--

CREATE TABLE dirsync.job_tick (
    job text NOT NULL,
    due_at timestamp with time zone NOT NULL,
    claimed_by uuid NOT NULL,
    claimed_at timestamp with time zone DEFAULT now() NOT NULL,
    finished_at timestamp with time zone,
    error text
);


ALTER TABLE dirsync.job_tick OWNER TO root;

--
-- Name: TABLE job_tick; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON TABLE dirsync.job_tick IS 'Ticks of the cron jobs: the unique row decides which process runs a tick.';


--
-- Name: COLUMN job_tick.job; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.job_tick.job IS 'Name of the cron job.';


--
-- Name: COLUMN job_tick.due_at; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.job_tick.due_at IS 'When the tick was due.';


--
-- Name: COLUMN job_tick.claimed_by; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.job_tick.claimed_by IS 'The process that ran it.';


--
-- Name: COLUMN job_tick.claimed_at; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.job_tick.claimed_at IS 'When it was claimed.';


--
-- Name: COLUMN job_tick.finished_at; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.job_tick.finished_at IS 'When it ended.';


--
-- Name: COLUMN job_tick.error; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.job_tick.error IS 'Why it failed.';


--
-- Name: limit_account; Type: TABLE; Schema: dirsync; Owner: root
--

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


ALTER TABLE dirsync.limit_account OWNER TO root;

--
-- Name: TABLE limit_account; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON TABLE dirsync.limit_account IS 'The enterprise''s limit accounts (specification 2.7) as the platform last showed them.';


--
-- Name: COLUMN limit_account.enterprise_code; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.limit_account.enterprise_code IS 'Enterprise; empty for a single enterprise.';


--
-- Name: COLUMN limit_account.account_openid; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.limit_account.account_openid IS 'Account open id.';


--
-- Name: COLUMN limit_account.name; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.limit_account.name IS 'Account name.';


--
-- Name: COLUMN limit_account.product_category; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.limit_account.product_category IS 'Product type: 1 welfare quota; 2 staff lunch; 3 staff car use; 4 staff communication; 12 care quota; others occur.';


--
-- Name: COLUMN limit_account.balance; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.limit_account.balance IS 'Balance.';


--
-- Name: COLUMN limit_account.status; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.limit_account.status IS '1 valid; 2 invalid.';


--
-- Name: COLUMN limit_account.first_seen_at; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.limit_account.first_seen_at IS 'When dirsync first saw it.';


--
-- Name: COLUMN limit_account.changed_at; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.limit_account.changed_at IS 'When dirsync last saw it differ.';


--
-- Name: COLUMN limit_account.gone_at; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.limit_account.gone_at IS 'Since when the platform does not show it any more; null while it does.';


--
-- Name: limit_sub_account; Type: TABLE; Schema: dirsync; Owner: root
--

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


ALTER TABLE dirsync.limit_sub_account OWNER TO root;

--
-- Name: TABLE limit_sub_account; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON TABLE dirsync.limit_sub_account IS 'Sub-accounts of the limit accounts, from which employees are granted.';


--
-- Name: COLUMN limit_sub_account.enterprise_code; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.limit_sub_account.enterprise_code IS 'Enterprise; empty for a single enterprise.';


--
-- Name: COLUMN limit_sub_account.account_openid; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.limit_sub_account.account_openid IS 'The account it belongs to.';


--
-- Name: COLUMN limit_sub_account.id; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.limit_sub_account.id IS 'Sub-account id.';


--
-- Name: COLUMN limit_sub_account.name; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.limit_sub_account.name IS 'Sub-account name.';


--
-- Name: COLUMN limit_sub_account.status; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.limit_sub_account.status IS '1 valid; 2 invalid. Only valid ones can be granted from.';


--
-- Name: COLUMN limit_sub_account.first_seen_at; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.limit_sub_account.first_seen_at IS 'When dirsync first saw it.';


--
-- Name: COLUMN limit_sub_account.changed_at; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.limit_sub_account.changed_at IS 'When dirsync last saw it differ.';


--
-- Name: COLUMN limit_sub_account.gone_at; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.limit_sub_account.gone_at IS 'Since when the platform does not show it any more; null while it does.';


--
-- Name: migration; Type: TABLE; Schema: dirsync; Owner: root
--

CREATE TABLE dirsync.migration (
    name text NOT NULL,
    applied_at timestamp with time zone DEFAULT now() NOT NULL
);


ALTER TABLE dirsync.migration OWNER TO root;

--
-- Name: TABLE migration; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON TABLE dirsync.migration IS 'Which migrations this database has had.';


--
-- Name: COLUMN migration.name; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.migration.name IS 'File of the migration.';


--
-- Name: COLUMN migration.applied_at; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.migration.applied_at IS 'When it was applied.';


--
-- Name: mirror_day; Type: TABLE; Schema: dirsync; Owner: root
--

CREATE TABLE dirsync.mirror_day (
    enterprise_code text DEFAULT ''::text NOT NULL,
    day date NOT NULL,
    read_at timestamp with time zone NOT NULL
);


ALTER TABLE dirsync.mirror_day OWNER TO root;

--
-- Name: TABLE mirror_day; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON TABLE dirsync.mirror_day IS 'Days of payment orders that were read to the end.';


--
-- Name: COLUMN mirror_day.enterprise_code; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.mirror_day.enterprise_code IS 'Enterprise; empty for a single enterprise.';


--
-- Name: COLUMN mirror_day.day; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.mirror_day.day IS 'The day, in GMT+8.';


--
-- Name: COLUMN mirror_day.read_at; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.mirror_day.read_at IS 'When it was last read to the end.';


--
-- Name: mirror_task; Type: TABLE; Schema: dirsync; Owner: root
--

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


ALTER TABLE dirsync.mirror_task OWNER TO root;

--
-- Name: TABLE mirror_task; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON TABLE dirsync.mirror_task IS 'What a run of a mirror has still to read, in this order, and how far it has come: whoever takes the run up after a crash goes on from here.';


--
-- Name: COLUMN mirror_task.run_id; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.mirror_task.run_id IS 'The run.';


--
-- Name: COLUMN mirror_task."position"; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.mirror_task."position" IS 'Order within the run.';


--
-- Name: COLUMN mirror_task.enterprise_code; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.mirror_task.enterprise_code IS 'Enterprise to ask for; empty for a single enterprise.';


--
-- Name: COLUMN mirror_task.part; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.mirror_task.part IS 'What fails and heals as one, as the field of its dead letter: an identification number; older_orders for orders asked for one by one; else empty.';


--
-- Name: COLUMN mirror_task.entity_key; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.mirror_task.entity_key IS 'orders: a day (yyyy-MM-dd, GMT+8) or the number of one order; taxpayers: the identification number; accounts: empty.';


--
-- Name: COLUMN mirror_task.detail; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.mirror_task.detail IS 'orders: day or order; taxpayers: the nature that is asked for; else empty.';


--
-- Name: COLUMN mirror_task.next_page; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.mirror_task.next_page IS 'The page to read next; those before it are stored.';


--
-- Name: COLUMN mirror_task.pass; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.mirror_task.pass IS 'Counts the passes over the pages: rows that moved between pages ask for another one.';


--
-- Name: COLUMN mirror_task.most; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.mirror_task.most IS 'The most rows that the platform counted during the pass: fewer at its end, and some may have slipped through.';


--
-- Name: COLUMN mirror_task.calls; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.mirror_task.calls IS 'Calls to the platform so far.';


--
-- Name: COLUMN mirror_task.changed; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.mirror_task.changed IS 'Rows written so far because they were new or different.';


--
-- Name: COLUMN mirror_task.attempts; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.mirror_task.attempts IS 'Failed attempts in a row that count.';


--
-- Name: COLUMN mirror_task.not_before; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.mirror_task.not_before IS 'Earliest moment of the next attempt.';


--
-- Name: openid_binding; Type: TABLE; Schema: dirsync; Owner: root
--

CREATE TABLE dirsync.openid_binding (
    enterprise_code text DEFAULT ''::text NOT NULL,
    userid text NOT NULL,
    seller_appid text NOT NULL,
    open_userid text NOT NULL,
    bound_at timestamp with time zone DEFAULT now() NOT NULL
);


ALTER TABLE dirsync.openid_binding OWNER TO root;

--
-- Name: TABLE openid_binding; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON TABLE dirsync.openid_binding IS 'Open id of an employee for a merchant application (specification 4.5). It goes when the platform calls the account absent; one that comes back is bound anew.';


--
-- Name: COLUMN openid_binding.enterprise_code; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.openid_binding.enterprise_code IS 'Enterprise the employee belongs to; empty for a single enterprise.';


--
-- Name: COLUMN openid_binding.userid; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.openid_binding.userid IS 'The employee.';


--
-- Name: COLUMN openid_binding.seller_appid; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.openid_binding.seller_appid IS 'Merchant application id.';


--
-- Name: COLUMN openid_binding.open_userid; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.openid_binding.open_userid IS 'Externally visible open id; the buyer_open_id of the merchant''s interfaces.';


--
-- Name: COLUMN openid_binding.bound_at; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.openid_binding.bound_at IS 'When dirsync learnt it.';


--
-- Name: pacer; Type: TABLE; Schema: dirsync; Owner: root
--

CREATE UNLOGGED TABLE dirsync.pacer (
    gate text NOT NULL,
    next_at timestamp with time zone NOT NULL,
    reserved_at timestamp with time zone,
    leased bigint DEFAULT 0 NOT NULL,
    holder text,
    previous_holder text,
    paused_until timestamp with time zone,
    pause_reason text
);


ALTER TABLE dirsync.pacer OWNER TO root;

--
-- Name: TABLE pacer; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON TABLE dirsync.pacer IS 'The gates for calls to the platform: processes reserve evenly spaced slots by moving next_at. Not used where Redis keeps them.';


--
-- Name: COLUMN pacer.gate; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.pacer.gate IS 'Name of the gate: platform, or operation: and the operation that has a budget of its own.';


--
-- Name: COLUMN pacer.next_at; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.pacer.next_at IS 'The first slot that nobody has reserved yet; in the past when there is less to do than the rate permits.';


--
-- Name: COLUMN pacer.reserved_at; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.pacer.reserved_at IS 'When a slot was last reserved: a clock that is before that was put back.';


--
-- Name: COLUMN pacer.leased; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.pacer.leased IS 'Slots ever reserved.';


--
-- Name: COLUMN pacer.holder; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.pacer.holder IS 'The process that reserved last.';


--
-- Name: COLUMN pacer.previous_holder; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.pacer.previous_holder IS 'The process that reserved before; the same one when it is alone.';


--
-- Name: COLUMN pacer.paused_until; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.pacer.paused_until IS 'No call before this moment, because the platform asked for it.';


--
-- Name: COLUMN pacer.pause_reason; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.pacer.pause_reason IS 'What the platform answered that made us pause.';


--
-- Name: payment_order; Type: TABLE; Schema: dirsync; Owner: root
--

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


ALTER TABLE dirsync.payment_order OWNER TO root;

--
-- Name: TABLE payment_order; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON TABLE dirsync.payment_order IS 'Payment orders (specification 2.6) as the platform last showed them. The payer''s name and the e-commerce detail are not kept.';


--
-- Name: COLUMN payment_order.enterprise_code; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.payment_order.enterprise_code IS 'Enterprise; empty for a single enterprise.';


--
-- Name: COLUMN payment_order.trade_no; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.payment_order.trade_no IS 'Payment order number.';


--
-- Name: COLUMN payment_order.out_trade_no; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.payment_order.out_trade_no IS 'Business order number.';


--
-- Name: COLUMN payment_order.userid; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.payment_order.userid IS 'Who paid: the employee''s user id, as in dirsync.employee.';


--
-- Name: COLUMN payment_order.subject; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.payment_order.subject IS 'What was paid for.';


--
-- Name: COLUMN payment_order.total_amount; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.payment_order.total_amount IS 'Total amount.';


--
-- Name: COLUMN payment_order.pay_amount; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.payment_order.pay_amount IS 'Amount actually paid.';


--
-- Name: COLUMN payment_order.refund_amount; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.payment_order.refund_amount IS 'Refunded amount.';


--
-- Name: COLUMN payment_order.status; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.payment_order.status IS '1 pending payment; 2 paying; 3 completed; 4 pending refund; 5 refunding; 6 refunded; 7 reversed.';


--
-- Name: COLUMN payment_order.asset_code; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.payment_order.asset_code IS 'What was paid with: POINT points; QUOTA quota; CASH cash; THIRD third-party asset.';


--
-- Name: COLUMN payment_order.created_at; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.payment_order.created_at IS 'When the order was made (create_time).';


--
-- Name: COLUMN payment_order.paid_at; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.payment_order.paid_at IS 'When it was paid (pay_time).';


--
-- Name: COLUMN payment_order.refunded_at; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.payment_order.refunded_at IS 'When it was refunded (refund_time).';


--
-- Name: COLUMN payment_order.listed_on; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.payment_order.listed_on IS 'The day, in GMT+8, under which the platform lists the order.';


--
-- Name: COLUMN payment_order.asked_at; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.payment_order.asked_at IS 'When the order was last asked for by itself: its day has left the window, and something was under way, or dirsync has refunded it.';


--
-- Name: COLUMN payment_order.first_seen_at; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.payment_order.first_seen_at IS 'When dirsync first saw it.';


--
-- Name: COLUMN payment_order.changed_at; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.payment_order.changed_at IS 'When dirsync last saw it differ.';


--
-- Name: pending; Type: TABLE; Schema: dirsync; Owner: root
--

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


ALTER TABLE dirsync.pending OWNER TO root;

--
-- Name: TABLE pending; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON TABLE dirsync.pending IS 'The outbox: entities whose desired state the platform has not acknowledged. The queue is fed from here and may be wiped at any moment.';


--
-- Name: COLUMN pending.operation; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.pending.operation IS 'Which job does the work.';


--
-- Name: COLUMN pending.enterprise_code; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.pending.enterprise_code IS 'Enterprise; empty for a single enterprise.';


--
-- Name: COLUMN pending.entity_key; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.pending.entity_key IS 'User id or department code.';


--
-- Name: COLUMN pending.detail; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.pending.detail IS 'bind-openid: the merchant application id; else empty.';


--
-- Name: COLUMN pending.run_id; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.pending.run_id IS 'The run that asked last; it is done when none of its rows is left here.';


--
-- Name: COLUMN pending.named; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.pending.named IS 'True where a person named the entity: it is sent as HR has it now, whatever a plan saw.';


--
-- Name: COLUMN pending.priority; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.pending.priority IS '1 named and retried entities, 3 changes, 5 departments and open ids, 7 full runs.';


--
-- Name: COLUMN pending.wave; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.pending.wave IS 'Rows of a later wave wait until the run has no row of an earlier one: children before parents.';


--
-- Name: COLUMN pending.version; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.pending.version IS 'Raised whenever the work is asked for again; an outcome removes only the version it saw.';


--
-- Name: COLUMN pending.execution; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.pending.execution IS 'The execution that began last; the outcome of an earlier one changes nothing.';


--
-- Name: COLUMN pending.attempts; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.pending.attempts IS 'Failed attempts in a row that count (transient failures).';


--
-- Name: COLUMN pending.starts; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.pending.starts IS 'Executions begun without an outcome: a job that kills its process again and again is parked.';


--
-- Name: COLUMN pending.sent_unknown; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.pending.sent_unknown IS 'True while an earlier execution may have changed the platform without telling: it died, or its answer was lost. The outcome that ends the work releases whoever waits for the employee.';


--
-- Name: COLUMN pending.not_before; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.pending.not_before IS 'Earliest moment of the next attempt; infinity: it waits for a plan (replan_at).';


--
-- Name: COLUMN pending.replan_at; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.pending.replan_at IS 'When a worker found another HR row than the plan saw. The row then waits (not_before is infinity) until a plan has judged it.';


--
-- Name: COLUMN pending.enqueued_at; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.pending.enqueued_at IS 'When it was put into the queue; null: not there.';


--
-- Name: COLUMN pending.created_at; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.pending.created_at IS 'Since when the entity is out of step.';


--
-- Name: planned_work; Type: TABLE; Schema: dirsync; Owner: root
--

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
    CONSTRAINT planned_work_operation_check CHECK ((operation = ANY (ARRAY['update-employee'::text, 'delete-department'::text])))
);


ALTER TABLE dirsync.planned_work OWNER TO root;

--
-- Name: TABLE planned_work; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON TABLE dirsync.planned_work IS 'The plans of held runs, entity by entity: what approve carries out, and nothing else. Kept 30 days after the run has ended.';


--
-- Name: COLUMN planned_work.run_id; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.planned_work.run_id IS 'The held run.';


--
-- Name: COLUMN planned_work.operation; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.planned_work.operation IS 'Which job would do the work.';


--
-- Name: COLUMN planned_work.enterprise_code; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.planned_work.enterprise_code IS 'Enterprise; empty for a single enterprise.';


--
-- Name: COLUMN planned_work.entity_key; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.planned_work.entity_key IS 'User id or department code.';


--
-- Name: COLUMN planned_work.reason; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.planned_work.reason IS 'Why there is work: new, changed, asked, left, vanished, delete; null: the row is only remembered.';


--
-- Name: COLUMN planned_work.active; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.planned_work.active IS 'Whether HR has the employee as active; null for a department, or where HR has no row.';


--
-- Name: COLUMN planned_work.source_hash; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.planned_work.source_hash IS 'Hash of the HR row as the plan saw it; null where HR has no row.';


--
-- Name: COLUMN planned_work.previous_hash; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.planned_work.previous_hash IS 'employee.source_hash at that time: a plan that passed later goes before this one.';


--
-- Name: COLUMN planned_work.wave; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.planned_work.wave IS 'Departments: children before parents.';


--
-- Name: platform_token; Type: TABLE; Schema: dirsync; Owner: root
--

CREATE TABLE dirsync.platform_token (
    base_url text NOT NULL,
    app_id text NOT NULL,
    sealed_token bytea NOT NULL,
    created_at timestamp with time zone NOT NULL,
    expires_at timestamp with time zone NOT NULL
);


ALTER TABLE dirsync.platform_token OWNER TO root;

--
-- Name: TABLE platform_token; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON TABLE dirsync.platform_token IS 'The platform''s access token, shared by all processes. May be emptied at any time: the next call creates a new one.';


--
-- Name: COLUMN platform_token.base_url; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.platform_token.base_url IS 'Base address of the platform that issued it.';


--
-- Name: COLUMN platform_token.app_id; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.platform_token.app_id IS 'Application id it was issued to.';


--
-- Name: COLUMN platform_token.sealed_token; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.platform_token.sealed_token IS 'The token, encrypted (AES-256-GCM: nonce, tag, text) with a key derived from the application secret; unreadable once the secret changes.';


--
-- Name: COLUMN platform_token.created_at; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.platform_token.created_at IS 'When it was asked for; it is renewed after 80 % of its life.';


--
-- Name: COLUMN platform_token.expires_at; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.platform_token.expires_at IS 'When it ends by the platform''s word.';


--
-- Name: process; Type: TABLE; Schema: dirsync; Owner: root
--

CREATE TABLE dirsync.process (
    id uuid NOT NULL,
    host text NOT NULL,
    pid integer NOT NULL,
    roles text[] NOT NULL,
    version text NOT NULL,
    started_at timestamp with time zone DEFAULT now() NOT NULL,
    heartbeat_at timestamp with time zone DEFAULT now() NOT NULL,
    pacer jsonb
);


ALTER TABLE dirsync.process OWNER TO root;

--
-- Name: TABLE process; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON TABLE dirsync.process IS 'Processes of dirsync that are alive: each renews its row every few seconds.';


--
-- Name: COLUMN process.id; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.process.id IS 'Made at start.';


--
-- Name: COLUMN process.host; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.process.host IS 'Host name.';


--
-- Name: COLUMN process.pid; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.process.pid IS 'Process id on that host.';


--
-- Name: COLUMN process.roles; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.process.roles IS 'scheduler, worker, console, notifications.';


--
-- Name: COLUMN process.version; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.process.version IS 'Version of dirsync.';


--
-- Name: COLUMN process.started_at; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.process.started_at IS 'Start of the process.';


--
-- Name: COLUMN process.heartbeat_at; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.process.heartbeat_at IS 'Last sign of life; older than 15 seconds counts as dead.';


--
-- Name: COLUMN process.pacer; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.process.pacer IS 'How the pacer of a worker stood at its last sign of life: ratePerSecond, learnt, ceiling, waiting, pausedForMs, concurrency. Null for a process without one.';


--
-- Name: sync_run; Type: TABLE; Schema: dirsync; Owner: root
--

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
    rejudge_at timestamp with time zone,
    judged_at timestamp with time zone,
    approved boolean DEFAULT false NOT NULL,
    decided_by text,
    decided_at timestamp with time zone,
    decision_reason text,
    cancelled_at timestamp with time zone,
    sweep boolean DEFAULT true NOT NULL,
    mapping text,
    in_scope integer,
    planned integer,
    plan jsonb,
    source jsonb,
    result jsonb,
    message text,
    CONSTRAINT sync_run_kind_check CHECK ((kind = ANY (ARRAY['changes'::text, 'full'::text, 'employees'::text, 'departments'::text, 'openids'::text, 'retry'::text, 'orders'::text, 'accounts'::text, 'taxpayers'::text]))),
    CONSTRAINT sync_run_state_check CHECK ((state = ANY (ARRAY['requested'::text, 'planning'::text, 'held'::text, 'running'::text, 'done'::text, 'failed'::text, 'source_suspect'::text, 'rejected'::text, 'superseded'::text, 'cancelled'::text])))
);


ALTER TABLE dirsync.sync_run OWNER TO root;

--
-- Name: TABLE sync_run; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON TABLE dirsync.sync_run IS 'One row per run: one pass that compares HR with what the platform last confirmed and has the differences sent.';


--
-- Name: COLUMN sync_run.id; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.sync_run.id IS 'Number of the run, as commands and logs name it.';


--
-- Name: COLUMN sync_run.kind; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.sync_run.kind IS 'changes: HR rows that differ from what was acknowledged; full: every employee is asked on the platform; employees: the named ones; departments: deletions; openids: missing bindings; retry: dead letters; orders, accounts, taxpayers: the mirror of that name is read anew.';


--
-- Name: COLUMN sync_run.keys; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.sync_run.keys IS 'employees: the user ids asked for; changes: those that HR''s trigger named, or empty for all; retry: the dead letters asked for; else empty.';


--
-- Name: COLUMN sync_run.max_age; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.sync_run.max_age IS 'full: employees in step whom the platform confirmed within this time are not asked again; null: everybody is asked.';


--
-- Name: COLUMN sync_run.state; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.sync_run.state IS 'requested → planning → running → done; held waits for approve or reject; superseded: held until a later run took its place; source_suspect: HR looked wrong and nothing was enqueued; cancelled: its waiting work was taken back; failed: see message.';


--
-- Name: COLUMN sync_run.requested_by; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.sync_run.requested_by IS 'Who asked: cron, start, cli, or the database user of a function call.';


--
-- Name: COLUMN sync_run.requested_at; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.sync_run.requested_at IS 'When it was asked for.';


--
-- Name: COLUMN sync_run.started_at; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.sync_run.started_at IS 'When planning began.';


--
-- Name: COLUMN sync_run.planned_at; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.sync_run.planned_at IS 'When planning ended.';


--
-- Name: COLUMN sync_run.finished_at; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.sync_run.finished_at IS 'When nothing of the run was left to do; null while it goes on or is held.';


--
-- Name: COLUMN sync_run.rejudge_at; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.sync_run.rejudge_at IS 'held: when HR is to be judged again; null: nobody has asked.';


--
-- Name: COLUMN sync_run.judged_at; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.sync_run.judged_at IS 'held: when HR was last judged again.';


--
-- Name: COLUMN sync_run.approved; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.sync_run.approved IS 'True once a person approved the held run: exactly its stored plan is carried out.';


--
-- Name: COLUMN sync_run.decided_by; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.sync_run.decided_by IS 'Database user or command that approved, rejected or cancelled.';


--
-- Name: COLUMN sync_run.decided_at; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.sync_run.decided_at IS 'When it was approved, rejected or cancelled.';


--
-- Name: COLUMN sync_run.decision_reason; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.sync_run.decision_reason IS 'Reason given with reject or cancel.';


--
-- Name: COLUMN sync_run.cancelled_at; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.sync_run.cancelled_at IS 'When its waiting work was taken back; it ends with what was in hand.';


--
-- Name: COLUMN sync_run.sweep; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.sync_run.sweep IS 'True when every HR row was hashed; false when only rows newer than the watermark were read.';


--
-- Name: COLUMN sync_run.mapping; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.sync_run.mapping IS 'Fingerprint of the employees'' mapping (its SELECT and the columns that it returns) that the plan was made with; null: HR''s employees were not read. Workers read HR with that of the latest plan that passed.';


--
-- Name: COLUMN sync_run.in_scope; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.sync_run.in_scope IS 'Active employees (or departments) that the plan looked at.';


--
-- Name: COLUMN sync_run.planned; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.sync_run.planned IS 'Entities for which the plan asks work; of a mirror: the parts to read.';


--
-- Name: COLUMN sync_run.plan; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.sync_run.plan IS 'The plan in figures: counts by reason and a sample of keys; skipped: employees left out by max_age; changed_since: rows of a held plan that HR has changed meanwhile.';


--
-- Name: COLUMN sync_run.source; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.sync_run.source IS 'What HR looked like: rows, share of empty values per column, newest updated_at. The next run''s sanity gate compares with it.';


--
-- Name: COLUMN sync_run.result; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.sync_run.result IS 'What came of it, counted from the attempts when the run ended; of a mirror also the rows read and changed, counted as it goes on.';


--
-- Name: COLUMN sync_run.message; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.sync_run.message IS 'One sentence for a person: why the run is held, suspect or failed, and what to do.';


--
-- Name: sync_run_id_seq; Type: SEQUENCE; Schema: dirsync; Owner: root
--

ALTER TABLE dirsync.sync_run ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME dirsync.sync_run_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);


--
-- Name: tally; Type: TABLE; Schema: dirsync; Owner: root
--

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
    CONSTRAINT tally_source_check CHECK ((source = ANY (ARRAY['pending'::text, 'employee'::text, 'dead_letter'::text, 'sync_run'::text])))
)
WITH (autovacuum_vacuum_scale_factor='0', autovacuum_vacuum_threshold='2000', autovacuum_analyze_scale_factor='1');


ALTER TABLE dirsync.tally OWNER TO root;

--
-- Name: TABLE tally; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON TABLE dirsync.tally IS 'How many rows some tables have, by what figures are shown of: the sum of n over rows that are otherwise alike. Triggers add a row per change; the scheduler sums rows up. Nobody counts the tables themselves.';


--
-- Name: COLUMN tally.source; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.tally.source IS 'The table whose rows are counted: pending, employee, dead_letter (without resolved ones) or sync_run.';


--
-- Name: COLUMN tally.operation; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.tally.operation IS 'pending: its operation.';


--
-- Name: COLUMN tally.enterprise_code; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.tally.enterprise_code IS 'pending, employee: the enterprise.';


--
-- Name: COLUMN tally.run_id; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.tally.run_id IS 'pending: the run that asked last.';


--
-- Name: COLUMN tally.priority; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.tally.priority IS 'pending: its priority.';


--
-- Name: COLUMN tally.enqueued; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.tally.enqueued IS 'pending: whether it is in the queue.';


--
-- Name: COLUMN tally.since; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.tally.since IS 'pending: since when the entities are out of step, to the second.';


--
-- Name: COLUMN tally.category; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.tally.category IS 'dead_letter: its category.';


--
-- Name: COLUMN tally.state; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.tally.state IS 'dead_letter, sync_run: the state; employee: in_step, awaiting_activation, dead_lettered, waiting (or halted), left or vanished.';


--
-- Name: COLUMN tally.n; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.tally.n IS 'How many rows came to be so, less those that ceased to be.';


--
-- Name: taxpayer; Type: TABLE; Schema: dirsync; Owner: root
--

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


ALTER TABLE dirsync.taxpayer OWNER TO root;

--
-- Name: TABLE taxpayer; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON TABLE dirsync.taxpayer IS 'The enterprise''s taxpayers (specification 2.11) of the configured identification numbers, as the platform last showed them.';


--
-- Name: COLUMN taxpayer.enterprise_code; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.taxpayer.enterprise_code IS 'Enterprise; empty for a single enterprise.';


--
-- Name: COLUMN taxpayer.identifier; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.taxpayer.identifier IS 'Identification number.';


--
-- Name: COLUMN taxpayer.taxpayer_nature; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.taxpayer.taxpayer_nature IS '1 general taxpayer; 2 small-scale taxpayer.';


--
-- Name: COLUMN taxpayer.taxpayer_name; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.taxpayer.taxpayer_name IS 'Name (title).';


--
-- Name: COLUMN taxpayer.status; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.taxpayer.status IS '1 normal; 2 disabled.';


--
-- Name: COLUMN taxpayer.first_seen_at; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.taxpayer.first_seen_at IS 'When dirsync first saw it.';


--
-- Name: COLUMN taxpayer.changed_at; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.taxpayer.changed_at IS 'When dirsync last saw it differ.';


--
-- Name: COLUMN taxpayer.gone_at; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.taxpayer.gone_at IS 'Since when the platform does not show it any more; null while it does.';


--
-- Name: token_creation; Type: TABLE; Schema: dirsync; Owner: root
--

CREATE TABLE dirsync.token_creation (
    id bigint NOT NULL,
    base_url text NOT NULL,
    app_id text NOT NULL,
    created_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL
);


ALTER TABLE dirsync.token_creation OWNER TO root;

--
-- Name: TABLE token_creation; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON TABLE dirsync.token_creation IS 'The token creations of the last hour, each noted before it was tried: 50 of them and no further one is asked for (the platform permits 60).';


--
-- Name: COLUMN token_creation.id; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.token_creation.id IS 'Number of the creation.';


--
-- Name: COLUMN token_creation.base_url; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.token_creation.base_url IS 'Base address of the platform.';


--
-- Name: COLUMN token_creation.app_id; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.token_creation.app_id IS 'Application id.';


--
-- Name: COLUMN token_creation.created_at; Type: COMMENT; Schema: dirsync; Owner: root
--

COMMENT ON COLUMN dirsync.token_creation.created_at IS 'When it was about to be tried.';


--
-- Name: token_creation_id_seq; Type: SEQUENCE; Schema: dirsync; Owner: root
--

ALTER TABLE dirsync.token_creation ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME dirsync.token_creation_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);


--
-- Name: attempt attempt_pkey; Type: CONSTRAINT; Schema: dirsync; Owner: root
--

ALTER TABLE ONLY dirsync.attempt
    ADD CONSTRAINT attempt_pkey PRIMARY KEY (id);


--
-- Name: call_minute call_minute_pkey; Type: CONSTRAINT; Schema: dirsync; Owner: root
--

ALTER TABLE ONLY dirsync.call_minute
    ADD CONSTRAINT call_minute_pkey PRIMARY KEY (minute, operation);


--
-- Name: command command_pkey; Type: CONSTRAINT; Schema: dirsync; Owner: root
--

ALTER TABLE ONLY dirsync.command
    ADD CONSTRAINT command_pkey PRIMARY KEY (id);


--
-- Name: dead_letter_event dead_letter_event_pkey; Type: CONSTRAINT; Schema: dirsync; Owner: root
--

ALTER TABLE ONLY dirsync.dead_letter_event
    ADD CONSTRAINT dead_letter_event_pkey PRIMARY KEY (id);


--
-- Name: dead_letter dead_letter_pkey; Type: CONSTRAINT; Schema: dirsync; Owner: root
--

ALTER TABLE ONLY dirsync.dead_letter
    ADD CONSTRAINT dead_letter_pkey PRIMARY KEY (id);


--
-- Name: department department_pkey; Type: CONSTRAINT; Schema: dirsync; Owner: root
--

ALTER TABLE ONLY dirsync.department
    ADD CONSTRAINT department_pkey PRIMARY KEY (enterprise_code, dept_code);


--
-- Name: deployment deployment_pkey; Type: CONSTRAINT; Schema: dirsync; Owner: root
--

ALTER TABLE ONLY dirsync.deployment
    ADD CONSTRAINT deployment_pkey PRIMARY KEY (only_row);


--
-- Name: employee employee_pkey; Type: CONSTRAINT; Schema: dirsync; Owner: root
--

ALTER TABLE ONLY dirsync.employee
    ADD CONSTRAINT employee_pkey PRIMARY KEY (enterprise_code, userid);


--
-- Name: field_block field_block_pkey; Type: CONSTRAINT; Schema: dirsync; Owner: root
--

ALTER TABLE ONLY dirsync.field_block
    ADD CONSTRAINT field_block_pkey PRIMARY KEY (enterprise_code, field);


--
-- Name: field_refusal field_refusal_pkey; Type: CONSTRAINT; Schema: dirsync; Owner: root
--

ALTER TABLE ONLY dirsync.field_refusal
    ADD CONSTRAINT field_refusal_pkey PRIMARY KEY (enterprise_code, field, userid);


--
-- Name: halt halt_pkey; Type: CONSTRAINT; Schema: dirsync; Owner: root
--

ALTER TABLE ONLY dirsync.halt
    ADD CONSTRAINT halt_pkey PRIMARY KEY (scope);


--
-- Name: job_schedule job_schedule_pkey; Type: CONSTRAINT; Schema: dirsync; Owner: root
--

ALTER TABLE ONLY dirsync.job_schedule
    ADD CONSTRAINT job_schedule_pkey PRIMARY KEY (job);


--
-- Name: job_tick job_tick_pkey; Type: CONSTRAINT; Schema: dirsync; Owner: root
--

ALTER TABLE ONLY dirsync.job_tick
    ADD CONSTRAINT job_tick_pkey PRIMARY KEY (job, due_at);


--
-- Name: learnt_rate learnt_rate_pkey; Type: CONSTRAINT; Schema: dirsync; Owner: root
--

ALTER TABLE ONLY dirsync.learnt_rate
    ADD CONSTRAINT learnt_rate_pkey PRIMARY KEY (gate);


--
-- Name: limit_account limit_account_pkey; Type: CONSTRAINT; Schema: dirsync; Owner: root
--

ALTER TABLE ONLY dirsync.limit_account
    ADD CONSTRAINT limit_account_pkey PRIMARY KEY (enterprise_code, account_openid);


--
-- Name: limit_sub_account limit_sub_account_pkey; Type: CONSTRAINT; Schema: dirsync; Owner: root
--

ALTER TABLE ONLY dirsync.limit_sub_account
    ADD CONSTRAINT limit_sub_account_pkey PRIMARY KEY (enterprise_code, account_openid, id);


--
-- Name: migration migration_pkey; Type: CONSTRAINT; Schema: dirsync; Owner: root
--

ALTER TABLE ONLY dirsync.migration
    ADD CONSTRAINT migration_pkey PRIMARY KEY (name);


--
-- Name: mirror_day mirror_day_pkey; Type: CONSTRAINT; Schema: dirsync; Owner: root
--

ALTER TABLE ONLY dirsync.mirror_day
    ADD CONSTRAINT mirror_day_pkey PRIMARY KEY (enterprise_code, day);


--
-- Name: mirror_task mirror_task_pkey; Type: CONSTRAINT; Schema: dirsync; Owner: root
--

ALTER TABLE ONLY dirsync.mirror_task
    ADD CONSTRAINT mirror_task_pkey PRIMARY KEY (run_id, "position");


--
-- Name: openid_binding openid_binding_pkey; Type: CONSTRAINT; Schema: dirsync; Owner: root
--

ALTER TABLE ONLY dirsync.openid_binding
    ADD CONSTRAINT openid_binding_pkey PRIMARY KEY (enterprise_code, userid, seller_appid);


--
-- Name: pacer pacer_pkey; Type: CONSTRAINT; Schema: dirsync; Owner: root
--

ALTER TABLE ONLY dirsync.pacer
    ADD CONSTRAINT pacer_pkey PRIMARY KEY (gate);


--
-- Name: payment_order payment_order_pkey; Type: CONSTRAINT; Schema: dirsync; Owner: root
--

ALTER TABLE ONLY dirsync.payment_order
    ADD CONSTRAINT payment_order_pkey PRIMARY KEY (enterprise_code, trade_no);


--
-- Name: pending pending_pkey; Type: CONSTRAINT; Schema: dirsync; Owner: root
--

ALTER TABLE ONLY dirsync.pending
    ADD CONSTRAINT pending_pkey PRIMARY KEY (operation, enterprise_code, entity_key, detail);


--
-- Name: planned_work planned_work_pkey; Type: CONSTRAINT; Schema: dirsync; Owner: root
--

ALTER TABLE ONLY dirsync.planned_work
    ADD CONSTRAINT planned_work_pkey PRIMARY KEY (run_id, operation, enterprise_code, entity_key);


--
-- Name: platform_token platform_token_pkey; Type: CONSTRAINT; Schema: dirsync; Owner: root
--

ALTER TABLE ONLY dirsync.platform_token
    ADD CONSTRAINT platform_token_pkey PRIMARY KEY (base_url, app_id);


--
-- Name: process process_pkey; Type: CONSTRAINT; Schema: dirsync; Owner: root
--

ALTER TABLE ONLY dirsync.process
    ADD CONSTRAINT process_pkey PRIMARY KEY (id);


--
-- Name: refund refund_pkey; Type: CONSTRAINT; Schema: dirsync; Owner: root
--

ALTER TABLE ONLY dirsync.refund
    ADD CONSTRAINT refund_pkey PRIMARY KEY (outer_refund_no);


--
-- Name: sync_run sync_run_pkey; Type: CONSTRAINT; Schema: dirsync; Owner: root
--

ALTER TABLE ONLY dirsync.sync_run
    ADD CONSTRAINT sync_run_pkey PRIMARY KEY (id);


--
-- Name: taxpayer taxpayer_pkey; Type: CONSTRAINT; Schema: dirsync; Owner: root
--

ALTER TABLE ONLY dirsync.taxpayer
    ADD CONSTRAINT taxpayer_pkey PRIMARY KEY (enterprise_code, identifier, taxpayer_nature, taxpayer_name);


--
-- Name: token_creation token_creation_pkey; Type: CONSTRAINT; Schema: dirsync; Owner: root
--

ALTER TABLE ONLY dirsync.token_creation
    ADD CONSTRAINT token_creation_pkey PRIMARY KEY (id);


--
-- Name: topup topup_pkey; Type: CONSTRAINT; Schema: dirsync; Owner: root
--

ALTER TABLE ONLY dirsync.topup
    ADD CONSTRAINT topup_pkey PRIMARY KEY (external_code);


--
-- Name: attempt_entity; Type: INDEX; Schema: dirsync; Owner: root
--

CREATE INDEX attempt_entity ON dirsync.attempt USING btree (enterprise_code, entity_key, id DESC);


--
-- Name: attempt_execution; Type: INDEX; Schema: dirsync; Owner: root
--

CREATE UNIQUE INDEX attempt_execution ON dirsync.attempt USING btree (execution);


--
-- Name: attempt_run; Type: INDEX; Schema: dirsync; Owner: root
--

CREATE INDEX attempt_run ON dirsync.attempt USING btree (run_id);


--
-- Name: attempt_started_at; Type: INDEX; Schema: dirsync; Owner: root
--

CREATE INDEX attempt_started_at ON dirsync.attempt USING brin (started_at);


--
-- Name: command_run; Type: INDEX; Schema: dirsync; Owner: root
--

CREATE INDEX command_run ON dirsync.command USING btree (run_id) WHERE (run_id IS NOT NULL);


--
-- Name: dead_letter_blocked_by; Type: INDEX; Schema: dirsync; Owner: root
--

CREATE INDEX dead_letter_blocked_by ON dirsync.dead_letter USING btree (enterprise_code, blocked_by) WHERE ((blocked_by IS NOT NULL) AND (state <> ALL (ARRAY['resolved'::text, 'ignored'::text])));


--
-- Name: dead_letter_case; Type: INDEX; Schema: dirsync; Owner: root
--

CREATE UNIQUE INDEX dead_letter_case ON dirsync.dead_letter USING btree (enterprise_code, entity, entity_key, operation, field) WHERE (state <> ALL (ARRAY['resolved'::text, 'ignored'::text]));


--
-- Name: dead_letter_due; Type: INDEX; Schema: dirsync; Owner: root
--

CREATE INDEX dead_letter_due ON dirsync.dead_letter USING btree (next_retry_at) WHERE (state <> ALL (ARRAY['resolved'::text, 'ignored'::text, 'retrying'::text]));


--
-- Name: dead_letter_enterprise; Type: INDEX; Schema: dirsync; Owner: root
--

CREATE INDEX dead_letter_enterprise ON dirsync.dead_letter USING btree (enterprise_code, field) WHERE (entity = 'enterprise'::text);


--
-- Name: dead_letter_entity; Type: INDEX; Schema: dirsync; Owner: root
--

CREATE INDEX dead_letter_entity ON dirsync.dead_letter USING btree (enterprise_code, entity_key);


--
-- Name: dead_letter_event_case; Type: INDEX; Schema: dirsync; Owner: root
--

CREATE INDEX dead_letter_event_case ON dirsync.dead_letter_event USING btree (dead_letter_id, id);


--
-- Name: dead_letter_first_run; Type: INDEX; Schema: dirsync; Owner: root
--

CREATE INDEX dead_letter_first_run ON dirsync.dead_letter USING btree (first_run_id);


--
-- Name: dead_letter_last_run; Type: INDEX; Schema: dirsync; Owner: root
--

CREATE INDEX dead_letter_last_run ON dirsync.dead_letter USING btree (last_run_id);


--
-- Name: dead_letter_resolved_at; Type: INDEX; Schema: dirsync; Owner: root
--

CREATE INDEX dead_letter_resolved_at ON dirsync.dead_letter USING btree (resolved_at) WHERE (state = 'resolved'::text);


--
-- Name: dead_letter_swap_id; Type: INDEX; Schema: dirsync; Owner: root
--

CREATE INDEX dead_letter_swap_id ON dirsync.dead_letter USING btree (swap_id) WHERE (swap_id IS NOT NULL);


--
-- Name: employee_dept_code; Type: INDEX; Schema: dirsync; Owner: root
--

CREATE INDEX employee_dept_code ON dirsync.employee USING btree (enterprise_code, dept_code) WHERE (platform_state = 'in_service'::text);


--
-- Name: employee_vanished; Type: INDEX; Schema: dirsync; Owner: root
--

CREATE INDEX employee_vanished ON dirsync.employee USING btree (vanished_at) WHERE (vanished_at IS NOT NULL);


--
-- Name: employee_withheld; Type: INDEX; Schema: dirsync; Owner: root
--

CREATE INDEX employee_withheld ON dirsync.employee USING btree (enterprise_code) WHERE (withheld <> '{}'::text[]);


--
-- Name: field_block_due; Type: INDEX; Schema: dirsync; Owner: root
--

CREATE INDEX field_block_due ON dirsync.field_block USING btree (next_probe_at);


--
-- Name: payment_order_listed_on; Type: INDEX; Schema: dirsync; Owner: root
--

CREATE INDEX payment_order_listed_on ON dirsync.payment_order USING btree (listed_on, enterprise_code);


--
-- Name: payment_order_out_trade_no; Type: INDEX; Schema: dirsync; Owner: root
--

CREATE INDEX payment_order_out_trade_no ON dirsync.payment_order USING btree (out_trade_no);


--
-- Name: payment_order_userid; Type: INDEX; Schema: dirsync; Owner: root
--

CREATE INDEX payment_order_userid ON dirsync.payment_order USING btree (enterprise_code, userid, created_at DESC);


--
-- Name: pending_due; Type: INDEX; Schema: dirsync; Owner: root
--

CREATE INDEX pending_due ON dirsync.pending USING btree (priority, not_before) WHERE (enqueued_at IS NULL);


--
-- Name: pending_enqueued; Type: INDEX; Schema: dirsync; Owner: root
--

CREATE INDEX pending_enqueued ON dirsync.pending USING btree (enqueued_at) WHERE (enqueued_at IS NOT NULL);


--
-- Name: pending_replan; Type: INDEX; Schema: dirsync; Owner: root
--

CREATE INDEX pending_replan ON dirsync.pending USING btree (replan_at) WHERE (replan_at IS NOT NULL);


--
-- Name: pending_run; Type: INDEX; Schema: dirsync; Owner: root
--

CREATE INDEX pending_run ON dirsync.pending USING btree (run_id, wave);


--
-- Name: pending_wave; Type: INDEX; Schema: dirsync; Owner: root
--

CREATE INDEX pending_wave ON dirsync.pending USING btree (enterprise_code, wave) WHERE (operation = 'delete-department'::text);


--
-- Name: refund_open; Type: INDEX; Schema: dirsync; Owner: root
--

CREATE UNIQUE INDEX refund_open ON dirsync.refund USING btree (outer_trade_no) WHERE (state = ANY (ARRAY['requested'::text, 'unknown'::text]));


--
-- Name: refund_sent_at; Type: INDEX; Schema: dirsync; Owner: root
--

CREATE INDEX refund_sent_at ON dirsync.refund USING btree (sent_at);


--
-- Name: sync_run_cancelled; Type: INDEX; Schema: dirsync; Owner: root
--

CREATE INDEX sync_run_cancelled ON dirsync.sync_run USING btree (cancelled_at) WHERE (cancelled_at IS NOT NULL);


--
-- Name: sync_run_kind; Type: INDEX; Schema: dirsync; Owner: root
--

CREATE INDEX sync_run_kind ON dirsync.sync_run USING btree (kind, id DESC);


--
-- Name: sync_run_mapping; Type: INDEX; Schema: dirsync; Owner: root
--

CREATE INDEX sync_run_mapping ON dirsync.sync_run USING btree (planned_at DESC) WHERE ((mapping IS NOT NULL) AND (state = ANY (ARRAY['running'::text, 'done'::text])));


--
-- Name: sync_run_of_everybody; Type: INDEX; Schema: dirsync; Owner: root
--

CREATE INDEX sync_run_of_everybody ON dirsync.sync_run USING btree (id) WHERE ((kind = ANY (ARRAY['changes'::text, 'full'::text])) AND (keys = '{}'::text[]));


--
-- Name: sync_run_requested; Type: INDEX; Schema: dirsync; Owner: root
--

CREATE INDEX sync_run_requested ON dirsync.sync_run USING btree (kind, id) WHERE (state = 'requested'::text);


--
-- Name: sync_run_success; Type: INDEX; Schema: dirsync; Owner: root
--

CREATE INDEX sync_run_success ON dirsync.sync_run USING btree (kind, finished_at) WHERE (state = 'done'::text);


--
-- Name: sync_run_unfinished; Type: INDEX; Schema: dirsync; Owner: root
--

CREATE INDEX sync_run_unfinished ON dirsync.sync_run USING btree (state) WHERE (finished_at IS NULL);


--
-- Name: token_creation_app; Type: INDEX; Schema: dirsync; Owner: root
--

CREATE INDEX token_creation_app ON dirsync.token_creation USING btree (base_url, app_id, created_at);


--
-- Name: topup_open; Type: INDEX; Schema: dirsync; Owner: root
--

CREATE INDEX topup_open ON dirsync.topup USING btree (account_openid) WHERE (state = ANY (ARRAY['requested'::text, 'unknown'::text]));


--
-- Name: topup_sent_at; Type: INDEX; Schema: dirsync; Owner: root
--

CREATE INDEX topup_sent_at ON dirsync.topup USING btree (sent_at);


--
-- Name: dead_letter tally_added; Type: TRIGGER; Schema: dirsync; Owner: root
--

CREATE TRIGGER tally_added AFTER INSERT ON dirsync.dead_letter REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION dirsync.tally_dead_letter();


--
-- Name: employee tally_added; Type: TRIGGER; Schema: dirsync; Owner: root
--

CREATE TRIGGER tally_added AFTER INSERT ON dirsync.employee REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION dirsync.tally_employee();


--
-- Name: pending tally_added; Type: TRIGGER; Schema: dirsync; Owner: root
--

CREATE TRIGGER tally_added AFTER INSERT ON dirsync.pending REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION dirsync.tally_pending();


--
-- Name: sync_run tally_added; Type: TRIGGER; Schema: dirsync; Owner: root
--

CREATE TRIGGER tally_added AFTER INSERT ON dirsync.sync_run REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION dirsync.tally_sync_run();


--
-- Name: dead_letter tally_changed; Type: TRIGGER; Schema: dirsync; Owner: root
--

CREATE TRIGGER tally_changed AFTER UPDATE ON dirsync.dead_letter REFERENCING OLD TABLE AS removed NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION dirsync.tally_dead_letter();


--
-- Name: employee tally_changed; Type: TRIGGER; Schema: dirsync; Owner: root
--

CREATE TRIGGER tally_changed AFTER UPDATE ON dirsync.employee REFERENCING OLD TABLE AS removed NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION dirsync.tally_employee();


--
-- Name: pending tally_changed; Type: TRIGGER; Schema: dirsync; Owner: root
--

CREATE TRIGGER tally_changed AFTER UPDATE ON dirsync.pending REFERENCING OLD TABLE AS removed NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION dirsync.tally_pending();


--
-- Name: sync_run tally_changed; Type: TRIGGER; Schema: dirsync; Owner: root
--

CREATE TRIGGER tally_changed AFTER UPDATE ON dirsync.sync_run REFERENCING OLD TABLE AS removed NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION dirsync.tally_sync_run();


--
-- Name: dead_letter tally_removed; Type: TRIGGER; Schema: dirsync; Owner: root
--

CREATE TRIGGER tally_removed AFTER DELETE ON dirsync.dead_letter REFERENCING OLD TABLE AS removed FOR EACH STATEMENT EXECUTE FUNCTION dirsync.tally_dead_letter();


--
-- Name: employee tally_removed; Type: TRIGGER; Schema: dirsync; Owner: root
--

CREATE TRIGGER tally_removed AFTER DELETE ON dirsync.employee REFERENCING OLD TABLE AS removed FOR EACH STATEMENT EXECUTE FUNCTION dirsync.tally_employee();


--
-- Name: pending tally_removed; Type: TRIGGER; Schema: dirsync; Owner: root
--

CREATE TRIGGER tally_removed AFTER DELETE ON dirsync.pending REFERENCING OLD TABLE AS removed FOR EACH STATEMENT EXECUTE FUNCTION dirsync.tally_pending();


--
-- Name: sync_run tally_removed; Type: TRIGGER; Schema: dirsync; Owner: root
--

CREATE TRIGGER tally_removed AFTER DELETE ON dirsync.sync_run REFERENCING OLD TABLE AS removed FOR EACH STATEMENT EXECUTE FUNCTION dirsync.tally_sync_run();


--
-- Name: dead_letter tally_truncated; Type: TRIGGER; Schema: dirsync; Owner: root
--

CREATE TRIGGER tally_truncated AFTER TRUNCATE ON dirsync.dead_letter FOR EACH STATEMENT EXECUTE FUNCTION dirsync.tally_truncated();


--
-- Name: employee tally_truncated; Type: TRIGGER; Schema: dirsync; Owner: root
--

CREATE TRIGGER tally_truncated AFTER TRUNCATE ON dirsync.employee FOR EACH STATEMENT EXECUTE FUNCTION dirsync.tally_truncated();


--
-- Name: pending tally_truncated; Type: TRIGGER; Schema: dirsync; Owner: root
--

CREATE TRIGGER tally_truncated AFTER TRUNCATE ON dirsync.pending FOR EACH STATEMENT EXECUTE FUNCTION dirsync.tally_truncated();


--
-- Name: sync_run tally_truncated; Type: TRIGGER; Schema: dirsync; Owner: root
--

CREATE TRIGGER tally_truncated AFTER TRUNCATE ON dirsync.sync_run FOR EACH STATEMENT EXECUTE FUNCTION dirsync.tally_truncated();


--
-- Name: dead_letter_event dead_letter_event_dead_letter_id_fkey; Type: FK CONSTRAINT; Schema: dirsync; Owner: root
--

ALTER TABLE ONLY dirsync.dead_letter_event
    ADD CONSTRAINT dead_letter_event_dead_letter_id_fkey FOREIGN KEY (dead_letter_id) REFERENCES dirsync.dead_letter(id) ON DELETE CASCADE;


--
-- Name: mirror_task mirror_task_run_id_fkey; Type: FK CONSTRAINT; Schema: dirsync; Owner: root
--

ALTER TABLE ONLY dirsync.mirror_task
    ADD CONSTRAINT mirror_task_run_id_fkey FOREIGN KEY (run_id) REFERENCES dirsync.sync_run(id) ON DELETE CASCADE;


--
-- Name: pending pending_run_id_fkey; Type: FK CONSTRAINT; Schema: dirsync; Owner: root
--

ALTER TABLE ONLY dirsync.pending
    ADD CONSTRAINT pending_run_id_fkey FOREIGN KEY (run_id) REFERENCES dirsync.sync_run(id) ON DELETE SET NULL;


--
-- Name: planned_work planned_work_run_id_fkey; Type: FK CONSTRAINT; Schema: dirsync; Owner: root
--

ALTER TABLE ONLY dirsync.planned_work
    ADD CONSTRAINT planned_work_run_id_fkey FOREIGN KEY (run_id) REFERENCES dirsync.sync_run(id) ON DELETE CASCADE;


--
-- Name: FUNCTION actor(); Type: ACL; Schema: dirsync; Owner: root
--

REVOKE ALL ON FUNCTION dirsync.actor() FROM PUBLIC;


--
-- Name: FUNCTION approve(run bigint); Type: ACL; Schema: dirsync; Owner: root
--

REVOKE ALL ON FUNCTION dirsync.approve(run bigint) FROM PUBLIC;


--
-- Name: FUNCTION cancel(run bigint, reason text); Type: ACL; Schema: dirsync; Owner: root
--

REVOKE ALL ON FUNCTION dirsync.cancel(run bigint, reason text) FROM PUBLIC;


--
-- Name: FUNCTION decide(run bigint, approve boolean, reason text); Type: ACL; Schema: dirsync; Owner: root
--

REVOKE ALL ON FUNCTION dirsync.decide(run bigint, approve boolean, reason text) FROM PUBLIC;


--
-- Name: FUNCTION fold_tally(); Type: ACL; Schema: dirsync; Owner: root
--

REVOKE ALL ON FUNCTION dirsync.fold_tally() FROM PUBLIC;


--
-- Name: FUNCTION ignore(id bigint, reason text); Type: ACL; Schema: dirsync; Owner: root
--

REVOKE ALL ON FUNCTION dirsync.ignore(id bigint, reason text) FROM PUBLIC;


--
-- Name: FUNCTION lease_slots(_gate text, _holder text, _count integer, _spacing_ms double precision, _budget text, _budget_spacing_ms double precision, OUT start_ms double precision, OUT now_ms double precision, OUT paused_until_ms double precision, OUT shared boolean, OUT spacing_ms double precision, OUT count integer, OUT leased bigint, OUT learnt dirsync.learnt_rate); Type: ACL; Schema: dirsync; Owner: root
--

REVOKE ALL ON FUNCTION dirsync.lease_slots(_gate text, _holder text, _count integer, _spacing_ms double precision, _budget text, _budget_spacing_ms double precision, OUT start_ms double precision, OUT now_ms double precision, OUT paused_until_ms double precision, OUT shared boolean, OUT spacing_ms double precision, OUT count integer, OUT leased bigint, OUT learnt dirsync.learnt_rate) FROM PUBLIC;


--
-- Name: FUNCTION note_command(name text, run bigint, arguments jsonb); Type: ACL; Schema: dirsync; Owner: root
--

REVOKE ALL ON FUNCTION dirsync.note_command(name text, run bigint, arguments jsonb) FROM PUBLIC;


--
-- Name: FUNCTION pause(reason text); Type: ACL; Schema: dirsync; Owner: root
--

REVOKE ALL ON FUNCTION dirsync.pause(reason text) FROM PUBLIC;


--
-- Name: FUNCTION record_failure(failure jsonb); Type: ACL; Schema: dirsync; Owner: root
--

REVOKE ALL ON FUNCTION dirsync.record_failure(failure jsonb) FROM PUBLIC;


--
-- Name: FUNCTION reject(run bigint, reason text); Type: ACL; Schema: dirsync; Owner: root
--

REVOKE ALL ON FUNCTION dirsync.reject(run bigint, reason text) FROM PUBLIC;


--
-- Name: FUNCTION request_run(kind text, keys text[], command text, arguments jsonb, max_age interval); Type: ACL; Schema: dirsync; Owner: root
--

REVOKE ALL ON FUNCTION dirsync.request_run(kind text, keys text[], command text, arguments jsonb, max_age interval) FROM PUBLIC;


--
-- Name: FUNCTION resume(); Type: ACL; Schema: dirsync; Owner: root
--

REVOKE ALL ON FUNCTION dirsync.resume() FROM PUBLIC;


--
-- Name: FUNCTION resync(kind text, key text, max_age interval); Type: ACL; Schema: dirsync; Owner: root
--

REVOKE ALL ON FUNCTION dirsync.resync(kind text, key text, max_age interval) FROM PUBLIC;


--
-- Name: FUNCTION retry(id bigint); Type: ACL; Schema: dirsync; Owner: root
--

REVOKE ALL ON FUNCTION dirsync.retry(id bigint) FROM PUBLIC;


--
-- Name: FUNCTION retry_category(category text); Type: ACL; Schema: dirsync; Owner: root
--

REVOKE ALL ON FUNCTION dirsync.retry_category(category text) FROM PUBLIC;


--
-- Name: FUNCTION run_result(run bigint); Type: ACL; Schema: dirsync; Owner: root
--

REVOKE ALL ON FUNCTION dirsync.run_result(run bigint) FROM PUBLIC;


--
-- Name: FUNCTION snooze(id bigint, until timestamp with time zone, reason text); Type: ACL; Schema: dirsync; Owner: root
--

REVOKE ALL ON FUNCTION dirsync.snooze(id bigint, until timestamp with time zone, reason text) FROM PUBLIC;


--
-- Name: FUNCTION take_back(run bigint); Type: ACL; Schema: dirsync; Owner: root
--

REVOKE ALL ON FUNCTION dirsync.take_back(run bigint) FROM PUBLIC;


--
-- Name: FUNCTION tally_dead_letter(); Type: ACL; Schema: dirsync; Owner: root
--

REVOKE ALL ON FUNCTION dirsync.tally_dead_letter() FROM PUBLIC;


--
-- Name: FUNCTION tally_employee(); Type: ACL; Schema: dirsync; Owner: root
--

REVOKE ALL ON FUNCTION dirsync.tally_employee() FROM PUBLIC;


--
-- Name: FUNCTION tally_pending(); Type: ACL; Schema: dirsync; Owner: root
--

REVOKE ALL ON FUNCTION dirsync.tally_pending() FROM PUBLIC;


--
-- Name: FUNCTION tally_sync_run(); Type: ACL; Schema: dirsync; Owner: root
--

REVOKE ALL ON FUNCTION dirsync.tally_sync_run() FROM PUBLIC;


--
-- Name: FUNCTION tally_truncated(); Type: ACL; Schema: dirsync; Owner: root
--

REVOKE ALL ON FUNCTION dirsync.tally_truncated() FROM PUBLIC;


--
-- PostgreSQL database dump complete
--

\unrestrict NcCd73wIbDeWef3oA3Tj0WBVezw4cLhvLwDcfg7VEwQI1x8SDfzrHMq8hTv5T59

