-- What people do about cases: who asked, from where and why; assigning, commenting, acting on many at once.

-- The record ------------------------------------------------------------------

create function dirsync.address() returns text
language sql stable set search_path = pg_catalog, pg_temp as $$
  select coalesce(nullif(current_setting('dirsync.address', true), ''), host(inet_client_addr()))
$$;
comment on function dirsync.address is
  'From where somebody asks: what the console says, else the address of the database client; null when that '
  'is on the same machine.';

alter table dirsync.command
  add column address text default dirsync.address(),
  add column reason  text;
-- Nobody knows any more from where these came.
update dirsync.command set address = null, reason = arguments ->> 'reason';
create index command_requested_at on dirsync.command (requested_at desc, id desc);
create index command_requested_by on dirsync.command (requested_by, requested_at desc, id desc);
create index command_name on dirsync.command (name, requested_at desc, id desc);
create index command_dead_letter on dirsync.command (dead_letter_id) where dead_letter_id is not null;
comment on column dirsync.command.address is
  'From where it was asked for: address of the browser, or of the database client.';
comment on column dirsync.command.reason is 'Why, where a reason was given.';

create function dirsync.keep_commands() returns trigger
language plpgsql set search_path = pg_catalog, pg_temp as $$
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
comment on function dirsync.keep_commands is
  'Refuses to change the record of what people asked for, or to delete any of it before its time.';
create trigger append_only before update or delete on dirsync.command
  for each row execute function dirsync.keep_commands();
create trigger not_emptied before truncate on dirsync.command
  for each statement execute function dirsync.keep_commands();

create function dirsync.note_command(name text, run bigint, arguments jsonb, dead_letter bigint) returns void
language sql set search_path = pg_catalog, pg_temp as $$
  insert into dirsync.command (name, arguments, requested_by, run_id, dead_letter_id, reason)
  values (note_command.name, jsonb_strip_nulls(arguments), dirsync.actor(), run, dead_letter,
          arguments ->> 'reason')
$$;
comment on function dirsync.note_command(text, bigint, jsonb, bigint) is
  'Writes down what a person asks for, before it takes effect.';

create or replace function dirsync.note_command(name text, run bigint, arguments jsonb) returns void
language sql set search_path = pg_catalog, pg_temp as $$
  select dirsync.note_command(name, run, arguments, null)
$$;
comment on function dirsync.note_command(text, bigint, jsonb) is
  'Writes down what a person asks for that is not about one case.';

create function dirsync.moment(at timestamptz) returns text
language sql stable set search_path = pg_catalog, pg_temp as $$
  select to_char(at at time zone 'UTC', 'YYYY-MM-DD HH24:MI:SS "UTC"')
$$;
comment on function dirsync.moment is 'A moment as messages name it.';

create function dirsync.text_of(given text, name text, most integer) returns text
language plpgsql immutable set search_path = pg_catalog, pg_temp as $$
begin
  if length(given) > most then
    raise exception 'the % has % characters and may have %', name, length(given), most
      using errcode = '22023', hint = 'Shorten it.';
  end if;
  return nullif(btrim(given), '');
end $$;
comment on function dirsync.text_of is
  'What a person wrote, without blanks around it; null when that is nothing. Refuses what is too long.';

-- Runs: what was asked for is written down before it takes effect -------------

create or replace function dirsync.request_run(
  kind text, keys text[], command text, arguments jsonb, max_age interval default null
) returns bigint
language plpgsql as $$
declare
  run bigint;
  joins boolean;
begin
  select r.id into run from dirsync.sync_run r
  where r.kind = request_run.kind and r.keys = request_run.keys
    and r.max_age is not distinct from request_run.max_age
    and r.state = 'requested' and not r.approved
  order by r.id limit 1;
  joins := run is not null;
  if not joins then
    run := nextval(pg_get_serial_sequence('dirsync.sync_run', 'id'));
  end if;
  perform dirsync.note_command(
    command, run, arguments, case when command = 'retry' then (arguments ->> 'id')::bigint end);
  if not joins then
    insert into dirsync.sync_run (id, kind, keys, max_age, requested_by) overriding system value
    values (run, request_run.kind, request_run.keys, request_run.max_age, dirsync.actor());
  end if;
  perform pg_notify('dirsync', 'run');
  return run;
end $$;

