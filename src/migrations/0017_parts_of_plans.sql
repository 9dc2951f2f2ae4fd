-- Decisions about a part of a held run's plan, and what was decided, kept for ever.

-- Decided in parts: each approved part is carried out by a run of its own, with a copy of its planned rows. What
-- is not decided yet is sent by no plan. The columns are added without rewriting a table.
alter table dirsync.sync_run add column part_of bigint;
comment on column dirsync.sync_run.part_of is
  'The held run of whose plan this run carries out the part that a person approved; null: it has a plan of its '
  'own.';
alter table dirsync.sync_run add column undecided integer;
comment on column dirsync.sync_run.undecided is
  'Rows of the stored plan that nobody has decided about; null: it was not decided in parts. While it is held and '
  'they are more than 0, they are sent by no plan.';
alter table dirsync.sync_run add column grown boolean not null default false;
comment on column dirsync.sync_run.grown is
  'While it was held, a later check would have been held by rows that the stored plan lacks alone. Those wait '
  'as well, so that HR taking back the others does not send them; employees also once this plan is decided, as nobody '
  'has seen them.';
create index sync_run_part_of on dirsync.sync_run (part_of) where part_of is not null;

-- HR rests for a multiple of the time that it was read. What happens meanwhile is compared with planned_at and
-- checked_at, also by processes of an earlier version, so that these are still when the transaction began.
alter table dirsync.sync_run add column planned_for interval, add column checked_for interval;
comment on column dirsync.sync_run.message is
  'Why the run is held, suspect or failed, and what to do, for dirsync.in_language.';
comment on column dirsync.sync_run.planned_at is 'When planning began to read HR; it ended planned_for later.';
comment on column dirsync.sync_run.planned_for is
  'How long planning took from planned_at on; null: an earlier version planned it.';
comment on column dirsync.sync_run.checked_at is
  'held: when HR was last checked again; that ended checked_for later.';
comment on column dirsync.sync_run.checked_for is
  'held: how long checking HR again took; null: it was not checked again, or by an earlier version.';
alter table dirsync.sync_run add column suspect_since timestamptz;
comment on column dirsync.sync_run.suspect_since is
  'held: since when HR has looked wrong whenever it was checked again; null: it looked right at the last time, or was not checked again.';
create index sync_run_checked on dirsync.sync_run (checked_at) where checked_at is not null;

-- A counter never goes back: a run that is held again has been counted.
alter table dirsync.sync_run add column has_ended boolean not null default false;
comment on column dirsync.sync_run.has_ended is
  'Whether it had ended before it was held again, and was counted then (see run_count).';
create or replace function dirsync.count_ended_runs() returns trigger
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  insert into dirsync.run_count as c (kind, state, ended, seconds)
  select a.kind, a.state, count(*), sum(extract(epoch from a.finished_at - a.requested_at))
  from added a join removed r using (id)
  where a.finished_at is not null and r.finished_at is null and not a.has_ended
  group by 1, 2 order by 1, 2
  on conflict (kind, state) do update
  set ended = c.ended + excluded.ended, seconds = c.seconds + excluded.seconds;
  return null;
end $$;

-- What people decided about the plans of held runs: all of it, or a part. Kept for ever, as are these runs.
create table dirsync.plan_decision (
  id          bigint generated always as identity primary key,  -- Number of the decision.
  run_id      bigint not null references dirsync.sync_run on delete cascade,  -- The held run.
  approved    boolean not null,  -- False: rejected.
  -- The part: reason, from, department, field, enterprise, key (the beginning of a user id or department code), odd,
  -- keys (whole ones, as enterprise/key where there are several); {}: everything that was not decided yet.
  filter      jsonb not null,
  -- The run that carries out an approved part; null: nothing was approved, or the held run does it itself.
  part_run    bigint,
  planned     integer not null,  -- How many rows of the plan were decided.
  -- How many of what was approved are undecided again, as its run ended before it sent them.
  returned    integer not null default 0,
  -- The same without the returned ones by reason.
  reasons     jsonb not null,
  -- Rows by changed field; null until HR has been read for all of them (see plan_reading).
  fields      jsonb,
  -- Rows by department: [{enterprise_code, department, n}], highest first, the 50 highest and those of the 50 that
  -- plan_reading has; null as fields.
  departments jsonb,
  -- Rows by move: [{enterprise_code, from, department, n}], as departments.
  moves       jsonb,
  decided_by  text not null,                -- Who decided, as command.requested_by.
  decided_at  timestamptz not null default now(),  -- When it was decided.
  why         text,                         -- The reason given; null: none.
  -- approved: true once planned_work has what came of each row, which the attempts tell for 30 days only.
  kept        boolean not null default false
);
create index plan_decision_run on dirsync.plan_decision (run_id, id);

alter table dirsync.planned_work add column decision_id bigint;
comment on column dirsync.planned_work.decision_id is
  'The decision about this row, where the plan was decided in parts (see plan_decision); null: not decided, or the '
  'whole plan was.';
alter table dirsync.planned_work add column odd boolean not null default false;
comment on column dirsync.planned_work.odd is
  'True where few rows of the plan have the same reason and changed fields, or go with those to the same department: at '
  'most a tenth of the largest such group. Known once HR has been read for it (see plan_reading).';
alter table dirsync.planned_work add column known_department text;
comment on column dirsync.planned_work.known_department is
  'The department that dirsync''s memory had of the employee when an approved part was decided, as acknowledged.';
alter table dirsync.planned_work add column from_department text;
comment on column dirsync.planned_work.from_department is
  'The department that an employee leaves for another one; null: none does. Known once HR has been read for it (see '
  'plan_reading).';
