-- Rows of the tables in which the work in hand (work.jsonl) has none, so that a dump has data of every table.
-- Everything here is invented. All times are close to those of work.jsonl: the test moves both to the recent past.

set time zone 'UTC';

insert into dirsync.deployment (id, name, base_url, app_id, enterprise_code, since)
values ('0b2f6d0e-1111-4111-8111-000000000001', 'sample', 'https://platform.example', 'sample', '', '2026-11-23 14:30:00+00');
insert into dirsync.process (id, host, pid, roles, version, started_at, heartbeat_at, pacer)
values ('0b2f6d0e-2222-4222-8222-000000000001', 'sample-host', 41, '{scheduler,worker}', '1.0.0',
        '2026-11-20 09:00:00+00', '2026-11-20 10:00:00+00',
        '{"ratePerSecond": 50, "set": 50, "learnt": null, "ceiling": null, "waiting": 0, "callsPerSecond": 0}');
insert into dirsync.hr_source (name, position, kind, address, enterprise_codes, seen_at)
values ('north', 1, 'postgres', 'postgres://hr.example/north', '{E910}', '2026-11-20 09:00:00+00');
insert into dirsync.job_schedule (job, expression, next_due_at, interval_seconds, in_force_since, time_zone)
values ('prune', '0 3 * * *', '2026-11-24 03:00:00+00', 86400, '2026-11-20 09:00:00+00', 'UTC');
insert into dirsync.job_tick (job, due_at, claimed_by, claimed_at, finished_at, run_ids)
values ('prune', '2026-11-23 03:00:00+00', '0b2f6d0e-2222-4222-8222-000000000001',
        '2026-11-23 03:00:00+00', '2026-11-23 03:00:01+00', '{}'),
       ('full-resync', '2026-11-23 02:00:00+00', '0b2f6d0e-2222-4222-8222-000000000001',
        '2026-11-23 02:00:00+00', '2026-11-23 02:00:01+00', '{5}');
insert into dirsync.plan_decision (run_id, approved, filter, planned, reasons, fields, departments, decided_by, decided_at, why)
select max(id), false, '{"department": "D9"}', 1, '{"changed": 1}', '{"mobile": 1}',
       '[{"enterprise_code": "", "department": "D9", "n": 1}]', 'sample (console:mei)',
       '2026-11-23 14:30:00+00', 'not so' from dirsync.sync_run;
insert into dirsync.run_count (kind, state, ended, seconds) values ('changes', 'done', 40, 12.5), ('full', 'done', 4, 31);

insert into dirsync.department (dept_code, parent_code, active, closed_at) values ('D0', null, true, null), ('D9', 'D0', false, '2026-11-23 14:00:00+00');
insert into dirsync.field_block (enterprise_code, field, platform_code, message, since, probe_userid, next_probe_at)
values ('E911', 'level', 1000220030, '{"key": "said.words", "values": {"words": "grades are switched off"}}', '2026-11-23 13:00:00+00', 'e9110', '2026-12-23 13:00:00+00');
insert into dirsync.field_refusal (enterprise_code, field, userid, value_hash, refused_at)
values ('E911', 'level', 'e9110', 'ZxbjgxxniVZAIy9h', '2026-11-23 13:00:00+00');

insert into dirsync.platform_token (base_url, app_id, sealed_token, created_at, expires_at)
values ('https://platform.example', 'sample', '\x00112233445566778899', '2026-11-23 14:00:00+00', '2026-11-23 16:00:00+00');
insert into dirsync.token_creation (base_url, app_id, created_at)
values ('https://platform.example', 'sample', '2026-11-23 14:00:00+00');
insert into dirsync.pacer (gate, next_at, reserved_at, leased, holder)
values ('platform', '2026-11-23 14:41:00+00', '2026-11-23 14:41:00+00', 51, '0b2f6d0e-2222-4222-8222-000000000001');
insert into dirsync.learnt_rate (gate, version, rate_per_second, ceiling, lowered_at, changed_at, leased_at_change)
values ('platform@900', 3, 61.5, 70, '2026-11-23 13:00:00+00', '2026-11-23 13:30:00+00', 40);
insert into dirsync.rate_cap (per_second, until, reason, set_by, since)
values (5, '2026-11-23 14:00:00+00', 'the vendor asked for it', 'sample', '2026-11-23 12:00:00+00');
insert into dirsync.call_minute (minute, operation, calls, rate_limited, failed, waited_ms, longest_wait_ms, duration_ms)
values ('2026-11-23 14:40:00+00', 'employee/get', 20, 1, 1, 400, 40, 900);
insert into dirsync.call_hour (hour, operation, calls, rate_limited) values ('2026-11-23 13:00:00+00', 'employee/get', 800, 2);

