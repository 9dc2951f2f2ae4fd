-- Whoever an earlier version held with a run waits for the decision about it, too: until now the next plan marked them.

with waiting as materialized (
  select distinct on (w.enterprise_code, w.entity_key)
         w.enterprise_code, w.entity_key as userid, w.run_id, w.source_hash, w.active
  from dirsync.sync_run r
  join dirsync.planned_work w on w.run_id = r.id and w.operation = 'update-employee'
  left join dirsync.employee e on e.enterprise_code = w.enterprise_code and e.userid = w.entity_key
  where r.state = 'held' and r.finished_at is null
    and (w.reason in ('new', 'changed', 'left', 'vanished') or w.source_hash is distinct from w.previous_hash)
    -- Where a later plan has passed, it takes precedence.
    and e.source_hash is not distinct from w.previous_hash and e.held_run is null
  order by 1, 2, 3 desc
)
insert into dirsync.employee as e (enterprise_code, userid, active, held_run, held_hash)
select enterprise_code, userid, coalesce(active, true), run_id, source_hash from waiting
on conflict (enterprise_code, userid) do update
set held_run = excluded.held_run, held_hash = excluded.held_hash;
