-- A dry run can be cancelled.
alter table dirsync.dry_run
  drop constraint dry_run_state_check,
  drop constraint dry_run_check,
  add constraint dry_run_state_check check (state in ('requested', 'running', 'done', 'failed', 'cancelled')),
  add constraint dry_run_finished_check
    check ((state in ('done', 'failed', 'cancelled')) = (finished_at is not null));

comment on column dirsync.dry_run.state is
  'requested; running; done; failed: the SELECT is wrong, or HR could not be read, see message; cancelled.';
comment on column dirsync.dry_run.starts is
  'How often it was begun: one whose process has ended three times has failed.';

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
  'Ends a dry run that is not over; the process that carries it out stops within a second. Returns its number.';
revoke execute on function dirsync.cancel_dry_run from public;