create index planned_work_from
  on dirsync.planned_work (run_id, from_department, entity_key collate "C", enterprise_code)
  where reason is not null and from_department is not null;
alter table dirsync.plan_reading add column moves jsonb;
comment on column dirsync.plan_reading.state is
  'running; done; failed: HR could not be read, it is tried again at retry_at; stopped: the plan counts no more, as '
  'its run was superseded, cancelled or has failed. It goes on after a decision, for a day.';
comment on column dirsync.plan_reading.moves is
  'Employees by the departments that they leave and go to: [{enterprise_code, from, department, n}], the 50 highest; once '
  'it is done, and the JSON null before. SQL null, or still the JSON null: a process of version 1.0 has read, which stores neither who '
  'moves nor what is odd, so that HR is read again.';
alter table dirsync.planned_work add column outcome text;
comment on column dirsync.planned_work.outcome is
  'What came last of sending it, as attempt.outcome; written within a day after its run has ended.';
create index plan_decision_to_keep on dirsync.plan_decision (id) where approved and not kept;
create index planned_work_odd on dirsync.planned_work (run_id, entity_key collate "C", enterprise_code)
  where odd and reason is not null;
create index planned_work_decision
  on dirsync.planned_work (run_id, decision_id, entity_key collate "C", enterprise_code)
  where decision_id is not null;
create index planned_work_undecided on dirsync.planned_work (run_id, entity_key collate "C", enterprise_code)
  where decision_id is null and reason is not null;
-- A field that few rows of a plan change is found without reading the plan.
create index planned_work_fields on dirsync.planned_work using gin (fields) where reason is not null;

-- A planner of an earlier version would send what is not decided yet. So would a later one that forgets to ask.
create function dirsync.refuse_unaware_plan() returns trigger
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  held bigint;
begin
  if coalesce(current_setting('dirsync.knows_parts', true), '') = 'on' then
    return new;
  end if;
  select r.id into held from dirsync.sync_run r
  where r.state = 'held' and r.finished_at is null and r.undecided > 0 and r.hr_source = new.hr_source
    and (r.kind = 'departments') = (new.kind = 'departments')
  limit 1;
  if held is not null then
    perform dirsync.refuse('55000', 'said.older_planner', jsonb_build_object('run', held));
  end if;
  return new;
end $$;
comment on function dirsync.refuse_unaware_plan is
  'Refuses plans of processes that do not know plans decided in parts, while there is one of the same HR source.';
create trigger refuse_unaware before update of state on dirsync.sync_run
for each row when (not new.approved and new.kind in ('changes', 'full', 'departments')
                   and (old.state = 'planning' and new.state = 'running'
                        or old.state = 'held' and new.state = 'superseded'))
execute function dirsync.refuse_unaware_plan();

create or replace function dirsync.note_command(
  name text, run bigint, arguments jsonb, dead_letter bigint default null
) returns void
language sql set search_path = pg_catalog, pg_temp as $$
  -- Who decides and forgets to commit keeps locked what plans and workers wait for. This ends with the transaction.
  select set_config('idle_in_transaction_session_timeout', '60s', true)
  where current_setting('idle_in_transaction_session_timeout')::interval not between '1 ms' and '60 s';
  -- Of a retry and a decision the later one counts, whichever transaction began first.
  insert into dirsync.command (name, arguments, requested_by, requested_at, run_id, dead_letter_id, reason)
  values (note_command.name, jsonb_strip_nulls(arguments), dirsync.actor(), clock_timestamp(), run, dead_letter,
          dirsync.text_of(arguments ->> 'reason', 'reason', 2000))
$$;
comment on function dirsync.note_command is
  'Writes down what a person asks for, before it takes effect, and has PostgreSQL end the session if its transaction '
  'then does nothing for a minute.';

create function dirsync.request_changes_after(held dirsync.sync_run) returns void
language sql set search_path = pg_catalog, pg_temp as $$
  with waiting as (
    update dirsync.sync_run r set wants_all = r.wants_all or held.undecided is not null
    where held.kind in ('changes', 'full')
      and r.kind = 'changes' and r.keys = '{}' and r.state = 'requested' and not r.approved
      and r.hr_source = held.hr_source and r.id <> held.id
    returning r.id
  )
  insert into dirsync.sync_run (kind, requested_by, hr_source, wants_all)
  select 'changes', dirsync.actor(), held.hr_source, held.undecided is not null
  where held.kind in ('changes', 'full') and not exists (select from waiting)
$$;
comment on function dirsync.request_changes_after is
  'Requests the run that checks what HR changed while a run was held: it has waited long enough. While a plan was '
  'decided in parts, later runs have read such changes and left them out, so that it reads every row.';

create function dirsync.runs_in(condition text, states text[]) returns text
language sql stable set search_path = pg_catalog, pg_temp as $$
  select coalesce(condition || ': ' || string_agg(format('%s (%s)', r.id, r.kind), ', ' order by r.id),
                  'no run is ' || condition)
  from dirsync.sync_run r where r.state = any(states)
$$;
comment on function dirsync.runs_in is
  'The runs in these states, as a hint for reviewers, who may not read the table.';

create function dirsync.expect_held(run bigint) returns dirsync.sync_run
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  was dirsync.sync_run;
begin
  select * into was from dirsync.sync_run r where r.id = run for no key update;
  if was.state is distinct from 'held' then
    perform dirsync.refuse_decided(was);
    if was.state is null then
      perform dirsync.refuse('P0002', 'said.no_held_run', jsonb_build_object('run', run),
        hint => dirsync.runs_in('held', '{held}'));
    end if;
    perform dirsync.refuse('P0002', 'said.run_is_not_held',
      jsonb_build_object('run', run, 'run_state', was.state), hint => dirsync.runs_in('held', '{held}'));
  end if;
  return was;