create function dirsync.refuse_decided(run dirsync.sync_run) returns void
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
begin
  if run.decided_by is null then
    return;
  end if;
  raise exception 'run % was % by % at %', run.id,
    case when run.state = 'rejected' then 'rejected'
         when run.cancelled_at is not null or run.state = 'cancelled' then 'cancelled'
         else 'approved' end,
    run.decided_by || coalesce(' (' || run.decision_reason || ')', ''), dirsync.moment(run.decided_at)
    using errcode = 'DS409', hint = 'Look at it again before you decide.';
end $$;
comment on function dirsync.refuse_decided is
  'Tells that somebody else has decided about a run, and what; says nothing where nobody has.';

create or replace function dirsync.decide(run bigint, approve boolean, reason text) returns bigint
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  was  dirsync.sync_run;
  said text := dirsync.text_of(reason, 'reason', 2000);
begin
  select * into was from dirsync.sync_run r where r.id = run for no key update;
  if was.state is distinct from 'held' then
    perform dirsync.refuse_decided(was);
    raise exception 'there is no held run %', coalesce(run::text, 'null') using errcode = 'P0002',
      hint = 'select id, kind, message from dirsync.sync_run where state = ''held''';
  end if;
  perform dirsync.note_command(case when approve then 'approve' else 'reject' end, run,
                               jsonb_build_object('run', run, 'reason', said));
  update dirsync.sync_run r
  set state = case when approve then 'requested' else 'rejected' end, approved = approve, rejudge_at = null,
      decided_by = dirsync.actor(), decided_at = now(), decision_reason = said,
      finished_at = case when approve then null else now() end
  where r.id = run;
  perform pg_notify('dirsync', 'run');
  return run;
end $$;

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
  set cancelled_at = now(), decided_by = dirsync.actor(), decided_at = now(), decision_reason = said,
      state = case when was.state = 'running' and r.kind not in ('orders', 'accounts', 'taxpayers')
                   then 'running' else 'cancelled' end,
      finished_at = case when was.state = 'running' and r.kind not in ('orders', 'accounts', 'taxpayers')
                         then null else now() end
  where r.id = run;
  perform pg_notify('dirsync', 'run');
  return run;
end $$;

create or replace function dirsync.pause(reason text) returns text
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  said text := dirsync.text_of(reason, 'reason', 2000);
begin
  if said is null then
    raise exception 'pause needs a reason' using errcode = '22023',
      hint = 'select dirsync.pause(''platform maintenance until 18:00'')';
  end if;
  perform dirsync.note_command('pause', null, jsonb_build_object('reason', said));
  insert into dirsync.halt as h (scope, category, message, remedy, next_probe_at, raised_by)
  values ('*', 'paused', format('All calls are paused by %s: %s', dirsync.actor(), said),
          'Let them go on with `dirsync resume`.', 'infinity', dirsync.actor())
  on conflict (scope) do update
  set (category, platform_code, message, remedy, next_probe_at, raised_by, since, probes)
    = (excluded.category, null, excluded.message, excluded.remedy, excluded.next_probe_at, excluded.raised_by,
       case when h.category = 'paused' then h.since else now() end, 0);
  perform pg_notify('dirsync', 'feed');
  return said;
end $$;

create or replace function dirsync.resume() returns boolean
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
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

-- Cases -----------------------------------------------------------------------

alter table dirsync.dead_letter add column assignee text;
comment on column dirsync.dead_letter.assignee is 'Who takes care of it; null: nobody yet.';
alter table dirsync.dead_letter_event
  drop constraint dead_letter_event_event_check,
  add constraint dead_letter_event_event_check
    check (event in ('opened', 'changed', 'retried', 'resolved', 'ignored', 'snoozed', 'reopened', 'assigned',
                     'commented'));
comment on column dirsync.dead_letter_event.event is
  'What happened; changed: it failed again for another reason; assigned: the note says to whom, null to '
  'nobody.';
comment on column dirsync.dead_letter_event.note is
  'Category, the reason that a person gave, whom the case was assigned to, or the comment.';
comment on column dirsync.dead_letter.version is 'Raised at every change, comments aside.';

create function dirsync.last_change(id bigint) returns text
language sql stable set search_path = pg_catalog, pg_temp as $$
  select case when e.at is null or d.last_failed_at > e.at
              then format('it failed again at %s', dirsync.moment(d.last_failed_at))
              else format('%s %s it at %s', e.actor, e.event, dirsync.moment(e.at)) end
  from dirsync.dead_letter d
  left join lateral (
    select at, actor, event from dirsync.dead_letter_event v
    where v.dead_letter_id = d.id and v.event <> 'commented' order by v.id desc limit 1) e on true
  where d.id = last_change.id
