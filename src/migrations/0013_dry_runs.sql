-- What another SELECT would change.

-- What another SELECT of employees would change, found out without writing anything; kept for 30 days.
create table dirsync.dry_run (
  id           bigint generated always as identity primary key,  -- Number of the dry run.
  requested_by text not null default dirsync.actor(),            -- Database user, and who asked.
  requested_at timestamptz not null default now(),               -- When it was asked for.
  -- Where the person who asked was; null: at a shell, or not known.
  address      text,
  mapping      text not null,                                    -- The SELECT that is tried out.
  -- requested; running; done; failed: the SELECT is wrong, or HR could not be read, see message; cancelled.
  state        text not null default 'requested'
               check (state in ('requested', 'running', 'done', 'failed', 'cancelled')),
  -- How often it was begun: one whose process has ended three times has failed.
  starts       smallint not null default 0,
  -- What it does: plan as a run would, read the new rows, read those of today's mapping, compare them.
  phase        text check (phase in ('plan', 'new', 'today', 'compare')),
  rows_read    integer not null default 0,                       -- Rows read from HR so far, over all phases.
  started_at   timestamptz,                                      -- When it began.
  finished_at  timestamptz,                                      -- When it ended.
  message      jsonb,                                            -- failed: why, for dirsync.in_language.
  -- Line of the SELECT that is wrong, from 1; null: not known.
  error_line   integer,
  error_column integer,                                          -- Column of that line, from 1.
  -- done: what a run would plan and whether it would be held; employees by what becomes of them, changed
  -- fields, departments and rule breaks, counted over all of them.
  summary      jsonb,
  -- The HR source that it reads; empty where there is only one.
  hr_source    text not null default '',
  constraint dry_run_finished_check
    check ((state in ('done', 'failed', 'cancelled')) = (finished_at is not null))
);
create index dry_run_unfinished on dirsync.dry_run (id) where state in ('requested', 'running');

-- Employees for whom the SELECT of a dry run makes a difference, 10,000 at most, of each kind its share.
create table dirsync.dry_run_entity (
  -- The dry run.
  dry_run_id      bigint not null references dirsync.dry_run on delete cascade,
  enterprise_code text not null,               -- Enterprise; empty for a single enterprise.
  entity_key      text not null,               -- User id.
  -- Against today's mapping: appears or disappears among the active employees; changes; breaks a rule that it
  -- does not break today; mends: breaks none any more.
  reason          text not null check (reason in ('appears', 'disappears', 'changes', 'breaks', 'mends')),
  department      text,                        -- Department that the SELECT has, else that of today.
  -- The fields concerned: [{field, from, to}], values masked; of one that breaks a rule hidden.
  changed         jsonb not null default '[]'
);
create unique index dry_run_entity_key
  on dirsync.dry_run_entity (dry_run_id, entity_key collate "C", enterprise_code);

create function dirsync.cancel_dry_run(dry_run bigint) returns bigint
language plpgsql set search_path = pg_catalog, pg_temp as $$
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
comment on function dirsync.cancel_dry_run is
  'Ends a dry run that is not over; the process that carries it out stops within a second. Returns its '
  'number.';
