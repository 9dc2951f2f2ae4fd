-- Calls to the platform as they are seen: per minute, per process, per attempt and run.

create table dirsync.call_minute (
  minute          timestamptz not null,
  operation       text not null,
  calls           integer not null,
  too_fast        integer not null,
  failed          integer not null,
  waited_ms       bigint not null,
  longest_wait_ms integer not null,
  duration_ms     bigint not null,
  primary key (minute, operation)
);
comment on table dirsync.call_minute is 'Calls to the platform of all processes by minute and operation; kept 30 days.';
comment on column dirsync.call_minute.minute is 'Beginning of the minute in which they were written down, a few seconds after they ended.';
comment on column dirsync.call_minute.operation is 'Operation of the platform, for example employee/get.';
comment on column dirsync.call_minute.calls is 'Exchanges with the platform, whatever came of them.';
comment on column dirsync.call_minute.too_fast is 'How many of them the platform rejected because there were too many.';
comment on column dirsync.call_minute.failed is 'How many of them ended otherwise than with success, those that were too fast included.';
comment on column dirsync.call_minute.waited_ms is 'How long they waited for the pacer, all together, in milliseconds.';
comment on column dirsync.call_minute.longest_wait_ms is 'How long the one waited that waited longest, in milliseconds.';
comment on column dirsync.call_minute.duration_ms is 'How long the exchanges took, all together, in milliseconds.';

alter table dirsync.process add column pacer jsonb;
comment on column dirsync.process.pacer is 'How the pacer of a worker stood at its last sign of life: ratePerSecond, learnt, ceiling, waiting, pausedForMs, concurrency. Null for a process without one.';

alter table dirsync.attempt add column waited_ms jsonb not null default '{}', add column too_fast jsonb not null default '{}';
comment on column dirsync.attempt.waited_ms is 'How long its calls waited for the pacer, in milliseconds by operation; empty where that is not known (mirrors).';
comment on column dirsync.attempt.too_fast is 'Calls that the platform rejected because there were too many, by operation.';

create or replace function dirsync.run_result(run bigint) returns jsonb
language sql stable as $$
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
comment on function dirsync.run_result is 'What came of a run: last outcome per entity; calls, their waiting time in milliseconds and those rejected as too fast, by operation; dead letters by category.';