$$;
comment on function dirsync.last_change is 'Who changed a case last, how and when.';

create function dirsync.expect_version(id bigint, version integer) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  now_at integer;
begin
  select d.version into now_at from dirsync.dead_letter d where d.id = expect_version.id for no key update;
  if now_at <> expect_version.version then
    raise exception 'dead letter % has changed since you looked: %', id, dirsync.last_change(id)
      using errcode = 'DS409', hint = 'Look at it again before you decide.';
  end if;
end $$;
comment on function dirsync.expect_version is
  'Locks a case for the rest of the transaction; refuses when somebody has changed it since it had this '
  'version.';

-- Each of these changes a case without writing down a command: its caller has.

create function dirsync.set_ignored(id bigint, reason text) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  update dirsync.dead_letter d
  set state = 'ignored', note = reason, next_retry_at = null, snooze_until = null, version = d.version + 1
  where d.id = set_ignored.id and d.state not in ('resolved', 'ignored');
  if not found then
    raise exception 'there is no open dead letter %', coalesce(id::text, 'null') using errcode = 'P0002';
  end if;
  insert into dirsync.dead_letter_event (dead_letter_id, actor, event, note)
  values (id, dirsync.actor(), 'ignored', reason);
end $$;
comment on function dirsync.set_ignored is 'Closes a case as accepted.';

create function dirsync.set_snoozed(id bigint, until timestamptz, reason text) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  if until is null or until <= now() then
    raise exception 'snooze needs a time in the future' using errcode = '22023',
      hint = 'select dirsync.snooze(17, now() + interval ''3 days'')';
  end if;
  update dirsync.dead_letter d
  set state = 'snoozed', snooze_until = until, next_retry_at = until, note = coalesce(reason, d.note),
      version = d.version + 1
  where d.id = set_snoozed.id and d.state not in ('resolved', 'ignored');
  if not found then
    raise exception 'there is no open dead letter %', coalesce(id::text, 'null') using errcode = 'P0002';
  end if;
  insert into dirsync.dead_letter_event (dead_letter_id, actor, event, note)
  values (id, dirsync.actor(), 'snoozed', reason);
end $$;
comment on function dirsync.set_snoozed is 'Lets a case rest until a time.';

create function dirsync.set_assigned(id bigint, assignee text) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  update dirsync.dead_letter d set assignee = set_assigned.assignee, version = d.version + 1
  where d.id = set_assigned.id;
  if not found then
    raise exception 'there is no dead letter %', coalesce(id::text, 'null') using errcode = 'P0002';
  end if;
  insert into dirsync.dead_letter_event (dead_letter_id, actor, event, note)
  values (id, dirsync.actor(), 'assigned', assignee);
end $$;
comment on function dirsync.set_assigned is 'Gives a case to somebody, or to nobody.';

create function dirsync.add_comment(id bigint, text text) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  perform from dirsync.dead_letter d where d.id = add_comment.id for key share;
  if not found then
    raise exception 'there is no dead letter %', coalesce(id::text, 'null') using errcode = 'P0002';
  end if;
  insert into dirsync.dead_letter_event (dead_letter_id, actor, event, note)
  values (id, dirsync.actor(), 'commented', text);
end $$;
comment on function dirsync.add_comment is 'Adds a comment to the story of a case.';

create or replace function dirsync.ignore(id bigint, reason text) returns bigint
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  said text := dirsync.text_of(reason, 'reason', 2000);
begin
  if said is null then
    raise exception 'ignore needs a reason' using errcode = '22023',
      hint = 'select dirsync.ignore(17, ''shared phone, agreed with the works council'')';
  end if;
  perform dirsync.note_command('ignore', null, jsonb_build_object('id', id, 'reason', said), id);
  perform dirsync.set_ignored(id, said);
  return id;
end $$;

create or replace function dirsync.snooze(id bigint, until timestamptz, reason text default null)
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
  'Says who takes care of a case, assign(17, ''mei''), or that nobody does, assign(17, null). Returns its '
  'number.';

create function dirsync.comment(id bigint, text text) returns bigint
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  said text := dirsync.text_of(text, 'comment', 2000);
begin
  if said is null then
    raise exception 'comment needs a text' using errcode = '22023',
      hint = 'select dirsync.comment(17, ''called him: new number on Monday'')';
  end if;
  perform dirsync.note_command('comment', null, jsonb_build_object('id', id, 'text', said), id);
  perform dirsync.add_comment(id, said);
  return id;