end $$;
comment on function dirsync.expect_held is
  'Locks a held run, so that no one else and no plan decides about it meanwhile. Fails if it is not held.';

-- What a process has begun is told from what waits in the queue although it had begun before.
alter table dirsync.pending add column in_hand boolean not null default false;
comment on column dirsync.pending.in_hand is
  'An execution has begun, and its outcome is not written. Where nobody has the entity''s lock its process is gone, and '
  'the row is fed to the queue again.';

create function dirsync.reject_planned(run bigint, decision bigint) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  sender bigint;
begin
  -- Another plan with the same rows was approved and carried out, and this one was not checked again since.
  select a.id into sender
  from dirsync.sync_run r
  join dirsync.sync_run a on a.hr_source = r.hr_source and a.id <> r.id and a.approved and a.state = 'running'
  where r.id = run and exists (
    select from dirsync.planned_work w
    join dirsync.employee e on e.enterprise_code = w.enterprise_code and e.userid = w.entity_key
    join dirsync.pending p on p.operation = w.operation and p.enterprise_code = w.enterprise_code
     and p.entity_key = w.entity_key
    where w.run_id = run and w.operation = 'update-employee' and (decision is null or w.decision_id = decision)
      and e.held_run is null and e.source_hash = w.source_hash and p.run_id = a.id)
  limit 1;
  if sender is not null then
    perform dirsync.refuse('DS409', 'said.rows_are_sent', jsonb_build_object('run', sender));
  end if;
  -- Deletions that an earlier plan let pass, and what a person named, that was not sent yet: the later word counts.
  -- They are few, where a plan may have a million rows.
  with few as materialized (
    select p.operation, p.enterprise_code, p.entity_key, p.detail from dirsync.pending p
    where p.operation = 'delete-department' or p.named
  ), waiting as materialized (
    select p.operation, p.enterprise_code, p.entity_key, p.detail,
           -- What is in hand is looked at anew. So is who may have been sent: a worker and a plan note that.
           p.in_hand or p.operation = 'update-employee' and (p.sent_unknown or p.starts > 0) as stays
    from few join dirsync.pending p using (operation, enterprise_code, entity_key, detail)
    join dirsync.planned_work w
      on w.run_id = run and w.operation = p.operation and w.enterprise_code = p.enterprise_code
     and w.entity_key = p.entity_key and (decision is null or w.decision_id = decision)
    where p.operation = 'delete-department'
       or p.named and exists (select from dirsync.employee e
                              where e.enterprise_code = w.enterprise_code and e.userid = w.entity_key
                                and e.held_run = run and e.held_hash is not distinct from w.source_hash)
    order by p.operation, p.enterprise_code, p.entity_key, p.detail for update of p
  ), kept as (
    -- An update in hand that has been sent is over with its outcome.
    update dirsync.pending p
    set named = false, version = p.version + case p.operation when 'delete-department' then 1 else 0 end
    from waiting w
    where w.stays and p.operation = w.operation and p.enterprise_code = w.enterprise_code
      and p.entity_key = w.entity_key and p.detail = w.detail
  ), withdrawn as (
    delete from dirsync.pending p using waiting w
    where not w.stays and p.operation = w.operation and p.enterprise_code = w.enterprise_code
      and p.entity_key = w.entity_key and p.detail = w.detail
    returning p.run_id, p.operation, p.enterprise_code, p.entity_key, p.detail
  )
  -- An outcome tells what became of them.
  insert into dirsync.attempt
    (run_id, operation, enterprise_code, entity_key, detail, started_at, duration_ms, outcome, error)
  select d.run_id, d.operation, d.enterprise_code, d.entity_key, d.detail, now(), 0, 'obsolete',
         jsonb_build_object('key', case d.operation when 'delete-department' then 'said.deletion_rejected'
                                                    else 'said.rejected_unsent' end,
                            'values', jsonb_build_object('run', run))
  from withdrawn d;

  -- No one has seen what HR has changed since the plan was stored: the next plan checks it.
  with planned as materialized (
    select e.enterprise_code, e.userid from dirsync.employee e
    join dirsync.planned_work w
      on w.run_id = run and w.operation = 'update-employee' and w.enterprise_code = e.enterprise_code
     and w.entity_key = e.userid and (decision is null or w.decision_id = decision)
    where e.held_run = run and e.held_hash is not distinct from w.source_hash
    order by 1, 2 for update of e
  )
  update dirsync.employee e set rejected = true
  from planned p where p.enterprise_code = e.enterprise_code and p.userid = e.userid;
  perform dirsync.end_lost_retries();
  update dirsync.department d set rejected_run = run
  from dirsync.planned_work w
  where w.run_id = run and w.operation = 'delete-department' and (decision is null or w.decision_id = decision)
    and w.enterprise_code = d.enterprise_code and w.entity_key = d.dept_code;
end $$;
comment on function dirsync.reject_planned is
  'Marks the employees and departments of a rejected plan, or of a rejected part of it: they rest until HR '
  'changes them. Deletions of these departments that wait already are withdrawn, and so are updates of these employees '
  'that a person named.';

