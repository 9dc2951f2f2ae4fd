-- What people ask for and decide, about runs and about cases.

-- Runs ------------------------------------------------------------------------

create function dirsync.sources_for(kind text, source text default null) returns setof text
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
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
comment on function dirsync.sources_for is
  'The sources of HR that a run of this kind is asked for, one run each; of those the named one.';

create function dirsync.request_run(
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
comment on function dirsync.request_run is
  'Requests a run, or returns the same one that is still waiting to begin.';

create function dirsync.resync(
  kind text default 'changes', key text default null, max_age interval default null, source text default null
) returns setof bigint
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
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
comment on function dirsync.resync is
  'Starts a run now and returns its number: resync(), resync(''full''), resync(''full'', max_age => ''6 '
  'hours''), resync(''employees'', ''e10001''), resync(''departments''), resync(''openids''), '
  'resync(''orders''), resync(''accounts''), resync(''taxpayers''). Where HR has several sources, runs of '
  'changes, full and departments are one for each, or resync(source => ''shanghai'').';

create function dirsync.refuse_decided(run dirsync.sync_run) returns void
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
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
comment on function dirsync.refuse_decided is
  'Fails if another person has decided about a run, and says what; else does nothing.';

-- A rejection lasts until HR changes the rows in question; whatever else waited for the decision goes on.
create function dirsync.decide(run bigint, approve boolean, reason text) returns bigint
language plpgsql set search_path = pg_catalog, pg_temp as $$
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

-- Taking work back: what is unknown of the platform stays unknown, and no case waits for work that is gone.
create function dirsync.take_back(run bigint) returns void
language sql set search_path = pg_catalog, pg_temp as $$
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
comment on function dirsync.take_back is
  'Takes the waiting work of a cancelled run out of the outbox. Work in hand is not touched.';

create function dirsync.end_lost_retries() returns bigint
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
  set state = case d.entity when 'mirror' then 'retry_scheduled' else 'open' end,
      next_retry_at = now() + case d.entity when 'mirror' then interval '1 hour' else interval '7 days' end,
      version = d.version + 1
  where d.id = any (ids);
  get diagnostics ended = row_count;
  return ended;
end $$;
comment on function dirsync.end_lost_retries is
  'Lets the cases wait for their next turn that are being retried although their work is gone: it was taken '
  'back, or ended before it came to them. Returns how many there were.';

create function dirsync.cancel(run bigint, reason text default null) returns bigint
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
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
comment on function dirsync.cancel is
  'Takes the waiting work of a run back; work in hand is finished. The next run plans anew what was taken '
  'back. Returns its number.';

-- Cases -----------------------------------------------------------------------

create function dirsync.retry(id bigint) returns bigint
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  perform from dirsync.dead_letter d where d.id = retry.id and d.state <> 'resolved';
  if not found then
    perform dirsync.refuse('P0002', 'said.no_unresolved_case', jsonb_build_object('ids', retry.id));
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
    perform dirsync.refuse('P0002', 'said.no_open_case_of',
      jsonb_build_object('text', quote_literal(category)),
      hint => 'select distinct category from dirsync.failed_syncs');
  end if;
  return dirsync.request_run('retry', ids, 'retry_category', jsonb_build_object('category', category));
end $$;
comment on function dirsync.retry_category is
  'Tries every open dead letter of a category again now; returns the number of the run that does it.';

create function dirsync.ignore(id bigint, reason text) returns bigint
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
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
comment on function dirsync.ignore is
  'Closes a case as accepted, with a reason. It reopens when the HR row changes. Returns its number.';

create function dirsync.snooze(id bigint, until timestamptz, reason text default null)
returns bigint
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  said text := dirsync.text_of(reason, 'reason', 2000);
begin
  perform dirsync.note_command(
    'snooze', null, jsonb_build_object('id', id, 'until', until, 'reason', said), id);
  perform dirsync.set_snoozed(id, until, said);
  return id;
end $$;
comment on function dirsync.snooze is 'Snoozes a case until a time; then it is retried. Returns its number.';

create function dirsync.assign(id bigint, assignee text) returns bigint
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  name text := dirsync.text_of(assignee, 'name', 200);
begin
  perform dirsync.note_command('assign', null, jsonb_build_object('id', id, 'assignee', name), id);
  perform dirsync.set_assigned(id, name);
  return id;
end $$;
comment on function dirsync.assign is
  'Assigns a case to a person, assign(17, ''mei''), or to no one, assign(17, null). Returns its number.';

create function dirsync.comment(id bigint, text text) returns bigint
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
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
comment on function dirsync.comment is
  'Adds a comment to the story of a case, also of a resolved one. Returns its number.';