end $$;
comment on function dirsync.comment is
  'Adds a comment to the story of a case, also of a resolved one. Returns its number.';

-- Finding cases among a hundred thousand open and a million resolved ones ------

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

-- The tally learns the code, and how often cases have failed, so that causes are listed without counting.
alter table dirsync.tally
  add column platform_code bigint,
  add column failures      bigint not null default 0;
comment on column dirsync.tally.platform_code is 'dead_letter: its error code of the platform.';
comment on column dirsync.tally.failures is
  'dead_letter: how often the cases have failed in all: occurrences gained less occurrences lost.';

create or replace function dirsync.tally_dead_letter() returns trigger
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  case tg_op
  when 'INSERT' then
    insert into dirsync.tally (source, category, platform_code, state, n, failures)
    select 'dead_letter', category, platform_code, state, count(*), sum(occurrences)
    from added where state <> 'resolved' group by 2, 3, 4;
  when 'DELETE' then
    insert into dirsync.tally (source, category, platform_code, state, n, failures)
    select 'dead_letter', category, platform_code, state, -count(*), -sum(occurrences)
    from removed where state <> 'resolved' group by 2, 3, 4;
  else
    insert into dirsync.tally (source, category, platform_code, state, n, failures)
    select 'dead_letter', category, platform_code, state, sum(n), sum(n * occurrences)
    from (select category, platform_code, state, occurrences, 1 as n from added
          union all
          select category, platform_code, state, occurrences, -1 from removed) changed
    where state <> 'resolved' group by 2, 3, 4 having sum(n) <> 0 or sum(n * occurrences) <> 0;
  end case;
  return null;
end $$;

create or replace function dirsync.fold_tally() returns bigint
language plpgsql set search_path = pg_catalog, pg_temp as $$
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

lock table dirsync.dead_letter in share row exclusive mode;
do $$ begin perform pg_advisory_xact_lock(1952541804); end $$; -- 'tall'
delete from dirsync.tally where source = 'dead_letter';
insert into dirsync.tally (source, category, platform_code, state, n, failures)
select 'dead_letter', category, platform_code, state, count(*), sum(occurrences)
from dirsync.dead_letter where state <> 'resolved' group by 2, 3, 4;

-- Acting on many cases --------------------------------------------------------

create table dirsync.bulk_action (
  id           bigint generated always as identity primary key,
  action       text not null check (action in ('retry', 'snooze', 'ignore', 'assign', 'comment')),
  filter       jsonb,
  arguments    jsonb not null default '{}',
  state        text not null default 'preview'
               check (state in ('preview', 'requested', 'running', 'done', 'stopped')),
  total        integer not null default 0,
  more         boolean not null default false,
  categories   jsonb not null default '{}',
  states       jsonb not null default '{}',
  done         integer not null default 0,
  skipped      integer not null default 0,
  failed       integer not null default 0,
  actor        text,
  requested_by text not null default dirsync.actor(),
  address      text default dirsync.address(),
  reason       text,
  created_at   timestamptz not null default now(),
  confirmed_at timestamptz,
  started_at   timestamptz,
  worked_at    timestamptz,
  finished_at  timestamptz,
  version      integer not null default 1
);
create index bulk_action_waiting on dirsync.bulk_action (worked_at nulls first, id)
  where state in ('requested', 'running');
create index bulk_action_created_at on dirsync.bulk_action (created_at);

comment on table dirsync.bulk_action is
  'Actions on many cases at once: first a preview that names the cases, then, once a person has confirmed '
  'it, carried out in the background.';
comment on column dirsync.bulk_action.id is 'Number of the action.';
comment on column dirsync.bulk_action.action is 'retry, snooze, ignore, assign or comment.';
comment on column dirsync.bulk_action.filter is
  'What the cases had to match when the preview was made; null: they were chosen one by one.';
comment on column dirsync.bulk_action.arguments is 'until and reason, assignee, or text.';
comment on column dirsync.bulk_action.state is
  'preview: nobody has confirmed it; requested: waits for a process; running; done; stopped: by a person.';
comment on column dirsync.bulk_action.total is 'Cases that it is about.';
comment on column dirsync.bulk_action.more is
  'Whether more cases matched than one action takes; the rest is left out.';