create function dirsync.count_decision(decision bigint) returns void
language sql set search_path = pg_catalog, pg_temp as $$
  with decided as materialized (
    select w.enterprise_code, w.reason, w.from_department, w.department, w.fields
    from dirsync.plan_decision d join dirsync.planned_work w on w.run_id = d.run_id and w.decision_id = d.id
    where d.id = decision
  ), state as (
    select coalesce(bool_and(fields is not null), true)
           and exists (select from dirsync.plan_decision d join dirsync.plan_reading p using (run_id)
                       where d.id = decision and p.state = 'done' and jsonb_typeof(p.moves) = 'array') as is_read
    from decided
  ), known as (
    select coalesce(k ->> 'enterprise_code', '') as enterprise_code, k ->> 'department' as department
    from dirsync.plan_decision d join dirsync.plan_reading p on p.run_id = d.run_id
    cross join jsonb_array_elements(p.departments) as k where d.id = decision
  ), known_moves as (
    select k ->> 'enterprise_code' as enterprise_code, k ->> 'from' as from_department, k ->> 'department' as department
    from dirsync.plan_decision d join dirsync.plan_reading p on p.run_id = d.run_id
    cross join jsonb_array_elements(nullif(p.moves, 'null')) as k where d.id = decision
  ), by_move as (
    select w.enterprise_code, w.from_department, w.department, count(*)::int as n,
           row_number() over (order by count(*) desc, w.from_department, w.department, w.enterprise_code) as place
    from decided w where w.from_department is not null group by 1, 2, 3
  ), by_department as (
    select w.enterprise_code, w.department, count(*)::int as n,
           row_number() over (order by count(*) desc, w.department, w.enterprise_code) as place
    from decided w where w.department is not null group by 1, 2
  )
  update dirsync.plan_decision d
  set reasons = coalesce((select jsonb_object_agg(f.reason, f.n)
                          from (select reason, count(*) as n from decided group by 1) f), '{}'),
      fields = case when s.is_read then coalesce(
        (select jsonb_object_agg(f.field, f.n)
         from (select u.field, count(*) as n from decided w cross join unnest(w.fields) as u (field)
               group by 1) f), '{}') end,
      departments = case when s.is_read then coalesce(
        (select jsonb_agg(jsonb_build_object('enterprise_code', b.enterprise_code, 'department', b.department, 'n', b.n)
                          order by b.place)
         from by_department b
         where b.place <= 50 or (b.enterprise_code, b.department) in (select * from known)), '[]') end,
      moves = case when s.is_read then coalesce(
        (select jsonb_agg(jsonb_build_object('enterprise_code', m.enterprise_code, 'from', m.from_department,
                                             'department', m.department, 'n', m.n) order by m.place)
         from by_move m
         where m.place <= 50
            or (m.enterprise_code, m.from_department, m.department) in (select * from known_moves)), '[]') end
  from state s where d.id = decision
$$;
comment on function dirsync.count_decision is 'Counts what was decided about a part of a plan, by its rows.';

-- What the last decision leaves of a run: the runs of its parts go on; without any, nothing is sent.
create function dirsync.decide_part(run bigint, approve boolean, filter jsonb, reason text) returns bigint
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  was      dirsync.sync_run;
  said     text := dirsync.text_of(reason, 'reason', 2000);
  part     jsonb := coalesce(jsonb_strip_nulls(filter), '{}');
  keys     text[];
  decision bigint;
  carries  bigint;
  decided  integer;
  rest     integer;
  names    text;
  sends    boolean;
  wrong    text[];
  known    boolean;
