-- Acting on many cases at once.

-- Actions on many cases at once: first a preview that names the cases, then, once a person has confirmed it,
-- carried out in the background.
create table dirsync.bulk_action (
  -- Number of the action.
  id           bigint generated always as identity primary key,
  -- retry, snooze, ignore, assign or comment.
  action       text not null check (action in ('retry', 'snooze', 'ignore', 'assign', 'comment')),
  -- What the cases had to match when the preview was made; null: they were chosen one by one.
  filter       jsonb,
  arguments    jsonb not null default '{}',            -- until and reason, assignee, or text.
  -- preview: not confirmed yet; requested: waits for a process; running; done; stopped: by a person.
  state        text not null default 'preview'
               check (state in ('preview', 'requested', 'running', 'done', 'stopped')),
  total        integer not null default 0,             -- Cases that it is about.
  -- Whether more cases matched than one action takes; the rest is left out.
  more         boolean not null default false,
  categories   jsonb not null default '{}',            -- Cases by category, when the preview was made.
  states       jsonb not null default '{}',            -- Cases by state, when the preview was made.
  done         integer not null default 0,             -- Cases that it was done to.
  -- Cases that had changed since the preview, or were closed.
  skipped      integer not null default 0,
  failed       integer not null default 0,             -- Cases where it went wrong.
  -- Whom the console or the shell named: what is done is done in their name.
  actor        text,
  requested_by text not null default dirsync.actor(),  -- Who made the preview; then who confirmed it.
  address      text default dirsync.address(),         -- From where.
  reason       text,                                   -- Why, where a reason was given.
  created_at   timestamptz not null default now(),     -- When the preview was made.
  confirmed_at timestamptz,                            -- When a person confirmed it.
  started_at   timestamptz,                            -- When a process began.
  -- When a process last worked on it: whichever has waited longest is next.
  worked_at    timestamptz,
  finished_at  timestamptz,                            -- When it was done or stopped.
  version      integer not null default 1              -- Raised at every change.
);
create index bulk_action_waiting on dirsync.bulk_action (worked_at nulls first, id)
  where state in ('requested', 'running');
create index bulk_action_created_at on dirsync.bulk_action (created_at);

-- The cases of a bulk action, and what came of each.
create table dirsync.bulk_item (
  bulk_id        bigint not null references dirsync.bulk_action on delete cascade,  -- The action.
  dead_letter_id bigint not null,                                                   -- The case.
  -- Version of the case when the preview was made. A case that has another one is skipped.
  version        integer not null,
  -- done, skipped or failed; null: its turn has not come.
  outcome        text check (outcome in ('done', 'skipped', 'failed')),
  -- Why it was not done: changed since the preview, closed, gone (deleted), or an error.
  code           text check (code in ('changed', 'closed', 'gone', 'error')),
  -- changed: who changed it, how and when; error: the error. For dirsync.in_language.
  message        jsonb,
  -- The run that tries it again.
  run_id         bigint,
  at             timestamptz,                                                       -- When its turn came.
  primary key (bulk_id, dead_letter_id)
);
create index bulk_item_outcome on dirsync.bulk_item (bulk_id, outcome, dead_letter_id);

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
comment on function dirsync.bulk_begin is 'Begins the preview of a bulk action. Returns its number.';

create function dirsync.bulk_locked(id bigint) returns dirsync.bulk_action
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  bulk dirsync.bulk_action;
begin
  select * into bulk from dirsync.bulk_action b where b.id = bulk_locked.id for no key update;
  if bulk.id is null then
    perform dirsync.refuse('P0002', 'said.no_bulk_action', jsonb_build_object('id', id));
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
comment on function dirsync.bulk_start is 'Has a bulk action that was previewed carried out.';

create function dirsync.bulk_stop(id bigint) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
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
comment on function dirsync.bulk_stop is
  'Stops a bulk action after the batch in hand, or throws a preview away. What is done stays done.';

create function dirsync.bulk_skip_reason(item dirsync.bulk_item, d dirsync.dead_letter, action text)
returns text
language sql immutable set search_path = pg_catalog, pg_temp as $$
  select case when d.id is null then 'gone'
              when d.version <> item.version then 'changed'
              when d.state = 'resolved' and action in ('retry', 'snooze', 'ignore')
                or d.state = 'ignored' and action in ('snooze', 'ignore') then 'closed' end
$$;
comment on function dirsync.bulk_skip_reason is
  'Why a bulk action leaves a case alone, as the code of its item; null when it does not.';

create function dirsync.bulk_skip(item dirsync.bulk_item, why text) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  update dirsync.bulk_item i
  set outcome = 'skipped', code = why, at = clock_timestamp(),
      message = case when why = 'changed' then dirsync.last_change(i.dead_letter_id) end
  where i.bulk_id = item.bulk_id and i.dead_letter_id = item.dead_letter_id;
end $$;
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
comment on function dirsync.bulk_act is 'Does to one case what a bulk action is about. Returns the outcome.';

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
