-- What another SELECT would change.

create table dirsync.dry_run (
  id           bigint generated always as identity primary key,
  requested_by text not null default dirsync.actor(),
  requested_at timestamptz not null default now(),
  address      text,
  mapping      text not null,
  state        text not null default 'requested'
               check (state in ('requested', 'running', 'done', 'failed', 'cancelled')),
  starts       smallint not null default 0,
  phase        text check (phase in ('plan', 'new', 'today', 'compare')),
  rows_read    integer not null default 0,
  started_at   timestamptz,
  finished_at  timestamptz,
  message      jsonb,
  error_line   integer,
  error_column integer,
  summary      jsonb,
  hr_source    text not null default '',
  constraint dry_run_finished_check
    check ((state in ('done', 'failed', 'cancelled')) = (finished_at is not null))
);
create index dry_run_unfinished on dirsync.dry_run (id) where state in ('requested', 'running');

comment on table dirsync.dry_run is
  'What another SELECT of employees would change, found out without writing anything; kept for 30 days.';
comment on column dirsync.dry_run.id is 'Number of the dry run.';
comment on column dirsync.dry_run.requested_by is 'Database user, and who asked.';
comment on column dirsync.dry_run.requested_at is 'When it was asked for.';
comment on column dirsync.dry_run.address is
  'Where the person who asked was; null: at a shell, or not known.';
comment on column dirsync.dry_run.mapping is 'The SELECT that is tried out.';
comment on column dirsync.dry_run.state is
  'requested; running; done; failed: the SELECT is wrong, or HR could not be read, see message; cancelled.';
comment on column dirsync.dry_run.starts is
  'How often it was begun: one whose process has ended three times has failed.';
comment on column dirsync.dry_run.phase is
  'What it does: plan as a run would, read the new rows, read those of today''s mapping, compare them.';
comment on column dirsync.dry_run.rows_read is 'Rows read from HR so far, over all phases.';
comment on column dirsync.dry_run.started_at is 'When it began.';
comment on column dirsync.dry_run.finished_at is 'When it ended.';
comment on column dirsync.dry_run.message is 'failed: why, for dirsync.in_language.';
comment on column dirsync.dry_run.error_line is 'Line of the SELECT that is wrong, from 1; null: not known.';
comment on column dirsync.dry_run.error_column is 'Column of that line, from 1.';
comment on column dirsync.dry_run.summary is
  'done: what a run would plan and whether it would be held; employees by what becomes of them, changed '
  'fields, departments and rule breaks, counted over all of them.';
comment on column dirsync.dry_run.hr_source is 'The HR source that it reads; empty where there is only one.';

create table dirsync.dry_run_entity (
  dry_run_id      bigint not null references dirsync.dry_run on delete cascade,
  enterprise_code text not null,
  entity_key      text not null,
  reason          text not null check (reason in ('appears', 'disappears', 'changes', 'breaks', 'mends')),
  department      text,
  changed         jsonb not null default '[]'
);
create unique index dry_run_entity_key
  on dirsync.dry_run_entity (dry_run_id, entity_key collate "C", enterprise_code);

comment on table dirsync.dry_run_entity is
  'Employees for whom the SELECT of a dry run makes a difference, 10,000 at most, of each kind its share.';
comment on column dirsync.dry_run_entity.dry_run_id is 'The dry run.';
comment on column dirsync.dry_run_entity.enterprise_code is 'Enterprise; empty for a single enterprise.';
comment on column dirsync.dry_run_entity.entity_key is 'User id.';
comment on column dirsync.dry_run_entity.reason is
  'Against today''s mapping: appears or disappears among the active employees; changes; breaks a rule that '
  'it does not break today; mends: breaks none any more.';
comment on column dirsync.dry_run_entity.department is 'Department that the SELECT has, else that of today.';
comment on column dirsync.dry_run_entity.changed is
  'The fields concerned: [{field, from, to}], values masked; of one that breaks a rule hidden.';

create function dirsync.cancel_dry_run(dry_run bigint) returns bigint
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  was text;
begin
  select d.state into was from dirsync.dry_run d where d.id = cancel_dry_run.dry_run for no key update;
  if was is null then
    raise exception 'there is no dry run %', coalesce(dry_run::text, 'null') using errcode = 'P0002';
  end if;
  if was not in ('requested', 'running') then
    raise exception 'dry run % is %, so nothing of it is under way', dry_run, was using errcode = 'P0002';
  end if;
  perform dirsync.note_command('cancel_dry_run', null, jsonb_build_object('dry_run', dry_run));
  update dirsync.dry_run d set state = 'cancelled', finished_at = now(), phase = null
  where d.id = cancel_dry_run.dry_run;
  return dry_run;
end $$;
comment on function dirsync.cancel_dry_run is
  'Ends a dry run that is not over; the process that carries it out stops within a second. Returns its '
  'number.';