begin
  if part ? 'keys' then
    -- A key without its enterprise means the one row of the plan that has it, decided or not: nobody decides about
    -- another one because the one meant was decided meanwhile. With its enterprise it means that row alone.
    select coalesce(array_agg(distinct coalesce(one.name, k)), '{}') into keys
    from jsonb_array_elements_text(part -> 'keys') as a (k)
    left join lateral (
      select min(concat_ws('/', nullif(w.enterprise_code, ''), w.entity_key)) as name from dirsync.planned_work w
      where w.run_id = run and w.reason is not null
        and (w.entity_key collate "C" = k
             or w.entity_key collate "C" = substr(k, strpos(k, '/') + 1) and w.enterprise_code || '/' || w.entity_key = k)
      having count(*) = 1) one on true;
  end if;
  was := dirsync.expect_held(run);
  -- The rows not read yet would be left out, and go with a later decision about the rest. None of them is odd so far.
  if part ?| '{from,department,field,odd}'
     and not exists (select from dirsync.plan_reading p
                     where p.run_id = run and p.state = 'done' and jsonb_typeof(p.moves) = 'array') then
    perform dirsync.refuse('DS409', 'said.part_unread',
      jsonb_build_object('run', run, 'names', (select string_agg(k, ', ' order by k) from jsonb_object_keys(part) k
                                               where k in ('from', 'department', 'field', 'odd'))),
      hint => format('select dirsync.%s_part(%s, ''{"keys": ["e1", "e2"]}'')',
                     case when approve then 'approve' else 'reject' end, run));
  end if;

  insert into dirsync.plan_decision (run_id, approved, filter, planned, reasons, decided_by, why)
  values (run, approve, part, 0, '{}', dirsync.actor(), said) returning id into decision;
  update dirsync.planned_work w
  set decision_id = decision,
      -- Once it is sent, the memory no longer tells what was changed.
      (acknowledged, known_department) = (
        select coalesce(w.acknowledged, e.acknowledged), coalesce(w.known_department, e.dept_code)
        from (select) one left join dirsync.employee e
          on approve and w.reason = 'changed' and w.fields is null
             and e.enterprise_code = w.enterprise_code and e.userid = w.entity_key)
  where w.run_id = run and w.reason is not null and w.decision_id is null
    and (part ->> 'reason' is null or w.reason = part ->> 'reason')
    and (part ->> 'from' is null or w.from_department = part ->> 'from')
    and (part ->> 'department' is null or w.department = part ->> 'department')
    and (part ->> 'field' is null or part ->> 'field' = any (w.fields))
    and (part ->> 'enterprise' is null or w.enterprise_code = part ->> 'enterprise')
    and (part ->> 'key' is null or starts_with(w.entity_key, part ->> 'key'))
    and (part ->> 'odd' is null or w.odd = (part ->> 'odd')::boolean)
    and (keys is null or concat_ws('/', nullif(w.enterprise_code, ''), w.entity_key) = any (keys));
  get diagnostics decided = row_count;
  if keys is not null and decided < cardinality(keys) then
    -- A name that the plan lacks is the asker's mistake, and comes first. The others may have been decided meanwhile.
    select array_agg(k order by k), is_there into wrong, known
    from (select unnest(keys) as k
          except
          select concat_ws('/', nullif(w.enterprise_code, ''), w.entity_key) from dirsync.planned_work w
          where w.run_id = run and w.decision_id = decision) undecided
    cross join lateral (
      select exists (
        select from dirsync.planned_work w
        where w.run_id = run and w.reason is not null
          and (w.entity_key collate "C" = k
               or w.entity_key collate "C" = substr(k, strpos(k, '/') + 1)
                  and w.enterprise_code || '/' || w.entity_key = k)) as is_there) one
    group by is_there order by is_there limit 1;
    names := array_to_string(wrong[:10], ', ') || case when cardinality(wrong) > 10 then ', …' else '' end;
    perform dirsync.refuse(
      case when known then 'DS409' else 'P0002' end,
      case when known then 'said.part_decided' else 'said.part_unplanned' end,
      jsonb_build_object('names', names, 'run', run),
      hint => 'Look at it again before you decide.');
  end if;
  if decided = 0 then
    perform dirsync.refuse('P0002', 'said.part_is_empty', jsonb_build_object('run', run));
  end if;
  perform dirsync.note_command(
    case when part <> '{}' then case when approve then 'approve_part' else 'reject_part' end
         when approve then 'approve' else 'reject' end, run,
    jsonb_build_object('run', run, 'filter', nullif(part, '{}'), 'planned', decided, 'reason', said));

  if approve then
    carries := nextval(pg_get_serial_sequence('dirsync.sync_run', 'id'));
  end if;
  update dirsync.plan_decision d set planned = decided, part_run = carries where d.id = decision;
  perform dirsync.count_decision(decision);

  if approve then
    -- As of the plan: it has read nothing of HR since.
    insert into dirsync.sync_run
      (id, kind, keys, max_age, hr_source, requested_by, planned_at, planned_for, approved, decided_by, decided_at,
       decision_reason, read_all, mapping, in_scope, planned, plan, part_of)
    overriding system value
    select carries, was.kind, was.keys, was.max_age, was.hr_source, dirsync.actor(), was.planned_at,
           was.planned_for, true, dirsync.actor(), now(), said, was.read_all, was.mapping, was.in_scope, decided,
           jsonb_build_object(
             'reasons', d.reasons, 'total', was.plan -> 'total',
             'sample', (select coalesce(jsonb_agg(concat_ws('/', nullif(s.enterprise_code, ''), s.entity_key)), '[]')
                        from (select w.enterprise_code, w.entity_key from dirsync.planned_work w
                              where w.run_id = run and w.decision_id = decision
                              order by w.entity_key collate "C", w.enterprise_code limit 20) s)),
           run
    from dirsync.plan_decision d where d.id = decision;
    insert into dirsync.planned_work
      (run_id, operation, enterprise_code, entity_key, reason, active, source_hash, previous_hash, wave,
       known_department, from_department, department, fields, acknowledged, odd)
    select carries, w.operation, w.enterprise_code, w.entity_key, w.reason, w.active, w.source_hash, w.previous_hash,
           w.wave, w.known_department, w.from_department, w.department, w.fields, w.acknowledged, w.odd
    from dirsync.planned_work w where w.run_id = run and w.decision_id = decision;
  else
    perform dirsync.reject_planned(run, decision);
  end if;

  -- Rows without work are only remembered: the next plan does that.
  if was.undecided is null then
    delete from dirsync.planned_work w where w.run_id = run and w.reason is null;
    select count(*) into rest from dirsync.planned_work w where w.run_id = run and w.decision_id is null;
  else
    rest := was.undecided - decided;
  end if;
  sends := exists (select from dirsync.plan_decision d
                   where d.run_id = run and d.approved and d.returned < d.planned);
  if rest > 0 then
    update dirsync.sync_run r set undecided = rest where r.id = run;
  else
    update dirsync.sync_run r
    set state = case when sends then 'running' else 'rejected' end, approved = sends,
        finished_at = case when not sends then now() end, undecided = 0, recheck_at = null,
        decided_by = dirsync.actor(), decided_at = now(), decision_reason = said
    where r.id = run;
  end if;
  -- Nothing but what is undecided waits any more.
  if was.undecided is null or rest = 0 then
    perform dirsync.request_changes_after(was);
  end if;
  perform pg_notify('dirsync', 'run');
  return coalesce(carries, run);
end $$;
comment on function dirsync.decide_part is
  'Approves or rejects the rows of a held run''s plan that match a filter and are not decided yet; the others '
  'stay held. Returns the number of the run that sends an approved part, else that of the held run.';

-- A rejection lasts until HR changes the rows in question; whatever else waited for the decision goes on.
create or replace function dirsync.decide(run bigint, approve boolean, reason text) returns bigint
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  was  dirsync.sync_run;
  said text := dirsync.text_of(reason, 'reason', 2000);