insert into dirsync.refund (outer_refund_no, outer_trade_no, refund_amount, refunded_before, state, requested_by, sent_at,
                            settled_at, notified_at, trade_no, message, left_to_person_at, settle_attempts)
values ('R-1', 'T-1', 12.50, 0, 'notified', 'sample', '2026-11-22 10:00:00+00', '2026-11-22 10:00:01+00',
        '2026-11-22 10:05:00+00', 'P-1', null, null, 0),
       ('R-2', 'T-2', 3.00, 0, 'unknown', 'sample', '2026-11-22 11:00:00+00', null, null, 'P-2', null,
        '2026-11-22 12:00:00+00', 4);
insert into dirsync.refund_check (outer_refund_no, first_at, last_at, times, message)
values ('R-2', '2026-11-22 11:00:05+00', '2026-11-22 12:00:00+00', 4,
        '{"key": "said.record_shows_none", "values": {"before": "0", "amount": "3.00"}}');
insert into dirsync.topup (external_code, account_openid, amount, state, requested_by, sent_at, settled_at, apply_charge_openid)
values ('U-1', 'acc-1', 1000, 'accepted', 'sample', '2026-11-22 10:00:00+00', '2026-11-22 10:00:01+00', 'apply-1');
insert into dirsync.refused_notification (outer_refund_no, reason, first_at, last_at, times)
values ('R-9', 'unknown', '2026-11-20 10:00:00+00', '2026-11-20 11:00:00+00', 2);

-- A mirror that is being read.
insert into dirsync.sync_run (id, kind, state, requested_by, requested_at, started_at, planned_at, planned) overriding system value
values (10, 'accounts', 'running', 'sample', '2026-11-23 14:41:30+00', '2026-11-23 14:41:31+00', '2026-11-23 14:41:31+00', 1);
insert into dirsync.mirror_task (run_id, position, not_before) values (10, 1, '2026-11-23 14:41:31+00');
insert into dirsync.mirror_day (day, read_at) values ('2026-11-21', '2026-11-22 01:00:00+00');
insert into dirsync.payment_order (trade_no, out_trade_no, userid, subject, total_amount, pay_amount, refund_amount, status,
                                   asset_code, created_at, paid_at, listed_on, first_seen_at, changed_at)
values ('P-1', 'T-1', 'e0004', 'lunch', 20, 20, 12.50, 3, 'POINT', '2026-11-21 04:00:00+00', '2026-11-21 04:01:00+00',
        '2026-11-21', '2026-11-22 01:00:00+00', '2026-11-22 10:05:00+00');
insert into dirsync.limit_account (account_openid, name, product_category, balance, status, first_seen_at, changed_at)
values ('limit-old', 'lunch', 2, 900, 1, '2026-11-01 01:00:00+00', '2026-11-22 01:00:00+00');
insert into dirsync.limit_sub_account (account_openid, id, name, status, first_seen_at, changed_at)
values ('limit-old', 's-1', 'office', 1, '2026-11-01 01:00:00+00', '2026-11-22 01:00:00+00');
insert into dirsync.taxpayer (identifier, taxpayer_nature, taxpayer_name, status, first_seen_at, changed_at)
values ('91000000000000000X', 1, 'Sample Ltd', 1, '2026-11-01 01:00:00+00', '2026-11-22 01:00:00+00');

insert into dirsync.status_history (at, in_sync, awaiting_activation, dead_lettered, halted, waiting, open_cases, cases,
                                      pending, oldest_pending_seconds, is_halted, held, rejected, accepted)
values ('2026-11-23 14:40:00+00', 4, 1, 1, 0, 1, '{"missing_department": 1, "not_on_platform": 1}', 2, 2, 60, false, 5, 0, 1);

-- A comment on the case of e0100, which a person has asked for and no process has carried out yet.
insert into dirsync.bulk_action (action, filter, arguments, state, total, categories, states, actor, requested_by, created_at,
                                 confirmed_at)
