-- What programs hear: what happens to runs and cases, in an order in which they can follow it, by stream or by
-- webhook; and the answers that are repeated to them.

-- The states that runs have reached.
create table dirsync.run_event (
  id       bigint generated always as identity primary key,           -- Number of the step.
  run_id   bigint not null references dirsync.sync_run on delete cascade,  -- The run.
  at       timestamptz not null default now(),                        -- When.
  state    text not null,                                             -- The state that it reached.
  -- Its place among the events of runs and cases; null: dirsync.place_events has not given it one yet.
  position bigint
);
create index run_event_run on dirsync.run_event (run_id);
create unique index run_event_position on dirsync.run_event (position) where position is not null;
create index run_event_unplaced on dirsync.run_event (id) where position is null;

-- What is there already has no place: who follows from now on is not told of it.
alter table dirsync.dead_letter_event add column position bigint default 0;
alter table dirsync.dead_letter_event alter column position drop default;
comment on column dirsync.dead_letter_event.position is
  'Its place among the events of runs and cases; 0: it is older than these places; null: dirsync.place_events has not '
  'given it one yet.';
create unique index dead_letter_event_position on dirsync.dead_letter_event (position) where position > 0;
create index dead_letter_event_unplaced on dirsync.dead_letter_event (id) where position is null;

create sequence dirsync.event_position;

create function dirsync.note_run_state() returns trigger
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  insert into dirsync.run_event (run_id, state) values (new.id, new.state);
  return null;
end $$;
comment on function dirsync.note_run_state is 'Notes the state that a run has reached.';
create trigger run_begun after insert on dirsync.sync_run
  for each row execute function dirsync.note_run_state();
create trigger run_moved after update of state on dirsync.sync_run
  for each row when (old.state <> new.state) execute function dirsync.note_run_state();

-- Transactions end in another order than they write. Places are given to what has been committed, under a lock: a
-- reader who has seen a place never misses a smaller one.
create function dirsync.place_events() returns integer
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  placed integer := 0;
begin
  -- LOCKS.events of src/lib/advisory-lock.ts.
  if not pg_try_advisory_xact_lock(1702260340) then
    return 0;
  end if;
  with due as (
    (select 'run' as kind, id, at from dirsync.run_event where position is null order by id limit 2000)
    union all
    (select 'case', id, at from dirsync.dead_letter_event where position is null order by id limit 2000)
  ), places as materialized (
    select kind, id, nextval('dirsync.event_position') as position
    from (select * from due order by at, id) ordered
  ), runs as (
    update dirsync.run_event e set position = p.position from places p where p.kind = 'run' and e.id = p.id
  ), cases as (
    update dirsync.dead_letter_event e set position = p.position from places p
    where p.kind = 'case' and e.id = p.id
  )
  select count(*) into placed from places;
  return placed;
end $$;
comment on function dirsync.place_events is
  'Gives the latest events of runs and cases their places, at most 2000 of each; returns how many.';

-- Webhooks that get these events.
alter table dirsync.alert_channel
  add column events text[], add column event_place bigint, add column refuses_some boolean not null default false;
comment on column dirsync.alert_channel.events is
  'The events of runs and cases that it gets instead of alerts, such as run.*; null: it gets alerts.';
comment on column dirsync.alert_channel.event_place is
  'The place up to which its events have been written into messages; null: none has.';
comment on column dirsync.alert_channel.refuses_some is
  'Whether its server refused a recipient of the latest message that was for all of its recipients.';

-- Rows are not checked again: every kind that there is passes.
alter table dirsync.alert_message
  drop constraint alert_message_kind_check,
  add constraint alert_message_kind_check check (kind in ('alerts', 'summary', 'events')) not valid;

-- Repeated answers.
alter table dirsync.idempotency_key add column status smallint, add column location text;
comment on column dirsync.idempotency_key.status is
  'Of the first answer; null while the work is under way, and of answers of 1.0.0, which were all 200.';
comment on column dirsync.idempotency_key.location is 'Where to find what was created or started.';

-- Only the owner may call a function of this schema, and the reviewer where migrate grants it.
revoke execute on all functions in schema dirsync from public;