begin
  was := dirsync.expect_held(run);
  if was.undecided is not null then
    perform dirsync.decide_part(run, approve, '{}', said);
    return run;
  end if;
  perform dirsync.note_command(case when approve then 'approve' else 'reject' end, run,
                               jsonb_build_object('run', run, 'reason', said));
  insert into dirsync.plan_decision
    (run_id, approved, filter, planned, reasons, fields, departments, moves, decided_by, why)
  select run, approve, '{}', coalesce(was.planned, 0), coalesce(was.plan -> 'reasons', '{}'),
         case when p.run_id is not null then coalesce(
           (select jsonb_object_agg(f ->> 'field', f -> 'n') from jsonb_array_elements(p.fields) f), '{}') end,
         p.departments, p.moves, dirsync.actor(), said
  from (select) one left join dirsync.plan_reading p on p.run_id = run and p.state = 'done' and jsonb_typeof(p.moves) = 'array';
  if not approve then
    perform dirsync.reject_planned(run, null);
  end if;
  update dirsync.sync_run r
  set state = case when approve then 'requested' else 'rejected' end, approved = approve, recheck_at = null,
      decided_by = dirsync.actor(), decided_at = now(), decision_reason = said,
      finished_at = case when approve then null else now() end
  where r.id = run;
  perform dirsync.request_changes_after(was);
  perform pg_notify('dirsync', 'run');
  return run;
end $$;
comment on function dirsync.decide is 'Approves or rejects a held run, or what of it is not decided yet.';

-- A filter that is misspelt would decide about more than was meant, and so would the beginning that every key has.
create function dirsync.refuse_unfit_part(filter jsonb) returns void
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
declare
  part  jsonb := case jsonb_typeof(filter) when 'object' then jsonb_strip_nulls(filter) else '{}' end;
  names text;