values ('comment', null, '{"text": "asked the office"}', 'requested', 1, '{"not_on_platform": 1}',
        '{"awaiting_activation": 1}', 'console:sample', 'sample', '2026-11-23 14:41:00+00', '2026-11-23 14:41:10+00');
insert into dirsync.bulk_item (bulk_id, dead_letter_id, version)
select b.id, d.id, d.version from dirsync.bulk_action b, dirsync.dead_letter d where d.entity_key = 'e0100';

insert into dirsync.dry_run (requested_by, requested_at, mapping, state, starts, rows_read, started_at, finished_at, summary)
values ('sample', '2026-11-22 09:00:00+00', 'select 1 as userid', 'done', 1, 24, '2026-11-22 09:00:01+00',
        '2026-11-22 09:00:02+00', '{}');
insert into dirsync.dry_run_entity (dry_run_id, enterprise_code, entity_key, reason, department, changed)
values (1, '', 'e0005', 'changes', 'D0', '[{"field": "name", "from": "P*", "to": "Q*"}]');

insert into dirsync.console_user (name, source, role, password_hash, language, created_at, created_by, last_sign_in_at)
values ('sample', 'password', 'operator', '$scrypt$ln=1,r=1,p=1$c2FsdA$aGFzaA', 'en', '2026-11-20 09:00:00+00', 'sample',
        '2026-11-23 09:00:00+00');
insert into dirsync.console_session (id_hash, user_name, via, created_at, expires_at, last_seen_at, address, user_agent)
values ('\x01', 'sample', 'password', '2026-11-23 09:00:00+00', '2026-11-23 21:00:00+00', '2026-11-23 14:40:00+00', '192.0.2.1', 'sample');
insert into dirsync.api_token (name, hash, role, created_by, created_at, expires_at)
values ('sample', '\x02', 'viewer', 'sample', '2026-11-20 09:00:00+00', '2026-12-20 09:00:00+00');
insert into dirsync.sign_in_key (hash, created_by, created_at, expires_at)
values ('\x03', 'sample', '2026-11-23 09:00:00+00', '2026-11-24 09:00:00+00');
insert into dirsync.sign_in_flow (hash, state, nonce, code_verifier, return_to, expires_at)
values ('\x04', 'state', 'nonce', 'verifier', '/overview', '2026-11-23 14:50:00+00');
insert into dirsync.sign_in_failure (kind, key, failures, last_at, blocked_until)
values ('address', '192.0.2.7', 3, '2026-11-23 14:40:00+00', '2026-11-23 14:40:00+00');
insert into dirsync.idempotency_key (owner, key, request, answer, at)
values ('token:sample', 'k1', 'digest', '{"run": 9}', '2026-11-23 14:41:00+00');

insert into dirsync.quiet_hours (starts, ends, time_zone, set_by, set_at)
values ('22:00', '22:01', 'UTC', 'sample', '2026-11-20 09:00:00+00');
insert into dirsync.heartbeat_call (run_id, called_at, attempts, not_before)
values (5, '2026-11-23 14:41:36+00', 1, '2026-11-23 14:41:35+00');
-- An enterprise that stands still, and has no employee here.
insert into dirsync.halt (scope, category, platform_code, message, remedy, since, probes, next_probe_at)
values ('E911', 'enterprise_code', 1000240002, '{"key": "code.1000240002.meaning"}',
        '{"key": "code.1000240002.remedy"}', '2026-11-23 14:00:00+00', 2,
        '2026-11-23 15:41:00+00');
insert into dirsync.case_view (owner, name, shared, query) values ('sample', 'mine', false, 'assignee=%40me&order=oldest');
insert into dirsync.sign_in_link (hash, user_name, expires_at) select '\x0b', min(name), now() + interval '1 day' from dirsync.console_user;
insert into dirsync.examination (at, by, complete, findings) values (now(), 'sample', true, '[]');
insert into dirsync.setup (ended_by) values ('sample') on conflict do nothing;
insert into dirsync.notice (user_name, event, dead_letter_id, actor)
select 'sample', 'assigned', min(id), 'sample (console:other)' from dirsync.dead_letter;
insert into dirsync.hr_delivery (source, stamp) values ('north', '0123456789abcdef0123456789abcdef');