comment on column dirsync.bulk_action.categories is 'Cases by category, when the preview was made.';
comment on column dirsync.bulk_action.states is 'Cases by state, when the preview was made.';
comment on column dirsync.bulk_action.done is 'Cases that it was done to.';
comment on column dirsync.bulk_action.skipped is 'Cases that had changed since the preview, or were closed.';
comment on column dirsync.bulk_action.failed is 'Cases where it went wrong.';
comment on column dirsync.bulk_action.actor is
  'Whom the console or the shell named: what is done is done in their name.';
comment on column dirsync.bulk_action.requested_by is 'Who made the preview; then who confirmed it.';
comment on column dirsync.bulk_action.address is 'From where.';
comment on column dirsync.bulk_action.reason is 'Why, where a reason was given.';
comment on column dirsync.bulk_action.created_at is 'When the preview was made.';
comment on column dirsync.bulk_action.confirmed_at is 'When a person confirmed it.';
comment on column dirsync.bulk_action.started_at is 'When a process began.';
comment on column dirsync.bulk_action.worked_at is
  'When a process last worked on it: whichever has waited longest is next.';
comment on column dirsync.bulk_action.finished_at is 'When it was done or stopped.';
comment on column dirsync.bulk_action.version is 'Raised at every change.';

create table dirsync.bulk_item (
  bulk_id        bigint not null references dirsync.bulk_action on delete cascade,
  dead_letter_id bigint not null,
  version        integer not null,
  outcome        text check (outcome in ('done', 'skipped', 'failed')),
  code           text check (code in ('changed', 'closed', 'gone', 'error')),
  message        text,
  run_id         bigint,
  at             timestamptz,
  primary key (bulk_id, dead_letter_id)
);
create index bulk_item_outcome on dirsync.bulk_item (bulk_id, outcome, dead_letter_id);

comment on table dirsync.bulk_item is 'The cases of a bulk action, and what came of each.';
comment on column dirsync.bulk_item.bulk_id is 'The action.';
comment on column dirsync.bulk_item.dead_letter_id is 'The case.';
comment on column dirsync.bulk_item.version is
  'Version of the case when the preview was made. A case that has another one is skipped.';
comment on column dirsync.bulk_item.outcome is 'done, skipped or failed; null: its turn has not come.';
comment on column dirsync.bulk_item.code is
  'Why it was not done: changed since the preview, closed, gone (deleted), or an error.';
comment on column dirsync.bulk_item.message is 'The same in a sentence.';
comment on column dirsync.bulk_item.run_id is 'The run that tries it again.';
comment on column dirsync.bulk_item.at is 'When its turn came.';

create function dirsync.bulk_begin(
  action text, filter jsonb, arguments jsonb, actor text
) returns bigint
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  bulk   bigint;
  reason text := dirsync.text_of(arguments ->> 'reason', 'reason', 2000);
  until  timestamptz := arguments ->> 'until';
  name   text := dirsync.text_of(arguments ->> 'assignee', 'name', 200);
  said   text := dirsync.text_of(arguments ->> 'text', 'comment', 2000);
begin
  if action = 'ignore' and reason is null then
    raise exception 'ignore needs a reason' using errcode = '22023';
  end if;
  if action = 'comment' and said is null then
    raise exception 'comment needs a text' using errcode = '22023';
  end if;
  if action = 'snooze' and (until is null or until <= now()) then
    raise exception 'snooze needs a time in the future' using errcode = '22023';
  end if;
  insert into dirsync.bulk_action (action, filter, arguments, actor, reason)
  values (action, filter,
          jsonb_strip_nulls(jsonb_build_object('until', until, 'reason', reason, 'assignee', name,
                                               'text', said)),
          actor, reason)
  returning id into bulk;
  return bulk;
end $$;
comment on function dirsync.bulk_begin is 'Begins the preview of a bulk action. Returns its number.';

create function dirsync.bulk_locked(id bigint) returns dirsync.bulk_action
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  bulk dirsync.bulk_action;
begin
  select * into bulk from dirsync.bulk_action b where b.id = bulk_locked.id for no key update;
  if bulk.id is null then
    raise exception 'there is no bulk action % (any more)', coalesce(id::text, 'null')
      using errcode = 'P0002';
  end if;
  return bulk;
end $$;
comment on function dirsync.bulk_locked is 'A bulk action, locked for the rest of the transaction.';

create function dirsync.bulk_start(id bigint, actor text) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  bulk dirsync.bulk_action := dirsync.bulk_locked(id);
begin
  if bulk.state <> 'preview' then
    raise exception 'bulk action % was % by % at %', id,
      case when bulk.confirmed_at is null then 'thrown away' else 'started' end, bulk.requested_by,
      dirsync.moment(coalesce(bulk.confirmed_at, bulk.finished_at))
      using errcode = 'DS409', hint = 'Look at it again before you decide.';
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
comment on function dirsync.bulk_start is 'Has a bulk action that was previewed carried out.';