begin
  if part = '{}' or exists (select from jsonb_each_text(part) as o (k, v) where v !~ '\S') then
    perform dirsync.refuse('22023', 'said.part_needs_filter',
      hint => 'select dirsync.approve_part(12, ''{"department": "D1"}'')');
  end if;
  -- It is kept, and pages show it: as long as that of 50 of the longest names.
  perform dirsync.text_of(part::text, 'filter', 20000);
  select string_agg(case when known then o.k || ' ' || left(o.v::text, 200) else o.k end, ', ') into names
  from jsonb_each(part) as o (k, v)
  cross join lateral (
    select o.k = any ('{reason,from,department,field,enterprise,key,odd,keys}') as known) one
  where not known or case o.k
    when 'odd' then o.v #>> '{}' !~* '^(true|false|yes|no)$'
    when 'keys' then jsonb_typeof(o.v) <> 'array' or exists (
      select from jsonb_array_elements(case jsonb_typeof(o.v) when 'array' then o.v else '[]' end) as a (v)
      where jsonb_typeof(a.v) not in ('string', 'number') or a.v #>> '{}' !~ '\S')
    else jsonb_typeof(o.v) not in ('string', 'number') end;
  if names is not null then
    perform dirsync.refuse('22023', 'said.no_such_filter', jsonb_build_object('names', names),
      hint => 'reason, from, department, field, enterprise, key, odd, keys');
  end if;
end $$;
comment on function dirsync.refuse_unfit_part is
  'Fails for what names no part of a plan: the whole plan is decided by approve and reject.';

create function dirsync.approve_part(run bigint, filter jsonb, reason text default null) returns bigint
language sql security definer set search_path = pg_catalog, pg_temp as $$
  select dirsync.refuse_unfit_part(filter);
  select dirsync.decide_part(run, true, filter, reason)
$$;
comment on function dirsync.approve_part is
  'Lets a part of a held run''s plan go on: exactly the rows that match are sent, the others stay held. '
  'approve_part(12, ''{"department": "D1", "field": "mobile"}''), or by "from" (the department that they leave), "reason", '
  '"enterprise", "key" (the beginning of a user id), "odd", "keys" (["e1", "e2"]). What only HR tells (department, field, from, '
  'odd) is refused until HR has been read for the plan. Returns the number of the run that sends it.';

create function dirsync.reject_part(run bigint, filter jsonb, reason text default null) returns bigint
language sql security definer set search_path = pg_catalog, pg_temp as $$
  select dirsync.refuse_unfit_part(filter);
  select dirsync.decide_part(run, false, filter, reason)
$$;
comment on function dirsync.reject_part is
  'Rejects a part of a held run''s plan: the rows that match are not sent until HR changes them, the others stay '
  'held. The filter is that of approve_part. Returns the number of the run.';

-- What was approved and not sent ----------------------------------------------

create function dirsync.part_sent_by(run bigint) returns dirsync.plan_decision
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  part dirsync.plan_decision;
  was  dirsync.sync_run;
begin
  select r.* into was from dirsync.sync_run r
  where r.id = (select p.part_of from dirsync.sync_run p where p.id = run) for no key update;
  -- A source that was taken away, or another account, has ended it for good.
  if was.state in ('held', 'running', 'superseded')
     and was.hr_source in (select s.name from dirsync.sources_for(was.kind) s (name)) then
    select d.* into part from dirsync.plan_decision d where d.run_id = was.id and d.part_run = run;
  end if;
  return part;
end $$;
comment on function dirsync.part_sent_by is
  'The decision that a run carries out a part of a held run''s plan by, with the held run locked; null: it is no such '
  'run, or what it does not send can no longer be decided.';

create function dirsync.hold_again(part dirsync.plan_decision, rows integer) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  if part.id is null or rows = 0 then
    return;
  end if;
  update dirsync.plan_decision d set returned = d.returned + rows where d.id = part.id;
  perform dirsync.count_decision(part.id);
  update dirsync.sync_run r
  set state = 'held', undecided = r.undecided + rows, has_ended = r.has_ended or r.finished_at is not null,
      approved = false, finished_at = null, cancelled_at = null,
      decided_by = null, decided_at = null, decision_reason = null, result = null,
      suspect_since = null,
      -- It says what took its place.
      message = case when r.state <> 'superseded' then r.message end
  where r.id = part.run_id;
end $$;
comment on function dirsync.hold_again is
  'Holds a run again, whatever has become of it: so many rows of its plan, or of a part, that were approved are '
  'undecided again.';

create function dirsync.return_part(run bigint) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  part dirsync.plan_decision := dirsync.part_sent_by(run);
  back integer;
begin
  update dirsync.planned_work w set decision_id = null where w.run_id = part.run_id and w.decision_id = part.id;
  get diagnostics back = row_count;
  perform dirsync.hold_again(part, back);
end $$;
comment on function dirsync.return_part is
  'Makes an approved part of a held run''s plan undecided again, because the run that should send it never began.';

create or replace function dirsync.take_back(run bigint) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  part dirsync.plan_decision := dirsync.part_sent_by(run);
  back integer;
  -- This one may have taken over what another had planned.
  approved bigint[] := array(select r.id from dirsync.sync_run r where r.approved);
begin
  with waiting as materialized (
    select p.operation, p.enterprise_code, p.entity_key, p.detail from dirsync.pending p
    where p.run_id = run and not p.in_hand
    order by p.operation, p.enterprise_code, p.entity_key, p.detail for update
  ), taken_back as (
    -- Found by key: a row that was changed meanwhile is in another place.
    delete from dirsync.pending p using waiting w
    where p.operation = w.operation and p.enterprise_code = w.enterprise_code and p.entity_key = w.entity_key
      and p.detail = w.detail and not p.in_hand
    -- What a process had in hand that has died may have been sent.
    returning p.operation, p.enterprise_code, p.entity_key, p.sent_unknown or p.starts > 0 as sent_unknown
  ), undecided as (
    update dirsync.planned_work w set decision_id = null from taken_back t
    where w.run_id = part.run_id and w.decision_id = part.id and w.operation = t.operation
      and w.enterprise_code = t.enterprise_code and w.entity_key = t.entity_key
    returning w.operation, w.enterprise_code, w.entity_key, w.active, w.source_hash, w.previous_hash,
              w.reason <> 'asked' as waits
  ), employees as (
    -- No plan covers what HR has changed any more: the next one plans it anew, breakers included, and until then
    -- it is not in sync, as no row has this hash. What waits for a decision again is as it was before the first
    -- one, so that it can be approved again. Where the platform may have been changed unnoticed nothing is
    -- acknowledged any more, so that the next plan has it asked.
    update dirsync.employee e
    set (source_hash, vanished_at, acknowledged_hash, parked_hash) = (
          select case when u.waits then u.previous_hash
                      when settled then null
                      when e.source_hash in (e.acknowledged_hash, e.parked_hash) and not t.sent_unknown
                        then e.source_hash
                      when coalesce(e.acknowledged_hash, e.parked_hash) is not null
                           -- HR had them before a plan in which they vanished, which a person has approved.
                           or e.vanished_at is not null and exists (
                             select from dirsync.planned_work w
                             where w.run_id = any (approved) and w.reason = 'vanished' and w.operation = t.operation
                               and w.enterprise_code = e.enterprise_code and w.entity_key = e.userid
                               and w.previous_hash is not null)
                        then uuid '00000000-0000-0000-0000-000000000000' end,
                 case when settled then e.vanished_at end,
                 case when not settled and not t.sent_unknown then e.acknowledged_hash end,
                 case when not settled and not t.sent_unknown then e.parked_hash end
          -- The next plan finds again who has vanished, but not whose departure is settled: they were only
          -- asked about, and no row of theirs is known, as after the plan that found it.
          from (select e.vanished_at is not null and u.waits is not true and not t.sent_unknown
                       and (e.platform_state = 'absent'
                            or exists (select from dirsync.dead_letter d
                                       where d.enterprise_code = e.enterprise_code and d.entity = 'employee'
                                         and d.entity_key = e.userid and d.operation = 'update-employee'
                                         and d.category = 'left_hr' and d.state <> 'resolved'))) s (settled)),
        -- An execution that a plan has overtaken may have stored that they are in service.
        active = e.active and e.vanished_at is null,
        held_run = case when u.waits then part.run_id else e.held_run end,
        held_hash = case when u.waits then u.source_hash else e.held_hash end,
        held_gone = case when u.waits then u.active is not true else e.held_gone end,
        rejected = e.rejected and u.waits is not true
    from taken_back t
    left join undecided u on u.operation = t.operation and u.enterprise_code = t.enterprise_code
      and u.entity_key = t.entity_key
    where t.operation = 'update-employee' and e.enterprise_code = t.enterprise_code and e.userid = t.entity_key
    returning e.enterprise_code, e.userid, t.sent_unknown
  ), released as (
    -- Cases that wait for a value which the platform may have been told to give up: no outcome will release them.
    update dirsync.dead_letter d set next_retry_at = now()
    from employees e
    where e.sent_unknown and d.enterprise_code = e.enterprise_code and d.blocked_by = e.userid
      and d.state in ('open', 'blocked')
  )
  select count(*) into back from undecided;
  perform dirsync.hold_again(part, back);
end $$;
comment on function dirsync.take_back is
  'Takes the waiting work of a cancelled run out of the outbox. Work in hand is not touched. What an approved part '
  'of a held run''s plan has not sent is undecided again.';

create or replace function dirsync.cancel(run bigint, reason text default null) returns bigint
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  was  dirsync.sync_run;
  said text := dirsync.text_of(reason, 'reason', 2000);
begin
  -- The held run first, as everyone who decides about a part locks it first.
  perform from dirsync.sync_run r
  where r.id = (select c.part_of from dirsync.sync_run c where c.id = run) for no key update;
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
      hint => dirsync.runs_in('under way', '{requested,planning,running}'));
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
  -- What was decided in parts is sent by their runs.
  perform dirsync.cancel(c.id, said) from dirsync.sync_run c
  where c.part_of = run and c.finished_at is null and c.cancelled_at is null;
  if was.state in ('requested', 'planning') then
    perform dirsync.return_part(run);
  end if;
  perform dirsync.end_lost_retries();
  perform pg_notify('dirsync', 'run');
  return run;
end $$;
comment on function dirsync.cancel is
  'Takes the waiting work of a run back; work in hand is finished, unless its call waits long for its turn. The next run '
  'plans anew what was taken back. Returns its number.';

-- Counted once, when a run ends: sync_run keeps it. Of a run that was decided in parts, that of its parts.
create or replace function dirsync.run_result(run bigint) returns jsonb
language sql stable as $$
  with runs as materialized (
    select run as id union select id from dirsync.sync_run where part_of = run
  ), last_attempt as (
    select distinct on (operation, enterprise_code, entity_key, detail) outcome
    from dirsync.attempt where run_id in (select id from runs)
    order by operation, enterprise_code, entity_key, detail, id desc
  ), outcomes as (
    select outcome, count(*) as n from last_attempt group by outcome
  ), calls as (
    select c.key as operation, sum(c.value::int) as n, sum((a.waited_ms ->> c.key)::bigint) as waited_ms,
           sum((a.rate_limited ->> c.key)::int) as rate_limited
    from dirsync.attempt a, jsonb_each_text(a.calls) c where a.run_id in (select id from runs) group by c.key
  ), cases as (
    select category, count(*) as n from dirsync.dead_letter
    where last_run_id in (select id from runs) and state not in ('resolved', 'ignored') group by category
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

-- Whom HR says to be gone is so, also where a person has rejected that: nothing is sent about them either way,
-- and they are not in service.
alter table dirsync.employee add column held_gone boolean not null default false;
comment on column dirsync.employee.held_gone is
  'With held_run: whether the row of held_hash, or its absence, says that the employee is not in service. Workers of '
  'version 1.0 leave it as it was when they end a decision.';
-- Version 1.0 had every held plan wait, and every rejection rest, for those too whom an earlier plan had found gone.
update dirsync.employee e set held_run = null, rejected = false
where e.held_run is not null and e.held_hash is null and e.vanished_at is not null;
update dirsync.employee e set held_gone = true
where e.held_run is not null
  and (e.held_hash is null
       or exists (select from dirsync.planned_work w
                  where w.run_id = e.held_run and w.operation = 'update-employee'
                    and w.enterprise_code = e.enterprise_code and w.entity_key = e.userid and not w.active));
alter table dirsync.employee add column account int;
comment on column dirsync.employee.account is
  'A mark of the platform''s account that was compared last, by its registration date: an account that was ended and made '
  'anew has another one, and none of what was confirmed before. Null: of none.';
alter table dirsync.employee add column had_left boolean;
comment on column dirsync.employee.had_left is
  'HR said that the person of the platform''s account left, or the account proved another person''s, and no comparison '
  'has shown since that it is the employee''s. Null: nothing is known.';
update dirsync.employee set had_left = true
where platform_state <> 'absent' and (not active or vanished_at is not null or held_run is not null and held_gone);
alter table dirsync.employee rename column status to was;
alter table dirsync.employee add column status text not null generated always as (
  case when held_run is not null and not rejected
            -- Whom only a held plan knows, and as one who has left, was never in service.
            and not (held_gone and source_hash is null and vanished_at is null and platform_state = 'unknown')
         then 'held'
       when held_run is not null and not held_gone then 'rejected'
       -- With a held run that is left here, held_gone is true. Without one it means nothing.
       when vanished_at is not null or held_run is not null and held_hash is null then 'vanished'
       when not active or held_run is not null then 'left'
       when acknowledged_hash = source_hash then 'in_sync'
       when parked_hash = source_hash and platform_state = 'absent' then 'awaiting_activation'
       -- The case of a withheld field is the enterprise's, and accepted does not tell how that one stands.
       when parked_hash = source_hash and accepted and withheld = '{}' then 'accepted'
       when parked_hash = source_hash then 'dead_lettered'
       else 'waiting' end) stored;
comment on column dirsync.employee.status is
  'How the employee stands, for every screen, list and figure. held: HR has another row, which waits for a '
  'decision about held_run; rejected: a person rejected it; vanished, left: as HR says, rejected or not, or by the '
  'held plan that was the first to see the employee; '
  'in_sync: the platform confirmed every field; awaiting_activation: not yet on the platform; accepted: it '
  'differs, and a person ignored that; dead_lettered: a field or the whole is in review; waiting: to be sent.';
-- No trigger sees that a generated value has changed.
insert into dirsync.tally (source, enterprise_code, state, n)
select 'employee', enterprise_code, change.state, count(*) * change.sign
from dirsync.employee e cross join lateral (values (e.was, -1), (e.status, 1)) change (state, sign)
where e.was <> e.status
group by enterprise_code, change.state, change.sign;
alter table dirsync.employee drop column was;
create index employee_status on dirsync.employee (status, enterprise_code, userid)
  where status <> 'in_sync';

-- Only the owner may call a function of this schema, and the reviewer where migrate grants it.
revoke execute on all functions in schema dirsync from public;