create function dirsync.bulk_stop(id bigint) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  bulk dirsync.bulk_action := dirsync.bulk_locked(id);
begin
  if bulk.finished_at is not null then
    raise exception 'bulk action % is % since %', id, bulk.state, dirsync.moment(bulk.finished_at)
      using errcode = 'DS409', hint = 'Look at it again before you decide.';
  end if;
  -- A preview that is thrown away has done nothing.
  if bulk.state <> 'preview' then
    perform dirsync.note_command('bulk_stop', null, jsonb_build_object('bulk', id));
  end if;
  update dirsync.bulk_action b set state = 'stopped', finished_at = now(), version = b.version + 1
  where b.id = bulk.id;
  perform pg_notify('dirsync', 'bulk');
end $$;
comment on function dirsync.bulk_stop is
  'Stops a bulk action after the batch in hand, or throws a preview away. What is done stays done.';

create function dirsync.bulk_judge(item dirsync.bulk_item, d dirsync.dead_letter, action text)
returns text
language sql immutable set search_path = pg_catalog, pg_temp as $$
  select case when d.id is null then 'gone'
              when d.version <> item.version then 'changed'
              when d.state = 'resolved' and action in ('retry', 'snooze', 'ignore')
                or d.state = 'ignored' and action in ('snooze', 'ignore') then 'closed' end
$$;
comment on function dirsync.bulk_judge is
  'Why a bulk action leaves a case alone, as the code of its item; null when it does not.';

create function dirsync.bulk_skip(item dirsync.bulk_item, why text) returns void
language sql set search_path = pg_catalog, pg_temp as $$
  update dirsync.bulk_item i
  set outcome = 'skipped', code = why, at = clock_timestamp(),
      message = case why
        when 'gone' then 'it is not kept any more'
        when 'changed'
          then 'it has changed since the preview: ' || dirsync.last_change(i.dead_letter_id)
        else 'it is ' || (select d.state from dirsync.dead_letter d where d.id = i.dead_letter_id) end
  where i.bulk_id = item.bulk_id and i.dead_letter_id = item.dead_letter_id
$$;
comment on function dirsync.bulk_skip is 'Writes down that a bulk action has left a case alone, and why.';

create function dirsync.bulk_retry(
  bulk dirsync.bulk_action, most integer, out done integer, out skipped integer
)
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  ids   bigint[];
  until bigint;
  run   bigint;
begin
  select array_agg(i.dead_letter_id) filter (where dirsync.bulk_judge(i, d, bulk.action) is null),
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
  perform dirsync.bulk_skip(i, coalesce(dirsync.bulk_judge(i, d, bulk.action), 'changed'))
  from dirsync.bulk_item i left join dirsync.dead_letter d on d.id = i.dead_letter_id
  where i.bulk_id = bulk.id and i.outcome is null and i.dead_letter_id <= until;
  get diagnostics skipped = row_count;
end $$;
comment on function dirsync.bulk_retry is
  'Requests one run for the next cases of a bulk retry. Returns how many it is about, and how many are left '
  'alone.';

create function dirsync.bulk_act(bulk dirsync.bulk_action, item dirsync.bulk_item) returns text
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  d   dirsync.dead_letter;
  why text;
begin
  select * into d from dirsync.dead_letter c where c.id = item.dead_letter_id for no key update;
  why := dirsync.bulk_judge(item, d, bulk.action);
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
    set outcome = 'failed', code = 'error', message = sqlerrm, at = clock_timestamp()
    where i.bulk_id = item.bulk_id and i.dead_letter_id = item.dead_letter_id;
    return 'failed';
end $$;
comment on function dirsync.bulk_act is
  'Does to one case what a bulk action is about. Returns the outcome.';

create function dirsync.bulk_step(most integer, most_retried integer) returns bigint
language plpgsql set search_path = pg_catalog, pg_temp as $$
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
comment on function dirsync.bulk_step is
  'Carries out the next batch of a bulk action, all or nothing of it, so that a process that dies leaves '
  'nothing half done. Returns the number of the action; null when none waits.';

-- Nobody may call what 0012 has made but its owner, and the reviewer where migrate grants it.
revoke execute on all functions in schema dirsync from public;
